"""Matches of many pairs of players in one pool, as a stream: who plays a match is decided when it begins.

Matches are played in pairs, the first player having side 0 in the first of them and side 1 in the second. Every match
that has begun is played to its end, so that short ones are not favoured. What the pool plays beyond that only fills it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np

from nemesis.core.game import (
    SIDES,
    Decisions,
    FloatArray,
    Game,
    IntArray,
    MatchPool,
    PairedGame,
    RecordingPool,
    Results,
    TurnGame,
    side_of,
)
from nemesis.core.masks import unpack_mask
from nemesis.play.players import Player

_NOBODY = -1
_FIRST_ROOM = 1024  # pairs of matches; it doubles when it is full

OpenNumbered: TypeAlias = Callable[[int], Player]
"""Opens a player by its number."""


@dataclass(frozen=True, slots=True)
class FinishedMatches:
    """Matches that ended."""

    match: IntArray  # (n,) numbers in the pool
    first: IntArray  # (n,) numbers of players
    second: IntArray  # (n,)
    side: IntArray  # (n,) the side of the first player
    returns: FloatArray  # (n,) of the first player
    end_reason: IntArray  # (n,)
    decisions: IntArray  # (n,) of the first player
    turns: IntArray  # (n,) −1 where the game counts none

    def __len__(self) -> int:
        return len(self.match)

    @staticmethod
    def concatenate(parts: "Sequence[FinishedMatches]") -> "FinishedMatches":
        columns = (np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(FinishedMatches))
        return FinishedMatches(*columns)

    def at(self, rows: IntArray) -> "FinishedMatches":
        return FinishedMatches(*(getattr(self, column.name)[rows] for column in fields(FinishedMatches)))


OnFinished: TypeAlias = Callable[[MatchPool, FinishedMatches, Results], None]
"""Called with matches that have just ended, while their pool can still save replays of them."""


class MatchStream:
    """One pool, and what it plays next. Players are opened for their first decision and closed after their last."""

    def __init__(
        self,
        game: Game,
        open_player: OpenNumbered,
        slots: int,
        seed: int,
        *,
        on_finished: OnFinished | None = None,
        recorded: bool = False,
    ) -> None:
        """Play in `slots` slots; `on_finished` can save replays of matches that are `recorded`."""
        self._open = open_player
        self._on_finished = on_finished
        self._turn = game.turn if isinstance(game, TurnGame) else None
        self._pool = game.paired_pool(slots, seed) if isinstance(game, PairedGame) else game.pool(slots, seed)
        if recorded and isinstance(self._pool, RecordingPool):
            self._pool.record_matches()
        self._queue: deque[tuple[int, int]] = deque()
        self._pairs = np.full((_FIRST_ROOM, 2), _NOBODY)  # (pair of matches, first or second) numbers of players
        self._begun = 0  # pairs that have begun
        self._unfinished: dict[int, int] = {}  # player → matches that it has begun
        self._players: dict[int, Player] = {}
        self._decisions = np.zeros(slots, dtype=np.int64)  # of the first player in the match of each slot
        self._turns = np.full(slots, -1)

    @property
    def left(self) -> int:
        """The number of matches that are queued or have begun."""
        return SIDES * len(self._queue) + sum(self._unfinished.values()) // 2

    @property
    def queued(self) -> int:
        """The number of matches that have not begun."""
        return SIDES * len(self._queue)

    @property
    def open_players(self) -> int:
        return len(self._players)

    def add(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Queue two matches of each pair of players, with sides swapped."""
        self._queue.extend(pairs)

    def drop_queue(self) -> int:
        """Drop what has not begun; returns how many matches that were."""
        dropped = self.queued
        self._queue.clear()
        return dropped

    def step(self) -> FinishedMatches:
        """Answer the waiting decisions; returns the matches that have ended before."""
        waiting, ended = self._pool.recv()
        for player in self._players.values():
            player.forget(ended.slot)
        self._begin(max(waiting.match.max(initial=-1), ended.match.max(initial=-1)))
        finished = self._finish(ended)
        self._pool.send(self._answers(waiting))
        return finished

    def close(self) -> None:
        self._players.clear()
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with closing(self):
            pass

    def _begin(self, last: int) -> None:
        """Decide who plays all matches up to the last one that has begun."""
        while self._begun <= last // SIDES:
            if self._begun == len(self._pairs):
                self._pairs = np.concatenate([self._pairs, np.full_like(self._pairs, _NOBODY)])
            if self._queue:
                pair = self._queue.popleft()
                self._pairs[self._begun] = pair
                for player in pair:
                    self._unfinished[player] = self._unfinished.get(player, 0) + SIDES
            self._begun += 1

    def _finish(self, ended: Results) -> FinishedMatches:
        pair = self._pairs[ended.match // SIDES]
        rows = np.flatnonzero(pair[:, 0] != _NOBODY)
        scored, pair = ended.at(rows), pair[rows]
        side = scored.match % SIDES
        finished = FinishedMatches(
            match=scored.match,
            first=pair[:, 0],
            second=pair[:, 1],
            side=side,
            returns=scored.returns[np.arange(len(rows)), side],
            end_reason=scored.end_reason,
            decisions=self._decisions[scored.slot],
            turns=self._turns[scored.slot],
        )
        self._decisions[ended.slot], self._turns[ended.slot] = 0, -1
        if len(rows):
            if self._on_finished is not None:
                self._on_finished(self._pool, finished, scored)
            self._close_unneeded(pair)
        return finished

    def _close_unneeded(self, finished: IntArray) -> None:
        """Close players that finished matches (n, 2) and neither play nor are queued."""
        for player, count in zip(*(column.tolist() for column in np.unique(finished, return_counts=True)), strict=True):
            self._unfinished[player] -= count
            if not self._unfinished[player]:
                del self._unfinished[player]
                if not any(player in pair for pair in self._queue):
                    self._players.pop(player, None)

    def _answers(self, waiting: Decisions) -> IntArray:
        """Call each player for its actions. Matches of nobody get any legal action."""
        action = np.zeros(len(waiting), dtype=np.int64)
        by_second = side_of(waiting.seat) ^ waiting.match % SIDES
        asked = self._pairs[waiting.match // SIDES, by_second]
        counted = np.flatnonzero((by_second == 0) & (asked != _NOBODY))
        np.add.at(self._decisions, waiting.slot[counted], 1)
        if self._turn is not None:
            self._turns[waiting.slot[counted]] = self._turn(waiting.view[counted])
        for number in np.unique(asked).tolist():
            rows = np.flatnonzero(asked == number)
            if number == _NOBODY:
                mask = waiting.mask[rows]
                action[rows] = unpack_mask(mask, 8 * mask.shape[1]).argmax(axis=1)
                continue
            if number not in self._players:
                self._players[number] = self._open(number)
            action[rows] = self._players[number].act(waiting.at(rows)).action
        return action
