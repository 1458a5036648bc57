"""Proximal policy optimisation, for policies with and without memory.

    L = E[−min(r A, clip(r, 1 − ε, 1 + ε) A)] + β E[(V − target)²] − γ E[H(π)],   r = π(a|s) / π_old(a|s)

Schulman et al. 2017, "Proximal Policy Optimization Algorithms". Advantages come from GAE, or from V-trace for
off-policy data. Annealed entropy makes it a strong learner of games with hidden information: Rudolph, Sokota et al.
2025, "Reevaluating Policy Gradient Methods for Imperfect-Information Games".

Two additions are off by default. *Opponent model*: a head of the policy predicts the opponent's action of the same
moment, and its cross-entropy is one more loss. *Advantage filtering*: the policy learns only from the decisions with
the largest |A|, the value from all.

One update, from top to bottom: `PPO.update`, `estimate_targets`, `minimise`, `total_loss`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nemesis.core.errors import UserError
from nemesis.core.game import FloatArray
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import Batch, DecisionOutput, Forward, to_batch
from nemesis.learners.config import PPOConfig
from nemesis.learners.learner import Metrics, TrainState
from nemesis.learners.returns import gae, rewards_of, vtrace
from nemesis.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Targets:
    """Advantages and value targets of a batch."""

    advantage: Tensor  # (decision,)
    value: Tensor  # (decision,)
    selected: Tensor | None = None  # (decision,) advantage filtering: what the policy learns from; None for all
    selected_share: float = 1.0  # of the decisions


PolicyLoss: TypeAlias = Callable[[DecisionOutput], tuple[Tensor, Metrics]]
"""(output for some decisions) → mean policy loss and metrics."""


class PPO:
    """Learns by clipped policy gradient."""

    def __init__(self, policy: Policy, config: PPOConfig, device: torch.device, seed: int) -> None:
        self._config = config
        self._train = train_state(policy, config, device, seed)

    @property
    def average(self) -> Policy:
        return self._train.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        train, config = self._train, self._config
        batch = to_batch(trajectories, config.sequence_length, train.policy, train.device)
        reward = rewards_of(trajectories, config.discount)
        targets = estimate_targets(batch, trajectories, reward, train.forward, config)

        def policy_loss(output: DecisionOutput) -> tuple[Tensor, Metrics]:
            return surrogate(output, batch, targets, config.clip), {}

        return minimise(train, batch, targets, policy_loss, config, progress)

    def state(self) -> dict[str, Any]:
        return self._train.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._train.restore(state)


def train_state(policy: Policy, config: PPOConfig, device: torch.device, seed: int) -> TrainState:
    """Return the state of training a policy, after a check that the policy has the heads that the config needs."""
    needed = max(config.opponent_model_weight.start, config.opponent_model_weight.end) > 0
    if needed and not policy.has_opponent_model:
        raise UserError(
            "learner.opponent_model_weight needs a policy with a head for it; set policy.opponent_model=true."
        )
    return TrainState(policy, config, device, seed)


def estimate_targets(
    batch: Batch, trajectories: Trajectories, reward: FloatArray, forward: Forward, config: PPOConfig
) -> Targets:
    """Estimate advantages and value targets from rewards (decision,)."""
    device = batch.action.device
    rewards = torch.from_numpy(reward).to(device)
    offsets = trajectories.offsets
    if config.advantage == "vtrace":
        now = batch.run_all(forward)
        log_ratio = losses.of_action(now.log_probs, batch.action) - batch.log_prob
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


def minimise(
    train: TrainState, batch: Batch, targets: Targets, policy_loss: PolicyLoss, config: PPOConfig, progress: float
) -> dict[str, float]:
    """Minimise the loss over all epochs, update the averaged weights, and return the means of the metrics."""
    learning_rate = config.learning_rate.at(progress)

    def loss(output: DecisionOutput) -> tuple[Tensor, Metrics]:
        return total_loss(output, policy_loss, batch, targets, train.policy, config, progress)

    steps = _minibatch_steps(train, batch, loss, config, learning_rate)
    train.averaged.update(train.policy)
    names = list(steps[0])
    means = torch.stack([torch.stack([step[name].float() for name in names]) for step in steps]).mean(0).tolist()
    return dict(zip(names, means, strict=True)) | {
        "steps": float(len(steps)),
        "learning_rate": learning_rate,
        "skipped_steps": float(train.optimiser.skipped),
    }


def _minibatch_steps(
    train: TrainState, batch: Batch, loss: PolicyLoss, config: PPOConfig, learning_rate: float
) -> list[Metrics]:
    """Take one optimiser step per minibatch and return the metrics of each."""
    optimiser = train.optimiser
    steps: list[Metrics] = []
    total = config.epochs * batch.minibatch_count(config.minibatch)
    for _ in range(config.epochs):
        for groups in batch.minibatches(config.minibatch, train.generator):
            report("Learning", len(steps), total)
            decisions = sum(int(batch.length[group].sum()) for group in groups)
            metrics: Metrics = {}
            optimiser.zero_gradients()
            for group in groups:  # of sequences of similar length; their gradients add up to that of the minibatch
                output = batch.run(train.forward, group)
                share = len(output.row) / decisions
                group_loss, group_metrics = loss(output)
                optimiser.backward(share * group_loss)
                for name, value in group_metrics.items():
                    metrics[name] = metrics.get(name, torch.zeros_like(value)) + share * value.detach()
            metrics["gradient_norm"] = optimiser.clip_gradients()
            steps.append(metrics)
            if config.kl_stop is not None and float(metrics["kl_old"]) > config.kl_stop:
                optimiser.drop_gradients()
                return steps
            optimiser.step(learning_rate)
    return steps


def total_loss(
    output: DecisionOutput,
    policy_loss: PolicyLoss,
    batch: Batch,
    targets: Targets,
    policy: Policy,
    config: PPOConfig,
    progress: float,
) -> tuple[Tensor, Metrics]:
    """Add entropy bonus, value loss and opponent model loss to a policy loss; returns the sum and metrics."""
    row, heads = output.row, output.heads
    selected, share = _selected(output, targets)
    loss, metrics = policy_loss(selected)
    entropy = losses.entropy(selected.heads.log_probs)
    value = losses.value_loss(heads.value, heads.value_logits, policy.atoms, targets.value[row])
    total = share * (loss - config.entropy_weight.at(progress) * entropy) + config.value_weight * value
    weight = config.opponent_model_weight.at(progress)
    if batch.opponent_action is not None and heads.opponent_features is not None and weight > 0:
        opponent_model, opponent_metrics = _opponent_model_loss(
            heads.opponent_features, batch.opponent_action[row].long(), policy
        )
        total = total + weight * opponent_model
        metrics |= opponent_metrics
    with torch.no_grad():
        log_ratio = losses.of_action(heads.log_probs, batch.action[row]) - batch.log_prob[row]
        metrics |= {
            "loss": total,
            "policy_loss": share * loss,
            "value_loss": value,
            "entropy": entropy,
            "kl_old": (log_ratio.exp() - 1 - log_ratio).mean(),  # Schulman's low-variance estimate
            "clipped": ((log_ratio.exp() - 1).abs() > config.clip).float().mean(),
        }
    return total, metrics


def surrogate(output: DecisionOutput, batch: Batch, targets: Targets, clip: float) -> Tensor:
    """Return the clipped policy loss of some decisions."""
    row = output.row
    log_prob = losses.of_action(output.heads.log_probs, batch.action[row])
    return clipped_surrogate(log_prob, batch.log_prob[row], targets.advantage[row], clip)


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return the mean of −min(r A, clip(r, 1 − ε, 1 + ε) A)."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def _selected(output: DecisionOutput, targets: Targets) -> tuple[DecisionOutput, float]:
    """Return the decisions that the policy learns from, and their share of these over their share of the batch.

    With this weight, their means add up to the mean over the selected decisions of the batch, in any minibatches.
    """
    if targets.selected is None:
        return output, 1.0
    rows = targets.selected[output.row].nonzero()[:, 0]
    share = len(rows) / (targets.selected_share * len(output.row))
    return output.at(rows if len(rows) else rows.new_zeros(1)), share  # if there are none, any one, with weight 0


def _opponent_model_loss(opponent_features: Tensor, opponent_action: Tensor, policy: Policy) -> tuple[Tensor, Metrics]:
    """Return the cross-entropy of the opponent's actions (n, part) that are known, per decision, and metrics."""
    known = opponent_action >= 0
    label = opponent_action[known]
    logits = policy.opponent_logits(opponent_features[known])  # (known, class)
    loss = cross_entropy(logits.float(), label, reduction="sum") / len(opponent_action)
    with torch.no_grad():
        accuracy = (logits.argmax(-1) == label).sum() / max(len(label), 1)
    return loss, {"opponent_model_loss": loss, "opponent_model_accuracy": accuracy}
