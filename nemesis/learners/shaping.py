"""What a run pays beside the result of a match: potential-based shaping.

    r_t = result at the end + w (γ Φ(s_{t+1}) − Φ(s_t)),   Φ = Σ_i weight_i potential_i,   Φ = 0 after the end

Ng, Harada, Russell 1999, "Policy Invariance Under Reward Transformations": what is paid for getting ahead is taken
back by the end, so that the best policy stays the best and only learns sooner which of its moves were good. Here Φ is
computed from the views of finished episodes; learners turn it into rewards.
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
    """What is paid: the result alone, or also how far a seat is ahead."""

    kind: Literal["sparse", "dense", "hybrid"] = Field(
        "sparse", description="the result alone; with shaping all along; or with shaping by dense_weight"
    )
    dense_weight: Schedule = Field(
        Schedule(start=1.0, end=0.0), description="hybrid: how much of the shaping counts, a number or a schedule"
    )
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="how much each of the game's potentials counts, by name, instead of the game's own weights"
    )


class RewardShaping:
    """Judges the positions of finished episodes as a run is configured to."""

    def __init__(self, config: RewardConfig, game: Game) -> None:
        self._config = config
        self._game: ShapedGame | None = None
        if config.kind == "sparse":
            return
        if not isinstance(game, ShapedGame):
            raise UserError(
                f"reward.kind={config.kind} needs a game whose positions can be judged, and {game.spec.name} is none; "
                "use reward.kind=sparse."
            )
        for name in config.weights:
            if name not in game.potentials:
                raise UserError(
                    f"reward.weights.{name} is nothing that {game.spec.name} judges; "
                    f"it judges {', '.join(game.potentials)}."
                )
        self._game = game
        weights = {**game.potentials, **config.weights}
        self._weights = np.array(list(weights.values()), dtype=np.float32)

    def judge(self, trajectories: Trajectories, progress: float) -> Trajectories:
        """Return the episodes with w Φ of every position, at a progress of the run between 0 and 1."""
        weight = 1.0 if self._config.kind == "dense" else self._config.dense_weight.at(progress)
        if self._game is None or weight == 0:
            return trajectories
        potential = self._game.potential(trajectories.view) @ (np.float32(weight) * self._weights)
        return replace(trajectories, potential=potential)
