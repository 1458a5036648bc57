"""Members of a population: the possible opponents of the policy, with their ratings and win rates."""

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
    """The policy's win rate against an opponent, as an exponential moving average."""

    score: float = 0.0  # wins and half the draws
    weight: float = 0.0  # matches; both decay exponentially

    def add(self, scores: npt.NDArray[np.floating[Any]], memory: int) -> None:
        """Add matches (n,) with scores 1, ½ or 0; the weight of a match falls to 1/e after `memory` more."""
        decay = np.exp(-len(scores) / memory)
        self.score = self.score * decay + float(scores.sum())
        self.weight = self.weight * decay + len(scores)

    @property
    def rate(self) -> float:
        """The win rate, with a prior of one win and one loss."""
        return (self.score + 1.0) / (self.weight + 2.0)


@dataclass(slots=True)
class Member:
    """An opponent."""

    name: str
    category: Category
    source: PlayerSource
    rating: float
    joined_at: int  # update of the policy
    parent: str | None = None  # the policy that it was made from
    against: WinRate = field(default_factory=WinRate)  # of the policy against it
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
