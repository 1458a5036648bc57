"""Potential-based reward shaping.

    r_t = rewards and result + w (γ Φ(s_{t+1}) − Φ(s_t)),   Φ = Σ_i weight_i potential_i,   Φ = 0 after termination

Ng, Harada, Russell 1999, "Policy Invariance Under Reward Transformations": shaping leaves the optimal policy unchanged,
since what a seat gains by it, it loses again at the end; it only learns sooner which actions were good. Here Φ is
computed from the views of episodes; `returns.rewards_of` turns it into rewards.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import FloatArray, Game, ShapedGame
from nemesis.core.plugins import import_attribute, is_import
from nemesis.core.trajectory import Trajectories
from nemesis.learners.config import RewardConfig

Potential: TypeAlias = Callable[[npt.NDArray[Any]], FloatArray]
"""view (n, view) → potential (n,), from −1 to 1."""


class RewardShaping:
    """Computes the potentials of episodes as configured."""

    def __init__(self, config: RewardConfig, game: Game) -> None:
        self._config = config
        self._game = game if isinstance(game, ShapedGame) else None
        self._imported: dict[str, Potential] = {}
        if config.kind == "sparse":
            return
        own = self._game.potentials if self._game else {}
        for name in config.weights:
            if name not in own and is_import(name):
                self._imported[name] = import_attribute(name)
            elif name not in own:
                raise UserError(
                    f"reward.weights.{name} is not a potential of {game.spec.name}; its potentials are "
                    f"{', '.join(own) or 'none'}, and a function of your own is written as module:attribute."
                )
        weights = {**own, **config.weights}
        if not weights:
            raise UserError(
                f"reward.kind={config.kind} needs potentials, and {game.spec.name} has none; use reward.kind=sparse, "
                "or name a function of your own in reward.weights as module:attribute."
            )
        self._weights = np.array([weights[name] for name in (*own, *self._imported)], dtype=np.float32)

    def shape(self, trajectories: Trajectories, progress: float) -> Trajectories:
        """Return the episodes with w Φ of every view, at a progress of the run between 0 and 1."""
        weight = 1.0 if self._config.kind == "dense" else self._config.dense_weight.at(progress)
        if self._config.kind == "sparse" or weight == 0:
            return trajectories
        potential = self._potential(trajectories.view, weight)
        if trajectories.final_view is None or trajectories.terminated is None:
            return replace(trajectories, potential=potential)
        final_potential = self._potential(trajectories.final_view, weight)
        final_potential[trajectories.terminated] = 0.0
        return replace(trajectories, potential=potential, final_potential=final_potential)

    def _potential(self, view: npt.NDArray[Any], weight: float) -> FloatArray:
        """Return w Φ of views (n, view): (n,)."""
        columns = [self._game.potential(view)] if self._game else []
        columns += [np.asarray(function(view), dtype=np.float32)[:, None] for function in self._imported.values()]
        potential: FloatArray = np.concatenate(columns, axis=1) @ (np.float32(weight) * self._weights)
        return potential
