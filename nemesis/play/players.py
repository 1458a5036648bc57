"""Players: batches of decisions in, actions out. A player can decide for any seats of a pool.

Random and scripted players, and mixtures, are here; those with a policy and a memory are in `policy_players.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from nemesis.core.game import SIDES, Decisions, FloatArray, IntArray, Scripted, side_of
from nemesis.core.masks import check_mask, unpack_mask
from nemesis.core.random import generator_state, restore_generator

if TYPE_CHECKING:
    from torch import Tensor

_NOBODY = -1
_IDLE = 8  # players without a match that stay open, so that the next match need not open them again


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


class MixturePlayer:
    """Plays with one of several players in each match; players are open while they are needed."""

    def __init__(
        self, open_player: Callable[[int, int], SavablePlayer], weights: Sequence[float], slots: int, seed: int
    ) -> None:
        """Open players by their place in the weights and a seed, for a pool with `slots` slots."""
        self._open = open_player
        self._bounds = np.cumsum(weights) / np.sum(weights)
        self._seed = seed
        self._generator = np.random.default_rng(seed)
        self._drawn = np.full((slots, SIDES), _NOBODY)  # (slot, side) the player in the match there
        self._players: dict[int, SavablePlayer] = {}  # those that are open, the one that was needed last at the end

    def act(self, decisions: Decisions) -> Choices:
        """Let the player of each match and side decide; matches at their first decision draw theirs."""
        side = side_of(decisions.seat)
        new = np.unique(np.stack([decisions.slot, side]), axis=1)
        new = new[:, self._drawn[new[0], new[1]] == _NOBODY]
        chosen = np.searchsorted(self._bounds, self._generator.random(new.shape[1]), side="right")
        self._drawn[new[0], new[1]] = np.minimum(chosen, len(self._bounds) - 1)
        player = self._drawn[decisions.slot, side]
        action = np.empty(len(decisions), dtype=np.int64)
        log_prob, value = np.empty((2, len(decisions)), dtype=np.float32)
        for number in np.unique(player):
            rows = np.flatnonzero(player == number)
            choices = self._player(int(number)).act(decisions.at(rows))
            action[rows], log_prob[rows], value[rows] = choices.action, choices.log_prob, choices.value
        return Choices(action, log_prob, value)

    def forget(self, slot: IntArray) -> None:
        """Let the next matches in these slots draw again, and close players that have been without a match longest."""
        for player in self._players.values():
            player.forget(slot)
        self._drawn[slot] = _NOBODY
        if len(slot) and len(self._players) > _IDLE:
            idle = [number for number in self._players if not (self._drawn == number).any()]
            for number in idle[: len(self._players) - _IDLE]:
                del self._players[number]

    def snapshot(self) -> "dict[str, Tensor]":
        import torch  # noqa: PLC0415  slow to import, and mixtures of scripted players need it for nothing else

        state = {
            "generator": torch.from_numpy(generator_state(self._generator).view(np.int64)),
            "drawn": torch.from_numpy(self._drawn.copy()),
        }
        for number, player in self._players.items():
            state |= {f"{number}.{name}": tensor for name, tensor in player.snapshot().items()}
        return state

    def restore(self, snapshot: "Mapping[str, Tensor]") -> None:
        restore_generator(self._generator, snapshot["generator"].numpy().view(np.uint64))
        self._drawn = snapshot["drawn"].numpy().copy()
        self._players = {}
        saved = [name.partition(".") for name in snapshot if "." in name]
        for number in dict.fromkeys(number for number, _, _ in saved):
            own = {name: snapshot[f"{number}.{name}"] for other, _, name in saved if other == number}
            self._player(int(number)).restore(own)

    def _player(self, number: int) -> SavablePlayer:
        player = self._players.pop(number, None)
        if player is None:
            seed = np.random.SeedSequence([self._seed, number]).generate_state(1)
            player = self._open(number, int(seed[0]))
        self._players[number] = player
        return player


def _generator_snapshot(generator: np.random.Generator) -> "dict[str, Tensor]":
    import torch  # noqa: PLC0415  slow to import, and players without a policy need it for nothing else

    return {"generator": torch.from_numpy(generator_state(generator).view(np.int64))}


def _restore_generator(generator: np.random.Generator, snapshot: "Mapping[str, Tensor]") -> None:
    restore_generator(generator, snapshot["generator"].numpy().view(np.uint64))
