"""Counts of wins, draws and losses of every pair of players, by side, and the win rates that follow from them."""

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES, BoolArray, FloatArray, IntArray, is_counted
from nemesis.play.match_stream import FinishedMatches

WON, DRAWN, LOST = range(3)
_NORMAL_95 = 1.96

Matrix = npt.NDArray[np.float64]


class PayoffCounts:
    """The results of all scored matches among some players. Every match is counted for both of its players."""

    def __init__(self, players: int) -> None:
        self.results = np.zeros((players, players, SIDES, 3), dtype=np.int64)  # (player, opponent, side, result)
        self.voided = np.zeros((players, players), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def matches(self) -> IntArray:
        """The number of scored matches (player, opponent)."""
        matches: IntArray = self.results.sum(axis=(2, 3))
        return matches

    @property
    def draws(self) -> IntArray:
        """The number of drawn matches (player, opponent)."""
        draws: IntArray = self.results[..., DRAWN].sum(axis=2)
        return draws

    @property
    def points(self) -> Matrix:
        """Wins and half the draws (player, opponent)."""
        points: Matrix = self.results[..., WON].sum(axis=2) + self.draws / 2
        return points

    @property
    def win_rates(self) -> Matrix:
        """Wins and half the draws as a share of the matches (player, opponent); nan where there are none."""
        with np.errstate(invalid="ignore"):
            rates: Matrix = self.points / self.matches
        return rates

    @property
    def intervals(self) -> tuple[Matrix, Matrix]:
        """95 % intervals of the win rates; from 0 to 1 where there are no matches."""
        return win_rate_intervals(self.points, self.draws, self.matches)

    def add(self, played: FinishedMatches) -> None:
        """Count matches that ended; those that are voided count apart."""
        self.add_results(played.first, played.second, played.side, results_of(played.returns, played.end_reason))

    def add_results(self, first: IntArray, second: IntArray, side: IntArray, result: IntArray) -> None:
        """Count matches (n,) by the side and the result of their first player; −1 is a voided match."""
        counted = np.flatnonzero(result >= 0)
        one, other, side_one, won = first[counted], second[counted], side[counted], result[counted]
        np.add.at(self.results, (one, other, side_one, won), 1)
        np.add.at(self.results, (other, one, 1 - side_one, LOST - won), 1)
        voided = np.flatnonzero(result < 0)
        np.add.at(self.voided, (first[voided], second[voided]), 1)
        np.add.at(self.voided, (second[voided], first[voided]), 1)

    def of(self, players: IntArray) -> "PayoffCounts":
        """Return the counts among some of the players."""
        part = PayoffCounts(len(players))
        part.results = self.results[np.ix_(players, players)]
        part.voided = self.voided[np.ix_(players, players)]
        return part

    def __add__(self, other: "PayoffCounts") -> "PayoffCounts":
        total = PayoffCounts(len(self))
        total.results = self.results + other.results
        total.voided = self.voided + other.voided
        return total


def results_of(returns: FloatArray, end_reason: IntArray) -> IntArray:
    """Return the results (n,) of matches with these returns; −1 for those that are voided."""
    scored: BoolArray = is_counted(end_reason)
    return np.select([~scored, returns > 0, returns < 0], [-1, WON, LOST], DRAWN).astype(np.int64)


def win_rate_intervals(points: Matrix, draws: IntArray, matches: IntArray) -> tuple[Matrix, Matrix]:
    """Return 95 % intervals of win rates, from 0 to 1 without matches.

    They are Wilson's, with as many matches without draws as would have the same variance.
    """
    chance, drawn = (points + 1) / (matches + 2), draws / (matches + 2)
    number = np.maximum(matches / (1 - drawn / (4 * chance * (1 - chance))), 1e-9)
    weight = _NORMAL_95**2 / number
    rate = points / np.maximum(matches, 1)
    middle = (rate + weight / 2) / (1 + weight)
    half = np.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
