"""Matchmaking: who meets whom while a policy learns. It plays against itself, unless a population decides otherwise."""

from collections.abc import Mapping, Set
from typing import Any, Protocol

from nemesis.core.interrupts import Stop, never
from nemesis.play.experience import Experience
from nemesis.play.pairings import SELF_PLAY, Pairings, PlayerSource
from nemesis.policies.policy import Policy


class Matchmaker(Protocol):
    """Decides on the pairings of a run."""

    @property
    def pairings(self) -> Pairings:
        """Who meets whom from now on."""
        ...

    @property
    def learners(self) -> Mapping[str, tuple[Policy, int]]:
        """The policies that learn besides the main one, by name, with the number of updates behind each."""
        ...

    @property
    def members(self) -> Set[PlayerSource]:
        """All possible opponents, now or later."""
        ...

    def remove_unused(self, needed: set[str]) -> None:
        """Remove policy files that it has written, except those that are needed."""
        ...

    def begin(self) -> None:
        """Write what a new run needs on disk, once it has its folder."""
        ...

    def update(
        self, experience: Experience, policy: Policy, average: Policy, update: int, stop: Stop = never
    ) -> dict[str, float]:
        """Take in what was played, after the main policy, of which there is an averaged copy, has learned from it.

        Long work is postponed when `stop` says so. Returns metrics.
        """
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that an exact continuation needs, as a tree of tensors."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class SelfPlay:
    """The policy meets only itself."""

    pairings = SELF_PLAY
    learners: Mapping[str, tuple[Policy, int]] = {}
    members: Set[PlayerSource] = frozenset()

    def remove_unused(self, needed: set[str]) -> None:
        """Remove nothing: it writes no files."""

    def begin(self) -> None:
        """Write nothing."""

    def update(self, *_: object) -> dict[str, float]:
        return {}

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore nothing: it has no state."""
