"""R-NaD with a portfolio of reference policies.

    L = L_policy + β L_value − γ H(π) + α min_i KL(π ‖ π_i)

Each update regularises toward the reference that is closest on its batch, so that the policy forgets less without being
tied to one snapshot. A snapshot of the policy is added every `add_interval` updates. If this makes more than
`references`, one is dropped: the one without which the others are furthest apart (keep `diverse`), the lowest rated
(`best`), or the oldest (`recent`).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import torch
from torch import Tensor

from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import to_batch
from nemesis.learners.config import PortfolioConfig
from nemesis.learners.optimiser import frozen_copy
from nemesis.learners.ppo import train_state
from nemesis.learners.returns import rewards_of
from nemesis.learners.rnad import KLTerm, regularised_update
from nemesis.policies.policy import Policy

Rate: TypeAlias = Callable[[Sequence[Policy]], list[float]]
"""(policies) → their ratings from matches against each other; higher is better."""


class Portfolio:
    """Learns by policy gradient, regularised to the closest of its references."""

    def __init__(self, policy: Policy, config: PortfolioConfig, device: torch.device, seed: int, rate: Rate) -> None:
        self._config = config
        self._train = train_state(policy, config, device, seed)
        self._rate = rate
        self._references: list[Policy] = []
        self._updates = 0

    @property
    def average(self) -> Policy:
        return self._train.averaged.policy

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        train, config = self._train, self._config
        batch = to_batch(trajectories, config.sequence_length, train.policy, train.device)
        added = [frozen_copy(train.policy)] if self._updates % config.add_interval == 0 else []
        references = self._references + added
        reference_log_probs = [batch.run_all(reference).log_probs for reference in references]
        if len(references) > config.references:
            dropped = self._to_drop(references, reference_log_probs)
            del references[dropped], reference_log_probs[dropped]
        self._references = references  # only now, since rating them takes long and may be interrupted
        now = batch.run_all(train.forward).log_probs
        distances = torch.stack([losses.kl(now, log_probs) for log_probs in reference_log_probs])
        closest = int(distances.argmin())
        kl_term = KLTerm("kl_reference", config.reference_weight.at(progress), reference_log_probs[closest])
        reward = rewards_of(trajectories, config.discount)
        self._updates += 1
        metrics = regularised_update(train, batch, trajectories, reward, [kl_term], config, progress)
        return metrics | {
            "references": float(len(reference_log_probs)),
            "closest_reference": float(closest),
            "kl_furthest": float(distances.max()),
        }

    def _to_drop(self, references: list[Policy], reference_log_probs: list[Tensor]) -> int:
        """Return which reference to drop, given their log-probabilities on the current batch."""
        if self._config.keep == "recent":
            return 0
        if self._config.keep == "best":
            ratings = self._rate(references)
            return ratings.index(min(ratings))
        return least_diverse(reference_log_probs)

    def state(self) -> dict[str, Any]:
        references = [reference.state_dict() for reference in self._references]
        return self._train.state() | {"references": references, "updates": self._updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._train.restore(state)
        self._references = []
        for weights in state["references"]:
            reference = frozen_copy(self._train.policy)
            reference.load_state_dict(weights)
            self._references.append(reference)
        self._updates = state["updates"]


def least_diverse(reference_log_probs: Sequence[Tensor]) -> int:
    """Return the one without which the others are furthest apart, by the sum of their pairwise symmetric KL."""
    distance = torch.zeros(len(reference_log_probs))  # of each to all others: without it, the sum is less by this
    for first, second in combinations(range(len(reference_log_probs)), 2):
        one, other = reference_log_probs[first], reference_log_probs[second]
        symmetric_kl = (losses.kl(one, other) + losses.kl(other, one)).cpu()
        distance[first] += symmetric_kl
        distance[second] += symmetric_kl
    return int(distance.argmin())
