"""PSRO: a population that grows by best responses to its own mixture."""
