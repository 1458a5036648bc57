"""A policy at play: batches of decisions in, sampled actions out, the memory of every seat kept in between."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, BoolArray, Decisions, FloatArray, IntArray, Scripted, StepPolicy
from nemesis.core.random import generator_state, restore_generator
from nemesis.policies.heads import check_mask
from nemesis.policies.policy import PlayingPolicy

_BELOW_ONE = 1 - 2.0**-30  # so that a draw times a sum never rounds up to the sum


class BrokenPolicyError(UserError):
    """A policy whose answers are not numbers, and which therefore cannot play."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What an actor decided, row by row."""

    action: IntArray  # (n,)
    log_prob: FloatArray  # (n,)
    value: FloatArray  # (n,)

    def at(self, rows: IntArray) -> "Choices":
        """Return some of the choices."""
        return Choices(self.action[rows], self.log_prob[rows], self.value[rows])


@dataclass(frozen=True, slots=True)
class PlayStyle:
    """How actions are drawn from a policy's probabilities: as they are, unless told otherwise.

    Below a temperature of 1 likely actions become likelier, at 0 the likeliest is played. Then only the likeliest
    actions that together have the probability `top_p` are kept (Holtzman et al. 2020, nucleus sampling).
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise UserError(f"A temperature is a number from 0 on, and {self.temperature} is none.")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is a share above 0 and up to 1, and {self.top_p} is none.")

    @staticmethod
    def wanted(temperature: float | None, top_p: float | None) -> "PlayStyle | None":
        """Return the style that somebody asks for, by one number or both; None where nothing is asked for."""
        if temperature is None and top_p is None:
            return None
        return PlayStyle(1.0 if temperature is None else temperature, 1.0 if top_p is None else top_p)

    def weigh(self, log_probs: torch.Tensor) -> torch.Tensor:
        """Return what actions are drawn by, in proportion: (n, action). What is not a number stays none."""
        if self.temperature == 0:
            return log_probs.softmax(-1) * (log_probs == log_probs.amax(-1, keepdim=True))
        if self.temperature != 1:  # the largest is taken away first, so that it cannot overflow
            log_probs = (log_probs - log_probs.amax(-1, keepdim=True)) / self.temperature
        weights = log_probs.softmax(-1)
        if self.top_p == 1:
            return weights
        ordered = weights.sort(-1, descending=True).values
        likelier = ordered.cumsum(-1, dtype=torch.float64) - ordered  # what all that are likelier have together
        kept = (likelier < self.top_p).sum(-1, keepdim=True).clamp(min=1)
        return weights * (weights >= ordered.gather(-1, kept - 1))


DEFAULT_STYLE = PlayStyle()


class RandomPlayer:
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

    def snapshot(self) -> dict[str, torch.Tensor]:
        return _saved_generator(self._generator)

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        _restore_generator(self._generator, snapshot)


class ScriptedPlayer:
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

    def snapshot(self) -> dict[str, torch.Tensor]:
        return _saved_generator(self._generator)

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        _restore_generator(self._generator, snapshot)


class PolicyPlayer:
    """Plays any seats of a pool with one policy, or several that play as one."""

    def __init__(
        self, policy: PlayingPolicy, slots: int, device: torch.device, seed: int, style: PlayStyle = DEFAULT_STYLE
    ) -> None:
        self._policy = policy
        self._style = style
        self.version = 0  # updates behind the policy's weights, for those who learn from it
        self._device = device
        self._generator = torch.Generator(device).manual_seed(seed)
        self._state = torch.zeros(slots * SIDES, policy.state_size, device=device)

    @torch.inference_mode()
    def act(self, decisions: Decisions) -> Choices:
        """Sample an action for every decision; its log-probability is the policy's own, whatever the style."""
        check_mask(decisions.mask, decisions.match)
        view = torch.from_numpy(decisions.view).to(self._device)
        mask = torch.from_numpy(decisions.mask).to(self._device)
        if self._policy.state_size:
            place = torch.from_numpy(decisions.slot * SIDES + decisions.seat).to(self._device)
            output = self._policy.step(view, mask, self._state.index_select(0, place))
            self._state.index_copy_(0, place, output.state)  # faster than indexing; a seat decides once in a batch
        else:
            output = self._policy.step(view, mask, self._state[: len(decisions)])
        # One draw a row: thousands of actions would need as many. An illegal action adds nothing to the sum.
        total = self._style.weigh(output.log_probs).cumsum(-1, dtype=torch.float64)
        _check_answers(total[:, -1])
        draw = torch.rand(len(total), 1, dtype=total.dtype, device=self._device, generator=self._generator)
        action = torch.searchsorted(total, draw * _BELOW_ONE * total[:, -1:], right=True)[:, 0]
        log_prob = output.log_probs.gather(-1, action[:, None])[:, 0]
        return Choices(action.cpu().numpy(), log_prob.cpu().numpy(), output.value.cpu().numpy())

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memory of some seats: (n, state)."""
        place = torch.from_numpy(slot * SIDES + seat).to(self._device)
        memory: FloatArray = self._state[place].cpu().numpy()
        return memory

    def forget(self, slot: IntArray) -> None:
        """Clear the memory of both seats of matches that ended."""
        if self._policy.state_size and len(slot):
            places = torch.from_numpy(slot).to(self._device)
            self._state.view(-1, SIDES, self._policy.state_size)[places] = 0.0

    def snapshot(self) -> dict[str, torch.Tensor]:
        return {"generator": self._generator.get_state(), "memory": self._state.clone()}

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        self._generator.set_state(snapshot["generator"])
        self._state = snapshot["memory"].to(self._device, copy=True)


def _saved_generator(generator: np.random.Generator) -> dict[str, torch.Tensor]:
    return {"generator": torch.from_numpy(generator_state(generator).view(np.int64))}


def _restore_generator(generator: np.random.Generator, snapshot: Mapping[str, torch.Tensor]) -> None:
    restore_generator(generator, snapshot["generator"].numpy().view(np.uint64))


def as_step_policy(policy: PlayingPolicy, device: torch.device) -> StepPolicy:
    """Return the policy as a function of arrays."""

    @torch.inference_mode()
    def step(view: np.ndarray[Any, Any], mask: BoolArray, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        arrays = (torch.from_numpy(array).to(device) for array in (view, mask, state))
        output = policy.step(*arrays)
        _check_answers(output.log_probs)
        return output.log_probs.softmax(-1).cpu().numpy(), output.state.cpu().numpy()

    return StepPolicy(policy.state_size, step)


def _check_answers(numbers: torch.Tensor) -> None:
    if not math.isfinite(numbers.sum()):  # one broken number breaks the sum, which is cheaper than a look at each
        raise BrokenPolicyError(
            "The policy's probabilities are not numbers: its weights have grown too large. "
            "Train again with a lower learner.learning_rate or learner.gradient_clip."
        )
