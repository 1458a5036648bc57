"""Counts of results as the payoff of a meta-game, and how sure what follows from them is.

Members play both sides alike often, so the payoff is antisymmetric: what the row's member earns against the column's,
wins minus losses over matches, from −1 to 1. Matches of a cell are independent draws of win, draw or loss. With a
Dirichlet prior of one match in total, given counts (w, d, l), the chances of a cell follow

    Dirichlet(w + ⅓, d + ⅓, l + ⅓),

and an interval of any figure holds the middle 95 % of its values over tables drawn from it (Gelman et al. 2013,
Bayesian Data Analysis, chapter 3). A cell against oneself is zero by symmetry, and a cell that was never played is
taken as zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.population.meta_game.solution import Floats, Solution

Counts: TypeAlias = npt.NDArray[np.int64]

_PRIOR = 1 / 3
_RESAMPLED = 1000
_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of a meta-game, with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} (95 % interval {self.low:+.3f} to {self.high:+.3f})"

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Payoffs:
    """Results between all members."""

    counts: Counts  # (member, member, 3) matches that the row's member won, drew and lost

    @property
    def matches(self) -> Counts:
        """Matches of each cell (member, member)."""
        matches: Counts = self.counts.sum(axis=2)
        return matches

    @property
    def mean(self) -> Floats:
        """The payoff (member, member)."""
        difference: Floats = (self.counts[:, :, 0] - self.counts[:, :, 2]).astype(np.float64)
        return difference / np.maximum(self.matches, 1)

    def at(self, members: npt.NDArray[np.int64]) -> "Payoffs":
        """Return the results between some members."""
        return Payoffs(self.counts[np.ix_(members, members)])

    def resampled(self, generator: np.random.Generator) -> Floats:
        """Return a payoff (member, member) drawn from what is known of each cell."""
        upper = np.triu(self.matches > 0, k=1)
        draws = generator.gamma(self.counts[upper] + _PRIOR)  # a Dirichlet is a normalised gamma
        payoff = np.zeros(upper.shape)
        payoff[upper] = (draws[:, 0] - draws[:, 2]) / draws.sum(axis=1)
        return payoff - payoff.T

    def estimate(self, figure: Callable[[Floats], float], generator: np.random.Generator) -> Estimate:
        """Return a figure of the payoff, with its interval."""
        values = [figure(self.resampled(generator)) for _ in range(_RESAMPLED)]
        low, high = np.percentile(values, _INTERVAL)
        return Estimate(figure(self.mean), float(low), float(high))

    def intervals(self, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the 95 % intervals of all cells, as their lower and upper ends (member, member)."""
        drawn = np.stack([self.resampled(generator) for _ in range(_RESAMPLED)])
        low, high = np.percentile(drawn, _INTERVAL, axis=0)
        return low, high


def exploitability(payoffs: Payoffs, mixture: Floats, generator: np.random.Generator) -> Estimate:
    """Return NashConv of a mixture among the members: what the best of them wins against it, over both sides."""
    return payoffs.estimate(Solution(mixture, mixture).nash_conv, generator)


def gain(payoffs: Payoffs, member: int, mixture: Floats, generator: np.random.Generator) -> Estimate:
    """Return what a member wins against a mixture, per match."""
    return payoffs.estimate(lambda payoff: float(payoff[member] @ mixture), generator)
