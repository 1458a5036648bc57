"""An actor: a process that plays matches with the newest weights and sends episodes through shared memory.

It exits when its parent process ends, however that happens. While the learner has not read the last episodes, the actor
continues only until the next ones are ready. This bounds the staleness of its experience.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch

from nemesis.actors.child_process import failures_reported, set_up_child
from nemesis.actors.inference import InferenceClient
from nemesis.actors.shared_memory import ArrayLayout, Block, Follower, SharedWeights
from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, FloatArray, Game, GameSpec, IntArray, RewardedGame
from nemesis.core.masks import packed_size
from nemesis.core.trajectory import Trajectories
from nemesis.play.collector import Collector
from nemesis.play.config import PlaySettings
from nemesis.play.experience import Clock, PlayCounts
from nemesis.play.pairings import Outcomes, Pairings, PlayerSource
from nemesis.play.players import Choices, LearningPlayer
from nemesis.play.policy_players import PolicyPlayer, frozen_players
from nemesis.play.seating import OpenPlayer, open_seating
from nemesis.policies.build import build_policy
from nemesis.policies.policy import Policy

_MIN_CAPACITY = 4096  # decisions
_HEARTBEAT = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class ActorTask:
    """Everything that an actor needs to start."""

    settings: PlaySettings
    folder: Path  # of the run
    log_level: int
    seed: int
    portion: int  # decisions of the main learner per message
    capacity: int  # decisions that fit into the block
    pairings: Pairings
    weights: Mapping[str, SharedWeights]
    block: Block
    inference: InferenceClient | None  # None: the actor runs the networks
    heartbeat: torch.Tensor  # (1,) shared; increases while the actor works


@dataclass(frozen=True, slots=True)
class Handover:
    """Episodes in the block, with outcomes and counts."""

    learner: str
    columns: ArrayLayout
    outcomes: Outcomes | None  # only with the first part of an experience
    counts: PlayCounts | None


@dataclass(frozen=True, slots=True)
class Release:
    """Allows the actor to overwrite its block."""


class FollowingPlayer:
    """Plays with the newest published weights of a learner."""

    def __init__(self, policy: Policy, spec: GameSpec, weights: SharedWeights, slots: int, seed: int) -> None:
        self._follower = Follower(policy, weights)
        self._player = PolicyPlayer(policy, spec, slots, torch.device("cpu"), seed)
        self.version = 0

    def act(self, decisions: Decisions) -> Choices:
        self.version = self._follower.refresh()
        return self._player.act(decisions)

    def value(self, decisions: Decisions) -> FloatArray:
        return self._player.value(decisions)

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        return self._player.memory(slot, seat)

    def forget(self, slot: IntArray) -> None:
        self._player.forget(slot)

    def snapshot(self) -> dict[str, torch.Tensor]:
        return self._player.snapshot()

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        self._player.restore(snapshot)


def run_actor(task: ActorTask, learner: "Connection[Any, Any]") -> None:
    """Play until the learner's process closes the connection or ends."""
    set_up_child(task.folder, task.log_level)
    torch.set_num_threads(1)
    with failures_reported("An actor", learner):
        _Actor(task, learner).run()


class _Actor:
    """A running actor."""

    def __init__(self, task: ActorTask, learner: "Connection[Any, Any]") -> None:
        self._task = task
        self._learner = learner
        self._may_write = True
        settings, game = task.settings, task.settings.game.open_game()
        self._game = game
        slots = settings.collection.slots
        learning, open_frozen = self._remote_players(task.inference) if task.inference else self._local_players()
        self._pool = game.pool(slots, task.seed)
        self._seating = open_seating(game, slots, task.pairings, learning, open_frozen, task.seed, settings.imports)
        self._collector = Collector(
            game,
            self._pool,
            self._seating,
            settings.memory_stride,
            Clock(),
            settings.policy.opponent_model,
            min(settings.collection.segment or task.capacity, task.capacity),
        )

    def run(self) -> None:
        with closing(self._pool):
            while True:
                while self._learner.poll():
                    self._handle(self._learner.recv())
                self._collector.step()
                self._task.heartbeat.add_(1)
                if self._collector.ready >= self._task.portion:
                    self._hand_over()

    def _local_players(self) -> tuple[dict[str, LearningPlayer], OpenPlayer]:
        """Return players with policies in this process."""
        task, game, slots = self._task, self._game, self._task.settings.collection.slots
        learning: dict[str, LearningPlayer] = {}
        for number, (name, weights) in enumerate(task.weights.items()):
            policy = build_policy(game, task.settings.policy).eval()
            learning[name] = FollowingPlayer(policy, game.spec, weights, slots, task.seed + 1 + number)
        return learning, frozen_players(game, slots, torch.device("cpu"), task.folder, task.settings.imports)

    def _remote_players(self, inference: InferenceClient) -> tuple[dict[str, LearningPlayer], OpenPlayer]:
        """Return players with policies in the inference process."""
        inference.handshake()
        learning: dict[str, LearningPlayer] = {
            name: inference.player(PlayerSource("learning", name)) for name in self._task.weights
        }
        return learning, lambda source, _: inference.player(source)

    def _handle(self, message: Release | Pairings) -> None:
        if isinstance(message, Release):
            self._may_write = True
        else:
            self._seating.follow(message)

    def _hand_over(self) -> None:
        experience = self._collector.take()
        outcomes: Outcomes | None = experience.outcomes
        counts: PlayCounts | None = self._collector.take_counts()
        for name, trajectories in experience.episodes.items():
            for arrays in self._portions(trajectories):
                self._await_block()
                columns = self._task.block.write(arrays)
                self._learner.send(Handover(name, columns, outcomes, counts))
                self._may_write = False
                outcomes = counts = None

    def _portions(self, trajectories: Trajectories) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Yield the episodes in portions that fit into the block."""
        for part in trajectories.portions(self._task.capacity):
            arrays = part.arrays()
            if self._task.block.fits(arrays):
                yield arrays
            elif part.episodes == 1:
                raise UserError(
                    f"An episode of {part.decisions} decisions does not fit into the shared memory of an actor; set "
                    f"collection.segment={max(part.decisions // 2, 1)}, or collection.actors=0."
                )
            else:
                half = part.episodes // 2
                yield from self._portions(part.episodes_at(slice(0, half)))
                yield from self._portions(part.episodes_at(slice(half, None)))

    def _await_block(self) -> None:
        """Wait until the learner has read the block; the heartbeat continues."""
        while not self._may_write:
            if self._learner.poll(_HEARTBEAT):
                self._handle(self._learner.recv())
            self._task.heartbeat.add_(1)


def capacity(settings: PlaySettings, portion: int) -> int:
    """Return how many decisions fit into a block: at least a segment, which is not shorter than a sequence."""
    return max(portion + portion // 2, settings.memory_stride or 0, _MIN_CAPACITY)


def block_size(settings: PlaySettings, game: Game, state_size: int, decisions: int) -> int:
    """Return how many bytes a block for so many decisions needs."""
    spec = game.spec
    components = len(game.reward_components) if isinstance(game, RewardedGame) else 0
    per_decision = spec.view_size * spec.view_bytes + packed_size(spec.actions) + 6 * 8 + 4 * 8 + 4 * components
    memory = state_size * 4 / settings.sequence_length + 8
    final_view = spec.view_size * spec.view_bytes  # of one episode; if more episodes have one, portions are smaller
    return int(decisions * (per_decision + memory)) + final_view + (1 << 16)
