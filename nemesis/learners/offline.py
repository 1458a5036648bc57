"""Offline actor-critic: a critic learns the returns in the data, and the policy imitates the actions that were good.

    L = mean over labelled decisions of −w(A) log Σ_a π(a|s) + β L_critic

    w(A)   binary    `better_weight` where A > 0, `worse_weight` elsewhere; filter: 1 and 0 (Wang et al. 2020, "Critic
                     Regularized Regression")
           exp       e^{A / temperature}, at most `largest_weight` (Peng et al. 2019, "Advantage-Weighted Regression")
           none      1: behaviour cloning, with a critic that does not affect it

The critic's targets G are λ-returns or n-step returns over the values of a target network, an average of the policy's
weights. With `critic: value`, A = G − V(s). With `critic: actions`, a head Q learns G for the action taken, returns
bootstrap from V(s) = Σ π(a|s) Q(s, a), and A = Q(s, a) − V(s), which a single lucky game cannot make large. Further
values, each with its own discount, are auxiliary losses; the policy's weights use only the first.

Episodes that did not terminate, for example because a person forfeited, train no critic. Their returns end with the
target network's value at their last decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import Batch, DecisionOutput, Forward, to_batch
from nemesis.learners.behaviour_cloning import LabelCounts, imitation_loss, set_dropout, step, terminated_decisions
from nemesis.learners.config import OfflineConfig
from nemesis.learners.learner import Metrics, TrainState
from nemesis.learners.optimiser import AveragedWeights
from nemesis.learners.returns import gae, n_step, rewards_of
from nemesis.policies.heads import PolicyOutput
from nemesis.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of the critic, and weights of the actions, for a batch."""

    value: Tensor  # (decision,) return by the first discount
    horizons: Tensor | None  # (decision, horizon) returns by the others
    terminated: Tensor  # (decision,) whether the critic learns from it
    advantage: Tensor  # (decision,) of the action taken
    weight: Tensor  # (decision,) of the action taken


class Offline:
    """Learns from fixed data by weighted imitation."""

    def __init__(self, policy: Policy, config: OfflineConfig, device: torch.device, seed: int) -> None:
        self._config = config
        set_dropout(policy, config.dropout)
        self._train = TrainState(policy, config, device, seed)
        self._target = AveragedWeights(policy, span=1.0, least_step=config.target_step)
        self._target_forward = Forward(self._target.policy, device, precision=config.precision, compiled=False)

    @property
    def average(self) -> Policy:
        return self._train.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        train, config = self._train, self._config
        stored = to_batch(trajectories, config.sequence_length, train.policy, train.device)
        critic = stored.with_states_of(self._target_forward).run_all(self._target_forward)
        terminated = terminated_decisions(trajectories, train.device)
        targets = estimate_targets(critic, stored, trajectories, terminated, config)
        batch = stored.with_states_of(train.forward)
        counts = LabelCounts.of(batch, terminated)

        def loss(output: DecisionOutput) -> tuple[Tensor, Metrics]:
            policy, metrics = imitation_loss(output, batch, counts, config.label_smoothing, targets.weight)
            value, critic_metrics = critic_loss(output, batch, targets, counts, train.policy.atoms, config)
            total = policy + config.value_weight * value
            metrics |= critic_metrics | {"loss": total, "value_loss": value}
            return total, metrics | _weight_metrics(output, batch, targets, counts)

        metrics = step(train, batch, loss, config, progress)
        self._target.update(train.policy)
        return metrics

    def state(self) -> dict[str, Any]:
        return self._train.state() | {"target": self._target.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._train.restore(state)
        self._target.restore(state["target"])


def estimate_targets(
    critic: PolicyOutput, batch: Batch, trajectories: Trajectories, terminated: Tensor, config: OfflineConfig
) -> Targets:
    """Turn the target network's output for a batch, and the batch's rewards, into targets and weights."""
    last = torch.from_numpy(trajectories.offsets[1:] - 1).to(terminated.device)
    continuing = last[~terminated[last]]

    def returns(value: Tensor, discount: float) -> Tensor:
        reward = torch.from_numpy(rewards_of(trajectories, discount)).to(value.device)
        reward[continuing] = value[continuing]  # the critic's own value, since that of the one who played is unknown
        if config.returns == "n_step":
            return n_step(reward, value, trajectories.offsets, discount, config.steps)
        return value + gae(reward, value, trajectories.offsets, discount, config.value_lambda)

    value = critic.value
    if config.critic == "actions":
        if critic.action_values is None:
            raise UserError("learner.critic=actions needs a policy with a head for it; set policy.action_values=true.")
        value = (losses.probabilities(critic.log_probs) * critic.action_values).sum(-1)
    target = returns(value, config.discount)
    if config.critic == "actions" and critic.action_values is not None:
        advantage = losses.of_action(critic.action_values, batch.action.clamp(min=0)) - value
        if batch.known is not None:
            advantage = torch.where(batch.known, advantage, target - value)
    else:
        advantage = target - value
    horizons = None
    if config.more_discounts:
        if critic.horizons is None or critic.horizons.shape[1] != len(config.more_discounts):
            raise UserError(
                f"learner.more_discounts has {len(config.more_discounts)} discounts; set policy.horizons to as many."
            )
        columns = zip(critic.horizons.unbind(1), config.more_discounts, strict=True)
        horizons = torch.stack([returns(column, discount) for column, discount in columns], dim=1)
    return Targets(target, horizons, terminated, advantage, weights(advantage, config))


def weights(advantage: Tensor, config: OfflineConfig) -> Tensor:
    """Return the weights of actions with these advantages (n,)."""
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
    output: DecisionOutput,
    batch: Batch,
    targets: Targets,
    counts: LabelCounts,
    atoms: Tensor | None,
    config: OfflineConfig,
) -> tuple[Tensor, Metrics]:
    """Return the part of the critic's loss of some decisions, and metrics."""
    row, heads = output.row, output.heads
    each = losses.value_loss_each(heads.value, heads.value_logits, atoms, targets.value[row])
    if heads.horizons is not None and targets.horizons is not None:
        each = each + (heads.horizons - targets.horizons[row]).square().mean(1)
    loss = (targets.terminated[row] * each).sum() / counts.terminated
    if config.critic == "value" or heads.action_values is None:
        return loss, {}
    action_values = heads.action_values
    if batch.known is not None:
        known = batch.known[row].nonzero()[:, 0]
        row, action_values = row[known], action_values[known]
    taken = losses.of_action(action_values, batch.action[row])
    actions = (targets.terminated[row] * (taken - targets.value[row]).square()).sum() / counts.known
    return loss + actions, {"action_value_loss": actions}


def _weight_metrics(output: DecisionOutput, batch: Batch, targets: Targets, counts: LabelCounts) -> Metrics:
    row = output.row if batch.known is None else output.row[batch.known[output.row]]
    advantage = targets.advantage[row]
    return {
        "advantage": advantage.sum() / counts.known,
        "positive_advantage": (advantage > 0).sum() / counts.known,
        "weight": targets.weight[row].sum() / counts.known,
    }
