"""Experience: the data of one update, and the interface of its sources."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import torch

from nemesis.core.game import SIDES
from nemesis.core.interrupts import Stop, never
from nemesis.core.trajectory import Trajectories
from nemesis.play.assembler import Columns
from nemesis.play.pairings import Outcomes, Pairings, PlayerSource
from nemesis.policies.policy import Policy

NO_OUTCOMES = Outcomes(
    players=(),
    player=np.zeros((0, SIDES), dtype=np.int64),
    returns=np.zeros((0, SIDES), dtype=np.float32),
    end_reason=np.zeros(0, dtype=np.int64),
)


@dataclass(slots=True)
class Clock:
    """Seconds spent in each part of a run."""

    wait: float = 0.0  # for other processes
    simulate: float = 0.0
    infer: float = 0.0
    learn: float = 0.0
    opponents: float = 0.0  # choosing opponents, and training exploiters
    evaluate: float = 0.0
    save: float = 0.0  # checkpoints
    other: float = 0.0


@dataclass(slots=True)
class PlayCounts:
    """Counts of what was played so far."""

    decisions: int = 0
    matches: int = 0  # that count
    voided: int = 0
    restarts: int = 0  # of actors
    ended: Counter[str] = field(default_factory=Counter)  # matches by end reason
    checked: int = 0  # matches replayed on another simulator
    different: int = 0  # of those, how many differ there

    def add(self, other: "PlayCounts") -> None:
        self.decisions += other.decisions
        self.matches += other.matches
        self.voided += other.voided
        self.restarts += other.restarts
        self.ended += other.ended
        self.checked += other.checked
        self.different += other.different

    def state(self) -> dict[str, Any]:
        return asdict(self) | {"ended": dict(self.ended)}

    @staticmethod
    def restored(state: Mapping[str, Any]) -> "PlayCounts":
        return PlayCounts(**{**state, "ended": Counter(state["ended"])})


@dataclass(frozen=True, slots=True)
class Experience:
    """Episodes to learn from, and the matches that ended meanwhile."""

    episodes: Mapping[str, Trajectories]  # by learner, of every learner that has any
    outcomes: Outcomes = NO_OUTCOMES

    def state(self) -> dict[str, Any]:
        """Return everything as a tree of tensors."""
        outcomes = self.outcomes
        arrays: Columns = {"player": outcomes.player, "returns": outcomes.returns, "end_reason": outcomes.end_reason}
        return {
            "episodes": {name: as_tensors(episodes.arrays()) for name, episodes in self.episodes.items()},
            "players": [[source.kind, source.name] for source in outcomes.players],
            "outcomes": as_tensors(arrays),
        }

    @staticmethod
    def restored(state: Mapping[str, Any]) -> "Experience":
        players = tuple(PlayerSource(kind, name) for kind, name in state["players"])
        return Experience(
            {name: Trajectories.from_arrays(as_arrays(part)) for name, part in state["episodes"].items()},
            Outcomes(players, **as_arrays(state["outcomes"])),
        )


class ExperienceSource(Protocol):
    """Where a learner gets its batches from: matches or datasets."""

    @property
    def decisions(self) -> int:
        """Decisions that were played or read so far."""
        ...

    @property
    def metrics(self) -> dict[str, float]:
        """Further metrics."""
        ...

    def batch(self, stop: Stop = never) -> Experience:
        """Return at least `collection.decisions` decisions of the main learner, and everything else that is complete.

        Raises `StoppedError` when `stop` returns true, unless an exact resume needs the rest.
        """
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return everything needed to resume, as a tree of tensors."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class MatchSource(ExperienceSource, Protocol):
    """A source that plays matches."""

    @property
    def counts(self) -> PlayCounts: ...

    @property
    def players(self) -> set[PlayerSource]:
        """The players, including those of matches in flight."""
        ...

    def follow(self, pairings: Pairings) -> None:
        """Draw the next matches from these pairings."""
        ...

    def publish(self, name: str, policy: Policy, version: int) -> None:
        """Make a learner play with these weights; `version` is their number of updates."""
        ...

    def supervise(self) -> None:
        """Replace processes that died; called during other long work."""
        ...


def as_tensors(columns: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in columns.items()}


def as_arrays(tensors: Mapping[str, torch.Tensor]) -> Columns:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
