"""Matches between two players, counted fairly: every match that is begun for the count is played to its end."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
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
    game: Game,
    first: Player,
    others: Sequence[Player],
    *,
    matches: int,
    slots: int,
    seed: int,
    watch: Watch | None = None,
) -> list[Score]:
    """Play so many matches of one player against each of the others, in one pool; returns a score for each.

    Matches go round the others, and from round to round the first player takes seat 0 and seat 1 in turn.
    """
    total = matches * len(others)
    ends: list[Results] = []
    left = total
    with closing(game.pool(min(slots, total), seed)) as pool:
        while left:
            waiting, ended = pool.recv()
            for player in (first, *others):
                player.forget(ended.slot)
            ends.append(ended.at(np.flatnonzero(ended.match < total)))
            left -= len(ends[-1])
            if watch is not None:
                watch(pool, ends[-1])
            pool.send(_answers(waiting, first, others, total))
    match = np.concatenate([ended.match for ended in ends])
    returns = np.concatenate([ended.returns for ended in ends])
    reason = np.concatenate([ended.end_reason for ended in ends])
    earned = returns[np.arange(total), seat_of_first(match, len(others))]
    rival = match % len(others)
    return [_score(earned[rival == number], reason[rival == number]) for number in range(len(others))]


def seat_of_first(match: IntArray, others: int = 1) -> IntArray:
    """Return the seat that the first player has in matches (n,) of `play` against so many others."""
    return match // others % SEATS


def _answers(waiting: Decisions, first: Player, others: Sequence[Player], total: int) -> IntArray:
    """Ask each player for its actions; matches beyond those that count only fill the pool, and get any legal one."""
    action: IntArray = np.argmax(waiting.mask, axis=1)
    by_first = seat_of_first(waiting.match, len(others)) == waiting.seat
    asked = np.where(by_first, 0, waiting.match % len(others) + 1)  # (n,) number of the player
    asked[waiting.match >= total] = -1
    for number, player in enumerate((first, *others)):
        if (rows := np.flatnonzero(asked == number)).size:
            action[rows] = player.act(waiting.at(rows)).action
    return action


def _score(returns: FloatArray, reason: IntArray) -> Score:
    """Sum up what was earned (n,) in matches that ended for such reasons (n,)."""
    earned = returns[by_play(reason)]
    count = len(earned)
    deviation = float(earned.std(ddof=1)) if count > 1 else math.nan
    return Score(
        matches=count,
        mean=float(earned.mean()) if count else math.nan,
        margin=_NORMAL_95 * deviation / math.sqrt(max(count, 1)),
        wins=int((earned > 0).sum()),
        draws=int((earned == 0).sum()),
        voided=len(reason) - count,
        ended=tally(reason),
    )
