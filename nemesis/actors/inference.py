"""Central inference: one process decides for all actors, so that a GPU gets large batches.

An actor puts its decisions into a block of its own and asks; whatever is asked at the same moment for one player is
decided in one call, by the same `Actor` that would otherwise live in the actor's process. Weights come from the learner
as they do anywhere else.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from nemesis.actors.child_process import Failure, begin_child
from nemesis.actors.shared_memory import Block, Columns, Follower, SharedWeights
from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, Decisions, FloatArray, Game, IntArray
from nemesis.play.pairings import PlayerSource
from nemesis.play.players import DEFAULT_STYLE, Choices, PolicyPlayer
from nemesis.storage.policy_files import load_policy_file, style_of
from nemesis.training.assembly import build_policy, choose_device, open_game_of
from nemesis.training.config import RunConfig

Pipe: TypeAlias = "Connection[Any, Any]"


@dataclass(frozen=True, slots=True)
class Exchange:
    """Where one actor and the inference process meet."""

    question: Block
    answer: Block


@dataclass(frozen=True, slots=True)
class InferenceTask:
    """All that the inference process needs to begin."""

    config: RunConfig
    folder: Path
    seed: int
    weights: Mapping[str, SharedWeights]
    exchanges: tuple[Exchange, ...]  # one for each actor


@dataclass(frozen=True, slots=True)
class _Hello:
    """Begins a conversation; whatever was said on the line before is for an actor that is gone."""

    token: int


@dataclass(frozen=True, slots=True)
class _Act:
    player: PlayerSource
    columns: Columns


@dataclass(frozen=True, slots=True)
class _Forget:
    player: PlayerSource
    slot: IntArray


@dataclass(frozen=True, slots=True)
class _Release:
    player: PlayerSource


@dataclass(frozen=True, slots=True)
class _Remember:
    player: PlayerSource
    slot: IntArray
    seat: IntArray


@dataclass(frozen=True, slots=True)
class _Chosen:
    columns: Columns
    version: int


def exchange(game: Game, slots: int) -> Exchange:
    """Return room for all decisions that an actor can have at once."""
    rows, spec = slots * SIDES, game.spec
    question = rows * (spec.view_size * spec.view_bytes + -(-spec.actions // 8) + 3 * 8)
    return Exchange(Block(question + 4096), Block(rows * 16 + 4096))


@dataclass(frozen=True, slots=True)
class Line:
    """An actor's line to the inference process."""

    exchange: Exchange
    pipe: Pipe

    def greet(self) -> None:
        """Begin anew, on a line that an actor before may have left in the middle of a sentence."""
        hello = _Hello(secrets.randbits(62))
        self.pipe.send(hello)
        while not (isinstance(answer := self.pipe.recv(), _Hello) and answer == hello):
            pass

    def player(self, source: PlayerSource) -> "RemotePlayer":
        return RemotePlayer(source, self.exchange, self.pipe)


class RemotePlayer:
    """A policy that is asked in the inference process."""

    def __init__(self, source: PlayerSource, at: Exchange, server: Pipe) -> None:
        self._source = source
        self._exchange = at
        self._server = server
        self.version = 0

    def act(self, decisions: Decisions) -> Choices:
        mask = np.packbits(decisions.mask, axis=1)
        arrays = {"match": decisions.match, "slot": decisions.slot, "seat": decisions.seat, "view": decisions.view}
        self._server.send(_Act(self._source, self._exchange.question.write(arrays | {"mask": mask})))
        chosen: _Chosen = self._server.recv()
        self.version = chosen.version
        return Choices(**self._exchange.answer.read(chosen.columns))

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        self._server.send(_Remember(self._source, slot, seat))
        memory: FloatArray = self._server.recv()
        return memory

    def forget(self, slot: IntArray) -> None:
        if len(slot):
            self._server.send(_Forget(self._source, slot))

    def close(self) -> None:
        """Say that this actor does not need the player any more."""
        self._server.send(_Release(self._source))

    def snapshot(self) -> dict[str, torch.Tensor]:
        raise UserError("Matches in flight beside a learner cannot be saved; they begin anew.")

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:  # noqa: ARG002
        raise UserError("Matches in flight beside a learner cannot be restored; they begin anew.")


def run_inference(task: InferenceTask, actors: Sequence[Pipe], words: Pipe) -> None:
    """Decide for all actors until the process that asked for it ends this one; says what is wrong if it cannot."""
    begin_child(task.folder)
    try:
        Inference(task, actors).go()
    except UserError as error:
        words.send(Failure(str(error)))


class Inference:
    """The policies of all actors, in one process."""

    def __init__(self, task: InferenceTask, actors: Sequence[Pipe]) -> None:
        torch.set_num_threads(task.config.threads)
        self._task = task
        self._actors = list(actors)
        self._game = open_game_of(task.config)
        self._device = choose_device(task.config)
        self._slots = task.config.collection.slots
        self._players: dict[PlayerSource, _Player] = {}
        self._opened = 0  # players so far, each with a seed of its own

    @property
    def players(self) -> set[PlayerSource]:
        """Whoever is open, because some actor needs it."""
        return set(self._players)

    def go(self) -> None:
        """Answer until the process that asked for it ends this one."""
        while True:
            questions: dict[PlayerSource, list[tuple[int, Columns]]] = {}
            for pipe in connection.wait(self._actors):
                number = self._actors.index(pipe)  # type: ignore[arg-type]
                self._handle(number, questions)
            for source, asked in questions.items():
                self._answer(source, asked)

    def _handle(self, number: int, questions: dict[PlayerSource, list[tuple[int, Columns]]]) -> None:
        message = self._actors[number].recv()
        if isinstance(message, _Hello):
            for source, player in list(self._players.items()):
                player.actor.forget(np.arange(self._slots) + number * self._slots)
                self._release(source, number)
            self._actors[number].send(message)
            return
        if isinstance(message, _Release):
            self._release(message.player, number)
            return
        player = self._player(message.player)
        player.users.add(number)
        if isinstance(message, _Act):
            questions.setdefault(message.player, []).append((number, message.columns))
        elif isinstance(message, _Forget):
            player.actor.forget(message.slot + number * self._slots)
        else:
            self._actors[number].send(player.actor.memory(message.slot + number * self._slots, message.seat))

    def _release(self, source: PlayerSource, number: int) -> None:
        """Let a player go that no actor needs any more."""
        if source in self._players:
            self._players[source].users.discard(number)
            if not self._players[source].users:
                del self._players[source]

    def _answer(self, source: PlayerSource, asked: Sequence[tuple[int, Columns]]) -> None:
        parts = [self._decisions(number, columns) for number, columns in asked]
        together = (
            parts[0]
            if len(parts) == 1
            else Decisions(*(np.concatenate([getattr(part, name) for part in parts]) for name in Decisions.__slots__))
        )
        player = self._player(source)
        version = player.follower.refresh() if player.follower else 0
        choices = player.actor.act(together)
        last = np.cumsum([len(part) for part in parts])
        for (number, _), end, part in zip(asked, last, parts, strict=True):
            rows = slice(end - len(part), end)
            answer = Choices(choices.action[rows], choices.log_prob[rows], choices.value[rows])
            columns = self._task.exchanges[number].answer.write(
                {"action": answer.action, "log_prob": answer.log_prob, "value": answer.value}
            )
            self._actors[number].send(_Chosen(columns, version))

    def _decisions(self, number: int, columns: Columns) -> Decisions:
        """Return what an actor asks about, its slots counted after those of the actors before it."""
        arrays = self._task.exchanges[number].question.read(columns)
        mask = np.unpackbits(arrays["mask"], axis=1, count=self._game.spec.actions).view(np.bool_)
        slot = arrays["slot"] + number * self._slots
        return Decisions(arrays["match"], slot, arrays["seat"], arrays["view"], mask)

    def _player(self, source: PlayerSource) -> "_Player":
        if source not in self._players:
            weights = self._task.weights.get(source.name) if source.kind == "learning" else None
            if weights is None:
                file = self._task.folder / source.name
                policy, style = load_policy_file(file, self._game), style_of(file)
            else:
                policy, style = build_policy(self._task.config, self._game).eval(), DEFAULT_STYLE
            policy.to(self._device)
            slots, seed = self._slots * len(self._actors), self._task.seed + self._opened
            self._opened += 1
            actor = PolicyPlayer(policy, slots, self._device, seed, style)
            self._players[source] = _Player(actor, None if weights is None else Follower(policy, weights))
        return self._players[source]


@dataclass(slots=True)
class _Player:
    actor: PolicyPlayer
    follower: Follower | None  # of a learner
    users: set[int] = field(default_factory=set)  # actors
