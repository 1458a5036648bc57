"""The dex: static data of species, moves, items and abilities, as arrays."""
