"""Counts of what is in episodes; the counts of parts add up to those of the whole."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import model_validator

from nemesis.core.settings import Settings
from nemesis.data.episodes import Episodes

_RATING_STEP = 100


class Tally(Settings):
    """Counts of one format."""

    matches: int = 0
    episodes: int = 0
    decisions: int = 0
    known: int = 0  # decisions whose action is known
    possible: int = 0  # decisions whose action is unknown, but for which some actions are excluded
    wins: int = 0  # episodes by result
    draws: int = 0
    losses: int = 0
    rated: int = 0  # episodes

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, counts: Any) -> Any:
        """Read `battles`, as cards of Nemesis before 0.3 call the matches."""
        if not isinstance(counts, Mapping) or "battles" not in counts:
            return counts
        return {"matches" if name == "battles" else name: count for name, count in counts.items()}

    def plus(self, other: "Tally") -> "Tally":
        own, theirs = self.model_dump(), other.model_dump()
        return Tally(**{name: own[name] + theirs[name] for name in own})


class Summary(Settings):
    """Counts by format, and of episodes by rating."""

    formats: Mapping[str, Tally] = {}
    ratings: Mapping[int, int] = {}  # episodes by rating, in steps of 100

    @staticmethod
    def of(episodes: Episodes) -> "Summary":
        """Count episodes."""
        lengths = episodes.lengths
        narrowed = np.zeros(episodes.decisions, bool) if episodes.possible is None else episodes.possible.any(axis=1)
        known, possible = (
            np.add.reduceat(rows, episodes.offsets[:-1], dtype=int) if episodes.count else lengths
            for rows in (episodes.known, narrowed)
        )
        first_of_match = np.isin(np.arange(episodes.count), episodes.match_starts)
        rated = np.isfinite(episodes.rating)
        formats = {}
        for name in np.unique(episodes.format).tolist():
            own = episodes.format == name
            result = episodes.result[own]
            formats[name] = Tally(
                matches=int(first_of_match[own].sum()),
                episodes=int(own.sum()),
                decisions=int(lengths[own].sum()),
                known=int(known[own].sum()),
                possible=int(possible[own].sum()),
                wins=int((result > 0).sum()),
                draws=int((result == 0).sum()),
                losses=int((result < 0).sum()),
                rated=int(rated[own].sum()),
            )
        hundreds = (episodes.rating[rated] // _RATING_STEP * _RATING_STEP).astype(int)
        return Summary(formats=formats, ratings=Counter(hundreds.tolist()))

    def plus(self, other: "Summary") -> "Summary":
        formats = {
            name: self.formats.get(name, Tally()).plus(other.formats.get(name, Tally()))
            for name in sorted({*self.formats, *other.formats})
        }
        ratings = Counter(self.ratings) + Counter(other.ratings)
        return Summary(formats=formats, ratings=dict(sorted(ratings.items())))

    @property
    def total(self) -> Tally:
        total = Tally()
        for one in self.formats.values():
            total = total.plus(one)
        return total

    def lines(self) -> list[str]:
        """Return the summary as Markdown: a table of formats, and one of ratings if there are any."""
        names = list(Tally.model_fields)
        lines = [f"| format | {' | '.join(names)} |", "|---" + "|---:" * len(names) + "|"]
        rows = [*self.formats.items(), *([("all", self.total)] if len(self.formats) > 1 else [])]
        lines += [
            f"| {name} | {' | '.join(f'{count:,}' for count in row.model_dump().values())} |" for name, row in rows
        ]
        if self.ratings:
            most = max(self.ratings.values())
            lines += ["", "| rating | episodes | |", "|---|---:|---|"]
            lines += [
                f"| {low}–{low + _RATING_STEP - 1} | {count:,} | {'█' * math.ceil(20 * count / most)} |"
                for low, count in self.ratings.items()
            ]
        return lines
