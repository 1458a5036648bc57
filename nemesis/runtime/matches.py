"""Matches between two actors, counted fairly: every match that is begun for the count is played to its end."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nemesis.core.game import SEATS, Decisions, EndReason, FloatArray, Game, IntArray
from nemesis.runtime.actor import Choices

_MOST_SLOTS = 1024
_NORMAL_95 = 1.96  # standard errors to either side of a 95 % interval


class Player(Protocol):
    """Whoever answers decisions."""

    def act(self, decisions: Decisions) -> Choices: ...

    def forget(self, slot: IntArray) -> None: ...


@dataclass(frozen=True, slots=True)
class Score:
    """What the first of two players earned, over matches that ended by play."""

    matches: int
    mean: float
    margin: float  # half the width of the 95 % interval of the mean, nan below two matches
    wins: int
    draws: int
    voided: int

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


def slots_for(matches: int) -> int:
    """Return how many of so many matches `play` has in flight at once."""
    return min(matches, _MOST_SLOTS)


def play(game: Game, first: Player, second: Player, matches: int, seed: int) -> Score:
    """Play so many matches; the first player takes seat 0 in every even match and seat 1 in every odd one."""
    pool = game.pool(slots_for(matches), seed)
    returns: list[FloatArray] = []
    left, voided = matches, 0
    while left:
        waiting, ended = pool.recv()
        first.forget(ended.slot)
        second.forget(ended.slot)
        counted = ended.match < matches
        played = counted & (ended.end_reason == EndReason.PLAYED)
        returns.append(ended.returns[played, ended.match[played] % SEATS])
        left -= int(counted.sum())
        voided += int((counted & ~played).sum())
        action = np.zeros(len(waiting), dtype=np.int64)
        by_first = waiting.match % SEATS == waiting.seat
        for player, rows in ((first, np.flatnonzero(by_first)), (second, np.flatnonzero(~by_first))):
            if rows.size:
                action[rows] = player.act(waiting.at(rows)).action
        pool.send(action)
    return _score(np.concatenate(returns), voided)


def _score(returns: FloatArray, voided: int) -> Score:
    count = len(returns)
    deviation = float(returns.std(ddof=1)) if count > 1 else math.nan
    return Score(
        matches=count,
        mean=float(returns.mean()) if count else math.nan,
        margin=_NORMAL_95 * deviation / math.sqrt(max(count, 1)),
        wins=int((returns > 0).sum()),
        draws=int((returns == 0).sum()),
        voided=voided,
    )
