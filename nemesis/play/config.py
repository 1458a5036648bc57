"""The settings of experience collection, and what a process needs to play matches."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nemesis.core.plugins import ImportPermission
from nemesis.core.settings import Settings
from nemesis.games.config import GameConfig
from nemesis.policies.config import PolicyConfig


class CollectionConfig(Settings):
    """Settings of experience collection."""

    slots: int = Field(1024, ge=1, le=1_000_000, description="concurrent matches per process")
    decisions: int = Field(8192, ge=1, description="decisions collected per update")
    actors: int = Field(
        0,
        ge=0,
        le=1024,
        description="processes that play in parallel with the learner; 0 alternates both in one process",
    )
    inference: Literal["local", "central"] = Field(
        "local", description="local: each actor runs the networks; central: one process runs them for all, for a GPU"
    )
    staleness: int = Field(8, ge=0, description="age in updates above which decisions are discarded")
    segment: int | None = Field(
        None,
        ge=1,
        description="length in decisions of the segments in which long episodes are learned from before their match "
        "has ended; null waits for the end, unless an episode exceeds an actor's shared memory",
    )


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """The settings that a process needs to play the matches of a run."""

    game: GameConfig
    policy: PolicyConfig
    collection: CollectionConfig
    sequence_length: int  # of backpropagation through time
    device: Literal["auto", "cpu", "cuda"]
    threads: int
    imports: ImportPermission = False  # names of code that the players of the run may use

    @property
    def memory_stride(self) -> int | None:
        """Interval in decisions at which memory states are stored; None for policies without memory."""
        return None if self.policy.memory == "none" else self.sequence_length
