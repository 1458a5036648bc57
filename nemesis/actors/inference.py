"""Central inference: one process runs the networks for all actors, so that a GPU gets large batches.

An actor writes its decisions into a shared block and sends a request. All requests that arrive together for one player
are answered in one call of the same `PolicyPlayer` that an actor uses for local inference. Weights come from the
learner's shared memory in both cases.
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

from nemesis.actors.child_process import failures_reported, set_up_child
from nemesis.actors.shared_memory import ArrayLayout, Block, Follower, SharedWeights
from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, FloatArray, Game, IntArray
from nemesis.core.masks import packed_size
from nemesis.play.config import PlaySettings
from nemesis.play.pairings import PlayerSource
from nemesis.play.players import Choices
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.build import build_policy, choose_device
from nemesis.policies.play_style import DEFAULT_STYLE
from nemesis.storage.policies import find_policy

Pipe: TypeAlias = "Connection[Any, Any]"


@dataclass(frozen=True, slots=True)
class Exchange:
    """The shared memory of one actor and the inference process."""

    request: Block
    response: Block


@dataclass(frozen=True, slots=True)
class InferenceTask:
    """Everything that the inference process needs to start."""

    settings: PlaySettings
    folder: Path  # of the run
    log_level: int
    seed: int
    weights: Mapping[str, SharedWeights]
    exchanges: tuple[Exchange, ...]  # one for each actor


@dataclass(frozen=True, slots=True)
class _Handshake:
    """Starts a session. Earlier messages on the pipe belong to a previous actor."""

    token: int


@dataclass(frozen=True, slots=True)
class _Act:
    player: PlayerSource
    columns: ArrayLayout


@dataclass(frozen=True, slots=True)
class _Value:
    player: PlayerSource
    columns: ArrayLayout


@dataclass(frozen=True, slots=True)
class _Forget:
    player: PlayerSource
    slot: IntArray


@dataclass(frozen=True, slots=True)
class _Release:
    player: PlayerSource


@dataclass(frozen=True, slots=True)
class _Memory:
    player: PlayerSource
    slot: IntArray
    seat: IntArray


@dataclass(frozen=True, slots=True)
class _Response:
    columns: ArrayLayout
    version: int


def exchange(game: Game, slots: int) -> Exchange:
    """Return blocks with space for all concurrent decisions of an actor."""
    spec = game.spec
    rows = slots * spec.seats
    request = rows * (spec.view_size * spec.view_bytes + packed_size(spec.actions) + 3 * 8)
    return Exchange(Block(request + 4096), Block(rows * 16 + 4096))


@dataclass(frozen=True, slots=True)
class InferenceClient:
    """An actor's connection to the inference process."""

    exchange: Exchange
    pipe: Pipe

    def handshake(self) -> None:
        """Start a session, on a pipe that may contain messages for a previous actor."""
        handshake = _Handshake(secrets.randbits(62))
        self.pipe.send(handshake)
        while not (isinstance(answer := self.pipe.recv(), _Handshake) and answer == handshake):
            pass

    def player(self, source: PlayerSource) -> "InferencePlayer":
        return InferencePlayer(source, self.exchange, self.pipe)


class InferencePlayer:
    """A policy that runs in the inference process."""

    def __init__(self, source: PlayerSource, shared: Exchange, server: Pipe) -> None:
        self._source = source
        self._exchange = shared
        self._server = server
        self.version = 0

    def act(self, decisions: Decisions) -> Choices:
        self._server.send(_Act(self._source, self._write(decisions)))
        response: _Response = self._server.recv()
        self.version = response.version
        return Choices(**self._exchange.response.read(response.columns))

    def value(self, decisions: Decisions) -> FloatArray:
        self._server.send(_Value(self._source, self._write(decisions)))
        value: FloatArray = self._server.recv()
        return value

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        self._server.send(_Memory(self._source, slot, seat))
        memory: FloatArray = self._server.recv()
        return memory

    def forget(self, slot: IntArray) -> None:
        if len(slot):
            self._server.send(_Forget(self._source, slot))

    def close(self) -> None:
        """Release the player on the server."""
        self._server.send(_Release(self._source))

    def snapshot(self) -> dict[str, torch.Tensor]:
        raise UserError("Matches in flight in actors cannot be saved; they are restarted.")

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:  # noqa: ARG002
        raise UserError("Matches in flight in actors cannot be restored; they are restarted.")

    def _write(self, decisions: Decisions) -> ArrayLayout:
        return self._exchange.request.write(
            {
                "match": decisions.match,
                "slot": decisions.slot,
                "seat": decisions.seat,
                "view": decisions.view,
                "mask": decisions.mask,
            }
        )


def run_inference(task: InferenceTask, actors: Sequence[Pipe], failures: Pipe) -> None:
    """Run the networks for all actors until the process is killed; sends a `Failure` if it cannot."""
    set_up_child(task.folder, task.log_level)
    with failures_reported("Central inference", failures):
        Inference(task, actors).run()


class Inference:
    """The policies of all actors, in one process."""

    def __init__(self, task: InferenceTask, actors: Sequence[Pipe]) -> None:
        torch.set_num_threads(task.settings.threads)
        self._task = task
        self._actors = list(actors)
        self._game = task.settings.game.open_game()
        self._device = choose_device(task.settings.device)
        self._slots = task.settings.collection.slots
        self._players: dict[PlayerSource, _Player] = {}
        self._opened = 0  # players so far; each gets its own seed

    @property
    def players(self) -> set[PlayerSource]:
        """The open players, each used by an actor."""
        return set(self._players)

    def run(self) -> None:
        """Answer requests until the process is killed."""
        while True:
            requests: dict[PlayerSource, list[tuple[int, ArrayLayout]]] = {}
            for pipe in connection.wait(self._actors):
                number = self._actors.index(pipe)  # type: ignore[arg-type]
                self._handle(number, requests)
            for source, asked in requests.items():
                self._answer(source, asked)

    def _handle(self, number: int, requests: dict[PlayerSource, list[tuple[int, ArrayLayout]]]) -> None:
        message = self._actors[number].recv()
        if isinstance(message, _Handshake):
            for source, player in list(self._players.items()):
                player.player.forget(np.arange(self._slots) + number * self._slots)
                self._release(source, number)
            self._actors[number].send(message)
            return
        if isinstance(message, _Release):
            self._release(message.player, number)
            return
        player = self._player(message.player)
        player.users.add(number)
        if isinstance(message, _Act):
            requests.setdefault(message.player, []).append((number, message.columns))
        elif isinstance(message, _Value):
            self._actors[number].send(player.player.value(self._decisions(number, message.columns)))
        elif isinstance(message, _Forget):
            player.player.forget(message.slot + number * self._slots)
        else:
            self._actors[number].send(player.player.memory(message.slot + number * self._slots, message.seat))

    def _release(self, source: PlayerSource, number: int) -> None:
        """Close a player that no actor uses any more."""
        if source in self._players:
            self._players[source].users.discard(number)
            if not self._players[source].users:
                del self._players[source]

    def _answer(self, source: PlayerSource, asked: Sequence[tuple[int, ArrayLayout]]) -> None:
        parts = [self._decisions(number, columns) for number, columns in asked]
        player = self._player(source)
        version = player.follower.refresh() if player.follower else 0
        choices = player.player.act(_concatenate(parts))
        last = np.cumsum([len(part) for part in parts])
        for (number, _), end, part in zip(asked, last, parts, strict=True):
            rows = slice(end - len(part), end)
            columns = self._task.exchanges[number].response.write(
                {"action": choices.action[rows], "log_prob": choices.log_prob[rows], "value": choices.value[rows]}
            )
            self._actors[number].send(_Response(columns, version))

    def _decisions(self, number: int, columns: ArrayLayout) -> Decisions:
        """Return the decisions of an actor, with slot numbers that are unique across actors."""
        arrays = self._task.exchanges[number].request.read(columns)
        slot = arrays["slot"] + number * self._slots
        return Decisions(arrays["match"], slot, arrays["seat"], arrays["view"], arrays["mask"])

    def _player(self, source: PlayerSource) -> "_Player":
        if source not in self._players:
            weights = self._task.weights.get(source.name) if source.kind == "learning" else None
            if weights is None:
                file = self._task.folder / source.name
                saved = find_policy(file, allow_imports=self._task.settings.imports)
                policy, style = saved.load(self._game), saved.style
            else:
                policy, style = build_policy(self._game, self._task.settings.policy).eval(), DEFAULT_STYLE
            policy.to(self._device)
            slots, seed = self._slots * len(self._actors), self._task.seed + self._opened
            self._opened += 1
            player = PolicyPlayer(policy, self._game.spec, slots, self._device, seed, style)
            self._players[source] = _Player(player, None if weights is None else Follower(policy, weights))
        return self._players[source]


@dataclass(slots=True)
class _Player:
    player: PolicyPlayer
    follower: Follower | None  # of a learner
    users: set[int] = field(default_factory=set)  # actors


def _concatenate(parts: Sequence[Decisions]) -> Decisions:
    if len(parts) == 1:
        return parts[0]
    names = ("match", "slot", "seat", "view", "mask")
    return Decisions(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
