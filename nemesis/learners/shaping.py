"""What a decision is rewarded with: reward components of the game, weighted, and potential-based shaping.

    r_t = result + Σ_i weight_i component_{i,t} + γ Φ(s_{t+1}) − Φ(s_t),   Φ = Σ_j weight_j potential_j

with Φ = 0 after termination. Weights may change over the run. `reward.kind` scales all but the sparse components: by 0
(sparse), by 1 (dense), or by a schedule (hybrid). `reward.scale` divides everything by the spread of returns.

Ng, Harada, Russell 1999, "Policy Invariance Under Reward Transformations": shaping by potentials leaves the optimal
policy unchanged, since what a seat gains by it, it loses again at the end; it only learns sooner which actions were
good. Reward components have no such guarantee. Φ is computed from the views of episodes; `returns.rewards_of` turns it
into rewards.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import FloatArray, Game, RewardedGame, ShapedGame
from nemesis.core.plugins import import_attribute
from nemesis.core.schedule import Schedule
from nemesis.core.trajectory import Trajectories
from nemesis.learners.config import RewardConfig, constant
from nemesis.learners.return_scale import ReturnScale
from nemesis.learners.returns import terminal_rewards
from nemesis.learners.reward_check import check_rewards

REWARD, REWARD_SIZE = "reward/", "reward_size/"  # prefixes of metrics
REWARD_FREQUENCY = "reward_frequency/"
_RESULT = "result"  # stands beside the components in metrics
Potential: TypeAlias = Callable[[npt.NDArray[Any]], FloatArray]
"""view (n, view) → potential (n,), from −1 to 1."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A batch with the rewards that are learned from."""

    trajectories: Trajectories
    metrics: dict[str, float]
    scale: ReturnScale | None  # that the rewards are divided by; it includes this batch


class RewardShaping:
    """Computes the rewards of episodes as configured."""

    def __init__(
        self, config: RewardConfig, game: Game, discount: float = 1.0, device: torch.device | None = None
    ) -> None:
        """Take the discount γ of the returns whose spread the rewards are divided by, and the learner's device."""
        self._config = config
        self._discount = discount
        self._device = device or torch.device("cpu")
        self.scale = ReturnScale() if config.scale == "running" else None
        components = game.reward_components if isinstance(game, RewardedGame) else {}
        potentials = game.potentials if isinstance(game, ShapedGame) else {}
        check_rewards(config, game)
        weights = {name: constant(component.weight) for name, component in components.items()}
        self._components = {name: config.weights.get(name, weight) for name, weight in weights.items()}
        self._sparse = np.array([component.sparse for component in components.values()], dtype=np.bool_)
        self._game: ShapedGame | None = None
        self._imported: list[Potential] = []
        self._potentials: list[Schedule] = []  # weights, of the game's own first
        if config.kind != "sparse":
            imported = [name for name in config.weights if name not in components and name not in potentials]
            self._game = game if isinstance(game, ShapedGame) else None
            self._imported = [import_attribute(name) for name in imported]
            self._potentials = [config.weights.get(name, constant(weight)) for name, weight in potentials.items()]
            self._potentials += [config.weights[name] for name in imported]

    def shape(self, trajectories: Trajectories, progress: float) -> Shaped:
        """Return the episodes with the rewards of every decision, at a progress of the run between 0 and 1.

        The caller sets `scale` to the result's once the batch is learned from, so that it counts once even if learning
        is interrupted and repeated.
        """
        match self._config.kind:
            case "sparse":
                dense = 0.0
            case "dense":
                dense = 1.0
            case "hybrid":
                dense = self._config.dense_weight.at(progress)
        paid = _result_metrics(trajectories)
        trajectories, metrics = self._weighted(trajectories, dense, progress)
        metrics |= paid if metrics else {}
        trajectories = self._with_potentials(trajectories, dense, progress)
        if self.scale is None:
            return Shaped(trajectories, metrics, None)
        scale = self.scale.including(trajectories, self._discount, self._device)
        return Shaped(scale.apply(trajectories), metrics | {"reward_scale": scale.divisor}, scale)

    def state(self) -> dict[str, Any] | None:
        """Return everything that an exact continuation needs, as JSON."""
        return None if self.scale is None else asdict(self.scale)

    def restore(self, state: Mapping[str, Any] | None) -> None:
        if state is not None and self.scale is not None:
            self.scale = ReturnScale(**state)

    def _weighted(
        self, trajectories: Trajectories, dense: float, progress: float
    ) -> tuple[Trajectories, dict[str, float]]:
        """Return the episodes with the weighted sum of components; what each contributes, and in how many decisions."""
        reward = trajectories.reward
        if reward is None or not self._components:
            return trajectories, {}
        if reward.ndim == 1:
            self._check_stored()
            return trajectories, {}
        weights = _at(self._components.values(), progress) * np.where(self._sparse, np.float32(1), np.float32(dense))
        mean, size = (weights * part.mean(axis=0, dtype=np.float64) for part in (reward, np.abs(reward)))
        metrics = {
            prefix + name: float(value)
            for prefix, values in ((REWARD, mean), (REWARD_SIZE, size))
            for name, value, weight in zip(self._components, values, weights, strict=True)
            if weight
        }
        paid = zip(self._components, np.count_nonzero(reward, axis=0), strict=True)
        metrics |= {REWARD_FREQUENCY + name: float(decisions / len(reward)) for name, decisions in paid}
        return replace(trajectories, reward=reward @ weights if weights.any() else None), metrics

    def _check_stored(self) -> None:
        """Raise if components are weighted that were summed when the episodes were stored."""
        for name in self._config.weights:
            if name in self._components:
                raise UserError(
                    f"Datasets have the sum of reward components with their default weights; leave out "
                    f"reward.weights.{name}."
                )

    def _with_potentials(self, trajectories: Trajectories, dense: float, progress: float) -> Trajectories:
        """Return the episodes with Φ of every view."""
        if not self._potentials or dense == 0:
            return trajectories
        weights = np.float32(dense) * _at(self._potentials, progress)
        potential = self._potential(trajectories.view, weights)
        if trajectories.final_view is None or trajectories.terminated is None:
            return replace(trajectories, potential=potential)
        final_potential = self._potential(trajectories.final_view, weights)
        final_potential[trajectories.terminated] = 0.0
        return replace(trajectories, potential=potential, final_potential=final_potential)

    def _potential(self, view: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return Φ of views (n, view): (n,)."""
        columns = [self._game.potential(view)] if self._game else []
        columns += [np.asarray(function(view), dtype=np.float32)[:, None] for function in self._imported]
        potential: FloatArray = np.concatenate(columns, axis=1) @ weights
        return potential


def _result_metrics(trajectories: Trajectories) -> dict[str, float]:
    """Return what results contribute to a decision."""
    result = terminal_rewards(trajectories)
    sizes = {REWARD: result.mean(dtype=np.float64), REWARD_SIZE: np.abs(result).mean(dtype=np.float64)}
    return {prefix + _RESULT: float(value) for prefix, value in sizes.items()}


def _at(weights: Iterable[Schedule], progress: float) -> FloatArray:
    return np.array([weight.at(progress) for weight in weights], dtype=np.float32)
