"""The nouns of a meta-game: its payoff, mixtures of its members, and what a mixture loses.

A meta-game is a zero-sum matrix game. Its rows and columns are members of a population, and its entries are what the
row's member earns against the column's. A population in which every member plays both sides has an antisymmetric
payoff; otherwise rows play side 0, columns side 1. For mixtures p of rows and q of columns,

    NashConv(p, q) = max_i (A q)_i − min_j (pᵀA)_j

is what the best member of each side wins against the mixture of the other one, summed over the sides (Lanctot et al.
2017, A Unified Game-Theoretic Approach to Multiagent Reinforcement Learning). It is zero for a Nash equilibrium of the
meta-game, which may still be exploited by a player outside of the population.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Solution:
    """A mixture for each side of a meta-game."""

    row: Floats  # (row,) probabilities
    column: Floats  # (column,)

    def nash_conv(self, payoff: Floats) -> float:
        """Return what the best member of each side wins against the other side's mixture, summed over the sides."""
        return float((payoff @ self.column).max() - (self.row @ payoff).min())

    def value(self, payoff: Floats) -> float:
        """Return what the row's mixture earns against the column's."""
        return float(self.row @ payoff @ self.column)


Solver: TypeAlias = Callable[[Floats], Solution]
"""From the payoff (row, column) to a mixture for each side. The same payoff always has the same solution."""


def is_antisymmetric(payoff: Floats) -> bool:
    """Return whether both sides have the same members, so that both have the same mixture too."""
    return payoff.shape[0] == payoff.shape[1] and np.array_equal(payoff, -payoff.T)


def normalised(weight: Floats) -> Floats:
    """Return weights as probabilities; uniform if all are zero."""
    total = weight.sum()
    return weight / total if total > 0 else np.full(len(weight), 1 / len(weight))
