"""Potential-based reward shaping.

    r_t = rewards and result + w (γ Φ(s_{t+1}) − Φ(s_t)),   Φ = Σ_i weight_i potential_i,   Φ = 0 after termination

Ng, Harada, Russell 1999, "Policy Invariance Under Reward Transformations": shaping leaves the optimal policy unchanged,
since what a seat gains by it, it loses again at the end; it only learns sooner which actions were good. Here Φ is
computed from the views of episodes; `returns.rewards_of` turns it into rewards.
"""

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from nemesis.core.errors import UserError
from nemesis.core.game import Game, ShapedGame
from nemesis.core.schedule import Schedule
from nemesis.core.settings import Settings
from nemesis.core.trajectory import Trajectories


class RewardConfig(Settings):
    """What is rewarded: the result only, or also how far a seat is ahead."""

    kind: Literal["sparse", "dense", "hybrid"] = Field(
        "sparse", description="no shaping; shaping throughout; or shaping scaled by dense_weight"
    )
    dense_weight: Schedule = Field(
        Schedule(start=1.0, end=0.0), description="hybrid: weight of the shaping, a number or a schedule"
    )
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="weights of the game's potentials, by name; the others keep the game's default weights"
    )


class RewardShaping:
    """Computes the potentials of episodes as configured."""

    def __init__(self, config: RewardConfig, game: Game) -> None:
        self._config = config
        self._game: ShapedGame | None = None
        if config.kind == "sparse":
            return
        if not isinstance(game, ShapedGame):
            raise UserError(
                f"reward.kind={config.kind} needs a game with potentials, and {game.spec.name} has none; "
                "use reward.kind=sparse."
            )
        for name in config.weights:
            if name not in game.potentials:
                raise UserError(
                    f"reward.weights.{name} is not a potential of {game.spec.name}; "
                    f"its potentials are {', '.join(game.potentials)}."
                )
        self._game = game
        weights = {**game.potentials, **config.weights}
        self._weights = np.array(list(weights.values()), dtype=np.float32)

    def shape(self, trajectories: Trajectories, progress: float) -> Trajectories:
        """Return the episodes with w Φ of every view, at a progress of the run between 0 and 1."""
        weight = 1.0 if self._config.kind == "dense" else self._config.dense_weight.at(progress)
        if self._game is None or weight == 0:
            return trajectories
        weights = np.float32(weight) * self._weights
        potential = self._game.potential(trajectories.view) @ weights
        if trajectories.final_view is None or trajectories.terminated is None:
            return replace(trajectories, potential=potential)
        final_potential = self._game.potential(trajectories.final_view) @ weights
        final_potential[trajectories.terminated] = 0.0
        return replace(trajectories, potential=potential, final_potential=final_potential)
