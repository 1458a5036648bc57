"""Meta-games: who beats whom as a matrix game, and mixtures of its members."""
