"""Offline actor-critic: a critic learns what was earned, and the policy does as was done where that was good.

    L = mean over told actions of −w(A) log Σ_a π(a|s) + β L_critic

    w(A)   binary    1 where A > 0, `worse_weight` elsewhere; filter: 1 and nought (Wang et al. 2020, "Critic
                     Regularized Regression")
           exp       e^{A / temperature}, at most `largest_weight` (Peng et al. 2019, "Advantage-Weighted Regression")
           none      1: behaviour cloning with a critic beside it

The critic's targets G are λ-returns or n-step returns over values of a slowly following copy of the policy. With
`critic: value`, A = G − V(s). With `critic: actions`, a head Q learns G for the action taken, V(s) = Σ π(a|s) Q(s, a)
is what returns go on with, and A = Q(s, a) − V(s), which one lucky game cannot make large. Further values, each by a
discount of its own, teach the network what matters sooner and later; the policy asks only the first. Episodes that
ended otherwise than by play teach the critic nothing; their returns end with what it expects there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.actor_critic import ActorCritic
from nemesis.learners.batch import Batch, Output, to_batch
from nemesis.learners.behaviour_cloning import (
    BehaviourCloningConfig,
    LabelCounts,
    imitation,
    learn,
    terminated_decisions,
    use_dropout,
)
from nemesis.learners.descent import Metrics
from nemesis.learners.learner import PolicyModule
from nemesis.learners.optimiser import AveragedWeights, Forward
from nemesis.learners.returns import gae, n_step, rewards_of


class OfflineConfig(BehaviourCloningConfig):
    """Settings of offline actor-critic, beside those of behaviour cloning."""

    algorithm: Literal["offline"] = Field("offline", description="which learner")  # type: ignore[assignment]
    weighting: Literal["binary", "filter", "exp", "none"] = Field(
        "binary", description="how much an action counts by its advantage; none is behaviour cloning"
    )
    better_weight: float = Field(1.0, ge=0, description="binary: weight of actions with an advantage above nought")
    worse_weight: float = Field(0.2, ge=0, description="binary: weight of the others")
    temperature: float = Field(0.5, gt=0, description="exp: advantage that makes an action count e times as much")
    largest_weight: float = Field(20.0, gt=0, description="exp: weight that no action exceeds")
    critic: Literal["value", "actions"] = Field(
        "value", description="judge positions, or actions too, which needs policy.action_values"
    )
    returns: Literal["lambda", "n_step"] = Field(
        "lambda", description="what the critic learns: TD(λ), or n-step returns"
    )
    value_lambda: float = Field(0.95, ge=0, le=1, description="lambda: λ of the returns; 1 is what the game ended with")
    steps: int = Field(5, ge=1, description="n_step: decisions until the value takes over")
    discount: float = Field(1.0, gt=0, le=1, description="γ of the returns")
    more_discounts: tuple[float, ...] = Field(
        (), description="discounts of further values; needs policy.horizons to be as many"
    )
    target_step: float = Field(
        0.01, gt=0, le=1, description="how far the copy whose values returns go on with follows at each update"
    )


@dataclass(frozen=True, slots=True)
class Targets:
    """What a batch teaches."""

    value: Tensor  # (decision,) the return by the first discount
    horizons: Tensor | None  # (decision, horizon) those by the others
    terminated: Tensor  # (decision,) whether that return is of an episode that ended by play
    advantage: Tensor  # (decision,) of the action taken
    weight: Tensor  # (decision,) how much the action counts


class Offline:
    """Learns from fixed data by weighting what was done."""

    def __init__(self, policy: PolicyModule, config: OfflineConfig, device: torch.device, seed: int) -> None:
        self._config = config
        use_dropout(policy, config.dropout)
        self._core = ActorCritic(policy, config, device, seed)
        self._target = AveragedWeights(policy, span=1.0, least_step=config.target_step)
        self._critic = Forward(self._target.policy, device, precision=config.precision, compile_it=False)

    @property
    def average(self) -> PolicyModule:
        return self._core.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        core, config = self._core, self._config
        given = to_batch(trajectories, config.sequence_length, core.policy, core.device)
        judged = given.with_states_of(self._critic).run_all(self._critic)
        terminated = terminated_decisions(trajectories, core.device)
        targets = judge(judged, given, trajectories, terminated, config)
        batch = given.with_states_of(core.forward)
        counts = LabelCounts.of(batch, terminated)

        def loss(output: Output) -> tuple[Tensor, Metrics]:
            policy, metrics = imitation(output, batch, counts, config.label_smoothing, targets.weight)
            value, parts = critic_loss(output, batch, targets, counts, core.forward.atoms, config)
            total = policy + config.value_weight * value
            parts |= {"loss": total, "value_loss": value} | _shown(output, batch, targets, counts)
            return total, metrics | parts

        metrics = learn(core, batch, loss, config, progress)
        self._target.follow(core.policy)
        return metrics

    def state(self) -> dict[str, Any]:
        return self._core.state() | {"target": self._target.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._core.restore(state)
        self._target.restore(state["target"])


def judge(
    judged: Output, batch: Batch, trajectories: Trajectories, terminated: Tensor, config: OfflineConfig
) -> Targets:
    """Turn what a critic says about a batch, and what the batch earned, into what is to be learned."""
    last = torch.from_numpy(trajectories.offsets[1:] - 1).to(terminated.device)
    truncated = last[~terminated[last]]

    def returns(value: Tensor, discount: float) -> Tensor:
        reward = torch.from_numpy(rewards_of(trajectories, discount)).to(value.device)
        reward[truncated] = value[truncated]
        if config.returns == "n_step":
            return n_step(reward, value, trajectories.offsets, discount, config.steps)
        return value + gae(reward, value, trajectories.offsets, discount, config.value_lambda)

    value = judged.value
    if config.critic == "actions":
        if judged.action_values is None:
            raise UserError("learner.critic=actions needs a policy with a head for it; set policy.action_values=true.")
        value = (losses.probabilities(judged.log_probs) * judged.action_values).sum(-1)
    target = returns(value, config.discount)
    if config.critic == "actions" and judged.action_values is not None:
        advantage = losses.chosen(judged.action_values, batch.action.clamp(min=0)) - value
        if batch.known is not None:
            advantage = torch.where(batch.known, advantage, target - value)
    else:
        advantage = target - value
    horizons = None
    if config.more_discounts:
        if judged.horizons is None or judged.horizons.shape[1] != len(config.more_discounts):
            raise UserError(
                f"learner.more_discounts has {len(config.more_discounts)} discounts; set policy.horizons to as many."
            )
        columns = zip(judged.horizons.unbind(1), config.more_discounts, strict=True)
        horizons = torch.stack([returns(column, discount) for column, discount in columns], dim=1)
    return Targets(target, horizons, terminated, advantage, weights(advantage, config))


def weights(advantage: Tensor, config: OfflineConfig) -> Tensor:
    """Return how much actions of these advantages count."""
    match config.weighting:
        case "binary":
            better = torch.full_like(advantage, config.better_weight)
            return torch.where(advantage > 0, better, config.worse_weight)
        case "filter":
            return (advantage > 0).to(advantage.dtype)
        case "exp":
            return (advantage / config.temperature).exp().clamp(max=config.largest_weight)
        case "none":
            return torch.ones_like(advantage)


def critic_loss(
    output: Output, batch: Batch, targets: Targets, counts: LabelCounts, atoms: Tensor | None, config: OfflineConfig
) -> tuple[Tensor, Metrics]:
    """Return the part of the critic's loss that some decisions have, and metrics."""
    row = output.row
    each = losses.value_loss_each(output.value, output.value_logits, atoms, targets.value[row])
    if output.horizons is not None and targets.horizons is not None:
        each = each + (output.horizons - targets.horizons[row]).square().mean(1)
    loss = (targets.terminated[row] * each).sum() / counts.terminated
    if config.critic == "value" or output.action_values is None:
        return loss, {}
    if batch.known is not None:
        output = output.at(batch.known[row].nonzero()[:, 0])
        row = output.row
    assert output.action_values is not None  # noqa: S101
    taken = losses.chosen(output.action_values, batch.action[row])
    actions = (targets.terminated[row] * (taken - targets.value[row]).square()).sum() / counts.known
    return loss + actions, {"action_value_loss": actions}


def _shown(output: Output, batch: Batch, targets: Targets, counts: LabelCounts) -> Metrics:
    row = output.row if batch.known is None else output.row[batch.known[output.row]]
    advantage = targets.advantage[row]
    return {
        "advantage": advantage.sum() / counts.known,
        "better": (advantage > 0).sum() / counts.known,
        "weight": targets.weight[row].sum() / counts.known,
    }
