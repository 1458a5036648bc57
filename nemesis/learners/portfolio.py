"""R-NaD held near the closest of several references.

    L = L_policy + β L_value − γ H(π) + α min_i KL(π ‖ π_i)

Each update pulls toward the reference that is closest on its batch, so that the policy keeps what it knew without being
tied to one snapshot. A snapshot joins every `add_interval` updates; past `references` of them one is dropped: all but
the set that is furthest apart (`diverse`), the lowest rated (`best`), or the oldest (`recent`).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from nemesis.core.schedule import Schedule
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.actor_critic import constant
from nemesis.learners.batch import to_batch
from nemesis.learners.learner import PolicyModule
from nemesis.learners.optimiser import frozen_copy
from nemesis.learners.ppo import actor_critic
from nemesis.learners.returns import rewards_of
from nemesis.learners.rnad import Anchor, RegularisedConfig, anchored_update

Rate = Callable[[Sequence[PolicyModule]], list[float]]
"""Plays policies against each other and returns a rating for each, higher is better."""


class PortfolioConfig(RegularisedConfig):
    """Settings of R-NaD with several references."""

    algorithm: Literal["portfolio"] = Field("portfolio", description="which learner")  # type: ignore[assignment]
    reference_weight: Schedule = Field(constant(0.05), description="α, the pull to the closest reference")
    references: int = Field(4, ge=1, le=32, description="how many references are kept")
    add_interval: int = Field(100, ge=1, description="updates after which the policy joins the references")
    keep: Literal["diverse", "best", "recent"] = Field("diverse", description="which references stay")


class Portfolio:
    """Learns by policy gradient, regularised to the closest of its references."""

    def __init__(
        self, policy: PolicyModule, config: PortfolioConfig, device: torch.device, seed: int, rate: Rate
    ) -> None:
        self._config = config
        self._core = actor_critic(policy, config, device, seed)
        self._rate = rate
        self._references: list[PolicyModule] = []
        self._updates = 0

    @property
    def average(self) -> PolicyModule:
        return self._core.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        core, config = self._core, self._config
        batch = to_batch(trajectories, config.sequence_length, core.policy, core.device)
        joining = [frozen_copy(core.policy)] if self._updates % config.add_interval == 0 else []
        references = self._references + joining
        reference_log_probs = [batch.run_all(reference).log_probs for reference in references]
        if len(references) > config.references:
            dropped = self._to_drop(references, reference_log_probs)
            del references[dropped], reference_log_probs[dropped]
        self._references = references  # only now, since rating them takes long and may be left off
        now = batch.run_all(core.forward).log_probs
        distances = torch.stack([losses.kl(now, log_probs) for log_probs in reference_log_probs])
        closest = int(distances.argmin())
        anchor = Anchor("kl_reference", config.reference_weight.at(progress), reference_log_probs[closest])
        reward = rewards_of(trajectories, config.discount)
        self._updates += 1
        metrics = anchored_update(core, batch, trajectories, reward, [anchor], config, progress)
        return metrics | {
            "references": float(len(reference_log_probs)),
            "closest_reference": float(closest),
            "kl_furthest": float(distances.max()),
        }

    def _to_drop(self, references: list[PolicyModule], reference_log_probs: list[Tensor]) -> int:
        """Return which reference to drop; `opinions` are their log-probabilities on the present batch."""
        if self._config.keep == "recent":
            return 0
        if self._config.keep == "best":
            ratings = self._rate(references)
            return ratings.index(min(ratings))
        return least_diverse(reference_log_probs)

    def state(self) -> dict[str, Any]:
        references = [reference.state_dict() for reference in self._references]
        return self._core.state() | {"references": references, "updates": self._updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._core.restore(state)
        self._references = []
        for weights in state["references"]:
            reference = frozen_copy(self._core.policy)
            reference.load_state_dict(weights)
            self._references.append(reference)
        self._updates = state["updates"]


def least_diverse(reference_log_probs: Sequence[Tensor]) -> int:
    """Return the one without which the others are furthest apart, by the sum of their pairwise symmetric KL."""
    near = torch.zeros(
        len(reference_log_probs)
    )  # how far each is from all others; the sum without it is the total less this
    for first, second in combinations(range(len(reference_log_probs)), 2):
        apart = losses.kl(reference_log_probs[first], reference_log_probs[second]) + losses.kl(
            reference_log_probs[second], reference_log_probs[first]
        )
        near[first] += apart.cpu()
        near[second] += apart.cpu()
    return int(near.argmin())
