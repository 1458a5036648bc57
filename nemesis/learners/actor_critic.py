"""What all learners hold: the policy, its optimiser, its averaged weights, a generator, and the settings of these."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from pydantic import Field

from nemesis.core.schedule import Schedule
from nemesis.core.settings import Settings
from nemesis.learners.learner import PolicyModule
from nemesis.learners.optimiser import AveragedWeights, Forward, GuardedOptimiser


def constant(value: float) -> Schedule:
    return Schedule(start=value, end=value)


class ActorCriticConfig(Settings):
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
        0.3, gt=0, le=1, description="share of the updates so far that the averaged copy of the weights reaches back"
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="arithmetic of the forward pass; float16 scales gradients and is for CUDA"
    )
    compile: bool = Field(False, description="compile the update's forward pass with torch.compile")
    skip_limit: int = Field(20, ge=1, description="non-finite steps in a row after which the run stops")


class ActorCritic:
    """A policy that learns."""

    def __init__(self, policy: PolicyModule, config: ActorCriticConfig, device: torch.device, seed: int) -> None:
        self.policy = policy
        self.device = device
        self.seed = seed
        self.forward = Forward(policy, device, precision=config.precision, compile_it=config.compile)
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
