"""The step from a loss to new weights: mixed precision, clipping, and a guard that no broken number passes.

A step whose loss or gradient is not finite is skipped and counted; after too many in a row the learner stops with
the last good weights, since it would only waste time from there.
"""

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from nemesis.core.errors import UserError
from nemesis.learners.data_parallel import add_up_gradients, any_of
from nemesis.learners.learner import PolicyModule, SequenceOutput

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class DivergedError(UserError):
    """Training produced too many non-finite steps in a row."""


class GuardedOptimiser:
    """AdamW behind a guard."""

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

    def gradient(self, losses: Iterable[Tensor]) -> Tensor:
        """Add up the gradients of the losses; returns their norm before clipping."""
        self._optimiser.zero_grad(set_to_none=True)
        self._finite = True
        for loss in losses:
            self._finite = self._finite and bool(torch.isfinite(loss))
            self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        add_up_gradients(self._parameters)
        self._finite = not any_of(not self._finite, self._parameters[0].device)
        self._scaler.unscale_(self._optimiser)
        norm = nn.utils.clip_grad_norm_(self._parameters, self._gradient_clip)
        self._finite = self._finite and bool(torch.isfinite(norm))
        return norm

    def step(self, learning_rate: float) -> None:
        """Follow the gradient, unless it or its loss is not finite."""
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        if self._finite:
            self._scaler.step(self._optimiser)
            self.skipped_in_a_row = 0
        else:
            self._skip()
        self._scaler.update()

    def drop(self) -> None:
        """Leave the gradient unused."""
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


class Forward:
    """A policy's forward pass under the configured precision, compiled when that works."""

    def __init__(self, policy: PolicyModule, device: torch.device, *, precision: str, compile_it: bool) -> None:
        self.state_size = policy.state_size
        self.atoms = policy.atoms
        self.has_opponent_model = policy.has_opponent_model
        self.opponent_logits = policy.opponent_logits
        self._advance = policy.advance
        self.parameters = policy.parameters
        self.modules = policy.modules
        self.train = policy.train
        self.state_dict = policy.state_dict
        self.load_state_dict = policy.load_state_dict
        self._device = device.type
        self._dtype = _DTYPES.get(precision)
        self._eager: Callable[..., SequenceOutput] = policy
        self._call: Callable[..., SequenceOutput] = policy
        self._to_compile = compile_it

    def __call__(self, view: Tensor, mask: Tensor, state: Tensor) -> SequenceOutput:
        with torch.autocast(self._device, self._dtype, enabled=self._dtype is not None):
            if self._to_compile:
                self._compile(view, mask, state)
            try:
                return self._call(view, mask, state)
            except Exception as error:  # a new shape may need a new compilation
                if self._call is self._eager:
                    raise
                self._give_up_compiling(error)
                return self._eager(view, mask, state)

    def advance(self, view: Tensor, state: Tensor) -> Tensor:
        with torch.autocast(self._device, self._dtype, enabled=self._dtype is not None):
            return self._advance(view, state)

    def _compile(self, view: Tensor, mask: Tensor, state: Tensor) -> None:
        """Compile both passes on a first batch; whatever goes wrong, the eager policy is always right."""
        self._to_compile = False
        compiled: Callable[..., SequenceOutput] = torch.compile(self._eager, dynamic=True)
        try:
            with torch.enable_grad():
                output = compiled(view, mask, state)
                said = output.log_probs.sum() + output.value.sum()
                torch.autograd.grad(said, list(self.parameters()), allow_unused=True)
        except Exception as error:  # a compiler may fail in any way
            self._give_up_compiling(error)
        else:
            self._call = compiled

    def _give_up_compiling(self, error: Exception) -> None:
        self._call = self._eager
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        logging.getLogger(__name__).warning("torch.compile failed, going on without it: %s", reason)


class AveragedWeights:
    """An average of a policy's weights over the last share of its updates, kept as a policy of its own."""

    def __init__(self, policy: PolicyModule, span: float, least_step: float = 0.0) -> None:
        """Reach back over a share of the updates, but never further than 1 / `least_step` updates."""
        self.policy = frozen_copy(policy)
        self._span = span
        self._least_step = least_step
        self.updates = 0

    def follow(self, policy: PolicyModule) -> None:
        """Move toward the policy's weights, by less the more updates there have been."""
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


def frozen_copy(policy: PolicyModule) -> PolicyModule:
    """Return a copy that carries no gradient."""
    duplicate = copy.deepcopy(policy)
    for parameter in duplicate.parameters():
        parameter.requires_grad_(False)
    return duplicate
