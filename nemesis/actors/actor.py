"""An actor: a process that plays matches with the newest weights and hands finished episodes over in shared memory.

It ends with the process that started it, however that ends. It plays on while the learner has not read the last
episodes, but only until the next ones are ready, so that what it plays is never much older than what is learned.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from nemesis.actors.child_process import Failure, begin_child
from nemesis.actors.inference import Line
from nemesis.actors.shared_memory import Block, Columns, Follower, SharedWeights
from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, FloatArray, Game, IntArray
from nemesis.play.collector import Clock, Collector, PlayCounts
from nemesis.play.pairings import Outcomes, Pairings, PlayerSource
from nemesis.play.players import Choices, PolicyPlayer
from nemesis.play.seating import LearningPlayer
from nemesis.play.serial import OpenPlayer, frozen_players, memory_stride, open_seating
from nemesis.policies.policy import Policy
from nemesis.training.assembly import build_policy, open_game_of
from nemesis.training.config import RunConfig

_LEAST_ROOM = 4096  # decisions that fit into a block, more than the longest episode has
_SIGN_OF_LIFE = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class ActorTask:
    """All that an actor needs to begin."""

    config: RunConfig
    folder: Path
    seed: int
    portion: int  # decisions of the main learner in one hand-over
    pairings: Pairings
    weights: Mapping[str, SharedWeights]
    block: Block
    line: Line | None  # to the inference process, where there is one
    heartbeat: torch.Tensor  # (1,) shared; moves as long as the actor is alive and well


@dataclass(frozen=True, slots=True)
class Handover:
    """Episodes that lie in the block, and what happened beside them."""

    learner: str
    columns: Columns
    outcomes: Outcomes | None  # with the first part of a harvest
    counts: PlayCounts | None


@dataclass(frozen=True, slots=True)
class Release:
    """Says that the block may be written again."""


class FollowingPlayer:
    """Plays with the weights that a learner publishes, from the moment that they are there."""

    def __init__(self, policy: Policy, weights: SharedWeights, slots: int, seed: int) -> None:
        self._follower = Follower(policy, weights)
        self._actor = PolicyPlayer(policy, slots, torch.device("cpu"), seed)
        self.version = 0

    def act(self, decisions: Decisions) -> Choices:
        self.version = self._follower.refresh()
        return self._actor.act(decisions)

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        return self._actor.memory(slot, seat)

    def forget(self, slot: IntArray) -> None:
        self._actor.forget(slot)

    def snapshot(self) -> dict[str, torch.Tensor]:
        return self._actor.snapshot()

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        self._actor.restore(snapshot)


def run_actor(task: ActorTask, learner: "Connection[Any, Any]") -> None:
    """Play until the process that asked for it ends the connection or itself."""
    begin_child(task.folder)
    torch.set_num_threads(1)
    try:
        _Play(task, learner).go()
    except UserError as error:
        learner.send(Failure(str(error)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


class _Play:
    """An actor at work."""

    def __init__(self, task: ActorTask, learner: "Connection[Any, Any]") -> None:
        self._task = task
        self._learner = learner
        self._may_write = True
        config, self._game = task.config, open_game_of(task.config)
        slots = config.collection.slots
        learning, open_frozen = self._remote_players(task.line) if task.line else self._local_players()
        self._pool = self._game.pool(slots, task.seed)
        self._seating = open_seating(self._game, slots, task.pairings, learning, open_frozen, task.seed)
        self._collector = Collector(
            self._game, self._pool, self._seating, memory_stride(config), Clock(), config.policy.opponent_model
        )

    def go(self) -> None:
        with closing(self._pool):
            while True:
                while self._learner.poll():
                    self._handle(self._learner.recv())
                self._collector.step()
                self._task.heartbeat.add_(1)
                if self._collector.ready >= self._task.portion:
                    self._hand_over()

    def _local_players(self) -> tuple[dict[str, LearningPlayer], OpenPlayer]:
        """Return policies in this process."""
        task, game, slots = self._task, self._game, self._task.config.collection.slots
        learning: dict[str, LearningPlayer] = {
            name: FollowingPlayer(build_policy(task.config, game).eval(), weights, slots, task.seed + 1 + number)
            for number, (name, weights) in enumerate(task.weights.items())
        }
        return learning, frozen_players(game, slots, torch.device("cpu"), task.folder)

    def _remote_players(self, line: Line) -> tuple[dict[str, LearningPlayer], OpenPlayer]:
        """Return policies in the inference process."""
        line.greet()
        learning: dict[str, LearningPlayer] = {
            name: line.player(PlayerSource("learning", name)) for name in self._task.weights
        }
        return learning, lambda source, _: line.player(source)

    def _handle(self, message: Release | Pairings) -> None:
        if isinstance(message, Release):
            self._may_write = True
        else:
            self._seating.follow(message)

    def _hand_over(self) -> None:
        experience = self._collector.experience()
        outcomes: Outcomes | None = experience.outcomes
        counts: PlayCounts | None = self._collector.take_counts()
        for name, trajectories in experience.episodes.items():
            for part in trajectories.portions(room(self._task.portion)):
                self._await_block()
                columns = self._task.block.write(part.arrays())
                self._learner.send(Handover(name, columns, outcomes, counts))
                self._may_write = False
                outcomes = counts = None

    def _await_block(self) -> None:
        """Wait until the learner has read what is in the block, and show in the meantime signs of life."""
        while not self._may_write:
            if self._learner.poll(_SIGN_OF_LIFE):
                self._handle(self._learner.recv())
            self._task.heartbeat.add_(1)


def room(portion: int) -> int:
    """Return how many decisions fit into a block."""
    return max(portion + portion // 2, _LEAST_ROOM)


def block_size(config: RunConfig, game: Game, state_size: int, portion: int) -> int:
    """Return how many bytes a block needs."""
    sample = game.spec
    decision = sample.view_size * sample.view_bytes + -(-sample.actions // 8) + 5 * 8 + 4 * 8
    memory = state_size * 4 / config.learner.sequence_length + 8
    return int(room(portion) * (decision + memory)) + (1 << 16)
