"""Members of a population: the policy's possible opponents, with what is known about each."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES
from nemesis.play.pairings import PlayerSource

Category: TypeAlias = Literal["self", "cloned", "past", "exploiter", "scripted"]
CATEGORIES: tuple[Category, ...] = ("self", "cloned", "past", "exploiter", "scripted")

WON, DRAWN, LOST = range(3)


@dataclass(slots=True)
class WinRate:
    """The policy's win rate against an opponent, recent matches counting more."""

    score: float = 0.0  # wins and half the draws,
    weight: float = 0.0  # of so many matches, both fading

    def add(self, scores: npt.NDArray[np.floating[Any]], memory: int) -> None:
        """Add matches (n,) in which the policy scored 1, ½ or 0; after `memory` more, one counts 1/e as much."""
        fading = np.exp(-len(scores) / memory)
        self.score = self.score * fading + float(scores.sum())
        self.weight = self.weight * fading + len(scores)

    @property
    def rate(self) -> float:
        """The win rate; even odds count as two matches, so that nothing is sure at first."""
        return (self.score + 1.0) / (self.weight + 2.0)


@dataclass(slots=True)
class Member:
    """An opponent."""

    name: str
    category: Category
    source: PlayerSource
    rating: float
    joined_at: int  # the update of the policy at which it did
    parent: str | None = None  # the policy that it was made from
    against: WinRate = field(default_factory=WinRate)  # the policy's
    record: npt.NDArray[np.int64] = field(  # (side, result) of the policy against it, over the whole run
        default_factory=lambda: np.zeros((SIDES, 3), dtype=np.int64)
    )

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "category": self.category,
            "source": [self.source.kind, self.source.name],
            "rating": self.rating,
            "joined_at": self.joined_at,
            "parent": self.parent,
            "score": self.against.score,
            "weight": self.against.weight,
            "record": self.record.tolist(),
        }

    @staticmethod
    def from_json(saved: dict[str, Any]) -> "Member":
        kind, source = saved["source"]
        return Member(
            name=saved["name"],
            category=saved["category"],
            source=PlayerSource(kind, source),
            rating=saved["rating"],
            joined_at=saved["joined_at"],
            parent=saved["parent"],
            against=WinRate(saved["score"], saved["weight"]),
            record=np.array(saved["record"], dtype=np.int64),
        )
