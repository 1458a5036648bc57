"""Regularised Nash dynamics (R-NaD): policy gradient with a regulariser toward a reference policy, which is renewed.

    L = L_policy + β L_value − γ H(π) + regulariser, in one of three forms:

reference   α KL(π ‖ π_ref). π_ref is a frozen snapshot of the policy, renewed every `reference_interval` updates
            or, at 0, never: then it is the policy that the run started with, for example a behaviour clone.
reward      r̃ = r − η log(π/π_ref)(a) + η log(π_opp/π_ref)(a_opp): the same regulariser as a reward to both sides, so
            that the regularised game has a unique equilibrium. Perolat et al. 2022, "Mastering the Game of Stratego
            with Model-Free Multiagent Reinforcement Learning".
magnet      τ KL(π ‖ uniform) + κ KL(π ‖ π_data) + ω KL(π ‖ π̄), τ annealed: magnetic mirror descent. Sokota et al. 2023,
            "A Unified Approach to Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum
            Games". π̄ has the averaged weights, which are at the centre of the cycles of self-play: the KL to it damps
            them and vanishes at an equilibrium.

L_policy is PPO's surrogate, or NeuRD (Hennes et al. 2020, "Neural Replicator Dynamics"), which moves each logit by the
action's advantage instead of π times it:

    ∇ logit(a) = A(a) − Σ_i w_i log(π/π_i)(a),   A(a) estimated by 1[a played] Â / max(μ(a), floor)

A softmax policy gradient hardly moves the logits of rare actions, on which an equilibrium depends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nemesis.core.game import FloatArray, side_of
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import Batch, DecisionOutput, to_batch
from nemesis.learners.config import RegularisedConfig, RNaDConfig
from nemesis.learners.learner import Metrics, TrainState
from nemesis.learners.optimiser import frozen_copy
from nemesis.learners.ppo import Targets, estimate_targets, minimise, surrogate, train_state
from nemesis.learners.returns import rewards_of
from nemesis.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class KLTerm:
    """A policy that the regulariser pulls toward, as its log-probabilities on a batch."""

    name: str
    weight: float
    all_log_probs: Tensor | None  # (decision, action); None for the uniform policy over the legal actions

    def log_probs(self, output: DecisionOutput, batch: Batch) -> Tensor:
        """Return its log-probabilities for the decisions of an output: (n, action)."""
        if self.all_log_probs is None:
            return losses.uniform_log_probs(batch.legal(output))
        return self.all_log_probs[output.row]


class RNaD:
    """Learns by regularised policy gradient."""

    def __init__(self, policy: Policy, config: RNaDConfig, device: torch.device, seed: int) -> None:
        self._config = config
        self._train = train_state(policy, config, device, seed)
        self._reference = frozen_copy(policy)
        self._updates = 0

    @property
    def average(self) -> Policy:
        return self._train.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        train, config = self._train, self._config
        if config.reference_interval and self._updates % config.reference_interval == 0:
            self._reference.load_state_dict(train.policy.state_dict())
        batch = to_batch(trajectories, config.sequence_length, train.policy, train.device)
        reward = rewards_of(trajectories, config.discount)
        kl_terms: list[KLTerm] = []
        if config.form == "reference":
            log_probs = batch.run_all(self._reference).log_probs
            kl_terms.append(KLTerm("kl_reference", config.reference_weight.at(progress), log_probs))
        elif config.form == "reward":
            log_probs = batch.run_all(self._reference).log_probs
            log_ratio = (batch.log_prob - losses.of_action(log_probs, batch.action)).cpu().numpy()
            reward = reward + transformation(trajectories, log_ratio) * np.float32(config.reward_weight.at(progress))
        else:
            kl_terms.append(KLTerm("kl_magnet", config.magnet_weight.at(progress), None))
            if (data_weight := config.data_weight.at(progress)) > 0:
                kl_terms.append(KLTerm("kl_data", data_weight, batch.run_all(train.forward).log_probs))
            if (average_weight := config.average_weight.at(progress)) > 0:
                kl_terms.append(KLTerm("kl_average", average_weight, batch.run_all(self.average).log_probs))
        self._updates += 1
        return regularised_update(train, batch, trajectories, reward, kl_terms, config, progress)

    def state(self) -> dict[str, Any]:
        return self._train.state() | {"reference": self._reference.state_dict(), "updates": self._updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._train.restore(state)
        self._reference.load_state_dict(state["reference"])
        self._updates = state["updates"]


def regularised_update(
    train: TrainState,
    batch: Batch,
    trajectories: Trajectories,
    reward: FloatArray,
    kl_terms: Sequence[KLTerm],
    config: RegularisedConfig,
    progress: float,
) -> dict[str, float]:
    """Minimise PPO's loss plus the weighted KL terms."""
    targets = estimate_targets(batch, trajectories, reward, train.forward, config)

    def policy_loss(output: DecisionOutput) -> tuple[Tensor, Metrics]:
        log_probs = output.heads.log_probs
        pulls = [(term.weight, term.log_probs(output, batch)) for term in kl_terms]
        with torch.set_grad_enabled(config.gradient == "surrogate"):  # with NeuRD, the KL is only a metric
            kls = [losses.kl(log_probs, pulling) for _, pulling in pulls]
        if config.gradient == "neurd":
            loss = neurd(log_probs, batch.legal(output), gains(output, batch, targets, pulls, config.probability_floor))
        else:
            loss = surrogate(output, batch, targets, config.clip)
            loss = loss + sum(term.weight * kl for term, kl in zip(kl_terms, kls, strict=True))
        return loss, {term.name: kl for term, kl in zip(kl_terms, kls, strict=True)}

    return minimise(train, batch, targets, policy_loss, config, progress)


def neurd(log_probs: Tensor, legal: Tensor, gain: Tensor) -> Tensor:
    """Return the loss whose gradient raises each legal action's logit by its gain (n, action), less their mean.

    The gradient of Σ c log π by the logits is c wherever Σ c = 0, hence the centring.
    """
    count = legal.sum(-1, keepdim=True)
    mean = (gain * legal).sum(-1, keepdim=True) / count
    return -(((gain - mean) * legal).detach() * log_probs).sum(-1).mean()


def gains(
    output: DecisionOutput,
    batch: Batch,
    targets: Targets,
    pulls: Sequence[tuple[float, Tensor]],
    probability_floor: float,
) -> Tensor:
    """Return the gain of each action (n, action): its advantage where it was played, less w log(π/π_i) of each pull.

    Pulls are given as weights and log-probabilities (n, action). An advantage is divided by the probability of the
    action that was played, since it is observed only that often.
    """
    row = output.row
    log_probs = output.heads.log_probs.detach()
    played = targets.advantage[row] / batch.log_prob[row].exp().clamp(min=probability_floor)
    pull = torch.zeros_like(log_probs)
    for weight, pulling in pulls:
        pull = pull + weight * (log_probs - pulling)
    return (-pull).scatter_add(-1, batch.action[row][:, None], played[:, None])


def transformation(trajectories: Trajectories, log_ratio: FloatArray) -> FloatArray:
    """Return the transformed reward of each decision without r, for η = 1 and log(π/π_ref) of the actions (decision,).

    A side's reward is the sum of log-ratios of the other side less that of its own, and each of its seats gets it. A
    decision gets its own part and what follows until the seat's next decision. All seats of a match must be in the
    batch. What came before a seat's first decision is left out, since the seat cannot change it.
    """
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    match, seat = trajectories.match[episode], trajectories.seat[episode]
    order = np.lexsort((trajectories.tick, match))  # by match, then by time
    ordered_seat, ordered_match, ordered_ratio = seat[order], match[order], log_ratio[order]
    ordered_side = side_of(ordered_seat)
    reward = np.zeros(trajectories.decisions, dtype=np.float64)
    reward[order] = -ordered_ratio
    for own in np.unique(seat):
        # Running sum over the other seats; between two decisions of a seat, it grows by what the seat gets.
        of_others = np.where(ordered_side == side_of(own), -ordered_ratio, ordered_ratio)
        of_others = np.where(ordered_seat == own, 0.0, of_others).astype(np.float64)
        total = np.concatenate([[0.0], np.cumsum(of_others)])
        mine = np.flatnonzero(ordered_seat == own)
        ends = np.searchsorted(ordered_match, ordered_match[mine], side="right")  # one past the match's last decision
        until = np.minimum(np.append(mine[1:], len(order)), ends)
        reward[order[mine]] += total[until] - total[mine]
    return reward.astype(np.float32)
