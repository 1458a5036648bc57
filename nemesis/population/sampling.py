"""Opponent sampling: five rules for the weight of each member of a category.

uniform               1
elo_weighted          exp(−|Δ| / temperature) within a window of rating differences Δ; the nearest if none is in it
recent_weighted       decay^age, the newest having age 0
difficulty_adjusted   exp(−(w − target)² / 2·0.15²), w the policy's win rate against the member
prioritised           (1 − w)², or w (1 − w): prioritised fictitious self-play, Vinyals et al. 2019, "Grandmaster level
                      in StarCraft II using multi-agent reinforcement learning"
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nemesis.population.members import Member
from nemesis.training.config import OpponentsConfig

_WIDTH = 0.15  # standard deviation of difficulty_adjusted, in win rate
_MIN_WEIGHT = 1e-3  # relative to the largest, so that every member is sampled sometimes


def chances(members: Sequence[Member], rating: float, config: OpponentsConfig) -> npt.NDArray[np.float64]:
    """Return the sampling probabilities (n,) of the members, for a policy with that rating."""
    win_rate = np.array([member.against.rate for member in members])
    difference = np.abs(np.array([member.rating for member in members]) - rating)
    match config.sampling:
        case "uniform":
            weight = np.ones(len(members))
        case "elo_weighted":
            weight = np.exp(-difference / config.elo_temperature) * (difference <= config.elo_window)
            if not weight.any():
                weight = (difference == difference.min()).astype(np.float64)
        case "recent_weighted":
            _, age = np.unique([-member.joined_at for member in members], return_inverse=True)
            weight = config.recent_decay ** age.astype(np.float64)
        case "difficulty_adjusted":
            weight = np.exp(-((win_rate - config.target_win_rate) ** 2) / (2 * _WIDTH**2))
        case "prioritised":
            weight = (1 - win_rate) ** 2 if config.prioritise == "hard" else win_rate * (1 - win_rate)
    if config.sampling != "elo_weighted":  # which excludes members outside its window
        weight = np.maximum(weight, _MIN_WEIGHT * weight.max())
    chance: npt.NDArray[np.float64] = weight / weight.sum()
    return chance
