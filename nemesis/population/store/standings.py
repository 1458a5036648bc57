"""What the matches of a population say: payoffs, ratings, and how far no ranking explains them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nemesis.evaluation.intransitivity import Intransitivity, intransitivity
from nemesis.evaluation.payoffs.counts import PayoffCounts
from nemesis.evaluation.ratings import Rating, rate
from nemesis.population.store.payoff_log import PayoffLog, read_log
from nemesis.storage.populations import MemberRecord, PopulationRecord, read_population


@dataclass(frozen=True)
class Standings:
    """The members of a population, with the counts of their matches in the same order."""

    population: PopulationRecord
    members: Sequence[MemberRecord]
    counts: PayoffCounts
    log: PayoffLog

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]

    @cached_property
    def ratings(self) -> list[Rating]:
        """Ratings, best first, of the members that results connect; members without matches have none.

        The ratings of anchors are fixed. Where members fall into groups that never met and have no anchors, the ratings
        are those of the largest group.
        """
        anchors = {one.name: one.anchor for one in self.members if one.anchor is not None}
        chosen = _largest_group(self.counts.matches > 0, np.array([one.name in anchors for one in self.members]))
        if len(chosen) < 2:
            return []
        names = [self.names[number] for number in chosen]
        counts = self.counts.of(chosen)
        own = {name: float(rating) for name, rating in anchors.items() if name in names}
        return rate(names, counts.points, own, counts.draws.astype(np.float64))

    @cached_property
    def intransitivity(self) -> Intransitivity:
        return intransitivity(self.counts)

    def as_json(self) -> dict[str, Any]:
        low, high = self.counts.intervals
        rates = np.where(self.counts.matches > 0, self.counts.win_rates, np.nan)
        cycles = [
            {
                "members": [self.names[one] for one in cycle.players],
                "win_rates": cycle.win_rates,
                "certain": cycle.certain,
            }
            for cycle in self.intransitivity.cycles
        ]
        share = self.intransitivity.share
        return {
            "game": self.population.game,
            "members": self.names,
            "matches": self.counts.matches.tolist(),
            "voided": self.counts.voided.tolist(),
            "win_rates": [[None if np.isnan(one) else float(one) for one in row] for row in rates],
            "low": low.tolist(),
            "high": high.tolist(),
            "ratings": [rating.as_json() for rating in self.ratings],
            "cyclic_share": None if np.isnan(share) else share,
            "cycles": cycles,
        }


def standings(path: Path, setup: str | None = None) -> Standings:
    """Return the standings of a population, over all settings that it played with, or over one of them."""
    population = read_population(path)
    log = read_log(path)
    members = population.members
    numbers = np.array([member.number for member in members], dtype=np.int64)
    counts = log.counts(len(population.every_member), setup).of(numbers)
    return Standings(population, members, counts, log)


def _largest_group(met: np.ndarray[Any, np.dtype[np.bool_]], anchored: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
    """Return the members (n,) of the largest group that results or anchors connect."""
    reached = np.eye(len(met), dtype=np.bool_) | met | np.outer(anchored, anchored)
    for _ in range(max(len(met), 1).bit_length()):
        reached = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    if not len(met):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(reached[reached.sum(axis=1).argmax()])
