"""The dex: what is always true of species, moves, items and abilities, as arrays."""
