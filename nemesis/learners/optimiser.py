"""The step from a loss to new weights: gradients, clipping, AdamW, and an average over the weights of all updates.

A step whose loss or gradient is not finite is skipped and counted. After too many in a row training stops with the last
good weights.

    optimiser.zero_gradients()
    for loss in parts_of_a_minibatch:
        optimiser.backward(loss)
    norm = optimiser.clip_gradients()
    optimiser.step(learning_rate)
"""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from nemesis.core.errors import UserError
from nemesis.learners.data_parallel import add_up_gradients, any_of
from nemesis.policies.policy import Policy


class DivergedError(UserError):
    """Training produced too many non-finite steps in a row."""


class GuardedOptimiser:
    """AdamW that skips steps that are not finite."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        device: torch.device,
        *,
        weight_decay: float,
        momentum: float,
        gradient_clip: float,
        precision: str,
        skip_limit: int,
    ) -> None:
        self._parameters = list(parameters)
        self._optimiser = torch.optim.AdamW(
            self._parameters,
            lr=0.0,
            betas=(momentum, 0.999),
            eps=1e-5,
            weight_decay=weight_decay,
            fused=device.type == "cpu",
        )
        self._scaler = torch.amp.GradScaler(device.type, enabled=precision == "float16" and device.type == "cuda")
        self._gradient_clip = gradient_clip
        self._skip_limit = skip_limit
        self._finite = True
        self.skipped = 0
        self.skipped_in_a_row = 0

    def zero_gradients(self) -> None:
        self._optimiser.zero_grad(set_to_none=True)
        self._finite = True

    def backward(self, loss: Tensor) -> None:
        """Add the gradient of a loss."""
        self._finite = self._finite and bool(torch.isfinite(loss))
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def clip_gradients(self) -> Tensor:
        """Add up the gradients of all processes and clip them; returns their norm before."""
        add_up_gradients(self._parameters)
        self._finite = not any_of(not self._finite, self._parameters[0].device)
        self._scaler.unscale_(self._optimiser)
        norm = nn.utils.clip_grad_norm_(self._parameters, self._gradient_clip)
        self._finite = self._finite and bool(torch.isfinite(norm))
        return norm

    def step(self, learning_rate: float) -> None:
        """Update the weights, unless the loss or the gradient is not finite."""
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        if self._finite:
            self._scaler.step(self._optimiser)
            self.skipped_in_a_row = 0
        else:
            self._skip()
        self._scaler.update()

    def drop_gradients(self) -> None:
        """End the step without an update of the weights."""
        self._optimiser.zero_grad(set_to_none=True)
        self._scaler.update()

    def _skip(self) -> None:
        self._optimiser.zero_grad(set_to_none=True)
        self.skipped += 1
        self.skipped_in_a_row += 1
        if self.skipped_in_a_row >= self._skip_limit:
            raise DivergedError(
                f"Training stopped: {self.skipped_in_a_row} steps in a row had a loss or gradient that is not finite. "
                "The last checkpoint is from before; start a new run with a lower learner.learning_rate."
            )

    def state(self) -> dict[str, Any]:
        return {
            "adam": self._optimiser.state_dict(),
            "scaler": self._scaler.state_dict(),
            "skipped": self.skipped,
            "skipped_in_a_row": self.skipped_in_a_row,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._optimiser.load_state_dict(state["adam"])
        self._scaler.load_state_dict(state["scaler"])
        self.skipped = state["skipped"]
        self.skipped_in_a_row = state["skipped_in_a_row"]


class AveragedWeights:
    """An exponential moving average (EMA) of a policy's weights, as a policy of its own.

    It averages over the last share `span` of the updates so far, so its step size is 1 / (span · updates).
    """

    def __init__(self, policy: Policy, span: float, least_step: float = 0.0) -> None:
        """With a `least_step`, average over no more than 1 / `least_step` updates."""
        self.policy = frozen_copy(policy)
        self._span = span
        self._least_step = least_step
        self.updates = 0

    def update(self, policy: Policy) -> None:
        """Move toward the policy's weights."""
        self.updates += 1
        step = max(1 / max(1.0, self._span * self.updates), self._least_step)
        averaged = [parameter.data for parameter in self.policy.parameters()]
        current = [parameter.data for parameter in policy.parameters()]
        torch._foreach_lerp_(averaged, current, step)

    def state(self) -> dict[str, Any]:
        return {"weights": self.policy.state_dict(), "updates": self.updates}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["weights"])
        self.updates = state["updates"]


def frozen_copy(policy: Policy) -> Policy:
    """Return a copy of a policy without gradients."""
    duplicate = copy.deepcopy(policy)
    for parameter in duplicate.parameters():
        parameter.requires_grad_(False)
    return duplicate
