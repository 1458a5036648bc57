"""A source of experience that reads datasets: batches come from a feed, and nothing is played."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, never
from nemesis.core.trajectory import Trajectories
from nemesis.data.feed import Feed
from nemesis.learners.data_parallel import processes, rank
from nemesis.play.experience import Clock, Experience, PlayCounts
from nemesis.play.pairings import MAIN
from nemesis.training.config import RunConfig

_ON_POLICY = ("ppo", "rnad", "portfolio")  # learners that need the probability of each action under its own policy


class DatasetSource:
    """Hands over batches of datasets."""

    def __init__(self, config: RunConfig, game: Game, seed: int, clock: Clock) -> None:
        self._algorithm = config.learner.algorithm
        self._feed = Feed(config.data, game, config.collection.decisions, seed, (rank(), processes()))
        self._clock = clock
        self._counts = PlayCounts()

    @property
    def counts(self) -> PlayCounts:
        return self._counts

    @property
    def metrics(self) -> dict[str, float]:
        return {f"data/epochs/{path}": float(epoch) for path, epoch in self._feed.epochs.items()}

    def collect(self, decisions: int, stop: Stop = never) -> Experience:  # noqa: ARG002
        """Return the next batch; its size is that of the feed."""
        started = perf_counter()
        batch = self._feed.take()
        self._check(batch)
        self._counts.decisions = self._feed.decisions
        self._clock.wait += perf_counter() - started
        return Experience({MAIN: batch})

    def snapshot(self) -> dict[str, Any]:
        return {"feed": self._feed.state(), "counts": self._counts.state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._feed.restore(snapshot["feed"])
        self._counts = PlayCounts.restored(snapshot["counts"])

    def close(self) -> None:
        self._feed.close()

    def _check(self, batch: Trajectories) -> None:
        if self._algorithm in _ON_POLICY and not np.isfinite(batch.log_prob).all():
            raise UserError(
                f"learner.algorithm={self._algorithm} learns only from actions whose probabilities are known, and "
                "data.sources has decisions of people or scripted players."
            )
