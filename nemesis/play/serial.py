"""How a run gets its episodes: from a collector in its own process, or from actors beside it (`parallel.py`).

Both play the same steps. In one process they come in a fixed order, so that a run can be repeated and resumed exactly.
A run may also be fed from datasets, where nobody plays (`data_collection.py`).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import torch

from nemesis.core.game import Game
from nemesis.core.interrupts import Stop, never
from nemesis.play.collector import Clock, Collector, Experience, PlayCounts
from nemesis.play.pairings import Pairings, PlayerSource
from nemesis.play.players import PolicyPlayer
from nemesis.play.scripted import open_opponent
from nemesis.play.seating import LearningPlayer, SavablePlayer, Seating
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import load_policy_file, style_of
from nemesis.training.config import RunConfig


class Collection(Protocol):
    """Whoever plays the matches of a run."""

    @property
    def counts(self) -> PlayCounts: ...

    @property
    def metrics(self) -> dict[str, float]:
        """What else is worth a line in the metrics."""
        ...

    @property
    def players(self) -> set[PlayerSource]:
        """Whoever plays, also in matches that a snapshot has in flight."""
        ...

    def follow(self, pairings: Pairings) -> None:
        """Let the matches to come be those of the lineups."""
        ...

    def publish(self, name: str, policy: Policy, version: int) -> None:
        """Let a learner play with these weights, which have so many updates behind them."""
        ...

    def collect(self, decisions: int, stop: Stop = never) -> Experience:
        """Return at least so many decisions of the main learner, and whatever else has been played to its end.

        Where nothing that must go on exactly is lost by it, this is left off when `stop` says so.
        """
        ...

    def tend(self) -> None:
        """Look after whoever plays, while something else takes long."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return all that is needed to go on from here, as a tree of tensors."""
        ...

    def restore(self, snapshot: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class SerialCollection:
    """Plays in the process of the run, with the very networks that learn."""

    def __init__(
        self,
        config: RunConfig,
        game: Game,
        learners: Mapping[str, Policy],
        device: torch.device,
        pairings: Pairings,
        folder: Path,
        seed: int,
        clock: Clock,
    ) -> None:
        slots = config.collection.slots
        self._learning = {
            name: PolicyPlayer(policy, slots, device, seed + 1 + number)
            for number, (name, policy) in enumerate(learners.items())
        }
        self._pool = game.pool(slots, seed)
        self._seating = open_seating(
            game, slots, pairings, self._learning, frozen_players(game, slots, device, folder), seed
        )
        self._collector = Collector(
            game, self._pool, self._seating, memory_stride(config), clock, config.policy.opponent_model
        )

    @property
    def counts(self) -> PlayCounts:
        return self._collector.counts

    @property
    def metrics(self) -> dict[str, float]:
        return {}

    @property
    def players(self) -> set[PlayerSource]:
        return self._seating.needed

    def follow(self, pairings: Pairings) -> None:
        self._seating.follow(pairings)

    def publish(self, name: str, policy: Policy, version: int) -> None:  # noqa: ARG002
        self._learning[name].version = version  # it plays with the learner's own weights

    def collect(self, decisions: int, stop: Stop = never) -> Experience:  # noqa: ARG002
        return self._collector.collect(decisions)

    def tend(self) -> None:
        """Have nobody to look after."""

    def snapshot(self) -> dict[str, Any]:
        return self._collector.snapshot()

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._collector.restore(snapshot)

    def close(self) -> None:
        self._pool.close()


OpenPlayer: TypeAlias = Callable[[PlayerSource, int], SavablePlayer]
"""Opens a player by its source, with a seed of its own."""


def open_seating(
    game: Game,
    slots: int,
    pairings: Pairings,
    learning: Mapping[str, LearningPlayer],
    open_frozen: OpenPlayer,
    seed: int,
) -> Seating:
    """Return the players of a pool."""

    def open_player(source: PlayerSource, player_seed: int) -> SavablePlayer:
        if source.kind == "learning":
            return learning[source.name]
        if source.kind == "scripted":
            return open_opponent(game, source.name, player_seed)
        return open_frozen(source, player_seed)

    return Seating(slots, pairings, open_player, seed)


def frozen_players(game: Game, slots: int, device: torch.device, folder: Path) -> OpenPlayer:
    """Return what opens frozen policies here; their files are relative to the folder."""

    def open_frozen(source: PlayerSource, seed: int) -> SavablePlayer:
        file = folder / source.name
        return PolicyPlayer(load_policy_file(file, game).to(device), slots, device, seed, style_of(file))

    return open_frozen


def memory_stride(config: RunConfig) -> int | None:
    """Return after how many decisions the memories of policies are kept, if they have any."""
    return None if config.policy.memory == "none" else config.learner.sequence_length
