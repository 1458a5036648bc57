"""Policies as players, with a memory state per seat between decisions.

They are of a policy file, a checkpoint or a run, or an ensemble of a run's last checkpoints.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nemesis.core.game import BoolArray, Decisions, FloatArray, Game, GameSpec, IntArray, StepPolicy
from nemesis.core.masks import check_mask, unpack_mask
from nemesis.core.plugins import ImportPermission
from nemesis.play.pairings import PlayerSource
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Choices
from nemesis.play.seating import OpenPlayer
from nemesis.policies.build import choose_device
from nemesis.policies.ensemble import Ensemble
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle, check_finite
from nemesis.policies.policy import PlayingPolicy, Policy, StepOutput
from nemesis.storage.policies import find_policy, last_policies, policy_path


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

    def snapshot(self) -> dict[str, Tensor]:
        return {"generator": self._generator.get_state(), "memory": self._state.clone()}

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        self._generator.set_state(snapshot["generator"])
        self._state = snapshot["memory"].to(self._device, copy=True)

    def _step(self, decisions: Decisions) -> tuple[StepOutput, Tensor | None]:
        """Run the policy; returns its output, and the memory index of each row if it has a memory."""
        view = torch.from_numpy(decisions.view).to(self._device)
        mask = torch.from_numpy(unpack_mask(decisions.mask, self._actions)).to(self._device)
        if not self._policy.state_size:
            return self._policy.step(view, mask, self._state[: len(decisions)]), None
        place = self._place(decisions.slot, decisions.seat)
        return self._policy.step(view, mask, self._state.index_select(0, place)), place

    def _place(self, slot: IntArray, seat: IntArray) -> Tensor:
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


def open_policy_player(name: str | Path, game: Game, slots: int, seed: int, options: PlayOptions) -> PolicyPlayer:
    """Return a player with the policy of a file, a checkpoint or a run."""
    device = choose_device()
    saved = find_policy(name, allow_imports=options.allow_imports)
    policy: Policy | Ensemble
    if options.ensemble > 1:
        policy = open_ensemble(policy_path(str(name)), game, options)
    else:
        policy = saved.load(game, options.weights)
    return PolicyPlayer(policy.to(device), game.spec, slots, device, seed, options.style or saved.style)


def open_ensemble(path: Path, game: Game, options: PlayOptions) -> Ensemble:
    """Return an ensemble of a run's newest valid checkpoints.

    Last weights differ more between checkpoints than averaged weights.
    """
    saved = last_policies(path, options.ensemble, allow_imports=options.allow_imports)
    return Ensemble([one.load(game, options.weights) for one in saved]).eval()


def frozen_players(
    game: Game, slots: int, device: torch.device, folder: Path, imports: ImportPermission = False
) -> OpenPlayer:
    """Return a function that opens frozen policies; their paths are relative to the folder."""

    def open_frozen(source: PlayerSource, seed: int) -> PolicyPlayer:
        saved = find_policy(folder / source.name, allow_imports=imports)
        return PolicyPlayer(saved.load(game).to(device), game.spec, slots, device, seed, saved.style)

    return open_frozen
