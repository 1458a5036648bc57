"""The uniform mixture: every member alike, as in fictitious play over best responses (Brown 1951)."""

import numpy as np

from nemesis.population.meta_game.solution import Floats, Solution


def solve_uniform(payoff: Floats) -> Solution:
    """Return the uniform mixtures."""
    rows, columns = payoff.shape
    return Solution(np.full(rows, 1 / rows), np.full(columns, 1 / columns))
