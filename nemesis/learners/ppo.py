"""Proximal policy optimisation, for policies with and without memory.

    L = E[−min(r A, clip(r, 1 − ε, 1 + ε) A)] + β E[(V − target)²] − γ E[H(π)],   r = π(a|s) / π_old(a|s)

Schulman et al. 2017, "Proximal Policy Optimization Algorithms". Advantages come from GAE, or from V-trace where data
is stale. Annealed entropy is what makes it a serious learner of games with hidden information: Rudolph, Sokota et al.
2025, "Reevaluating Policy Gradient Methods for Imperfect-Information Games".

Two additions, both off at first. *Foresight*: a head of the policy predicts what the opponent does at the same moment,
and its cross-entropy is one more loss. *Advantage filtering*: the policy learns from the decisions with the largest |A|
alone, the value from all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from pydantic import Field
from torch import Tensor

from nemesis.core.errors import UserError
from nemesis.core.game import FloatArray
from nemesis.core.schedule import Schedule
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.actor_critic import ActorCritic, ActorCriticConfig, constant
from nemesis.learners.batch import Batch, Output, to_batch
from nemesis.learners.descent import Loss, Metrics, descend
from nemesis.learners.learner import PolicyModule
from nemesis.learners.returns import gae, rewards_of, vtrace


class PPOConfig(ActorCriticConfig):
    """Settings of PPO."""

    algorithm: Literal["ppo"] = Field("ppo", description="which learner")
    epochs: int = Field(1, ge=1, description="passes over each batch")
    minibatch: int = Field(4096, ge=1, description="decisions in one gradient step")
    clip: float = Field(0.2, gt=0, le=1, description="surrogate: how far the probability ratio counts from 1")
    advantage: Literal["gae", "vtrace"] = Field("gae", description="advantage estimator; vtrace corrects stale data")
    discount: float = Field(1.0, gt=0, le=1, description="γ of the returns")
    advantage_lambda: float = Field(0.95, ge=0, le=1, description="λ of the policy's advantages")
    value_lambda: float = Field(0.95, ge=0, le=1, description="λ of the value's targets")
    ratio_limit: float = Field(1.0, gt=0, description="V-trace's cap on importance ratios")
    normalise_advantages: bool = Field(False, description="scale advantages of a batch to mean 0 and deviation 1")
    advantage_share: float = Field(
        1.0, gt=0, le=1, description="share of a batch, those of largest |advantage|, that the policy learns from"
    )
    entropy_weight: Schedule = Field(constant(0.05), description="weight of the entropy bonus, a number or a schedule")
    opponent_model_weight: Schedule = Field(
        constant(0.0),
        description="weight of predicting what the opponent does, a number or a schedule; needs policy.opponent_model",
    )
    kl_stop: float | None = Field(None, gt=0, description="leave an update early past this KL from the data policy")


@dataclass(frozen=True, slots=True)
class Targets:
    """What the loss pulls toward, per decision of a batch."""

    advantage: Tensor  # (decision,)
    value: Tensor  # (decision,)
    selected: Tensor | None = None  # (decision,) which of them the policy learns from; None for all
    selected_share: float = 1.0  # of the decisions


def estimate(
    batch: Batch, trajectories: Trajectories, reward: FloatArray, forward: PolicyModule, config: PPOConfig
) -> Targets:
    """Turn rewards into advantages and value targets."""
    device = batch.action.device
    rewards = torch.from_numpy(reward).to(device)
    offsets = trajectories.offsets
    if config.advantage == "vtrace":
        now = batch.run_all(forward)
        log_ratio = losses.chosen(now.log_probs, batch.action) - batch.log_prob
        discount, limit = config.discount, config.ratio_limit
        advantage, _ = vtrace(rewards, now.value, log_ratio, offsets, discount, config.advantage_lambda, limit)
        _, target = vtrace(rewards, now.value, log_ratio, offsets, discount, config.value_lambda, limit)
    else:
        value = torch.from_numpy(trajectories.value).to(device)
        advantage = gae(rewards, value, offsets, config.discount, config.advantage_lambda)
        target = value + gae(rewards, value, offsets, config.discount, config.value_lambda)
    if config.normalise_advantages:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    if config.advantage_share == 1:
        return Targets(advantage=advantage, value=target)
    count = max(1, round(config.advantage_share * len(advantage)))
    selected = torch.zeros_like(advantage, dtype=torch.bool)
    selected[advantage.abs().topk(count, sorted=False).indices] = True
    return Targets(advantage=advantage, value=target, selected=selected, selected_share=count / len(advantage))


def surrogate(output: Output, batch: Batch, targets: Targets, clip: float) -> Tensor:
    """Return the clipped policy loss of some decisions."""
    row = output.row
    log_prob = losses.chosen(output.log_probs, batch.action[row])
    return losses.clipped_surrogate(log_prob, batch.log_prob[row], targets.advantage[row], clip)


PolicyLoss: TypeAlias = Callable[[Output], tuple[Tensor, Metrics]]
"""From what the policy says about some decisions to its loss, the mean over them, and metrics."""


def actor_critic_loss(
    output: Output,
    policy_loss: PolicyLoss,
    batch: Batch,
    targets: Targets,
    forward: PolicyModule,
    config: PPOConfig,
    progress: float,
) -> tuple[Tensor, Metrics]:
    """Add entropy bonus, value loss and foresight to a policy loss; returns the sum and its parts."""
    row = output.row
    selected, share = _selected(output, targets)
    policy, metrics = policy_loss(selected)
    entropy = losses.entropy(selected.log_probs)
    value = losses.value_loss(output.value, output.value_logits, forward.atoms, targets.value[row])
    total = share * (policy - config.entropy_weight.at(progress) * entropy) + config.value_weight * value
    if (
        batch.opponent_action is not None
        and output.opponent_model is not None
        and config.opponent_model_weight.at(progress) > 0
    ):
        opponent_model, seen = _opponent_model(output.opponent_model, batch.opponent_action[row].long(), forward)
        total = total + config.opponent_model_weight.at(progress) * opponent_model
        metrics |= seen
    with torch.no_grad():
        log_ratio = losses.chosen(output.log_probs, batch.action[row]) - batch.log_prob[row]
        metrics |= {
            "loss": total,
            "policy_loss": share * policy,
            "value_loss": value,
            "entropy": entropy,
            "kl_old": (log_ratio.exp() - 1 - log_ratio).mean(),  # Schulman's low-variance estimate
            "clipped": ((log_ratio.exp() - 1).abs() > config.clip).float().mean(),
        }
    return total, metrics


def _selected(output: Output, targets: Targets) -> tuple[Output, float]:
    """Return the decisions that the policy learns from, and their share of these over their share of the batch.

    So weighted, means over them add up to the mean over those of the batch, however they fall into minibatches.
    """
    if targets.selected is None:
        return output, 1.0
    rows = targets.selected[output.row].nonzero()[:, 0]
    share = len(rows) / (targets.selected_share * len(output.row))
    return output.at(rows if len(rows) else rows.new_zeros(1)), share  # where there are none, any one without weight


def _opponent_model(
    opponent_features: Tensor, opponent_action: Tensor, forward: PolicyModule
) -> tuple[Tensor, Metrics]:
    """Return the loss of foreseeing what the opponent did, as far as it is known: thoughts (n, deed, …), (n, deed)."""
    known = opponent_action >= 0
    label = opponent_action[known]
    logits = forward.opponent_logits(opponent_features[known])
    loss = losses.opponent_model_loss(logits, label, len(opponent_action))
    with torch.no_grad():
        hits = (logits.argmax(-1) == label).sum() / max(len(label), 1)
    return loss, {"opponent_model_loss": loss, "opponent_model_accuracy": hits}


def actor_critic(policy: PolicyModule, config: PPOConfig, device: torch.device, seed: int) -> ActorCritic:
    """Return a policy that learns by these settings, which must fit it."""
    wanted = max(config.opponent_model_weight.start, config.opponent_model_weight.end) > 0
    if wanted and not policy.has_opponent_model:
        raise UserError(
            "learner.opponent_model_weight needs a policy with a head for it; set policy.opponent_model=true."
        )
    return ActorCritic(policy, config, device, seed)


class PPO:
    """Learns by clipped policy gradient."""

    def __init__(self, policy: PolicyModule, config: PPOConfig, device: torch.device, seed: int) -> None:
        self._config = config
        self._core = actor_critic(policy, config, device, seed)

    @property
    def average(self) -> PolicyModule:
        return self._core.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        core, config = self._core, self._config
        batch = to_batch(trajectories, config.sequence_length, core.policy, core.device)
        reward = rewards_of(trajectories, config.discount)
        targets = estimate(batch, trajectories, reward, core.forward, config)

        def policy_loss(output: Output) -> tuple[Tensor, Metrics]:
            return surrogate(output, batch, targets, config.clip), {}

        def loss(output: Output) -> tuple[Tensor, Metrics]:
            return actor_critic_loss(output, policy_loss, batch, targets, core.forward, config, progress)

        return improve(core, batch, loss, config, progress)

    def state(self) -> dict[str, Any]:
        return self._core.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._core.restore(state)


def improve(core: ActorCritic, batch: Batch, loss: Loss, config: PPOConfig, progress: float) -> dict[str, float]:
    """Descend a loss over a batch, then let the averaged weights follow."""
    learning_rate = config.learning_rate.at(progress)
    metrics = descend(
        batch,
        core.forward,
        loss,
        core.optimiser,
        core.generator,
        learning_rate=learning_rate,
        epochs=config.epochs,
        minibatch=config.minibatch,
        kl_stop=config.kl_stop,
    )
    core.averaged.follow(core.policy)
    return metrics | {"learning_rate": learning_rate, "skipped_steps": float(core.optimiser.skipped)}
