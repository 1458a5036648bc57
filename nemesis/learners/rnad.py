"""Regularised Nash dynamics: policy gradient held near a reference, which follows once it has been reached.

    L = L_policy + β L_value − γ H(π) + regulariser, in one of three forms:

reference   α KL(π ‖ π_ref). π_ref is a frozen snapshot of the policy, renewed every `reference_interval` updates
            or, at 0, never: then it is what the run began with, such as a policy that imitates people.
reward      r̃ = r − η log(π/π_ref)(a) + η log(π_opp/π_ref)(a_opp): the same pull, paid as reward to both seats, so that
            each policy answers a game whose equilibrium is unique. Perolat et al. 2022, "Mastering the Game of
            Stratego with Model-Free Multiagent Reinforcement Learning".
magnet      τ KL(π ‖ uniform) + κ KL(π ‖ π_data) + ω KL(π ‖ π̄), τ annealed: magnetic mirror descent. Sokota et al. 2023,
            "A Unified Approach to Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum
            Games". π̄ has the averaged weights, which lie at the centre of the cycles that self-play runs in: the pull
            toward it damps them and vanishes at an equilibrium.

L_policy is PPO's surrogate, or NeuRD (Hennes et al. 2020, "Neural Replicator Dynamics"), which moves each logit by the
action's advantage instead of π times it:

    ∇ logit(a) = A(a) − Σ_i w_i log(π/π_i)(a),   A(a) estimated by 1[a played] Â / max(μ(a), floor)

A softmax policy gradient hardly moves what it rarely plays, and an equilibrium is lost in just those actions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from nemesis.core.game import FloatArray
from nemesis.core.schedule import Schedule
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.actor_critic import ActorCritic, constant
from nemesis.learners.batch import Batch, Output, to_batch
from nemesis.learners.descent import Metrics
from nemesis.learners.learner import PolicyModule
from nemesis.learners.optimiser import frozen_copy
from nemesis.learners.ppo import (
    PPOConfig,
    Targets,
    actor_critic,
    actor_critic_loss,
    estimate,
    improve,
    surrogate,
)
from nemesis.learners.returns import rewards_of


class RegularisedConfig(PPOConfig):
    """Settings of every learner that is pulled toward other policies, beside those of PPO."""

    entropy_weight: Schedule = Field(constant(0.0), description="weight of the entropy bonus, a number or a schedule")
    gradient: Literal["surrogate", "neurd"] = Field(
        "neurd", description="PPO's clipped surrogate, or gains on the logits however rare an action is"
    )
    probability_floor: float = Field(
        0.05, gt=0, le=1, description="neurd: least probability that an action's advantage is divided by"
    )


class RNaDConfig(RegularisedConfig):
    """Settings of R-NaD."""

    algorithm: Literal["rnad"] = Field("rnad", description="which learner")  # type: ignore[assignment]
    form: Literal["reference", "reward", "magnet"] = Field("magnet", description="how the regulariser enters")
    reference_weight: Schedule = Field(constant(0.05), description="α of the reference form")
    reference_interval: int = Field(
        100, ge=0, description="updates after which the reference becomes the policy; 0 keeps the first for good"
    )
    reward_weight: Schedule = Field(constant(0.05), description="η of the reward form")
    magnet_weight: Schedule = Field(constant(0.05), description="τ of the magnet form, usually annealed")
    average_weight: Schedule = Field(constant(0.05), description="ω of the magnet form: pull to the averaged weights")
    data_weight: Schedule = Field(constant(0.0), description="κ of the magnet form: pull to the policy that played")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A policy that the loss pulls toward, as its log-probabilities on a batch."""

    name: str
    weight: float
    log_probs: Tensor  # (decision, action)


class RNaD:
    """Learns by regularised policy gradient."""

    def __init__(self, policy: PolicyModule, config: RNaDConfig, device: torch.device, seed: int) -> None:
        self._config = config
        self._core = actor_critic(policy, config, device, seed)
        self._reference = frozen_copy(policy)
        self._updates = 0

    @property
    def average(self) -> PolicyModule:
        return self._core.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        core, config = self._core, self._config
        if config.reference_interval and self._updates % config.reference_interval == 0:
            self._reference.load_state_dict(core.policy.state_dict())
        batch = to_batch(trajectories, config.sequence_length, core.policy, core.device)
        reward = rewards_of(trajectories, config.discount)
        anchors: list[Anchor] = []
        if config.form == "reference":
            log_probs = batch.run_all(self._reference).log_probs
            anchors.append(Anchor("kl_reference", config.reference_weight.at(progress), log_probs))
        elif config.form == "reward":
            log_probs = batch.run_all(self._reference).log_probs
            log_ratio = (batch.log_prob - losses.chosen(log_probs, batch.action)).cpu().numpy()
            reward = reward + transformation(trajectories, log_ratio) * np.float32(config.reward_weight.at(progress))
        else:
            uniform = losses.uniform_log_probs(batch.mask)
            anchors.append(Anchor("kl_magnet", config.magnet_weight.at(progress), uniform))
            if (data_weight := config.data_weight.at(progress)) > 0:
                anchors.append(Anchor("kl_data", data_weight, batch.run_all(core.forward).log_probs))
            if (average_weight := config.average_weight.at(progress)) > 0:
                anchors.append(Anchor("kl_average", average_weight, batch.run_all(self.average).log_probs))
        self._updates += 1
        return anchored_update(core, batch, trajectories, reward, anchors, config, progress)

    def state(self) -> dict[str, Any]:
        return self._core.state() | {"reference": self._reference.state_dict(), "updates": self._updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._core.restore(state)
        self._reference.load_state_dict(state["reference"])
        self._updates = state["updates"]


def anchored_update(
    core: ActorCritic,
    batch: Batch,
    trajectories: Trajectories,
    reward: FloatArray,
    anchors: list[Anchor],
    config: RegularisedConfig,
    progress: float,
) -> dict[str, float]:
    """Descend PPO's loss plus the pull of each anchor."""
    targets = estimate(batch, trajectories, reward, core.forward, config)

    def policy_loss(output: Output) -> tuple[Tensor, Metrics]:
        with torch.set_grad_enabled(config.gradient == "surrogate"):  # NeuRD pulls on logits; KL is only shown then
            pulls = {anchor.name: losses.kl(output.log_probs, anchor.log_probs[output.row]) for anchor in anchors}
        if config.gradient == "neurd":
            gain = gains(output, batch, targets, anchors, config.probability_floor)
            policy = losses.neurd(output.log_probs, batch.mask[output.row], gain)
        else:
            policy = surrogate(output, batch, targets, config.clip)
            policy = policy + sum(anchor.weight * pulls[anchor.name] for anchor in anchors)
        return policy, pulls

    def loss(output: Output) -> tuple[Tensor, Metrics]:
        return actor_critic_loss(output, policy_loss, batch, targets, core.forward, config, progress)

    return improve(core, batch, loss, config, progress)


def gains(
    output: Output, batch: Batch, targets: Targets, anchors: Sequence[Anchor], probability_floor: float
) -> Tensor:
    """Return what each action is worth to its logit: its advantage where it was played, less the pull of the anchors.

    Dividing by the probability of having played the action makes up for how rarely that happens.
    """
    row = output.row
    log_probs = output.log_probs.detach()
    played = targets.advantage[row] / batch.log_prob[row].exp().clamp(min=probability_floor)
    pull = sum((anchor.weight * (log_probs - anchor.log_probs[row]) for anchor in anchors), torch.zeros_like(log_probs))
    return (-pull).scatter_add(-1, batch.action[row][:, None], played[:, None])


def transformation(trajectories: Trajectories, log_ratio: FloatArray) -> FloatArray:
    """Return what each decision earns for η = 1: −log(π/π_ref) of its action, + the opponent's until the next one.

    Both seats of a match must be in the batch. What an opponent earned before a seat's first decision is left out,
    since nothing that the seat does can change it.
    """
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    match, seat = trajectories.match[episode], trajectories.seat[episode]
    order = np.lexsort((trajectories.tick, match))  # the matches as they were played
    ordered_seat, ordered_match = seat[order], match[order]
    earned = np.zeros(trajectories.decisions, dtype=np.float64)
    earned[order] = -log_ratio[order]
    for own in np.unique(seat):
        # The opponent's log-ratios, summed up to each point; a seat earns the difference between two of its decisions.
        theirs = np.where(ordered_seat == own, 0.0, log_ratio[order]).astype(np.float64)
        total = np.concatenate([[0.0], np.cumsum(theirs)])
        mine = np.flatnonzero(ordered_seat == own)
        ends = np.searchsorted(ordered_match, ordered_match[mine], side="right")  # one past the match's last decision
        follows = np.append(mine[1:], len(order))
        until = np.minimum(follows, ends)
        earned[order[mine]] += total[until] - total[mine]
    return earned.astype(np.float32)
