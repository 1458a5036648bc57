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
from nemesis.play.experience import Clock, Experience
from nemesis.play.pairings import MAIN
from nemesis.training.config import RunConfig

_ON_POLICY = ("ppo", "rnad", "portfolio")  # learners that need the probability of each action under its own policy


class DatasetSource:
    """Hands over batches of datasets."""

    def __init__(self, config: RunConfig, game: Game, seed: int, clock: Clock) -> None:
        self._algorithm = config.learner.algorithm
        self._feed = Feed(config.data, game, config.collection.decisions, seed, (rank(), processes()))
        self._clock = clock

    @property
    def decisions(self) -> int:
        return self._feed.decisions

    @property
    def metrics(self) -> dict[str, float]:
        return {f"data/epochs/{path}": float(epoch) for path, epoch in self._feed.epochs.items()}

    def batch(self, stop: Stop = never) -> Experience:
        started = perf_counter()
        alone = processes() == 1  # or else all processes stop after the same update
        batch = self._feed.take(stop if alone else never)
        self._check(batch)
        self._clock.wait += perf_counter() - started
        return Experience({MAIN: batch})

    def snapshot(self) -> dict[str, Any]:
        return {"feed": self._feed.state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._feed.restore(snapshot["feed"])

    def close(self) -> None:
        self._feed.close()

    def _check(self, batch: Trajectories) -> None:
        if self._algorithm not in _ON_POLICY:
            return
        if not np.isfinite(batch.log_prob).all():
            raise UserError(
                f"learner.algorithm={self._algorithm} learns only from actions whose probabilities are known, and "
                "data.sources has decisions of people or scripted players."
            )
        if batch.terminated is not None:
            raise UserError(
                f"learner.algorithm={self._algorithm} continues a truncated match with the value of what was seen "
                "next, which datasets do not store, and data.sources has truncated matches; learn from them with "
                "learner.algorithm=offline or bc, or let the run play the matches itself."
            )
