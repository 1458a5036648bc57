"""What a run needs of a learner, and what all learners have: the state of training a policy."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor

from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import Forward
from nemesis.learners.config import LearnerConfig
from nemesis.learners.optimiser import AveragedWeights, GuardedOptimiser
from nemesis.policies.policy import Policy

Metrics: TypeAlias = dict[str, Tensor]


class Learner(Protocol):
    """Improves the weights of the policy that it was given."""

    @property
    def average(self) -> Policy:
        """The policy with averaged weights."""
        ...

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        """Learn from one batch and return metrics; `progress` of the run in [0, 1] drives the schedules."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything but the policy's weights that an exact continuation needs, as a tree of tensors."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class TrainState:
    """A policy in training: its forward pass, optimiser, averaged weights and random generator."""

    def __init__(self, policy: Policy, config: LearnerConfig, device: torch.device, seed: int) -> None:
        self.policy = policy
        self.device = device
        self.seed = seed
        self.forward = Forward(policy, device, precision=config.precision, compiled=config.compile)
        self.optimiser = GuardedOptimiser(
            policy.parameters(),
            device,
            weight_decay=config.weight_decay,
            momentum=config.momentum,
            gradient_clip=config.gradient_clip,
            precision=config.precision,
            skip_limit=config.skip_limit,
        )
        self.averaged = AveragedWeights(policy, config.average_span)
        self.generator = torch.Generator().manual_seed(seed)

    def state(self) -> dict[str, Any]:
        return {
            "optimiser": self.optimiser.state(),
            "average": self.averaged.state(),
            "generator": self.generator.get_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.optimiser.restore(state["optimiser"])
        self.averaged.restore(state["average"])
        self.generator.set_state(state["generator"])
