"""Behaviour cloning: predict the action that was taken, and who wins.

    L = mean over labelled decisions of −log Σ_a π(a|s) + β mean over terminated episodes of (V(s) − result)²

The sum is over the actions that agree with the label: one where the action is known, several where it is known in part,
for example for one of two slots. With label smoothing, a share of the loss is spread evenly over the legal actions.
Episodes that did not terminate train no value. A batch is one step. Its gradients are accumulated over some decisions
at a time, and over several processes if there are any.

With dropout (Srivastava et al. 2014), each step sets a random share of the features in the policy's encoder and
feed-forward layers to zero. The metrics of a step are those of the policy with dropout.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import Batch, DecisionOutput, to_batch
from nemesis.learners.config import BehaviourCloningConfig
from nemesis.learners.data_parallel import add_up, rank
from nemesis.learners.learner import Metrics, TrainState
from nemesis.policies.heads import ILLEGAL, unpack_mask
from nemesis.policies.policy import Policy

Loss: TypeAlias = Callable[[DecisionOutput], tuple[Tensor, Metrics]]
"""(output for some decisions) → their parts of the loss and metrics, which are sums over the batch of all processes."""


class BehaviourCloning:
    """Learns to imitate."""

    def __init__(self, policy: Policy, config: BehaviourCloningConfig, device: torch.device, seed: int) -> None:
        self._config = config
        set_dropout(policy, config.dropout)
        self._train = TrainState(policy, config, device, seed)

    @property
    def average(self) -> Policy:
        return self._train.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        train, config = self._train, self._config
        batch = to_batch(trajectories, config.sequence_length, train.policy, train.device)
        batch = batch.with_states_of(train.forward)
        terminated = terminated_decisions(trajectories, train.device)
        counts = LabelCounts.of(batch, terminated)
        result = torch.from_numpy(np.repeat(trajectories.result, trajectories.lengths)).to(train.device)

        def loss(output: DecisionOutput) -> tuple[Tensor, Metrics]:
            row, heads = output.row, output.heads
            policy, metrics = imitation_loss(output, batch, counts, config.label_smoothing)
            each = losses.value_loss_each(heads.value, heads.value_logits, train.policy.atoms, result[row])
            value = (terminated[row] * each).sum() / counts.terminated
            total = policy + config.value_weight * value
            return total, metrics | {"loss": total, "value_loss": value}

        return step(train, batch, loss, config, progress)

    def state(self) -> dict[str, Any]:
        return self._train.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._train.restore(state)


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The numbers of decisions of a batch in all processes, by what they are labelled with."""

    known: float  # the action is known
    labelled: float  # the action is known at least in part
    terminated: float  # the episode terminated, so that its result is a label of the value

    @staticmethod
    def of(batch: Batch, terminated: Tensor) -> "LabelCounts":
        known = torch.ones_like(batch.action, dtype=torch.bool) if batch.known is None else batch.known
        labelled = known if batch.possible is None else known | batch.possible.ne(0).any(-1)
        sums = add_up(torch.stack([known.sum(), labelled.sum(), terminated.sum()])).clamp(min=1).tolist()
        return LabelCounts(*map(float, sums))


def terminated_decisions(trajectories: Trajectories, device: torch.device) -> Tensor:
    """Return which decisions (decision,) are of terminated episodes."""
    if trajectories.terminated is None:
        return torch.ones(trajectories.decisions, dtype=torch.bool, device=device)
    return torch.from_numpy(np.repeat(trajectories.terminated, trajectories.lengths)).to(device)


def imitation_loss(
    output: DecisionOutput, batch: Batch, counts: LabelCounts, smoothing: float, weight: Tensor | None = None
) -> tuple[Tensor, Metrics]:
    """Return the part of the action loss of some decisions, weighted by weight (decision,), and metrics."""
    known = output if batch.known is None else output.at(batch.known[output.row].nonzero()[:, 0])
    log_probs, action = known.heads.log_probs, batch.action[known.row]
    each = _smoothed(-losses.of_action(log_probs, action), known, batch, smoothing)
    loss = (each if weight is None else weight[known.row] * each).sum() / counts.labelled
    if batch.possible is not None:
        partly = output.at(batch.possible[output.row].ne(0).any(-1).nonzero()[:, 0])
        each = _smoothed(partial_label_loss(partly, batch.possible), partly, batch, smoothing)
        loss = loss + (each if weight is None else weight[partly.row] * each).sum() / counts.labelled
    with torch.no_grad():
        accuracy = (log_probs.argmax(-1) == action).sum() / counts.known
        entropy = -(losses.probabilities(log_probs) * log_probs).sum() / counts.known
    return loss, {"action_loss": loss, "accuracy": accuracy, "entropy": entropy}


def partial_label_loss(output: DecisionOutput, possible: Tensor) -> Tensor:
    """Return −log of the probability that the action is one of the possible ones, packed (decision, byte): (n,)."""
    log_probs = output.heads.log_probs
    mask = unpack_mask(possible[output.row], log_probs.shape[-1])
    return -torch.logsumexp(torch.where(mask, log_probs, ILLEGAL), dim=-1)


def _smoothed(loss: Tensor, output: DecisionOutput, batch: Batch, smoothing: float) -> Tensor:
    """Mix the loss (n,) with the cross-entropy of the uniform distribution over the legal actions."""
    if not smoothing:
        return loss
    legal = batch.legal(output)
    uniform = -(output.heads.log_probs * legal).sum(-1) / legal.sum(-1)
    return (1 - smoothing) * loss + smoothing * uniform


def set_dropout(policy: Policy, rate: float) -> None:
    """Set the dropout rate of a policy, which applies in training mode only: during `step`."""
    for layer in policy.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = rate
    policy.train(mode=False)


def step(
    train: TrainState, batch: Batch, loss: Loss, config: BehaviourCloningConfig, progress: float
) -> dict[str, float]:
    """Take one optimiser step on a batch, update the averaged weights, and return the sums of the metrics."""
    learning_rate = config.learning_rate.at(progress)
    total: Metrics = {}
    with _training_mode(train):
        train.optimiser.zero_gradients()
        groups = batch.groups(config.decisions_at_once)
        for number, group in enumerate(groups):
            report("Learning", number, len(groups))
            part, metrics = loss(batch.run(train.forward, group))
            train.optimiser.backward(part)
            for name, value in metrics.items():
                total[name] = total.get(name, torch.zeros_like(value)) + value.detach()
        norm = train.optimiser.clip_gradients()
        train.optimiser.step(learning_rate)
    train.averaged.update(train.policy)
    sums = add_up(torch.stack([value.float() for value in total.values()])).tolist()
    return dict(zip(total, sums, strict=True)) | {
        "gradient_norm": float(norm),
        "learning_rate": learning_rate,
        "skipped_steps": float(train.optimiser.skipped),
    }


@contextmanager
def _training_mode(train: TrainState) -> Iterator[None]:
    """Turn on dropout, with random numbers that depend only on the seed, the update and the process."""
    devices = [train.device] if train.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        seed = np.random.SeedSequence((train.seed, train.averaged.updates, rank())).generate_state(1)[0]
        torch.manual_seed(int(seed))
        train.policy.train()
        try:
            yield
        finally:
            train.policy.train(mode=False)
