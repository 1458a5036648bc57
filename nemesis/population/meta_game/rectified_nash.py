"""Rectified Nash: members of the Nash mixture meet those of it that they beat.

Balduzzi et al. 2019, Open-ended Learning in Symmetric Zero-sum Games, trains one best response for each member i of the
Nash mixture p, against the opponents that i beats or draws with, in proportion to p_j max(A_ij, 0): "amplify strengths,
ignore weaknesses". A population that grows by one member at a time trains it against the opponents that a member drawn
from p meets,

    row_i ∝ p_i Σ_j q_j max(−A_ij, 0),   column_j ∝ q_j Σ_i p_i max(A_ij, 0),

and against p itself when no member of the mixture beats another. It is a mixture to train against, not an equilibrium.
"""

import numpy as np

from nemesis.population.meta_game.nash import solve_nash
from nemesis.population.meta_game.solution import Floats, Solution


def solve_rectified_nash(payoff: Floats) -> Solution:
    """Return the mixtures of opponents that members of the Nash mixtures beat."""
    nash = solve_nash(payoff)
    scale = float(np.abs(payoff).max())
    row = nash.row * (np.maximum(-payoff, 0.0) @ nash.column)
    column = nash.column * (nash.row @ np.maximum(payoff, 0.0))
    return Solution(_rectified(row, nash.row, scale), _rectified(column, nash.column, scale))


def _rectified(weight: Floats, nash: Floats, scale: float) -> Floats:
    total = weight.sum()
    return weight / total if total > 1e-12 * scale else nash
