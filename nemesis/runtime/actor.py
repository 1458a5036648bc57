"""A policy at play: batches of decisions in, sampled actions out, the memory of every seat kept in between."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import SEATS, BoolArray, Decisions, FloatArray, IntArray, Scripted, StepPolicy
from nemesis.policies.heads import check_mask
from nemesis.policies.policy import Policy

_BELOW_ONE = 1 - 2.0**-30  # so that a draw times a sum never rounds up to the sum


class BrokenPolicyError(UserError):
    """A policy whose answers are not numbers, and which therefore cannot play."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What an actor decided, row by row."""

    action: IntArray  # (n,)
    log_prob: FloatArray  # (n,)
    value: FloatArray  # (n,)


class RandomActor:
    """Plays any seats of a pool by chance, uniformly over what is legal."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Choices:
        check_mask(decisions.mask, decisions.match)
        legal = np.count_nonzero(decisions.mask, axis=1)
        picked = (self._generator.random(len(decisions)) * legal).astype(np.int64)  # a place among what is legal
        place = np.flatnonzero(decisions.mask)[np.cumsum(legal) - legal + picked]
        action = place % decisions.mask.shape[1]
        return Choices(action, -np.log(legal).astype(np.float32), np.zeros(len(decisions), dtype=np.float32))

    def forget(self, slot: IntArray) -> None:
        """Have nothing to clear: chance keeps no memory."""


class ScriptedActor:
    """Plays any seats of a pool by a fixed rule, which has no probabilities and no values to tell."""

    def __init__(self, scripted: Scripted, seed: int) -> None:
        self._scripted = scripted
        self._generator = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Choices:
        check_mask(decisions.mask, decisions.match)
        action = self._scripted(decisions.view, decisions.mask, self._generator)
        unknown = np.full(len(decisions), np.nan, dtype=np.float32)
        return Choices(action, unknown, unknown)

    def forget(self, slot: IntArray) -> None:
        """Have nothing to clear: a rule keeps no memory."""


class Actor:
    """Plays any seats of a pool with one policy."""

    def __init__(self, policy: Policy, slots: int, device: torch.device, seed: int) -> None:
        self._policy = policy
        self._device = device
        self._generator = torch.Generator(device).manual_seed(seed)
        self._state = torch.zeros(slots * SEATS, policy.state_size, device=device)

    @torch.inference_mode()
    def act(self, decisions: Decisions) -> Choices:
        """Sample an action for every decision."""
        check_mask(decisions.mask, decisions.match)
        view = torch.from_numpy(decisions.view).to(self._device)
        mask = torch.from_numpy(decisions.mask).to(self._device)
        if self._policy.state_size:
            place = torch.from_numpy(decisions.slot * SEATS + decisions.seat).to(self._device)
            output = self._policy.step(view, mask, self._state.index_select(0, place))
            self._state.index_copy_(0, place, output.state)  # faster than indexing; a seat decides once in a batch
        else:
            output = self._policy.step(view, mask, self._state[: len(decisions)])
        # One draw a row: thousands of actions would need as many. An illegal action adds nothing to the sum.
        total = output.log_probs.softmax(-1).cumsum(-1, dtype=torch.float64)
        _check_answers(total[:, -1])
        draw = torch.rand(len(total), 1, dtype=total.dtype, device=self._device, generator=self._generator)
        action = torch.searchsorted(total, draw * _BELOW_ONE * total[:, -1:], right=True)[:, 0]
        log_prob = output.log_probs.gather(-1, action[:, None])[:, 0]
        return Choices(action.cpu().numpy(), log_prob.cpu().numpy(), output.value.cpu().numpy())

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memory of some seats: (n, state)."""
        place = torch.from_numpy(slot * SEATS + seat).to(self._device)
        memory: FloatArray = self._state[place].cpu().numpy()
        return memory

    def forget(self, slot: IntArray) -> None:
        """Clear the memory of both seats of matches that ended."""
        if self._policy.state_size and len(slot):
            places = torch.from_numpy(slot).to(self._device)
            self._state.view(-1, SEATS, self._policy.state_size)[places] = 0.0

    def snapshot(self) -> dict[str, torch.Tensor]:
        return {"generator": self._generator.get_state(), "memory": self._state.clone()}

    def restore(self, snapshot: dict[str, torch.Tensor]) -> None:
        self._generator.set_state(snapshot["generator"])
        self._state = snapshot["memory"].to(self._device, copy=True)


def as_step_policy(policy: Policy, device: torch.device) -> StepPolicy:
    """Return the policy as a function of arrays."""

    @torch.inference_mode()
    def step(view: np.ndarray[Any, Any], mask: BoolArray, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        arrays = (torch.from_numpy(array).to(device) for array in (view, mask, state))
        output = policy.step(*arrays)
        _check_answers(output.log_probs)
        return output.log_probs.exp().cpu().numpy(), output.state.cpu().numpy()

    return StepPolicy(policy.state_size, step)


def _check_answers(numbers: torch.Tensor) -> None:
    if not math.isfinite(numbers.sum()):  # one broken number breaks the sum, which is cheaper than a look at each
        raise BrokenPolicyError(
            "The policy's probabilities are not numbers: its weights have grown too large. "
            "Train again with a lower learner.learning_rate or learner.gradient_clip."
        )
