"""Matches between two players, counted fairly: every match that is begun for the count is played to its end."""

import math
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from nemesis.core.game import SEATS, Decisions, FloatArray, Game, IntArray, MatchPool, Results, by_play, tally
from nemesis.runtime.actor import Choices

_NORMAL_95 = 1.96  # standard errors to either side of a 95 % interval


class Player(Protocol):
    """Whoever answers decisions."""

    def act(self, decisions: Decisions) -> Choices: ...

    def forget(self, slot: IntArray) -> None: ...


Watch: TypeAlias = Callable[[MatchPool, Results], None]
"""Looks at matches that have just ended, while the pool that played them still knows them."""


@dataclass(frozen=True, slots=True)
class Score:
    """What the first of two players earned, over matches that ended by play."""

    matches: int
    mean: float
    margin: float  # half the width of the 95 % interval of the mean, nan below two matches
    wins: int
    draws: int
    voided: int
    ended: Counter[str]  # all matches by why they ended, the voided ones included

    @property
    def win_rate(self) -> float:
        """Wins, and half the draws, of all matches; nan if there were none."""
        return (self.wins + self.draws / 2) / self.matches if self.matches else math.nan

    @property
    def win_rate_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the win rate; wider than need be where matches are drawn, nan without matches."""
        if not self.matches:
            return math.nan, math.nan
        rate, weight = self.win_rate, _NORMAL_95**2 / self.matches
        middle = (rate + weight / 2) / (1 + weight)
        half = math.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
        return max(middle - half, 0.0), min(middle + half, 1.0)


def play(
    game: Game, first: Player, second: Player, *, matches: int, slots: int, seed: int, watch: Watch | None = None
) -> Score:
    """Play so many matches, at most `slots` at once; the first player has seat 0 in even matches and seat 1 in odd."""
    returns: list[FloatArray] = []
    reasons: list[IntArray] = []
    left = matches
    with closing(game.pool(min(slots, matches), seed)) as pool:
        while left:
            waiting, ended = pool.recv()
            first.forget(ended.slot)
            second.forget(ended.slot)
            counted = ended.at(np.flatnonzero(ended.match < matches))
            played = by_play(counted.end_reason)
            returns.append(counted.returns[played, counted.match[played] % SEATS])
            reasons.append(counted.end_reason)
            left -= len(counted)
            if watch is not None:
                watch(pool, counted)
            pool.send(_answers(waiting, first, second, matches))
    return _score(np.concatenate(returns), np.concatenate(reasons))


def _answers(waiting: Decisions, first: Player, second: Player, matches: int) -> IntArray:
    """Ask each player for its actions; matches beyond those that count only fill the pool, and get any legal one."""
    action: IntArray = np.argmax(waiting.mask, axis=1)
    by_first = waiting.match % SEATS == waiting.seat
    counts = waiting.match < matches
    for player, asked in ((first, by_first & counts), (second, ~by_first & counts)):
        if asked.any():
            action[asked] = player.act(waiting.at(np.flatnonzero(asked))).action
    return action


def _score(returns: FloatArray, reasons: IntArray) -> Score:
    count = len(returns)
    deviation = float(returns.std(ddof=1)) if count > 1 else math.nan
    return Score(
        matches=count,
        mean=float(returns.mean()) if count else math.nan,
        margin=_NORMAL_95 * deviation / math.sqrt(max(count, 1)),
        wins=int((returns > 0).sum()),
        draws=int((returns == 0).sum()),
        voided=len(reasons) - count,
        ended=tally(reasons),
    )
