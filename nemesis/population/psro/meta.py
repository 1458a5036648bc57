"""The meta-game of a population, sampled by matches or computed from tables."""

from typing import Protocol

from nemesis.population.meta_game.payoffs import Estimate
from nemesis.population.meta_game.solution import Floats, Solution


class MetaGame(Protocol):
    """Who beats whom in a population."""

    def complete(self) -> None:
        """Play or compute what is missing of the payoff."""
        ...

    @property
    def payoff(self) -> Floats:
        """What each row's member earns against each column's (member, member)."""
        ...

    def gain(self, member: int, solution: Solution) -> Estimate:
        """Return what a member wins against the mixtures, summed over the sides; at most their NashConv."""
        ...

    def loss(self, solution: Solution) -> Estimate:
        """Return NashConv of the mixtures among all members."""
        ...

    def exact(self, solution: Solution) -> float | None:
        """Return NashConv of the mixtures in the whole game; None where it cannot be computed."""
        ...

    def intervals(self) -> tuple[Floats, Floats]:
        """Return the 95 % intervals of the payoff, as its lower and upper ends (member, member)."""
        ...
