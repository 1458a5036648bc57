"""The network parts of Pokémon: the encoder of view records, the action head and the opponent model."""
