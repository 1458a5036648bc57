"""Batches of whole episodes from a mixture of datasets, prefetched in a thread beside the learner.

A batch has at least the given number of decisions, and each source contributes its share: a source that is behind its
share gives more. The content of a batch follows from the seed and the positions of the streams, so a feed that is
restored from a saved state gives the same batches as one that was never interrupted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.data.augmentation import Augmentation
from nemesis.data.config import DataConfig
from nemesis.data.dataset import open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.stream import Stream, StreamPosition

_PREFETCH = 2  # batches that are made before they are asked for
_CLOSE_INTERVAL = 0.1  # seconds between checks for whether the feed was closed
_WAIT_INTERVAL = 0.2  # seconds between reports of how far a batch is that is waited for
_AUGMENTATION_SEED = 1 << 20  # no source has this number


@dataclass(frozen=True, slots=True)
class _FeedPosition:
    """How far a feed is."""

    batches: int
    streams: tuple[StreamPosition, ...]  # by source


@dataclass(frozen=True, slots=True)
class _Batch:
    trajectories: Trajectories
    after: _FeedPosition


class Feed:
    """An endless sequence of batches."""

    def __init__(
        self, config: DataConfig, game: Game, decisions: int, seed: int, part: tuple[int, int] = (0, 1)
    ) -> None:
        """Give batches of at least so many decisions.

        With part (rank, count), give only the share of each batch that belongs to one of several processes.
        """
        self._config = config
        self._decisions = decisions
        self._seed = seed
        self._part = part
        self._augmentation = Augmentation(config, game)
        self.datasets = {
            path: open_dataset(Path(path), game.spec, any_format=config.any_format) for path in config.sources
        }
        weights = np.array(list(config.sources.values()))
        self._shares = weights / weights.sum()
        self._streams = [
            Stream(dataset, config.shares, max(int(config.buffer * share), 1), (seed, number))
            for number, (dataset, share) in enumerate(zip(self.datasets.values(), self._shares, strict=True))
        ]
        self._position = _FeedPosition(0, tuple(stream.position for stream in self._streams))
        self._prefetcher: _Prefetcher | None = None

    @property
    def epochs(self) -> dict[str, int]:
        """The number of finished epochs of each source, by path."""
        return {path: stream.epoch for path, stream in zip(self.datasets, self._position.streams, strict=True)}

    @property
    def decisions(self) -> int:
        """The number of decisions given so far, to all processes."""
        return sum(stream.decisions for stream in self._position.streams)

    def take(self, stop: Stop = never) -> Trajectories:
        """Return the next batch; raises `StoppedError` when `stop` returns true while it is waited for."""
        if self._prefetcher is None:
            self._prefetcher = _Prefetcher(self, self._position.batches)

        def on_wait() -> None:
            self._report()
            if stop():
                raise StoppedError

        batch = self._prefetcher.take(on_wait)
        self._position = batch.after
        return batch.trajectories

    def state(self) -> dict[str, Any]:
        """Return how far the feed is, to store it."""
        return {
            "batches": self._position.batches,
            "streams": [stream.state() for stream in self._position.streams],
            "content": [dataset.card.hash for dataset in self.datasets.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of a feed with the same settings."""
        for (path, dataset), content in zip(self.datasets.items(), state["content"], strict=True):
            if dataset.card.hash != content:
                raise UserError(f"{path} has changed since the run was saved; restore it, or start a new run.")
        self.close()
        self._position = _FeedPosition(
            state["batches"], tuple(StreamPosition(**position) for position in state["streams"])
        )
        self._restore_streams()

    def close(self) -> None:
        """Stop prefetching; `take` then continues where it was."""
        if self._prefetcher is not None:
            self._prefetcher.close()
            self._prefetcher = None
            self._restore_streams()

    def make(self, number: int) -> _Batch:
        """Make the next batch of the streams, which has this number."""
        parts = [
            part for stream, wanted in zip(self._streams, self._wanted(), strict=True) for part in stream.take(wanted)
        ]
        positions = tuple(stream.position for stream in self._streams)
        return _Batch(self._prepare(concatenate(parts), number), _FeedPosition(number + 1, positions))

    def _report(self) -> None:
        """Report how far the shuffle buffers of a batch that is waited for are filled."""
        filled, groups = (sum(counts) for counts in zip(*(stream.filled for stream in self._streams), strict=True))
        report("Reading row groups of datasets", filled, groups)

    def _restore_streams(self) -> None:
        for stream, position in zip(self._streams, self._position.streams, strict=True):
            stream.restore(position)

    def _prepare(self, episodes: Episodes, number: int) -> Trajectories:
        rank, parts = self._part
        if episodes.count < parts:
            raise UserError(
                f"A batch of {episodes.count} episodes is too small for {parts} processes; set a larger "
                "collection.decisions."
            )
        if parts > 1:
            episodes = episodes.at(np.arange(rank, episodes.count, parts))
        return self._augmentation.trajectories(episodes, (self._seed, _AUGMENTATION_SEED, number, rank))

    def _wanted(self) -> list[int]:
        """Return how many decisions each source gives to the next batch so that all reach their shares."""
        given = np.array([stream.position.decisions for stream in self._streams])
        wanted: list[int] = np.ceil(self._shares * (given.sum() + self._decisions) - given).astype(int).tolist()
        return wanted


class _Prefetcher:
    """The thread that makes batches before they are asked for."""

    def __init__(self, feed: Feed, first: int) -> None:
        self._feed = feed
        self._first = first
        self._made: Queue[_Batch | BaseException] = Queue(maxsize=_PREFETCH)
        self._closed = Event()
        self._thread = Thread(target=self._run, name="feed", daemon=True)
        self._thread.start()

    def take(self, on_wait: Callable[[], None]) -> _Batch:
        """Return the next batch, and call a function again and again until it is made."""
        while True:
            try:
                made = self._made.get(timeout=_WAIT_INTERVAL)
                break
            except Empty:
                on_wait()
        if isinstance(made, BaseException):
            self._made.put(made)  # the next call raises it again
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
            self._put(made)
            if isinstance(made, BaseException):
                return
            number += 1

    def _put(self, made: _Batch | BaseException) -> None:
        while not self._closed.is_set():
            try:
                self._made.put(made, timeout=_CLOSE_INTERVAL)
                return
            except Full:
                continue
