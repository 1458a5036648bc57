"""Of all optimal mixtures of a zero-sum matrix game, the one of maximum entropy.

The optimal mixtures of the rows form a polytope, {p ≥ 0 : (pᵀA)_j ≥ v, Σ p_i = 1} for the value v of the game. Where
several members are alike, it has many points; −Σ p_i log p_i is strictly concave, so that it is maximal at one.

1. A linear program finds a point in the relative interior, with the largest support and as few tight columns as
   possible: it scales the polytope to a cone and counts the coordinates that can reach 1.
2. From there, Newton's method maximises the entropy within the null space of what is tight everywhere. Columns that are
   tight only at some points have a logarithmic barrier (Boyd & Vandenberghe 2004, Convex Optimization, chapter 11),
   whose weight falls to nearly nothing. Every step keeps the point feasible.
"""

import numpy as np
from scipy.optimize import linprog

from nemesis.population.meta_game.solution import Floats

_TOLERANCE = 1e-10  # the smallest that HiGHS takes
_LARGEST = 1e7  # of the sum of the scaled mixture, so that probabilities below its inverse count as zero
_BARRIERS = 10.0 ** np.arange(-2, -15, -1)
_NEWTON_STEPS = 100
_PRECISION = 1e-15
_RANK = 1e-9  # singular values below, relative to the largest, count as zero
_BACKTRACKING, _SUFFICIENT = 0.5, 1e-4  # of the line search


def maximum_entropy(payoff: Floats, value: float) -> Floats:
    """Return the optimal mixture (row,) of maximum entropy, in a game with this value."""
    mixture, tight = _interior(payoff - value)
    support = mixture > 0
    point = mixture[support]
    margin = (payoff - value)[support].T  # (column, row)
    basis = _null_space(np.vstack([margin[tight], np.ones(len(point))]))
    result: Floats = np.zeros(len(mixture))
    result[support] = _maximise(point, margin[~tight], basis) if basis.size else point
    result /= result.sum()
    return result


def _interior(margin: Floats) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return a mixture (row,) of the relative interior, and which columns (column,) are tight at all optimal ones.

    The variables are the scaled mixture x, and by how much each x_i and each slack can be raised, up to 1.
    """
    rows, columns = margin.shape
    raised = np.vstack(
        [
            np.hstack([-np.eye(rows), np.eye(rows), np.zeros((rows, columns))]),  # t_i ≤ x_i
            np.hstack([-margin.T, np.zeros((columns, rows)), np.eye(columns)]),  # u_j ≤ (xᵀA)_j
            np.hstack([np.ones(rows), np.zeros(rows + columns)])[None],
        ]
    )
    result = linprog(
        np.r_[np.zeros(rows), -np.ones(rows + columns)],
        A_ub=raised,
        b_ub=np.r_[np.zeros(rows + columns), _LARGEST],
        bounds=[(0, None)] * rows + [(0, 1)] * (rows + columns),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if result.x is None:
        raise ValueError(f"The linear program of the meta-game's optimal mixtures failed: {result.message}")
    scaled, slack = result.x[:rows], result.x[2 * rows :]
    support = result.x[rows : 2 * rows] > 0.5
    mixture = np.where(support, scaled, 0.0)
    mixture /= mixture.sum()
    tight = slack < 0.5
    return _projected(mixture, margin, support, tight), tight


def _projected(
    mixture: Floats,
    margin: Floats,
    support: np.ndarray[tuple[int], np.dtype[np.bool_]],
    tight: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Floats:
    """Return the nearest mixture on the same support that meets what is tight to the last digit."""
    system = np.vstack([margin[np.ix_(support, tight)].T, np.ones(support.sum())])
    wanted = np.r_[np.zeros(tight.sum()), 1.0]
    step = np.linalg.lstsq(system, wanted - system @ mixture[support], rcond=_RANK)[0]
    moved = mixture.copy()
    moved[support] += step
    return moved if (moved[support] > 0).all() else mixture


def _null_space(system: Floats) -> Floats:
    """Return an orthonormal basis (row, dimension) of the vectors that the system maps to zero."""
    _, singular, right = np.linalg.svd(system)
    rank = int((singular > _RANK * singular[0]).sum())
    return right[rank:].T


def _maximise(point: Floats, margin: Floats, basis: Floats) -> Floats:
    """Maximise the entropy of a point (row,) within a basis, keeping margin · point positive."""
    for barrier in _BARRIERS if len(margin) else (0.0,):
        for _ in range(_NEWTON_STEPS):
            slack = margin @ point
            gradient = basis.T @ (np.log(point) + 1.0 - barrier * (margin.T @ (1.0 / slack)))
            bent = margin @ basis / slack[:, None]
            curvature = (basis.T / point) @ basis + barrier * bent.T @ bent
            step = -np.linalg.solve(curvature, gradient)
            decrease = -float(gradient @ step)
            if decrease < _PRECISION:
                break
            moved = _line_search(point, basis @ step, margin, barrier, decrease)
            if moved is None:
                break
            point = moved
    return point


def _line_search(point: Floats, step: Floats, margin: Floats, barrier: float, decrease: float) -> Floats | None:
    """Return the point after as much of a step as is feasible and lowers the loss; None if nothing does."""
    before, size = _loss(point, margin, barrier), 1.0
    while size > _PRECISION:
        moved = point + size * step
        if (
            (moved > 0).all()
            and (margin @ moved > 0).all()
            and _loss(moved, margin, barrier) <= before - _SUFFICIENT * size * decrease
        ):
            return moved
        size *= _BACKTRACKING
    return None


def _loss(point: Floats, margin: Floats, barrier: float) -> float:
    return float(point @ np.log(point) - barrier * np.log(margin @ point).sum())
