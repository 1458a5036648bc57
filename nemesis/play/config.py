"""How matches are played for learning, and what a process needs to play them."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nemesis.core.settings import Settings
from nemesis.games.config import GameConfig
from nemesis.policies.config import PolicyConfig


class CollectionConfig(Settings):
    """How matches are played for learning."""

    slots: int = Field(1024, ge=1, le=1_000_000, description="matches in flight in one process")
    decisions: int = Field(8192, ge=1, description="decisions played for each update")
    actors: int = Field(
        0,
        ge=0,
        le=1024,
        description="processes that play beside the learner, each with its slots; 0 plays in turn with it",
    )
    inference: Literal["local", "central"] = Field(
        "local", description="whether each actor runs the networks itself, or one process does for all, as on a GPU"
    )
    staleness: int = Field(8, ge=0, description="updates after which a decision is too old to learn from and left out")
    segment: int | None = Field(
        None,
        ge=1,
        description="decisions after which an episode is learned from in segments, before its match has ended; null "
        "waits for the end, as long as an actor's shared memory allows",
    )


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """What a process needs to know to play the matches of a run."""

    game: GameConfig
    policy: PolicyConfig
    collection: CollectionConfig
    sequence_length: int  # of backpropagation through time
    device: Literal["auto", "cpu", "cuda"]
    threads: int

    @property
    def memory_stride(self) -> int | None:
        """After how many decisions of an episode the memory of its policy is kept, if it has one."""
        return None if self.policy.memory == "none" else self.sequence_length
