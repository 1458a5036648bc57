"""Whom a policy meets while it learns: itself, unless a population decides otherwise."""

from collections.abc import Mapping, Set
from typing import Any, Protocol

from nemesis.core.interrupts import Stop, never
from nemesis.play.collector import Experience
from nemesis.play.pairings import SELF_PLAY, Pairings, PlayerSource
from nemesis.policies.policy import Policy


class Matchmaker(Protocol):
    """Decides on the lineups of a run."""

    @property
    def pairings(self) -> Pairings:
        """Who meets whom from now on."""
        ...

    @property
    def learners(self) -> Mapping[str, tuple[Policy, int]]:
        """The policies that learn beside the main one, by name, and how many updates each has behind it."""
        ...

    @property
    def members(self) -> Set[PlayerSource]:
        """Whoever may be met, now or later."""
        ...

    def tidy(self, needed: set[str]) -> None:
        """Remove files of policies that it has made, but for those that are needed."""
        ...

    def begin(self) -> None:
        """Write what a new run needs on disk, once it has its folder."""
        ...

    def note(
        self, experience: Experience, policy: Policy, average: Policy, update: int, stop: Stop = never
    ) -> dict[str, float]:
        """Take in what was played, after the main policy, of which there is an averaged copy, has learned from it.

        What takes long is left for later when `stop` says so. Returns metrics.
        """
        ...

    def state(self) -> dict[str, Any]:
        """Return all that an exact continuation needs, as a tree of tensors."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class SelfPlay:
    """The policy meets itself alone."""

    pairings = SELF_PLAY
    learners: Mapping[str, tuple[Policy, int]] = {}
    members: Set[PlayerSource] = frozenset()

    def tidy(self, needed: set[str]) -> None:
        """Have made nothing."""

    def begin(self) -> None:
        """Have nothing to write."""

    def note(self, *_: object) -> dict[str, float]:
        return {}

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Have nothing to restore."""
