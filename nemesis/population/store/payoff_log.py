"""The log of all matches of a population: `payoffs.jsonl`, to which matches are appended as they end.

A line is a JSON object. The first of every session says who plays how: its number, the settings of the game that differ
from those of the population, and the seed. Every other line has matches that ended together, as lists of equal length.
The last key of a line, `check`, is a checksum of what comes before it. A line is written by one call, so that a process
that is killed leaves at most one incomplete line, the last. That line is dropped by readers, and cut off by the next
writer. A match is identified by its session, pool and number, and counted once.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Self
from zlib import crc32

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.files import WriteError
from nemesis.core.game import IntArray
from nemesis.evaluation.payoffs.counts import PayoffCounts, results_of
from nemesis.play.match_stream import FinishedMatches

_log = logging.getLogger(__name__)

LOG = "payoffs.jsonl"
DEFAULT_SETUP = ""
"""The name of the settings of the population."""

_COLUMNS = ("match", "first", "second", "side", "result", "end_reason", "turns")
_CHECK = ',"check":"'
_SYNC_SECONDS = 1.0  # between waits until what was appended is on disk


@dataclass(frozen=True, slots=True)
class Session:
    """One call that plays matches."""

    number: int
    setup: Mapping[str, Any]  # settings of the game that differ from those of the population, by their paths
    seed: int
    started: str

    @property
    def setup_name(self) -> str:
        """The settings as they are given to a command; empty for those of the population."""
        return " ".join(f"{path}={value}" for path, value in sorted(self.setup.items()))


@dataclass(frozen=True, slots=True)
class LoggedMatches:
    """All matches of a log, by column. Players are numbers of members."""

    session: IntArray  # (n,)
    pool: IntArray
    match: IntArray
    first: IntArray
    second: IntArray
    side: IntArray  # of the first player
    result: IntArray  # of the first player: 0 won, 1 drawn, 2 lost, −1 voided
    end_reason: IntArray
    turns: IntArray  # −1 where the game counts none

    def __len__(self) -> int:
        return len(self.match)


@dataclass(frozen=True, slots=True)
class PayoffLog:
    """What a log says."""

    sessions: Mapping[int, Session]
    matches: LoggedMatches
    problems: tuple[str, ...] = ()  # a sentence about each part that is damaged

    @property
    def setups(self) -> list[str]:
        """The names of all settings that were played with."""
        return list(dict.fromkeys(session.setup_name for session in self.sessions.values()))

    def counts(self, members: int, setup: str | None = None) -> PayoffCounts:
        """Count the matches among so many members; with a setup, only those."""
        played = self.matches
        chosen = [number for number, one in self.sessions.items() if setup is None or one.setup_name == setup]
        rows = np.flatnonzero(np.isin(played.session, chosen))
        counts = PayoffCounts(members)
        counts.add_results(played.first[rows], played.second[rows], played.side[rows], played.result[rows])
        return counts


def read_log(folder: Path) -> PayoffLog:
    """Read the log of a population; what is damaged is dropped, and said in the log's problems."""
    sessions: dict[int, Session] = {}
    columns: dict[str, list[Any]] = {name: [] for name in ("session", "pool", *_COLUMNS)}
    problems: list[str] = []
    for number, line in enumerate(_lines(folder / LOG), 1):
        content = _content(line)
        if content is None:
            where = "the last line" if not line.endswith(b"\n") else f"line {number}"
            problems.append(f"{folder / LOG}: {where} is damaged, so its matches are dropped.")
        elif "setup" in content:
            session = Session(content["session"], content["setup"], content["seed"], content["started"])
            sessions[session.number] = session
        else:
            size = len(content["match"])
            columns["session"].append(np.full(size, content["session"]))
            columns["pool"].append(np.full(size, content["pool"]))
            for name in _COLUMNS:
                columns[name].append(np.array(content[name], dtype=np.int64))
    arrays = {name: np.concatenate([np.zeros(0, dtype=np.int64), *parts]) for name, parts in columns.items()}
    return _without_repeated(folder, sessions, arrays, problems)


class PayoffWriter:
    """Appends the matches of one session to a log. Only one process may do so at a time."""

    def __init__(self, folder: Path, log: PayoffLog, setup: Mapping[str, Any], seed: int) -> None:
        """Begin a session after those of the log, which was read before; without matches, nothing is written of it."""
        self._path = folder / LOG
        number = max(log.sessions, default=-1) + 1
        self.session = Session(number, setup, seed, datetime.now(UTC).isoformat(timespec="seconds"))
        _cut_incomplete(self._path)
        try:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise WriteError(self._path, error) from error
        self._synced = monotonic()
        self._begun = False

    def add(self, pool: int, played: FinishedMatches) -> None:
        """Append matches; players are numbers of members."""
        if not self._begun:
            one = self.session
            self._append({"session": one.number, "setup": dict(one.setup), "seed": one.seed, "started": one.started})
            self._begun = True
        result = results_of(played.returns, played.end_reason)
        columns = (
            played.match, played.first, played.second, played.side, result, played.end_reason, played.turns
        )  # fmt: skip
        listed = {name: column.tolist() for name, column in zip(_COLUMNS, columns, strict=True)}
        self._append({"session": self.session.number, "pool": pool, **listed})

    def close(self) -> None:
        with suppress(OSError):  # what was written can be read anyway
            os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, separators=(",", ":"))[:-1]
        line = f'{text}{_CHECK}{crc32(text.encode()):08x}"}}\n'.encode()
        try:
            while line:  # a full disk takes only part of it
                line = line[os.write(self._file, line) :]
            if monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = monotonic()
        except OSError as error:
            raise WriteError(self._path, error) from error


def warn_of_problems(log: PayoffLog) -> None:
    """Say what is damaged."""
    for problem in log.problems:
        _log.warning(problem)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _content(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; None if it is damaged."""
    text, mark, check = line.rpartition(_CHECK.encode())
    if not mark or not line.endswith(b"\n") or check != f'{crc32(text):08x}"}}\n'.encode():
        return None
    content: dict[str, Any] = json.loads(line)
    return content


def _without_repeated(
    folder: Path, sessions: Mapping[int, Session], arrays: dict[str, IntArray], problems: list[str]
) -> PayoffLog:
    """Return the log with every match once."""
    key = np.stack([arrays["session"], arrays["pool"], arrays["match"]], axis=1)
    _, kept = np.unique(key, axis=0, return_index=True)
    if len(kept) < len(key):
        problems.append(f"{folder / LOG}: {len(key) - len(kept)} matches are there twice, and count once.")
        arrays = {name: column[np.sort(kept)] for name, column in arrays.items()}
    return PayoffLog(sessions, LoggedMatches(**arrays), tuple(problems))


def _cut_incomplete(path: Path) -> None:
    """Cut off the last line if it is incomplete, so that the next line begins a new one."""
    try:
        with path.open("rb+") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                begin = max(end - (1 << 16), 0)
                file.seek(begin)
                place = file.read(end - begin).rfind(b"\n")
                if place >= 0:
                    file.truncate(begin + place + 1)
                    return
                end = begin
            file.truncate(0)
    except FileNotFoundError:
        return
    except OSError as error:
        raise WriteError(path, error) from error
