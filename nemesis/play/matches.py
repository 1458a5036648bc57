"""Scored matches between two players. Every scored match is played to its end, so that short ones are not favoured.

Matches are played in pairs. In the second of a pair, the players swap sides. If the game supports it, both matches of
a pair have the same setup, such as the same teams.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

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
    RecordingPool,
    Results,
    TurnGame,
    count_reasons,
    is_counted,
    side_of,
)
from nemesis.core.interrupts import Stop, StoppedError, never
from nemesis.core.masks import unpack_mask
from nemesis.core.progress import report
from nemesis.play.players import Choices, Player

_NORMAL_95 = 1.96  # standard errors on either side of a 95 % interval

OnEnd: TypeAlias = Callable[[MatchPool, Results], None]
"""Called with matches that have just ended, while their pool can still save replays of them."""

OnDecisions: TypeAlias = Callable[[Decisions, Choices], None]
"""Called with decisions of scored matches, and the chosen actions."""


def win_rate_interval(rate: float, matches: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a win rate; conservative where matches are drawn, nan without matches."""
    if not matches:
        return math.nan, math.nan
    weight = _NORMAL_95**2 / matches
    middle = (rate + weight / 2) / (1 + weight)
    half = math.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True, slots=True)
class Score:
    """The score of the first of two players, over scored matches."""

    matches: int
    mean: float
    margin: float  # half the width of the 95 % interval of the mean, nan below two matches
    wins: int
    draws: int
    voided: int
    ended: Counter[str]  # all matches by end reason, the voided ones included
    decisions: float = math.nan  # of the first player in a match, on average
    turns: float = math.nan  # of a match, on average, where the game counts them

    @property
    def win_rate(self) -> float:
        """Wins and half the draws, as a share of all matches; nan if there are none."""
        return (self.wins + self.draws / 2) / self.matches if self.matches else math.nan

    @property
    def win_rate_interval(self) -> tuple[float, float]:
        return win_rate_interval(self.win_rate, self.matches)

    def summary(self) -> str:
        voided = f"{self.voided} voided"
        if self.ended.keys() != {"played"}:
            voided += "; ended: " + ", ".join(f"{count} {reason}" for reason, count in self.ended.items())
        if not self.matches:
            return f"no scored matches, {voided}"
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
    on_end: OnEnd | None = None,
    on_decisions: OnDecisions | None = None,
    recorded: bool = False,
    stop: Stop = never,
    activity: str = "Playing matches",
) -> list[Score]:
    """Play `matches` matches of one player against each of the others, in one pool; returns a score for each.

    Pairs of matches rotate through the others; the first player has side 0 in the first match of a pair, then side 1.
    Progress is reported as `activity`. `on_end` can save replays of matches that are `recorded`.
    """
    total = matches * len(others)
    ends: list[Results] = []
    lengths = _Lengths(game, total)
    left = total
    open_pool = game.paired_pool if isinstance(game, PairedGame) else game.pool
    with closing(open_pool(min(slots, total), seed)) as pool:
        if recorded and isinstance(pool, RecordingPool):
            pool.record_matches()
        while left:
            report(activity, total - left, total)
            if stop():
                raise StoppedError
            waiting, ended = pool.recv()
            for player in (first, *others):
                player.forget(ended.slot)
            ends.append(ended.at(np.flatnonzero(ended.match < total)))
            left -= len(ends[-1])
            if on_end is not None:
                on_end(pool, ends[-1])
            counted = waiting.match < total
            by_first = side_of_first(waiting.match) == side_of(waiting.seat)
            lengths.add(waiting.at(np.flatnonzero(counted & by_first)))
            opponent = _opponent(waiting.match, matches, len(others))
            asked = np.where(counted, np.where(by_first, 0, opponent + 1), -1)  # (n,) number of the player
            choices = _answers(waiting, asked, (first, *others))
            pool.send(choices.action)
            if on_decisions is not None and counted.any():
                rows = np.flatnonzero(counted)
                on_decisions(waiting.at(rows), choices.at(rows))
    match = np.concatenate([ended.match for ended in ends])
    returns = np.concatenate([ended.returns for ended in ends])
    reason = np.concatenate([ended.end_reason for ended in ends])
    earned = returns[np.arange(total), side_of_first(match)]
    opponent = _opponent(match, matches, len(others))
    scores = []
    for number in range(len(others)):
        rows = opponent == number
        scores.append(score(earned[rows], reason[rows], *lengths.of(match[rows])))
    return scores


def side_of_first(match: IntArray) -> IntArray:
    """Return the side that the first player has in matches (n,) of `play`."""
    return match % SIDES


def _opponent(match: IntArray, matches: int, others: int) -> IntArray:
    """Return which opponent plays in matches (n,); the unpaired match of an odd number comes last."""
    paired = matches // SIDES * SIDES * others
    return np.where(match < paired, match // SIDES % others, match - paired)


class _Lengths:
    """Counts the decisions and turns of matches."""

    def __init__(self, game: Game, matches: int) -> None:
        self._turn = game.turn if isinstance(game, TurnGame) else None
        self._decisions = np.zeros(matches, dtype=np.int64)
        self._turns = np.zeros(matches, dtype=np.int64)

    def add(self, decisions: Decisions) -> None:
        """Count decisions of the first player."""
        np.add.at(self._decisions, decisions.match, 1)
        if self._turn is not None:
            self._turns[decisions.match] = self._turn(decisions.view)

    def of(self, match: IntArray) -> tuple[IntArray, IntArray | None]:
        """Return the decisions and, where the game counts them, the turns of matches (n,)."""
        return self._decisions[match], self._turns[match] if self._turn is not None else None


def _answers(waiting: Decisions, asked: IntArray, players: Sequence[Player]) -> Choices:
    """Call each player (n,) for its actions. Other matches, −1, only fill the pool and get any legal action."""
    unknown = np.full(len(waiting), np.nan, dtype=np.float32)
    answers = Choices(np.zeros(len(waiting), dtype=np.int64), unknown, unknown.copy())
    if (filling := np.flatnonzero(asked < 0)).size:
        mask = waiting.mask[filling]
        answers.action[filling] = unpack_mask(mask, 8 * mask.shape[1]).argmax(axis=1)
    for number, player in enumerate(players):
        if (rows := np.flatnonzero(asked == number)).size:
            chosen = player.act(waiting.at(rows))
            answers.action[rows] = chosen.action
            answers.log_prob[rows], answers.value[rows] = chosen.log_prob, chosen.value
    return answers


def score(returns: FloatArray, reason: IntArray, decisions: IntArray, turns: IntArray | None) -> Score:
    """Return the score of matches with these returns (n,), end reasons (n,) and lengths (n,)."""
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
