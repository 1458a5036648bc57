"""Ratings from results: the Bradley–Terry model on the Elo scale, with 95 % intervals.

Bradley & Terry 1952, "Rank analysis of incomplete block designs". Player i beats j with probability

    p_ij = 1 / (1 + 10^((r_j − r_i) / 400))

and the ratings r maximise the likelihood of the results; a draw is half a win for each. As a prior, every player has
one additional drawn match, in equal parts against all whom it met (a pair has the larger of its two parts), so that a
player who won all matches has a finite rating. Only differences are meaningful. Some players may be anchors, with fixed
ratings; without any, the mean is set to 1500.

The covariance of the other ratings is I⁺ B I⁺. In the Fisher information I, a pair has the weight n_ij p_ij (1 − p_ij).
In B it has n_ij times the variance of a score, p_ij (1 − p_ij) less a quarter of the share of draws. All of B is
multiplied by the variance of scores within pairs, relative to that; it is below 1 where a ranking does not explain who
beats whom.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MEAN = 1500.0
_SCALE = 400.0 / np.log(10.0)  # Elo points in one unit of log odds
_NORMAL_95 = 1.96
_STEPS = 100
_PRECISION = 1e-9

_SINGULAR = 1e-10  # eigenvalues of the information that are as small are zero: only differences are known
_PRIOR_VARIANCE = 20.0  # variance of scores as the model has it, that is added to what was observed

_Matrix = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of a player."""

    name: str
    elo: float
    margin: float  # half the width of the 95 % interval
    matches: int

    @property
    def low(self) -> float:
        return self.elo - self.margin

    @property
    def high(self) -> float:
        return self.elo + self.margin

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "elo": self.elo, "low": self.low, "high": self.high, "matches": self.matches}


def rate(
    names: Sequence[str], points: _Matrix, anchors: Mapping[str, float] | None = None, draws: _Matrix | None = None
) -> list[Rating]:
    """Return ratings, best first, from points (player, player): wins and half the draws of one against the other.

    The ratings of anchors are fixed. `draws` are the drawn matches (player, player); without them, no match counts as
    drawn, and the intervals are too wide if some were. Raises `ValueError` if some players are not connected by results
    or anchors, directly or through others.
    """
    fixed = {} if anchors is None else anchors
    free = np.array([name not in fixed for name in names])
    played = points + points.T
    if not _connected((played > 0) | np.outer(~free, ~free)):
        raise ValueError("some players have no results that connect them to the others")
    with_prior = points + _prior(played > 0) / 2
    start = np.array([fixed.get(name, MEAN) - MEAN for name in names]) / _SCALE
    strength = _maximum_likelihood(with_prior, start, free)
    inverse = np.linalg.pinv(
        _information(with_prior + with_prior.T, strength)[np.ix_(free, free)], rcond=_SINGULAR, hermitian=True
    )
    spread = _laplacian(_score_variances(points, np.zeros_like(points) if draws is None else draws, strength))
    variance = np.zeros(len(names))
    variance[free] = np.diag(inverse @ spread[np.ix_(free, free)] @ inverse)
    margin = _NORMAL_95 * _SCALE * np.sqrt(np.maximum(variance, 0))
    elo = MEAN + _SCALE * strength
    matches = np.rint(played.sum(axis=1)).astype(int)
    ratings = [
        Rating(name, float(elo[place]), float(margin[place]), int(matches[place])) for place, name in enumerate(names)
    ]
    return sorted(ratings, key=lambda rating: -rating.elo)


def rate_against(name: str, results: Mapping[str, tuple[float, int]], anchors: Mapping[str, float]) -> Rating | None:
    """Return the rating of one player from its points and matches against anchors; None if it met none of them."""
    met = [opponent for opponent, (_, matches) in results.items() if matches and opponent in anchors]
    if not met:
        return None
    points = np.zeros((len(met) + 1,) * 2)
    for place, opponent in enumerate(met, start=1):
        earned, matches = results[opponent]
        points[0, place], points[place, 0] = earned, matches - earned
    ratings = rate([name, *met], points, {opponent: anchors[opponent] for opponent in met})
    return next(rating for rating in ratings if rating.name == name)


def _maximum_likelihood(points: _Matrix, start: _Matrix, free: npt.NDArray[np.bool_]) -> _Matrix:
    """Maximise the concave log-likelihood by Newton's method over free players (player,), from a start (player,).

    Returns log odds (player,); their mean is 0 if all players are free.
    """
    met = points + points.T
    strength = start.copy()
    for _ in range(_STEPS):
        gradient = points.sum(axis=1) - (met * _chances(strength)).sum(axis=1)
        step = (
            np.linalg.pinv(_information(met, strength)[np.ix_(free, free)], rcond=_SINGULAR, hermitian=True)
            @ gradient[free]
        )
        step /= max(1.0, float(np.abs(step).max()))  # limits steps where the curvature is small
        strength[free] += step
        if np.abs(step).max() < _PRECISION:
            break
    return strength - strength.mean() if free.all() else strength


def _prior(met: npt.NDArray[np.bool_]) -> _Matrix:
    """Return the drawn matches (player, player) of the prior."""
    part = 1.0 / np.maximum(met.sum(axis=1), 1)
    prior: _Matrix = met * np.maximum(part[:, None], part[None, :])
    return prior


def _score_variances(points: _Matrix, draws: _Matrix, strength: _Matrix) -> _Matrix:
    """Return the variances (player, player) of the points in the matches of each pair."""
    played, chances = points + points.T, _chances(strength)
    drawn = np.minimum(draws / np.maximum(played + 1, 1), 2 * np.minimum(chances, 1 - chances))
    modelled = played * (chances * (1 - chances) - drawn / 4)
    rate = points / np.maximum(played, 1)
    within = played * (rate * (1 - rate) - draws / np.maximum(played, 1) / 4)
    several = played > 1
    observed = (within * played / np.maximum(played - 1, 1))[several].sum()
    factor = (observed + _PRIOR_VARIANCE) / (modelled[several].sum() + _PRIOR_VARIANCE)
    variances: _Matrix = factor * modelled
    return variances


def _chances(strength: _Matrix) -> _Matrix:
    """Return the probabilities (player, player) that one beats the other."""
    chances: _Matrix = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
    return chances


def _information(met: _Matrix, strength: _Matrix) -> _Matrix:
    chances = _chances(strength)
    return _laplacian(met * chances * (1.0 - chances))


def _laplacian(weight: _Matrix) -> _Matrix:
    laplacian: _Matrix = np.diag(weight.sum(axis=1)) - weight
    return laplacian


def _connected(met: npt.NDArray[np.bool_]) -> bool:
    reached = np.eye(len(met), dtype=np.bool_) | met
    for _ in range(len(met)):
        reached = reached @ reached
    return bool(reached.all())
