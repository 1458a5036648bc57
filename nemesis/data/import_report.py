"""The report of a replay import: what was used, what was dropped and why."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from nemesis.core.replays import ReplayMatch

RATING_STEP = 100
_LONGEST_EXAMPLE = 200  # characters,
_LONGEST_LOCATION = 80  # of which so many are the location


@dataclass
class ImportReport:
    """What an import has done so far."""

    format: str
    read: int = 0
    used: int = 0
    already: int = 0  # in the dataset before
    dropped: Counter[str] = field(default_factory=Counter)  # by reason
    examples: dict[str, str] = field(default_factory=dict)  # the first replay that was dropped for each reason
    seats_left_out: int = 0  # of matches that are used
    decisions: int = 0
    known: int = 0  # decisions whose action is known
    possible: int = 0  # of the others, those for which some actions can be excluded
    request_unsure: int = 0  # decisions whose mask may be wrong
    late: int = 0  # decisions that the server may have made
    illegal: Counter[str] = field(default_factory=Counter)  # decisions that no legal action fits, by cause
    rated_to_end: int = 0  # rated matches of the format that were played to their end
    rated_to_end_used: int = 0
    ratings: Counter[int] = field(default_factory=Counter)  # seats by rating, in steps of 100
    starting: float = 0.0  # seconds until the readers were ready
    seconds: float = 0.0  # since then

    @property
    def matches_per_second(self) -> float:
        return self.read / self.seconds if self.seconds else 0.0

    def drop(self, reason: str, location: str, message: str) -> None:
        """Count a replay that is not used."""
        self.dropped[reason] += 1
        # The end of a long path says more than its start.
        place = location if len(location) <= _LONGEST_LOCATION else f"…{location[1 - _LONGEST_LOCATION :]}"
        self.examples.setdefault(reason, _printable(f"{place}: {message}"))

    def use(self, match: ReplayMatch) -> None:
        """Count a match that is used."""
        self.used += 1
        self.rated_to_end_used += match.rated_to_end
        self.seats_left_out += match.seats_left_out
        self.request_unsure += match.request_unsure
        self.late += match.late
        self.illegal.update(match.illegal)
        for episode in match.episodes:
            self.decisions += len(episode.action)
            self.known += int((episode.action >= 0).sum())
            self.possible += int(episode.possible.any(axis=1).sum())
            if episode.rating > 0:
                self.ratings[int(episode.rating // RATING_STEP * RATING_STEP)] += 1

    def figures(self) -> dict[str, Any]:
        """Return all figures, for JSON."""
        return {
            "format": self.format,
            "read": self.read,
            "used": self.used,
            "already": self.already,
            "dropped": dict(self.dropped.most_common()),
            "seats_left_out": self.seats_left_out,
            "decisions": self.decisions,
            "known": self.known,
            "possible": self.possible,
            "request_unsure": self.request_unsure,
            "late": self.late,
            "illegal": self.illegal.total(),
            "illegal_causes": dict(self.illegal.most_common()),
            "rated_to_end": self.rated_to_end,
            "rated_to_end_used": self.rated_to_end_used / self.rated_to_end if self.rated_to_end else None,
            "ratings": {str(low): count for low, count in sorted(self.ratings.items())},
            "starting_seconds": self.starting,
            "seconds": self.seconds,
            "matches_per_second": self.matches_per_second,
        }


def _printable(text: str) -> str:
    """Return a text of untrusted origin as one line that a terminal can show."""
    return "".join(one if one.isprintable() else "?" for one in text[:_LONGEST_EXAMPLE])
