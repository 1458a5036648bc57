"""How much of who beats whom no ranking can explain, and the strongest cycles, such as rock, paper and scissors.

The log odds a_ij that i beats j are split, as in the Hodge decomposition of a flow on a graph (Jiang, Lim, Yao & Ye
2011, "Statistical ranking and combinatorial Hodge theory"; for games, Balduzzi et al. 2019, "Open-ended learning in
symmetric zero-sum games"), into what a rating s explains and a rest that is cyclic:

    a_ij = (s_i − s_j) + r_ij,   s = argmin Σ w_ij (a_ij − (s_i − s_j))²

The weights w_ij are one over the variance of a_ij. Noise alone then adds 1 to the sum Σ w a² for every pair that met,
and to the rest Σ w r² for every pair beyond those that connect the players. Both are subtracted, so that a population
with a perfect ranking has a share near 0 also after few matches. Log odds are used because those of the Bradley–Terry
model are exactly differences; win rates are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from nemesis.evaluation.payoffs.counts import Matrix, PayoffCounts

_PRIOR = 0.5  # wins and losses that are added to every pair, so that log odds are finite
_WRONG = 0.05  # probability that any pair is taken the wrong way
_SINGULAR = 1e-10  # eigenvalues that are as small are zero
CYCLES = 5


@dataclass(frozen=True, slots=True)
class Cycle:
    """Three players, each of whom beats the next."""

    players: tuple[int, int, int]
    win_rates: tuple[float, float, float]  # of each against the next
    certain: bool  # whether each beats the next, at 95 % for all pairs together


@dataclass(frozen=True, slots=True)
class Intransitivity:
    """What a ranking does not explain."""

    share: float  # of the variance of log odds, without noise; nan if too little was played
    cycles: Sequence[Cycle]  # the strongest first


def intransitivity(counts: PayoffCounts, cycles: int = CYCLES) -> Intransitivity:
    """Return the share of variance that no ranking explains, and the strongest cycles."""
    return Intransitivity(cyclic_share(counts), strongest_cycles(counts, cycles))


def cyclic_share(counts: PayoffCounts) -> float:
    """Return the share of the variance of log odds that no ranking explains, from 0 to 1."""
    flow, weight = _flow(counts)
    rating = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight, rcond=_SINGULAR, hermitian=True) @ (
        weight * flow
    ).sum(axis=1)
    rest = flow - (rating[:, None] - rating[None, :])
    pairs = int((weight > 0).sum()) // 2
    connecting = len(counts) - _components(weight > 0)
    total = float((weight * flow**2).sum()) / 2 - pairs
    cyclic = float((weight * rest**2).sum()) / 2 - (pairs - connecting)
    if pairs <= connecting or total <= 0:
        return float("nan")
    return min(max(cyclic / total, 0.0), 1.0)


def strongest_cycles(counts: PayoffCounts, number: int) -> list[Cycle]:
    """Return cycles of three players, those first in which the least certain of the three is the most certain.

    How certain it is that i beats j is counted in standard errors from one half. There are so many pairs that some seem
    certain by chance, so the limit is that of Bonferroni.
    """
    rates, matches = counts.win_rates, counts.matches
    errors = np.where(rates > 0.5, (2 * rates - 1) * np.sqrt(matches), -np.inf)  # (player, opponent)
    limit = NormalDist().inv_cdf(1 - _WRONG / max(int((matches > 0).sum()) // 2, 1))
    found: list[tuple[float, tuple[int, int, int]]] = []
    for first in range(len(counts) - 2):  # has the lowest number of the three
        # (second, third): first beats second, second beats third, and third beats first
        weakest = np.minimum(np.minimum(errors[first][:, None], errors), errors[:, first][None, :])
        weakest = weakest[first + 1 :, first + 1 :]
        best = np.argsort(weakest, axis=None)[-number:]
        for second, third in zip(*np.unravel_index(best, weakest.shape), strict=True):
            if np.isfinite(weakest[second, third]):
                players = (first, first + 1 + int(second), first + 1 + int(third))
                found.append((float(weakest[second, third]), players))
    found.sort(reverse=True)
    return [
        Cycle((a, b, c), (float(rates[a, b]), float(rates[b, c]), float(rates[c, a])), certain=weakest > limit)
        for weakest, (a, b, c) in found[:number]
    ]


def _flow(counts: PayoffCounts) -> tuple[Matrix, Matrix]:
    """Return the log odds (player, opponent) and their weights, 0 where a pair has not met."""
    matches, draws = counts.matches, counts.draws
    number = matches + 2 * _PRIOR
    rate = (counts.points + _PRIOR) / number
    drawn = draws / number
    variance = (rate * (1 - rate) - drawn / 4) / number / (rate * (1 - rate)) ** 2
    weight = np.where(matches > 0, 1 / variance, 0.0)
    np.fill_diagonal(weight, 0.0)
    return np.log(rate / (1 - rate)), weight


def _components(met: npt.NDArray[np.bool_]) -> int:
    reached = np.eye(len(met), dtype=np.bool_) | met
    for _ in range(max(len(met) - 1, 1).bit_length()):
        reached = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    return len(np.unique(reached.argmax(axis=1)))
