"""What a run needs of a learner, and what all learners have: settings, and the state of training a policy."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

import torch
from pydantic import Field
from torch import Tensor

from nemesis.core.schedule import Schedule
from nemesis.core.settings import Settings
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import Forward
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


def constant(value: float) -> Schedule:
    return Schedule(start=value, end=value)


class LearnerConfig(Settings):
    """Settings that all learners share."""

    learning_rate: Schedule = Field(constant(3e-4), description="AdamW's step size, a number or a schedule")
    gradient_clip: float = Field(1.0, gt=0, description="largest gradient norm")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay")
    momentum: float = Field(0.0, ge=0, lt=1, description="AdamW's β₁; self-play cycles less without it")
    value_weight: float = Field(0.5, ge=0, description="weight of the value loss")
    sequence_length: int = Field(
        64, ge=1, description="decisions of backpropagation through time (policies with memory)"
    )
    average_span: float = Field(
        0.3, gt=0, le=1, description="averaged weights: share of the updates so far that they average over"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="arithmetic of the forward pass; float16 scales gradients and is for CUDA"
    )
    compile: bool = Field(False, description="compile the forward pass of updates with torch.compile")
    skip_limit: int = Field(20, ge=1, description="non-finite steps in a row after which the run stops")


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
