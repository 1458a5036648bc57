"""Writes datasets: complete shards of a bounded size, and the card at the end."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from filelock import FileLock, Timeout

from nemesis.core.files import sync
from nemesis.core.game import GameSpec
from nemesis.core.masks import is_legal
from nemesis.data.dataset import CARD, Card, shard_number, shard_path, shard_paths, write_card
from nemesis.data.episodes import ENDINGS, Episodes, concatenate
from nemesis.data.shards import DatasetError, Kind, Options, Shard, ShardFile, open_shard

SHARD_DECISIONS = 1 << 16
ROW_GROUP_DECISIONS = 1 << 11
_TEMPORARY = ".tmp-shard"
_OWN_FILES = frozenset({"lock", CARD, "README.md", _TEMPORARY, f".tmp-{CARD}", ".tmp-README.md"})


class DatasetWriter:
    """A dataset that is locked for writing. A context manager; if it ends before `finish`, another can continue."""

    def __init__(
        self,
        path: Path,
        spec: GameSpec,
        *,
        add: bool = False,
        options: Options | None = None,
        shard_decisions: int = SHARD_DECISIONS,
        row_group_decisions: int = ROW_GROUP_DECISIONS,
    ) -> None:
        """Start in a new or empty folder or, with `add`, continue a dataset, finished or not.

        The shards of the dataset must not have been made with other values of the `options`.
        """
        self.path = path
        self._options = options or {}
        self._kind = Kind.of(spec)
        self._limits = shard_decisions, min(row_group_decisions, shard_decisions)
        self._shards: list[Shard] = []
        self._open: ShardFile | None = None
        self._pending: list[Episodes] = []  # of the next row group
        self._pending_decisions = 0
        self._written = 0  # decisions of the open shard
        self._lock = FileLock(path / "lock", thread_local=False)
        self._new: list[Path] = []  # folders and the lock, if they were not there before
        try:
            self._new = _missing(path / "lock")
            path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            check_folder(path, add)
            self._shards = [self._checked(file) for file in shard_paths(path)]
            self.sources = set().union(*(shard.sources() for shard in self._shards))
        except Timeout:
            raise DatasetError(f"{path} is being written by another process; wait, or name another folder.") from None
        except OSError as error:
            self._release()
            raise DatasetError(f"{path} cannot be written to ({error.strerror}); name another --out.") from error
        except BaseException:
            self._release()
            raise
        self._next = max((shard_number(shard.path) for shard in self._shards), default=-1) + 1

    @property
    def format(self) -> str:
        return self._kind.format

    @property
    def decisions(self) -> int:
        """The number of decisions in the dataset, including those not written yet."""
        stored = sum(shard.summary.total.decisions for shard in self._shards)
        return stored + self._written + self._pending_decisions

    def append(self, episodes: Episodes) -> None:
        """Add matches, each with all of its seats. Their ids are added to `sources`; none may be there already."""
        if not episodes.count:
            return
        self._check(episodes)
        shard_limit, row_group_limit = self._limits
        for part in _portions(episodes, row_group_limit):
            if self._pending_decisions + part.decisions > row_group_limit:
                self._write_row_group()
            if self._written + self._pending_decisions + part.decisions > shard_limit:
                self._end_shard()
            self._pending.append(part)
            self._pending_decisions += part.decisions

    def finish(self) -> Card:
        """Write what is pending, and the card."""
        self._end_shard()
        if not self._shards:
            raise DatasetError(f"There is no episode to write, so {self.path} would be an empty dataset.")
        return write_card(self.path, self._shards)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._end_shard()  # keeps the complete matches
        if self._open is not None:
            self._open.abandon()
            self._open = None
        (self.path / _TEMPORARY).unlink(missing_ok=True)
        self._release()

    def _release(self) -> None:
        """End writing; of a dataset without any shard, nothing new remains."""
        if not self._shards:
            for path in reversed(self._new):
                with suppress(OSError):
                    path.rmdir() if path.is_dir() else path.unlink()
        self._lock.release()

    def _check(self, episodes: Episodes) -> None:
        kind = self._kind
        widths = (episodes.view.shape[1], episodes.view.dtype.itemsize, episodes.mask.shape[1])
        if widths != (kind.view_size, kind.view_bytes, kind.mask_bytes):
            raise ValueError(f"Episodes with views and masks of {widths} do not fit {kind}.")
        if (episodes.lengths < 1).any():
            raise ValueError("An episode has no decision.")
        if not np.isin(episodes.ending, ENDINGS).all():
            raise ValueError(f"An ending is none of {', '.join(ENDINGS)}: {set(episodes.ending)}.")
        if not (is_legal(episodes.mask, episodes.action) | ~episodes.known).all():
            raise ValueError("An action is not legal under its mask.")
        if episodes.possible is not None:
            if (episodes.possible & ~episodes.mask).any():
                raise ValueError("A possible action is not legal under its mask.")
            if episodes.possible[episodes.known].any():
                raise ValueError("A decision has both a known action and possible ones.")
        new = episodes.source[episodes.match_starts].tolist()
        if len(set(new)) < len(new) or not self.sources.isdisjoint(new):
            seen: set[str] = set(self.sources)
            twice = next(source for source in new if source in seen or seen.add(source))  # type: ignore[func-returns-value]
            raise DatasetError(f"The match {twice} is already in {self.path}, or was given twice.")
        self.sources.update(new)

    def _checked(self, file: Path) -> Shard:
        shard = open_shard(file)
        if shard.kind != self._kind:
            raise DatasetError(
                f"{self.path} is of {shard.kind.game} with views of version {shard.kind.view_version}; "
                f"{self._kind.game} with {self._kind.view_version} cannot be added to it."
            )
        for name, value in self._options.items():
            if shard.options.get(name, value) != value:
                made = "without" if value else "with"
                raise DatasetError(
                    f"{self.path} was made {made} {name}; add to it in the same way, or name another --out."
                )
        return shard

    def _write_row_group(self) -> None:
        if not self._pending:
            return
        with self._disk_errors():
            if self._open is None:
                self._open = ShardFile(self.path / _TEMPORARY, self._kind, self._options)
            self._open.write(concatenate(self._pending))
        self._written += self._pending_decisions
        self._pending, self._pending_decisions = [], 0

    def _end_shard(self) -> None:
        self._write_row_group()
        if self._open is None:
            return
        target, temporary = shard_path(self.path, self._next), self.path / _TEMPORARY
        with self._disk_errors():
            self._open.close()
            self._open = None
            sync(temporary)
            temporary.rename(target)
            sync(self.path)
        self._shards.append(open_shard(target))
        self._next += 1
        self._written = 0

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DatasetError(
                f"{self.path} cannot be written to ({error.strerror or error}); free or repair the disk, then go on "
                "with --add."
            ) from error


def _portions(episodes: Episodes, limit: int) -> list[Episodes]:
    """Cut episodes into parts of whole matches, of at most so many decisions or of one match that has more."""
    starts = np.append(episodes.match_starts, episodes.count)
    rows = episodes.offsets[starts]  # first rows of matches
    parts, first = [], 0
    while first < len(starts) - 1:
        last = max(int(np.searchsorted(rows, rows[first] + limit, side="right")) - 1, first + 1)
        parts.append(episodes.at(np.arange(starts[first], starts[last])))
        first = last
    return parts


def _missing(path: Path) -> list[Path]:
    """Return what does not exist yet of a path: its highest folder first, itself last."""
    return [one for one in (*reversed(path.parents), path) if not one.exists()]


def check_folder(path: Path, add: bool) -> None:
    """Raise if a folder has something that a dataset would mix with, or replace; a new one has nothing."""
    try:
        names = {file.name for file in path.iterdir()} if path.exists() else set()
    except OSError as error:
        raise DatasetError(f"{path} cannot be written to ({error.strerror}); name another --out.") from error
    shards = {file.name for file in shard_paths(path)}
    if names - shards - _OWN_FILES:
        raise DatasetError(f"{path} has files that are not part of a dataset; name another --out.")
    if shards and not add:
        state = "already has a dataset" if CARD in names else "has an unfinished dataset"
        raise DatasetError(f"{path} {state}; continue it with --add, or name another --out.")
