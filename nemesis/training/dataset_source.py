"""A run that learns from datasets: a collection that plays nothing and is fed instead."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, Game
from nemesis.core.interrupts import Stop, never
from nemesis.core.trajectory import Trajectories
from nemesis.data.feed import Feed
from nemesis.learners.data_parallel import processes, rank
from nemesis.play.collector import Clock, Experience, PlayCounts
from nemesis.play.pairings import MAIN, Outcomes, Pairings, PlayerSource
from nemesis.policies.policy import Policy
from nemesis.training.config import RunConfig

_BY_PROBABILITY = ("ppo", "rnad", "portfolio")  # learners that ask how likely an action was to whoever chose it
_NO_OUTCOMES = Outcomes(
    players=(),
    player=np.zeros((0, SIDES), dtype=np.int64),
    returns=np.zeros((0, SIDES), dtype=np.float32),
    end_reason=np.zeros(0, dtype=np.int64),
)


class DataCollection:
    """Hands over batches of datasets as if the policy had just played them."""

    def __init__(self, config: RunConfig, game: Game, seed: int, clock: Clock) -> None:
        self._algorithm = config.learner.algorithm
        self._feed = Feed(config.data, game, config.collection.decisions, seed, (rank(), processes()))
        self._clock = clock
        self._version = 0
        self._counts = PlayCounts()

    @property
    def counts(self) -> PlayCounts:
        return self._counts

    @property
    def metrics(self) -> dict[str, float]:
        return {f"data/epochs/{path}": float(epoch) for path, epoch in self._feed.epochs.items()}

    @property
    def players(self) -> set[PlayerSource]:
        return set()

    def follow(self, pairings: Pairings) -> None:
        """Have no match to come."""

    def publish(self, name: str, policy: Policy, version: int) -> None:  # noqa: ARG002
        self._version = version

    def collect(self, decisions: int, stop: Stop = never) -> Experience:  # noqa: ARG002
        """Return the next batch; its size is that of the feed."""
        started = perf_counter()
        batch = self._feed.take()
        self._check(batch)
        self._counts.decisions = self._feed.drawn
        self._clock.wait += perf_counter() - started
        return Experience({MAIN: replace(batch, version=np.full_like(batch.version, self._version))}, _NO_OUTCOMES)

    def tend(self) -> None:
        """Have nobody to look after."""

    def snapshot(self) -> dict[str, Any]:
        return {"feed": self._feed.state(), "counts": self._counts.state()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._feed.restore(snapshot["feed"])
        self._counts = PlayCounts.restored(snapshot["counts"])

    def close(self) -> None:
        self._feed.close()

    def _check(self, batch: Trajectories) -> None:
        if self._algorithm in _BY_PROBABILITY and not np.isfinite(batch.log_prob).all():
            raise UserError(
                f"learner.algorithm={self._algorithm} learns only from actions whose probabilities are known, and "
                "data.sources has decisions of people or scripted players."
            )
