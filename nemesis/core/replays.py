"""Public replays: the contract between a game family that can read them and the import into datasets.

A *replay log* is the public record of a match between people. An *archive* gives the logs of files and folders. An
*episode reader* turns logs into what each seat saw and did. What a log does not show can be guessed (imputed) from
usage statistics, which are counted in a first pass over the archive. A `ReplayFamily` opens all of these for one family
of games.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.game import Game, IntArray
from nemesis.core.masks import PackedMask

UsageCounts: TypeAlias = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Usage statistics: how often each value was seen, by entity and kind of fact."""


class ReaderError(Exception):
    """An episode reader failed: its process died or gave no usable answer. It must be replaced."""


@dataclass(frozen=True, slots=True)
class ReplayLog:
    """The public log of a match, not read yet."""

    id: str
    text: str
    location: str  # file and line


@dataclass(frozen=True, slots=True)
class ReplayError:
    """Why a replay cannot be used."""

    id: str  # of the replay, or the path of a file
    reason: str  # a short name to count by
    message: str  # a sentence
    line: int = 0  # from 1; 0 if it concerns the whole log
    rated_to_end: bool = False  # whether it is a rated match of the right format that was played to its end

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{self.id}{line}: {self.message}"


@dataclass(frozen=True, slots=True)
class ReplayEpisode:
    """What one seat of a match saw and did, in order."""

    seat: int
    result: float  # −1, 0 or 1
    rating: float  # of who had the seat, nan if there is none
    view: npt.NDArray[Any]  # (n, view)
    mask: PackedMask  # (n, byte)
    action: IntArray  # (n,) −1 where it is unknown
    possible: PackedMask  # (n, byte) what an unknown action may have been, 0 if nothing is known about it
    guessed: npt.NDArray[np.uint8]  # (n, byte) packed like masks: which numbers of the view are guessed (imputed)
    tick: IntArray  # (n,) number of earlier decisions of the match, of all seats


@dataclass(frozen=True, slots=True)
class ReplayMatch:
    """A match that was read."""

    id: str
    players: tuple[str, ...]  # who took part, written alike in all of their matches
    rated: bool
    ending: str  # played, forfeit or timer
    episodes: tuple[ReplayEpisode, ...]  # at least one
    seats_left_out: int  # that cannot be read
    request_unsure: int  # decisions whose mask may be wrong
    late: int  # decisions that the server may have made
    illegal: Mapping[str, int]  # decisions that no legal action fits, by cause

    @property
    def rated_to_end(self) -> bool:
        return self.rated and self.ending == "played"


class ReplayArchive(Protocol):
    """The replay logs of files and folders. Every iteration starts with the first."""

    def __iter__(self) -> Iterator[ReplayLog | ReplayError]: ...

    @property
    def progress(self) -> float:
        """The share of the files that this iteration has read."""
        ...


class EpisodeReader(Protocol):
    """Reads replay logs of one format. Every method but `close` may raise `ReaderError`."""

    def read(self, logs: Sequence[ReplayLog]) -> list[ReplayMatch | ReplayError]:
        """Return what was read of each log, in order."""
        ...

    def count_usage(self, logs: Sequence[ReplayLog]) -> UsageCounts:
        """Return the usage statistics of the logs."""
        ...

    def impute(self, usage: UsageCounts) -> None:
        """From now on, sample what logs do not show from these statistics; it is marked as guessed in any case."""
        ...

    def close(self) -> None: ...


class ReplayFamily(Protocol):
    """A family of games whose public replays can be read."""

    def open_archive(self, paths: Sequence[Path]) -> ReplayArchive: ...

    def find_format(self, log: ReplayLog) -> str | None:
        """Return the id of the format that a log is of, None if it does not say so."""
        ...

    def open_game(self, format_name: str) -> Game:
        """Return the game of a format."""
        ...

    def open_readers(self, game: Game, count: int, *, unfinished: bool) -> list[EpisodeReader]:
        """Return readers for a game of this family; matches that ended by forfeit or timer are errors unless asked."""
        ...

    def total_usage(self, counts: Iterable[UsageCounts]) -> UsageCounts:
        """Return the sum of usage statistics, whatever their order."""
        ...
