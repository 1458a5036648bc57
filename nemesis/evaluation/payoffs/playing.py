"""Who plays the matches: this process, or several others, each with a pool and players of its own.

Both are the same to those who schedule: they are given pairs of players, and hand over matches as they end.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np

from nemesis.actors.child_process import Failure, end, failures_reported, set_up_child
from nemesis.actors.fork_server import process_context, start_fork_server
from nemesis.core.errors import UserError
from nemesis.games.config import game_config_of
from nemesis.play.match_stream import FinishedMatches, MatchStream
from nemesis.play.named_players import open_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player
from nemesis.storage.run_directory import log_level

_PATIENCE = 1.0  # seconds until those who schedule may look at the clock

Pairs = Sequence[tuple[int, int]]


class Playing(Protocol):
    """One or several pools that play pairs of players."""

    @property
    def left(self) -> Sequence[int]:
        """Matches that each pool was given and has not handed over."""
        ...

    def add(self, pool: int, pairs: Pairs) -> None:
        """Give a pool two matches of each pair."""
        ...

    def drop_queue(self) -> None:
        """Play only what has begun."""
        ...

    def step(self) -> Sequence[tuple[int, FinishedMatches]]:
        """Play on; returns the number of each pool with matches that ended, and these."""
        ...

    def close(self) -> None: ...


class OnePool:
    """Plays in this process."""

    def __init__(self, stream: MatchStream) -> None:
        self._stream = stream

    @property
    def left(self) -> Sequence[int]:
        return [self._stream.left]

    def add(self, pool: int, pairs: Pairs) -> None:  # noqa: ARG002  there is only one
        self._stream.add(pairs)

    def drop_queue(self) -> None:
        self._stream.drop_queue()

    def step(self) -> Sequence[tuple[int, FinishedMatches]]:
        finished = self._stream.step()
        return [(0, finished)] if len(finished) else []

    def close(self) -> None:
        self._stream.close()


@dataclass(frozen=True, slots=True)
class PlayTask:
    """What a process needs to start."""

    game: Mapping[str, Any]  # the settings of a `GameConfig`
    players: Sequence[str]  # by number
    options: PlayOptions
    slots: int
    seed: int
    log_level: int = 0


@dataclass(frozen=True, slots=True)
class _DropQueue:
    """Asks a process to play only what has begun."""


@dataclass(frozen=True, slots=True)
class _Dropped:
    matches: int


class Processes:
    """Plays in several processes, which end with this one."""

    def __init__(self, task: PlayTask, count: int) -> None:
        context = process_context()
        start_fork_server(context)
        self.left = [0] * count
        self._connections: list[Connection[Any, Any]] = []
        self._processes = []
        for number in range(count):
            ours, theirs = context.Pipe()
            own = replace(task, seed=own_seed(task.seed, number), log_level=log_level())
            process = context.Process(target=_play, args=(own, theirs), daemon=True)
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes.append(process)

    def add(self, pool: int, pairs: Pairs) -> None:
        self.left[pool] += 2 * len(pairs)
        with suppress(OSError):  # what has died is found by `step`
            self._connections[pool].send(list(pairs))

    def drop_queue(self) -> None:
        for one in self._connections:
            with suppress(OSError):
                one.send(_DropQueue())

    def step(self) -> Sequence[tuple[int, FinishedMatches]]:
        played = []
        for ready in connection.wait(self._connections, _PATIENCE):
            pool = self._connections.index(ready)  # type: ignore[arg-type]
            message = self._message(pool)
            if isinstance(message, _Dropped):
                self.left[pool] -= message.matches
            else:
                self.left[pool] -= len(message)
                played.append((pool, message))
        return played

    def close(self) -> None:
        for process, ours in zip(self._processes, self._connections, strict=True):
            end(process)
            ours.close()

    def _message(self, pool: int) -> FinishedMatches | _Dropped:
        try:
            message: FinishedMatches | _Dropped | Failure = self._connections[pool].recv()
        except (EOFError, OSError):
            self._processes[pool].join(_PATIENCE)
            raise UserError(
                f"A process that played matches has died with exit code {self._processes[pool].exitcode}. All matches "
                "that it had finished are counted; play again to go on, with fewer --processes if memory is short."
            ) from None
        if isinstance(message, Failure):
            raise UserError(message.message)
        return message


def own_seed(*numbers: int) -> int:
    """Return a seed that is drawn from some numbers, so that no two parts of a work share one."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _play(task: PlayTask, given: "Connection[Any, Any]") -> None:
    """Play in a process of its own, until it is killed."""
    import torch  # noqa: PLC0415  slow to import

    set_up_child(None, task.log_level)
    torch.set_num_threads(1)
    with failures_reported("A process that plays matches", given):
        game = game_config_of(task.game).open_game()
        opened = 0

        def open_numbered(number: int) -> Player:
            nonlocal opened
            opened += 1
            return open_player(game, task.players[number], task.slots, own_seed(task.seed, 1, opened), task.options)

        stream = MatchStream(game, open_numbered, task.slots, task.seed)
        while True:
            while given.poll(None if not stream.left else 0):
                message = given.recv()
                if isinstance(message, _DropQueue):
                    given.send(_Dropped(stream.drop_queue()))
                else:
                    stream.add(message)
            if len(finished := stream.step()):
                given.send(finished)
