"""Matchmaking: the pairings of a training run. The default is self-play; a population can replace it."""

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
        """The current pairings."""
        ...

    @property
    def learners(self) -> Mapping[str, tuple[Policy, int]]:
        """The policies that learn besides the main one, by name, each with its number of updates."""
        ...

    @property
    def members(self) -> Set[PlayerSource]:
        """All possible opponents, now or later."""
        ...

    def remove_unused(self, needed: set[str]) -> None:
        """Remove policy files that the matchmaker has written, except the needed ones."""
        ...

    def begin(self) -> None:
        """Write the files of a new run, once its folder exists."""
        ...

    def update(
        self, experience: Experience, policy: Policy, average: Policy, update: int, stop: Stop = never
    ) -> dict[str, float]:
        """Process the experience of an update, after the main policy has learned from it; returns metrics.

        `average` is the policy with averaged weights. Long work is postponed when `stop` returns true.
        """
        ...

    def conclude(self, policy: Policy, learned: int) -> str | None:
        """Measure what only the end of a run shows, after so many decisions; returns it as a sentence, if any."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything needed to resume exactly, as a tree of tensors."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...

    def continue_from(self, state: Mapping[str, Any]) -> None:
        """Take over the opponents of an earlier stage of the curriculum, from the state of its matchmaker."""
        ...


class SelfPlay:
    """The policy plays only against itself."""

    pairings = SELF_PLAY
    learners: Mapping[str, tuple[Policy, int]] = {}
    members: Set[PlayerSource] = frozenset()

    def remove_unused(self, needed: set[str]) -> None:
        """Remove nothing: it writes no files."""

    def begin(self) -> None:
        """Write nothing."""

    def update(self, *_: object) -> dict[str, float]:
        return {}

    def conclude(self, *_: object) -> None:
        """Measure nothing: evaluations have measured all."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore nothing: it has no state."""

    def continue_from(self, state: Mapping[str, Any]) -> None:
        """Take over nothing: it has no opponents."""
