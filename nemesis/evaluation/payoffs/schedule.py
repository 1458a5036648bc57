"""Which pairs of players meet next: where two more matches reduce uncertainty most, or those that met least often.

The win rate of a pair has, after s points in n matches and with a uniform prior, the variance p (1 − p) / (n + 3) with
p = (s + 1) / (n + 2). One more match is expected to reduce it by 1 / (n + 3) of that. The `uncertainty` schedule takes
the pairs whose variance falls most, `round_robin` those with the fewest matches.

What is scheduled together is among few players, so that each decides for many matches at once and few are open.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from nemesis.core.game import SIDES, BoolArray, IntArray
from nemesis.evaluation.payoffs.counts import Matrix

Order: TypeAlias = Literal["uncertainty", "round_robin"]
_TOGETHER = 8  # players in one batch of pairs


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be played in all."""

    cells: BoolArray  # (player, opponent) which pairs meet
    matches: int  # of each pair, those that were played before included
    order: Order


class Schedule:
    """Chooses pairs, and knows which matches were played or are under way."""

    def __init__(self, wanted: Wanted, points: Matrix, matches: IntArray) -> None:
        """Continue from points and matches (player, opponent); voided matches are among the latter."""
        self._wanted = wanted
        self._cells = np.triu(wanted.cells, 1)
        self._points = points.copy()
        self._scored = matches.copy()
        self._planned = matches.copy()  # with those under way
        self.left = int(self._missing.sum())  # matches that are not scheduled yet

    @property
    def _missing(self) -> IntArray:
        """The matches (player, opponent) that are not scheduled yet, in pairs with sides swapped."""
        missing = np.maximum(self._wanted.matches - self._planned, 0) * self._cells
        return -(-missing // SIDES) * SIDES

    def add(self, first: IntArray, second: IntArray, points: Matrix) -> None:
        """Take over the points (n,) of the first players in matches that ended; those that are voided have none."""
        for one, other, earned in ((first, second, points), (second, first, 1 - points)):
            np.add.at(self._points, (one, other), np.nan_to_num(earned))
            np.add.at(self._scored, (one, other), 1)

    def next(self, matches: int) -> list[tuple[int, int]]:
        """Return at most so many matches as pairs of players, each of which stands for two matches."""
        missing = self._missing
        chosen = self._close_cells(np.where(missing > 0, self._gains(*np.indices(missing.shape)), -np.inf))
        pairs: list[tuple[int, int]] = []
        if not chosen:
            return pairs
        first, second = np.array(chosen).T
        rest = missing[first, second] // SIDES
        for _ in range(min(matches // SIDES, int(rest.sum()))):
            best = int(np.where(rest > 0, self._gains(first, second), -np.inf).argmax())
            pairs.append(chosen[best])
            rest[best] -= 1
            for one, other in (chosen[best], chosen[best][::-1]):
                self._planned[one, other] += SIDES
        self.left -= SIDES * len(pairs)
        return pairs

    def _gains(self, first: IntArray, second: IntArray) -> Matrix:
        """Return what matches of pairs (…) are worth, in the unit of the order."""
        planned = self._planned[first, second]
        if self._wanted.order == "round_robin":
            return -planned.astype(np.float64)
        chance = (self._points[first, second] + 1) / (self._scored[first, second] + 2)
        gains: Matrix = chance * (1 - chance) / (planned + 3.0) ** 2
        return gains

    def _close_cells(self, gain: Matrix) -> list[tuple[int, int]]:
        """Return cells with high gains among few players, from the cell with the highest."""
        if not np.isfinite(gain).any():
            return []
        both = np.maximum(gain, gain.T)
        start = np.unravel_index(int(gain.argmax()), gain.shape)
        players = [int(player) for player in start]
        while len(players) < min(_TOGETHER, len(gain)):
            best = both[players].max(axis=0)
            best[players] = -np.inf
            if not np.isfinite(best.max()):
                break
            players.append(int(best.argmax()))
        among = [(min(one, other), max(one, other)) for place, one in enumerate(players) for other in players[:place]]
        return [cell for cell in among if np.isfinite(gain[cell])]
