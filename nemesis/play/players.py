"""Players: batches of decisions in, actions out. A player can decide for any seats of a pool.

Random and scripted players are here; those with a policy, and a memory per seat, are in `policy_players.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from nemesis.core.game import Decisions, FloatArray, IntArray, Scripted
from nemesis.core.masks import check_mask, unpack_mask
from nemesis.core.random import generator_state, restore_generator

if TYPE_CHECKING:
    from torch import Tensor


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

    def snapshot(self) -> "dict[str, Tensor]": ...

    def restore(self, snapshot: "Mapping[str, Tensor]") -> None: ...


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

    def snapshot(self) -> "dict[str, Tensor]":
        return _generator_snapshot(self._generator)

    def restore(self, snapshot: "Mapping[str, Tensor]") -> None:
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

    def snapshot(self) -> "dict[str, Tensor]":
        return _generator_snapshot(self._generator)

    def restore(self, snapshot: "Mapping[str, Tensor]") -> None:
        _restore_generator(self._generator, snapshot)


def _generator_snapshot(generator: np.random.Generator) -> "dict[str, Tensor]":
    import torch  # noqa: PLC0415  slow to import, and players without a policy need it for nothing else

    return {"generator": torch.from_numpy(generator_state(generator).view(np.int64))}


def _restore_generator(generator: np.random.Generator, snapshot: "Mapping[str, Tensor]") -> None:
    restore_generator(generator, snapshot["generator"].numpy().view(np.uint64))
