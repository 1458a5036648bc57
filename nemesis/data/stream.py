"""The episodes of one dataset, epoch after epoch, shuffled within bounded memory.

In every epoch, the row groups of all shards are put into a random order and cut into windows of about `buffer`
decisions. A window fills the shuffle buffer: its episodes are given in a random order. All orders follow from the seed,
so a position in the stream is a few numbers, and to continue from it one window must be read. While a window is given,
the next one is prefetched, a row group at a time.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from nemesis.core.game import IntArray
from nemesis.data.config import Shares
from nemesis.data.dataset import Dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.shards import DatasetError
from nemesis.data.split import episodes_of

_ROW_GROUPS, _EPISODES = 0, 1  # what is shuffled


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far a stream is."""

    epoch: int = 0
    window: int = 0  # of the epoch
    episode: int = 0  # of the window
    decisions: int = 0  # given since the start

    def state(self) -> dict[str, int]:
        return asdict(self)


class Stream:
    """An endless stream of the episodes of the training split."""

    def __init__(self, dataset: Dataset, shares: Shares, buffer: int, seed: Sequence[int]) -> None:
        self._dataset = dataset
        self._shares = shares
        self._buffer = buffer
        self._seed = tuple(seed)
        self._groups = [(shard, group) for shard in dataset.shards for group in range(len(shard.row_groups))]
        self._rows = np.array([rows for shard in dataset.shards for rows in shard.row_groups])
        self._windows: dict[int, list[IntArray]] = {}
        self._prefetched: list[Episodes] = []  # row groups of the next window
        self.position = StreamPosition()
        self.filled = 0, 0  # row groups of the window that are read, and all of it
        self._window: Episodes | None = None
        self._order: IntArray = np.zeros(0, dtype=np.int64)
        self._ends: IntArray = np.zeros(0, dtype=np.int64)  # decisions up to each episode of the order

    def restore(self, position: StreamPosition) -> None:
        """Continue from a position."""
        self.position = position
        self._window, self._prefetched = None, []

    def take(self, decisions: int) -> list[Episodes]:
        """Return the next episodes, enough for this number of decisions."""
        if self._window is None:
            self._enter(self.position.epoch, self.position.window, self.position.episode)
        parts = []
        empty = 0  # successive windows without an episode of the training split
        while decisions > 0:
            first = self.position.episode
            if first == len(self._order):
                empty = 0 if len(self._order) else empty + 1
                if empty > len(self._windows_of(self.position.epoch)):
                    raise DatasetError(
                        f"All matches of {self._dataset.path} are in the validation or test split; set a smaller "
                        "data.validation or data.test."
                    )
                self._enter(*self._next_window())
                continue
            before = self._ends[first - 1] if first else 0
            last = min(int(np.searchsorted(self._ends, before + decisions)) + 1, len(self._order))
            assert self._window is not None  # noqa: S101
            part = self._window.at(self._order[first:last])
            parts.append(part)
            decisions -= part.decisions
            position = self.position
            self.position = StreamPosition(position.epoch, position.window, last, position.decisions + part.decisions)
        self._prefetch()
        return parts

    def _next_window(self) -> tuple[int, int]:
        """Return the epoch and the number of the next window."""
        epoch, window = self.position.epoch, self.position.window + 1
        return (epoch, window) if window < len(self._windows_of(epoch)) else (epoch + 1, 0)

    def _enter(self, epoch: int, window: int, episode: int = 0) -> None:
        """Fill the shuffle buffer with a window."""
        self._window = None
        groups = self._windows_of(epoch)[window]
        parts, self._prefetched = self._prefetched, []
        for group in groups[len(parts) :]:
            self.filled = len(parts), len(groups)
            parts.append(self._read(int(group)))
        self.filled = len(groups), len(groups)
        self._window = concatenate(parts)
        del parts
        generator = np.random.default_rng((*self._seed, _EPISODES, epoch, window))
        self._order = generator.permutation(self._window.count)
        self._ends = np.cumsum(self._window.lengths[self._order])
        self.position = StreamPosition(epoch, window, episode, self.position.decisions)

    def _prefetch(self) -> None:
        """Read as large a share of the next window as was given of this one."""
        epoch, window = self._next_window()
        groups = self._windows_of(epoch)[window]
        wanted = -(-self.position.episode * len(groups) // max(len(self._order), 1))
        self._prefetched += [self._read(int(group)) for group in groups[len(self._prefetched) : wanted]]

    def _read(self, number: int) -> Episodes:
        shard, group = self._groups[number]
        episodes = shard.read(group)
        chosen = episodes_of(episodes, "train", self._shares)
        return episodes if len(chosen) == episodes.count else episodes.at(chosen)

    def _windows_of(self, epoch: int) -> list[IntArray]:
        """Return the row groups of each window of an epoch."""
        if epoch not in self._windows:
            order = np.random.default_rng((*self._seed, _ROW_GROUPS, epoch)).permutation(len(self._rows))
            ends = np.cumsum(self._rows[order])
            cuts, start = [], 0
            for place, end in enumerate(ends.tolist()):
                if place and end - start > self._buffer:
                    cuts.append(place)
                    start = int(ends[place - 1])
            self._windows = {known: windows for known, windows in self._windows.items() if known >= epoch - 1}
            self._windows[epoch] = np.split(order, cuts)
        return self._windows[epoch]
