"""Matches between two players, counted fairly: every match that is begun for the count is played to its end.

Matches come in pairs. In the second of a pair the players swap their seats, and where the game allows it each seat
begins with the same as in the first: the same teams, for example.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from nemesis.core.game import (
    SIDES,
    BoolArray,
    Decisions,
    FloatArray,
    Game,
    IntArray,
    MatchPool,
    PairedGame,
    Results,
    TurnGame,
    is_counted,
    count_reasons,
)
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.play.players import Choices

_NORMAL_95 = 1.96  # standard errors to either side of a 95 % interval


class Player(Protocol):
    """Whoever answers decisions."""

    def act(self, decisions: Decisions) -> Choices: ...

    def forget(self, slot: IntArray) -> None: ...


Watch: TypeAlias = Callable[[MatchPool, Results], None]
"""Looks at matches that have just ended, while the pool that played them still knows them."""

Note: TypeAlias = Callable[[Decisions, Choices], None]
"""Hears what was decided in matches that count, all that was decided at once at a time."""


def win_rate_interval(rate: float, matches: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a win rate; wider than need be where matches are drawn, nan without matches."""
    if not matches:
        return math.nan, math.nan
    weight = _NORMAL_95**2 / matches
    middle = (rate + weight / 2) / (1 + weight)
    half = math.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return max(middle - half, 0.0), min(middle + half, 1.0)


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
    decisions: float = math.nan  # of the first player in a match, on average
    turns: float = math.nan  # of a match, on average, where the game counts them

    @property
    def win_rate(self) -> float:
        """Wins, and half the draws, of all matches; nan if there were none."""
        return (self.wins + self.draws / 2) / self.matches if self.matches else math.nan

    @property
    def win_rate_interval(self) -> tuple[float, float]:
        return win_rate_interval(self.win_rate, self.matches)

    def in_words(self) -> str:
        voided = f"{self.voided} voided"
        if self.ended.keys() != {"played"}:
            voided += "; ended: " + ", ".join(f"{count} {reason}" for reason, count in self.ended.items())
        if not self.matches:
            return f"no match ended by play, {voided}"
        low, high = self.win_rate_interval
        turns = f"{self.turns:.1f} turns, " if math.isfinite(self.turns) else ""
        return (
            f"win rate {self.win_rate:.1%} (95 % interval {low:.1%} to {high:.1%}), "
            f"return {self.mean:+.4f} ± {self.margin:.4f}, {turns}{self.matches} matches, {voided}"
        )

    def as_json(self) -> dict[str, Any]:
        low, high = self.win_rate_interval
        figures = {
            "win_rate": self.win_rate,
            "win_rate_low": low,
            "win_rate_high": high,
            "return": self.mean,
            "return_margin": self.margin,
            "decisions": self.decisions,
            "turns": self.turns,
        }
        finite = {name: value if math.isfinite(value) else None for name, value in figures.items()}  # JSON has no nan
        return finite | {"matches": self.matches, "voided": self.voided, "ended": dict(self.ended)}


def play(
    game: Game,
    first: Player,
    others: Sequence[Player],
    *,
    matches: int,
    slots: int,
    seed: int,
    watch: Watch | None = None,
    note: Note | None = None,
    stop: Stop = never,
) -> list[Score]:
    """Play so many matches of one player against each of the others, in one pool; returns a score for each.

    Pairs of matches go round the others; the first player has seat 0 in the first match of a pair, seat 1 in the other.
    """
    total = matches * len(others)
    ends: list[Results] = []
    lengths = _Lengths(game, total)
    left = total
    open_pool = game.paired_pool if isinstance(game, PairedGame) else game.pool
    with closing(open_pool(min(slots, total), seed)) as pool:
        while left:
            if stop():
                raise StoppedError
            waiting, ended = pool.recv()
            for player in (first, *others):
                player.forget(ended.slot)
            ends.append(ended.at(np.flatnonzero(ended.match < total)))
            left -= len(ends[-1])
            if watch is not None:
                watch(pool, ends[-1])
            counted = waiting.match < total
            by_first = seat_of_first(waiting.match) == waiting.seat
            lengths.note(waiting.at(np.flatnonzero(counted & by_first)))
            opponent = _opponent(waiting.match, matches, len(others))
            asked = np.where(counted, np.where(by_first, 0, opponent + 1), -1)  # (n,) number of the player
            choices = _answers(waiting, asked, (first, *others))
            pool.send(choices.action)
            if note is not None and counted.any():
                rows = np.flatnonzero(counted)
                note(waiting.at(rows), choices.at(rows))
    match = np.concatenate([ended.match for ended in ends])
    returns = np.concatenate([ended.returns for ended in ends])
    reason = np.concatenate([ended.end_reason for ended in ends])
    earned = returns[np.arange(total), seat_of_first(match)]
    opponent = _opponent(match, matches, len(others))
    scores = []
    for number in range(len(others)):
        rows = opponent == number
        scores.append(score(earned[rows], reason[rows], *lengths.of(match[rows])))
    return scores


def seat_of_first(match: IntArray) -> IntArray:
    """Return the seat that the first player has in matches (n,) of `play`."""
    return match % SIDES


def _opponent(match: IntArray, matches: int, others: int) -> IntArray:
    """Return which of the others plays in matches (n,), of so many against each; an odd one is left for the end."""
    paired = matches // SIDES * SIDES * others
    return np.where(match < paired, match // SIDES % others, match - paired)


class _Lengths:
    """How long matches are."""

    def __init__(self, game: Game, matches: int) -> None:
        self._game = game
        self._decisions = np.zeros(matches, dtype=np.int64)
        self._turns = np.zeros(matches, dtype=np.int64)

    def note(self, decisions: Decisions) -> None:
        """Count decisions, at most one of a match."""
        self._decisions[decisions.match] += 1
        if isinstance(self._game, TurnGame):
            self._turns[decisions.match] = self._game.turn(decisions.view)

    def of(self, match: IntArray) -> tuple[IntArray, IntArray | None]:
        """Return the decisions and, where the game counts them, the turns of matches (n,)."""
        return self._decisions[match], self._turns[match] if isinstance(self._game, TurnGame) else None


def _answers(waiting: Decisions, asked: IntArray, players: Sequence[Player]) -> Choices:
    """Ask each player (n,) for its actions; matches that do not count, −1, only fill the pool and get any legal one."""
    unknown = np.full(len(waiting), np.nan, dtype=np.float32)
    answers = Choices(np.argmax(waiting.mask, axis=1), unknown, unknown.copy())
    for number, player in enumerate(players):
        if (rows := np.flatnonzero(asked == number)).size:
            chosen = player.act(waiting.at(rows))
            answers.action[rows] = chosen.action
            answers.log_prob[rows], answers.value[rows] = chosen.log_prob, chosen.value
    return answers


def score(returns: FloatArray, reason: IntArray, decisions: IntArray, turns: IntArray | None) -> Score:
    """Sum up what was earned (n,) in matches that ended for such reasons (n,) and were so long (n,)."""
    counted = is_counted(reason)
    earned = returns[counted]
    count = len(earned)
    deviation = float(earned.std(ddof=1)) if count > 1 else math.nan
    return Score(
        matches=count,
        mean=float(earned.mean()) if count else math.nan,
        margin=_NORMAL_95 * deviation / math.sqrt(max(count, 1)),
        wins=int((earned > 0).sum()),
        draws=int((earned == 0).sum()),
        voided=len(reason) - count,
        ended=count_reasons(reason),
        decisions=_mean(decisions, counted),
        turns=_mean(turns, counted) if turns is not None else math.nan,
    )


def _mean(values: IntArray, counted: BoolArray) -> float:
    return float(values[counted].mean()) if counted.any() else math.nan
