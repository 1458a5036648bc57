"""The episodes of one dataset, epoch after epoch, each time in another order, with bounded memory.

In every epoch, the row groups of all shards are put into a random order and cut into windows of about `buffer`
decisions. The episodes of a window are shuffled among each other. All orders follow from the seed, so that a place in
the stream is three numbers, and going on from it costs the reading of one window. While a window is used up, the next
one is read, a row group at a time.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from nemesis.core.game import IntArray
from nemesis.data.dataset import Dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.shards import DatasetError
from nemesis.data.split import Shares, episodes_of

_ROW_GROUPS, _EPISODES = 0, 1  # what is shuffled


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stream is."""

    epoch: int = 0
    window: int = 0  # of the epoch
    episode: int = 0  # of the window
    drawn: int = 0  # decisions in all

    def state(self) -> dict[str, int]:
        return asdict(self)


class Stream:
    """An endless stream of episodes."""

    def __init__(self, dataset: Dataset, shares: Shares, buffer: int, seed: Sequence[int]) -> None:
        """Give what is learned from."""
        self._dataset = dataset
        self._shares = shares
        self._buffer = buffer
        self._seed = tuple(seed)
        self._groups = [(shard, group) for shard in dataset.shards for group in range(len(shard.row_groups))]
        self._rows = np.array([rows for shard in dataset.shards for rows in shard.row_groups])
        self._windows: dict[int, list[IntArray]] = {}
        self._ahead: list[Episodes] = []  # of the next window
        self.place = Place()
        self._window: Episodes | None = None
        self._order: IntArray = np.zeros(0, dtype=np.int64)
        self._ends: IntArray = np.zeros(0, dtype=np.int64)  # decisions up to each episode of the order

    def restore(self, place: Place) -> None:
        """Go on from a place."""
        self.place = place
        self._window, self._ahead = None, []

    def take(self, decisions: int) -> list[Episodes]:
        """Return the next episodes, as many as it takes to have so many decisions."""
        if self._window is None:
            self._enter(self.place.epoch, self.place.window, self.place.episode)
        parts = []
        barren = 0  # windows in a row that had nothing that is not held out
        while decisions > 0:
            first = self.place.episode
            if first == len(self._order):
                barren = 0 if len(self._order) else barren + 1
                if barren > len(self._windows_of(self.place.epoch)):
                    raise DatasetError(
                        f"All battles of {self._dataset.path} are held out; set another data.validation."
                    )
                self._enter(*self._following())
                continue
            before = self._ends[first - 1] if first else 0
            last = min(int(np.searchsorted(self._ends, before + decisions)) + 1, len(self._order))
            assert self._window is not None  # noqa: S101
            parts.append(self._window.at(self._order[first:last]))
            decisions -= parts[-1].decisions
            place = self.place
            self.place = Place(place.epoch, place.window, last, place.drawn + parts[-1].decisions)
        self._read_ahead()
        return parts

    def _following(self) -> tuple[int, int]:
        """Return the epoch and the window after this one."""
        epoch, window = self.place.epoch, self.place.window + 1
        return (epoch, window) if window < len(self._windows_of(epoch)) else (epoch + 1, 0)

    def _enter(self, epoch: int, window: int, episode: int = 0) -> None:
        """Begin a window."""
        self._window = None
        groups = self._windows_of(epoch)[window]
        parts, self._ahead = self._ahead, []
        parts += [self._read(int(group)) for group in groups[len(parts) :]]
        self._window = concatenate(parts)
        del parts
        generator = np.random.default_rng((*self._seed, _EPISODES, epoch, window))
        self._order = generator.permutation(self._window.count)
        self._ends = np.cumsum(self._window.lengths[self._order])
        self.place = Place(epoch, window, episode, self.place.drawn)

    def _read_ahead(self) -> None:
        """Have as much of the next window read as this one is used up."""
        epoch, window = self._following()
        groups = self._windows_of(epoch)[window]
        wanted = -(-self.place.episode * len(groups) // max(len(self._order), 1))
        self._ahead += [self._read(int(group)) for group in groups[len(self._ahead) : wanted]]

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
            cuts, begun = [], 0
            for place, end in enumerate(ends.tolist()):
                if place and end - begun > self._buffer:
                    cuts.append(place)
                    begun = int(ends[place - 1])
            self._windows = {one: known for one, known in self._windows.items() if one >= epoch - 1}
            self._windows[epoch] = np.split(order, cuts)
        return self._windows[epoch]
