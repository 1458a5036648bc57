"""Players: batches of decisions in, actions out. A player can decide for any seats of a pool.

A policy player keeps a memory state per seat between decisions; random and scripted players have none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from nemesis.core.game import BoolArray, Decisions, FloatArray, GameSpec, IntArray, Scripted, StepPolicy
from nemesis.core.masks import unpack_mask
from nemesis.core.random import generator_state, restore_generator
from nemesis.policies.heads import check_mask
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle, check_finite
from nemesis.policies.policy import PlayingPolicy, StepOutput


@dataclass(frozen=True, slots=True)
class Choices:
    """The chosen actions of a player, one per row."""

    action: IntArray  # (n,)
    log_prob: FloatArray  # (n,) of the action under the policy, before its play style; nan without a policy
    value: FloatArray  # (n,) predicted by the policy; nan without one

    def at(self, rows: IntArray) -> "Choices":
        """Return some of the choices."""
        return Choices(self.action[rows], self.log_prob[rows], self.value[rows])


class Player(Protocol):
    """Anything that answers decisions: a policy, a script, a person."""

    def act(self, decisions: Decisions) -> Choices: ...

    def forget(self, slot: IntArray) -> None:
        """Clear the memory of all seats of matches that ended in these slots."""
        ...


class SavablePlayer(Player, Protocol):
    """A player whose state can be saved during a match."""

    def snapshot(self) -> dict[str, torch.Tensor]: ...

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None: ...


class LearningPlayer(SavablePlayer, Protocol):
    """A player whose decisions are learned from."""

    version: int
    """Number of updates of its weights."""

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memory of some seats: (n, state)."""
        ...

    def value(self, decisions: Decisions) -> FloatArray:
        """Return the value (n,) of what some seats see, without an action; their memory stays as it is."""
        ...


class RandomPlayer:
    """Plays uniformly at random over the legal actions."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Choices:
        check_mask(decisions.mask, decisions.match)
        mask = unpack_mask(decisions.mask, 8 * decisions.mask.shape[1])
        legal = np.count_nonzero(mask, axis=1)
        picked = (self._generator.random(len(decisions)) * legal).astype(np.int64)  # index among the legal actions
        place = np.flatnonzero(mask)[np.cumsum(legal) - legal + picked]
        action = place % mask.shape[1]
        return Choices(action, -np.log(legal).astype(np.float32), np.zeros(len(decisions), dtype=np.float32))

    def forget(self, slot: IntArray) -> None:
        """Clear nothing: random play has no memory."""

    def snapshot(self) -> dict[str, torch.Tensor]:
        return _generator_snapshot(self._generator)

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        _restore_generator(self._generator, snapshot)


class ScriptedPlayer:
    """Plays by a fixed rule, without probabilities and values."""

    def __init__(self, scripted: Scripted, actions: int, seed: int) -> None:
        self._scripted = scripted
        self._actions = actions
        self._generator = np.random.default_rng(seed)

    def act(self, decisions: Decisions) -> Choices:
        check_mask(decisions.mask, decisions.match)
        action = self._scripted(decisions.view, unpack_mask(decisions.mask, self._actions), self._generator)
        unknown = np.full(len(decisions), np.nan, dtype=np.float32)
        return Choices(action, unknown, unknown)

    def forget(self, slot: IntArray) -> None:
        """Clear nothing: a rule has no memory."""

    def snapshot(self) -> dict[str, torch.Tensor]:
        return _generator_snapshot(self._generator)

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        _restore_generator(self._generator, snapshot)


class PolicyPlayer:
    """Plays with one policy, or an ensemble of several."""

    def __init__(
        self,
        policy: PlayingPolicy,
        spec: GameSpec,
        slots: int,
        device: torch.device,
        seed: int,
        style: PlayStyle = DEFAULT_STYLE,
    ) -> None:
        """Play in a pool with `slots` slots."""
        self._policy = policy
        self._actions = spec.actions
        self._seats = spec.seats
        self._style = style
        self.version = 0  # number of updates of the policy, if it learns
        self._device = device
        self._generator = torch.Generator(device).manual_seed(seed)
        self._state = torch.zeros(slots * spec.seats, policy.state_size, device=device)

    @torch.inference_mode()
    def act(self, decisions: Decisions) -> Choices:
        """Sample an action for every decision."""
        check_mask(decisions.mask, decisions.match)
        output, place = self._step(decisions)
        if place is not None:
            self._state.index_copy_(0, place, output.state)  # faster than indexing; a seat decides once in a batch
        action = self._style.sample(output.log_probs, self._generator)
        log_prob = output.log_probs.gather(-1, action[:, None])[:, 0]
        return Choices(action.cpu().numpy(), log_prob.cpu().numpy(), output.value.cpu().numpy())

    @torch.inference_mode()
    def value(self, decisions: Decisions) -> FloatArray:
        """Return the value (n,) of what some seats see, without an action; their memory stays as it is."""
        output, _ = self._step(decisions)
        value: FloatArray = output.value.cpu().numpy()
        return value

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memory of some seats: (n, state)."""
        memory: FloatArray = self._state[self._place(slot, seat)].cpu().numpy()
        return memory

    def forget(self, slot: IntArray) -> None:
        """Clear the memory of all seats of matches that ended."""
        if self._policy.state_size and len(slot):
            places = torch.from_numpy(slot).to(self._device)
            self._state.view(-1, self._seats, self._policy.state_size)[places] = 0.0

    def snapshot(self) -> dict[str, torch.Tensor]:
        return {"generator": self._generator.get_state(), "memory": self._state.clone()}

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None:
        self._generator.set_state(snapshot["generator"])
        self._state = snapshot["memory"].to(self._device, copy=True)

    def _step(self, decisions: Decisions) -> tuple[StepOutput, torch.Tensor | None]:
        """Run the policy; returns its output, and the memory index of each row if it has a memory."""
        view = torch.from_numpy(decisions.view).to(self._device)
        mask = torch.from_numpy(unpack_mask(decisions.mask, self._actions)).to(self._device)
        if not self._policy.state_size:
            return self._policy.step(view, mask, self._state[: len(decisions)]), None
        place = self._place(decisions.slot, decisions.seat)
        return self._policy.step(view, mask, self._state.index_select(0, place)), place

    def _place(self, slot: IntArray, seat: IntArray) -> torch.Tensor:
        return torch.from_numpy(slot * self._seats + seat).to(self._device)


def as_step_policy(policy: PlayingPolicy, device: torch.device) -> StepPolicy:
    """Return the policy as a function of arrays."""

    @torch.inference_mode()
    def step(view: np.ndarray[Any, Any], mask: BoolArray, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        arrays = (torch.from_numpy(array).to(device) for array in (view, mask, state))
        output = policy.step(*arrays)
        check_finite(output.log_probs)
        return output.log_probs.softmax(-1).cpu().numpy(), output.state.cpu().numpy()

    return StepPolicy(policy.state_size, step)


def _generator_snapshot(generator: np.random.Generator) -> dict[str, torch.Tensor]:
    return {"generator": torch.from_numpy(generator_state(generator).view(np.int64))}


def _restore_generator(generator: np.random.Generator, snapshot: Mapping[str, torch.Tensor]) -> None:
    restore_generator(generator, snapshot["generator"].numpy().view(np.uint64))
