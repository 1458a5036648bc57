"""Batches of whole episodes from a mixture of datasets, made in a thread beside the learner.

A batch has at least so many decisions, of which each source gives its share: whoever is behind its share gives more.
What is in a batch follows from the seed and from where the streams were before it, so that a feed that goes on from a
saved state gives the same batches as one that was never stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig
from nemesis.data.dataset import open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.preparation import Preparation
from nemesis.data.stream import Place, Stream

_AHEAD = 2  # batches that wait for the learner
_PATIENCE = 0.1  # seconds between looks at whether the feed was closed
_AUGMENTATION = 1 << 20  # a seed that no source has


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a feed is."""

    batches: int
    places: tuple[Place, ...]  # of the sources


@dataclass(frozen=True, slots=True)
class _Batch:
    trajectories: Trajectories
    after: _Position


class Feed:
    """Gives batches of at least so many decisions, for ever."""

    def __init__(
        self, config: DataConfig, game: Game, decisions: int, seed: int, part: tuple[int, int] = (0, 1)
    ) -> None:
        """Give only this part of every batch, (number, of how many), which has that share of its episodes."""
        self._config = config
        self._decisions = decisions
        self._seed = seed
        self._part = part
        self._preparation = Preparation(config, game)
        self.datasets = {
            path: open_dataset(Path(path), game.spec, any_format=config.any_format) for path in config.sources
        }
        weights = np.array(list(config.sources.values()))
        self._shares = weights / weights.sum()
        self._streams = [
            Stream(dataset, config.shares, max(int(config.buffer * share), 1), (seed, number))
            for number, (dataset, share) in enumerate(zip(self.datasets.values(), self._shares, strict=True))
        ]
        self._position = _Position(0, tuple(stream.place for stream in self._streams))
        self._reader: _Reader | None = None

    @property
    def epochs(self) -> dict[str, int]:
        """How often all of each source has been given, by its path."""
        return {path: place.epoch for path, place in zip(self.datasets, self._position.places, strict=True)}

    @property
    def drawn(self) -> int:
        """How many decisions have been given, to all processes."""
        return sum(place.drawn for place in self._position.places)

    def take(self) -> Trajectories:
        """Return the next batch."""
        if self._reader is None:
            self._reader = _Reader(self)
        batch = self._reader.take()
        self._position = batch.after
        return batch.trajectories

    def state(self) -> dict[str, Any]:
        """Return where the feed is, as plain numbers."""
        return {
            "batches": self._position.batches,
            "places": [place.state() for place in self._position.places],
            "content": [dataset.card.hash for dataset in self.datasets.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from where a feed of the same settings was."""
        for (path, dataset), content in zip(self.datasets.items(), state["content"], strict=True):
            if dataset.card.hash != content:
                raise UserError(
                    f"{path} has changed since the run was saved; put it back as it was, or start a new run."
                )
        self.close()
        self._position = _Position(state["batches"], tuple(Place(**place) for place in state["places"]))
        for stream, place in zip(self._streams, self._position.places, strict=True):
            stream.restore(place)

    def close(self) -> None:
        """Stop reading; a feed that is asked again goes on from where it was."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
            for stream, place in zip(self._streams, self._position.places, strict=True):
                stream.restore(place)

    def make(self, number: int) -> _Batch:
        """Make the batch of a number, which is the one after those that the streams have given."""
        parts = [
            part for stream, wanted in zip(self._streams, self._wanted(), strict=True) for part in stream.take(wanted)
        ]
        places = tuple(stream.place for stream in self._streams)
        return _Batch(self._prepare(concatenate(parts), number), _Position(number + 1, places))

    def _prepare(self, episodes: Episodes, number: int) -> Trajectories:
        rank, parts = self._part
        if episodes.count < parts:
            raise UserError(
                f"A batch of {episodes.count} episodes has none for some process; set collection.decisions higher."
            )
        if parts > 1:
            episodes = episodes.at(np.arange(rank, episodes.count, parts))
        return self._preparation.trajectories(episodes, (self._seed, _AUGMENTATION, number, rank))

    def _wanted(self) -> list[int]:
        """Return how many decisions each source gives so that all come to their shares."""
        drawn = np.array([stream.place.drawn for stream in self._streams])
        wanted: list[int] = np.ceil(self._shares * (drawn.sum() + self._decisions) - drawn).astype(int).tolist()
        return wanted


class _Reader:
    """The thread that makes batches, a few ahead of whoever takes them."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._first = feed.state()["batches"]
        self._made: Queue[_Batch | BaseException] = Queue(maxsize=_AHEAD)
        self._closed = Event()
        self._thread = Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    def take(self) -> _Batch:
        made = self._made.get()
        if isinstance(made, BaseException):
            self._made.put(made)  # whoever asks again hears it again
            raise made
        return made

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        number = self._first
        while not self._closed.is_set():
            try:
                made: _Batch | BaseException = self._feed.make(number)
            except Exception as error:
                made = error
            self._offer(made)
            if isinstance(made, BaseException):
                return
            number += 1

    def _offer(self, made: _Batch | BaseException) -> None:
        while not self._closed.is_set():
            try:
                self._made.put(made, timeout=_PATIENCE)
                return
            except Full:
                continue
