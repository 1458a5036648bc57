"""Regret matching+: members are played in proportion to how much better they would have been so far.

Hart & Mas-Colell 2000, A Simple Adaptive Procedure Leading to Correlated Equilibrium; the form with regrets cut at zero
and linearly weighted averages of Tammelin 2014, Solving Large Imperfect Information Games Using CFR+:

    R_i ← max(R_i + (A q)_i − pᵀA q, 0),   p_i ∝ R_i

The sides take turns, and the average of their mixtures approaches an equilibrium. It stops when NashConv of the average
is small.
"""

import numpy as np

from nemesis.population.meta_game.solution import Floats, Solution, is_antisymmetric, normalised

STEPS = 20_000
_CHECKED_EVERY = 100
_CLOSE = 1e-9  # NashConv at which it stops, relative to the largest payoff


def solve_regret_matching(payoff: Floats) -> Solution:
    """Return the averaged mixtures."""
    rows, columns = payoff.shape
    regret_row, regret_column = np.zeros(rows), np.zeros(columns)
    total_row, total_column = np.zeros(rows), np.zeros(columns)
    close = _CLOSE * float(np.abs(payoff).max())
    q = normalised(regret_column)
    for step in range(1, STEPS + 1):
        earned = payoff @ q
        p = normalised(regret_row)
        regret_row = np.maximum(regret_row + earned - p @ earned, 0.0)
        p = normalised(regret_row)
        lost = p @ payoff
        regret_column = np.maximum(regret_column + lost @ q - lost, 0.0)
        q = normalised(regret_column)
        total_row += step * p
        total_column += step * q
        if step % _CHECKED_EVERY == 0:
            solution = Solution(normalised(total_row), normalised(total_column))
            if solution.nash_conv(payoff) <= close:
                break
    return _shared(payoff, Solution(normalised(total_row), normalised(total_column)))


def _shared(payoff: Floats, solution: Solution) -> Solution:
    """Return one mixture for both sides if they have the same members; the mean loses at most as much."""
    if not is_antisymmetric(payoff):
        return solution
    mean = (solution.row + solution.column) / 2
    return Solution(mean, mean)
