"""Behaviour cloning: do as was done, and tell who will win.

    L = mean over told actions of −log Σ_a π(a|s) + β mean over decided episodes of (V(s) − result)²

The sum is over the actions that agree with what is told: one where the action is known, several where it is known in
part, as with one of two slots. With label smoothing, a share of the loss is spread evenly over what is legal. Episodes
that ended otherwise than by play teach no value. A batch is one step; it is run some decisions at a time, and by
several processes at once if there are some.

With dropout (Srivastava et al. 2014), each step silences another share of what the policy's encoder and feed-forward
layers say, so that it cannot rely on any one feature. The metrics of a step are those of the policy so silenced.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from nemesis.core.schedule import Schedule
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.actor_critic import ActorCritic, ActorCriticConfig
from nemesis.learners.batch import Batch, Output, to_batch
from nemesis.learners.data_parallel import add_up, rank
from nemesis.learners.descent import Loss, Metrics, step_once
from nemesis.learners.learner import PolicyModule


class BehaviourCloningConfig(ActorCriticConfig):
    """Settings of behaviour cloning."""

    algorithm: Literal["bc"] = Field("bc", description="which learner")
    learning_rate: Schedule = Field(
        Schedule(start=1e-3, end=1e-5, shape="cosine", warmup=0.02),
        description="AdamW's step size, a number or a schedule",
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="AdamW's β₁")
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="share of the loss that is spread over what is legal")
    dropout: float = Field(
        0.0, ge=0, lt=1, description="share of what the encoder and feed-forward layers say that each step silences"
    )
    decisions_at_once: int = Field(
        4096, ge=1, description="decisions of a batch that are run at once; their gradients are added up"
    )


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many decisions a batch has, in all processes."""

    known: float  # whose action is known
    told: float  # whose action is known at least in part
    terminated: float  # of episodes that ended by play

    @staticmethod
    def of(batch: Batch, terminated: Tensor) -> "LabelCounts":
        known = torch.ones_like(batch.action, dtype=torch.bool) if batch.known is None else batch.known
        told = known if batch.possible is None else known | batch.possible.any(-1)
        sums = add_up(torch.stack([known.sum(), told.sum(), terminated.sum()])).clamp(min=1).tolist()
        return LabelCounts(*map(float, sums))


def terminated_decisions(trajectories: Trajectories, device: torch.device) -> Tensor:
    """Return which decisions (decision,) are of episodes that ended by play."""
    if trajectories.terminated is None:
        return torch.ones(trajectories.decisions, dtype=torch.bool, device=device)
    return torch.from_numpy(np.repeat(trajectories.terminated, trajectories.lengths)).to(device)


def imitation(
    output: Output, batch: Batch, counts: LabelCounts, smoothing: float, weight: Tensor | None = None
) -> tuple[Tensor, Metrics]:
    """Return the part of the action loss that some decisions have, each of a weight (decision,), and metrics."""
    known = output if batch.known is None else output.at(batch.known[output.row].nonzero()[:, 0])
    row = known.row
    each = losses.imitation_each(known.log_probs, batch.mask[row], batch.action[row], smoothing)
    loss = (each if weight is None else weight[row] * each).sum() / counts.told
    if batch.possible is not None:
        partly = output.at(batch.possible[output.row].any(-1).nonzero()[:, 0])
        row = partly.row
        each = losses.partial_imitation_each(partly.log_probs, batch.mask[row], batch.possible[row], smoothing)
        loss = loss + (each if weight is None else weight[row] * each).sum() / counts.told
    with torch.no_grad():
        hits = (known.log_probs.argmax(-1) == batch.action[known.row]).sum() / counts.known
        entropy = -(losses.probabilities(known.log_probs) * known.log_probs).sum() / counts.known
    return loss, {"action_loss": loss, "accuracy": hits, "entropy": entropy}


def use_dropout(policy: PolicyModule, share: float) -> None:
    """Let a policy silence a share of its features in training mode, in which it is while `learn` takes a step."""
    for layer in policy.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = share
    policy.train(mode=False)


def learn(
    core: ActorCritic, batch: Batch, loss: Loss, config: BehaviourCloningConfig, progress: float
) -> dict[str, float]:
    """Take one step, then let the averaged weights follow."""
    learning_rate = config.learning_rate.at(progress)
    with _dropping_out(core):
        metrics = step_once(
            batch,
            core.forward,
            loss,
            core.optimiser,
            learning_rate=learning_rate,
            decisions_at_once=config.decisions_at_once,
        )
    core.averaged.follow(core.policy)
    return metrics | {"learning_rate": learning_rate, "skipped_steps": float(core.optimiser.skipped)}


@contextmanager
def _dropping_out(core: ActorCritic) -> Iterator[None]:
    """Silence other features at each step and in each process, whatever was drawn before or is drawn elsewhere."""
    devices = [core.device] if core.device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(int(np.random.SeedSequence((core.seed, core.averaged.updates, rank())).generate_state(1)[0]))
        core.policy.train()
        try:
            yield
        finally:
            core.policy.train(mode=False)


class BehaviourCloning:
    """Learns to do as was done."""

    def __init__(self, policy: PolicyModule, config: BehaviourCloningConfig, device: torch.device, seed: int) -> None:
        self._config = config
        use_dropout(policy, config.dropout)
        self._core = ActorCritic(policy, config, device, seed)

    @property
    def average(self) -> PolicyModule:
        return self._core.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        core, config = self._core, self._config
        batch = to_batch(trajectories, config.sequence_length, core.policy, core.device).with_states_of(core.forward)
        terminated = terminated_decisions(trajectories, core.device)
        counts = LabelCounts.of(batch, terminated)
        result = torch.from_numpy(np.repeat(trajectories.result, trajectories.lengths)).to(core.device)

        def loss(output: Output) -> tuple[Tensor, Metrics]:
            policy, metrics = imitation(output, batch, counts, config.label_smoothing)
            each = losses.value_loss_each(output.value, output.value_logits, core.forward.atoms, result[output.row])
            value = (terminated[output.row] * each).sum() / counts.terminated
            total = policy + config.value_weight * value
            return total, metrics | {"loss": total, "value_loss": value}

        return learn(core, batch, loss, config, progress)

    def state(self) -> dict[str, Any]:
        return self._core.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._core.restore(state)
