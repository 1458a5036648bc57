"""A source of experience in the learner's own process: playing and learning alternate.

The order is fixed, so that a run can be reproduced and resumed exactly. `actors.parallel` plays in other processes
instead; both use the same collector.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, never
from nemesis.play.collector import Collector
from nemesis.play.config import PlaySettings
from nemesis.play.experience import Clock, Experience, PlayCounts
from nemesis.play.pairings import Pairings, PlayerSource
from nemesis.play.policy_players import PolicyPlayer, frozen_players
from nemesis.play.seating import open_seating
from nemesis.policies.policy import Policy


class SerialSource:
    """Plays in the process of the run, with the networks that are trained."""

    def __init__(
        self,
        settings: PlaySettings,
        game: Game,
        learners: Mapping[str, Policy],
        device: torch.device,
        pairings: Pairings,
        folder: Path,
        seed: int,
        clock: Clock,
    ) -> None:
        slots = settings.collection.slots
        self._decisions = settings.collection.decisions
        self._learning = {
            name: PolicyPlayer(policy, game.spec, slots, device, seed + 1 + number)
            for number, (name, policy) in enumerate(learners.items())
        }
        self._pool = game.pool(slots, seed)
        frozen = frozen_players(game, slots, device, folder, settings.imports)
        self._seating = open_seating(game, slots, pairings, self._learning, frozen, seed, settings.imports)
        self._collector = Collector(
            game,
            self._pool,
            self._seating,
            settings.memory_stride,
            clock,
            settings.policy.opponent_model,
            settings.collection.segment,
        )

    @property
    def counts(self) -> PlayCounts:
        return self._collector.counts

    @property
    def decisions(self) -> int:
        return self.counts.decisions

    @property
    def metrics(self) -> dict[str, float]:
        return {}

    @property
    def players(self) -> set[PlayerSource]:
        return self._seating.needed

    def follow(self, pairings: Pairings) -> None:
        self._seating.follow(pairings)

    def publish(self, name: str, policy: Policy, version: int) -> None:  # noqa: ARG002
        self._learning[name].version = version  # the player shares the weights of the learner

    def batch(self, stop: Stop = never) -> Experience:  # noqa: ARG002
        return self.collect(self._decisions)

    def collect(self, decisions: int) -> Experience:
        """Return at least so many decisions of the main learner."""
        return self._collector.collect(decisions)

    def supervise(self) -> None:
        """Supervise nothing: there are no other processes."""

    def snapshot(self) -> dict[str, Any]:
        return self._collector.snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._collector.restore(snapshot)

    def close(self) -> None:
        self._pool.close()
