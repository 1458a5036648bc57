"""A Nash equilibrium of a zero-sum matrix game by linear programming; of several, the one of maximum entropy.

von Neumann 1928; with the matrix A of what rows earn, the mixture p of rows solves

    max v   subject to   (pᵀA)_j ≥ v for every column j,   p ≥ 0,   Σ p_i = 1,

and the dual variables of its constraints are the mixture q of columns (HiGHS: Huangfu & Hall 2018). If the solution is
not the only one, `maximum_entropy.py` chooses: Balduzzi et al. 2018, Re-evaluating Evaluation, name the equilibrium of
maximum entropy, which treats members that are alike alike. Payoffs are scaled to at most 1 first.
"""

import numpy as np
from scipy.optimize import linprog

from nemesis.population.meta_game.maximum_entropy import maximum_entropy
from nemesis.population.meta_game.solution import Floats, Solution, is_antisymmetric

_TOLERANCE = 1e-10  # the smallest that HiGHS takes
_ZERO = 1e-9  # below, a probability or the slack of a constraint counts as zero
_CLOSE = 1e-13  # NashConv at which a solution is not improved any more


def solve_nash(payoff: Floats) -> Solution:
    """Return the equilibrium of maximum entropy."""
    scale = float(np.abs(payoff).max())
    if scale == 0:
        return Solution(*(np.full(size, 1 / size) for size in payoff.shape))
    scaled = payoff / scale
    found = _linear_program(scaled)
    if is_antisymmetric(payoff):
        row = column = _side(scaled, found, 0.0)
    else:
        value = found.value(scaled)
        row = _side(scaled, found, value)
        column = _side(-scaled.T, Solution(found.column, found.row), -value)
    return Solution(row, column)


def _side(payoff: Floats, found: Solution, value: float) -> Floats:
    """Return the mixture of rows, given one equilibrium of a game with this value."""
    if _is_unique(payoff, found, value):
        return _polished(payoff, found)
    return maximum_entropy(payoff, value)


def _linear_program(payoff: Floats) -> Solution:
    """Return any equilibrium."""
    rows, columns = payoff.shape
    result = linprog(
        np.r_[np.zeros(rows), -1.0],  # of (p, v)
        A_ub=np.c_[-payoff.T, np.ones(columns)],
        b_ub=np.zeros(columns),
        A_eq=np.r_[np.ones(rows), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if result.x is None:
        raise ValueError(f"The linear program of the meta-game failed: {result.message}")
    return Solution(_cleaned(result.x[:rows]), _cleaned(-result.ineqlin.marginals))


def _is_unique(payoff: Floats, found: Solution, value: float) -> bool:
    """Return whether no other mixture of rows is optimal.

    Every optimal mixture has its support among the best replies to q. If it is the only one that makes the columns in
    the support of q indifferent, which each optimal mixture does, it is the only one.
    """
    best = payoff @ found.column >= value - _ZERO
    support = found.column > _ZERO
    system = np.vstack([payoff[np.ix_(best, support)].T - value, np.ones(best.sum())])
    return bool(np.linalg.matrix_rank(system, tol=_ZERO) == best.sum())


def _polished(payoff: Floats, found: Solution) -> Floats:
    """Return the mixture of rows from the equations of its support, if that makes it more precise."""
    support, met = found.row > _ZERO, found.column > _ZERO
    if found.nash_conv(payoff) <= _CLOSE or support.sum() != met.sum():
        return found.row
    size = int(support.sum())
    system = np.ones((size + 1, size + 1))
    system[:size, :size], system[:size, size], system[size, size] = payoff[np.ix_(support, met)].T, -1.0, 0.0
    try:
        solved = np.linalg.solve(system, np.r_[np.zeros(size), 1.0])[:size]
    except np.linalg.LinAlgError:
        return found.row
    row = np.zeros(len(found.row))
    row[support] = solved
    better = (row >= 0).all() and (row @ payoff).min() >= (found.row @ payoff).min()
    return row if better else found.row


def _cleaned(weight: Floats) -> Floats:
    positive = np.where(weight > 0, weight, 0.0)
    cleaned: Floats = positive / positive.sum()
    return cleaned
