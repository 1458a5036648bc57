"""A mixture as a player: at the start of every match, one of its players is drawn for each side that it plays."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nemesis.core.game import SIDES, Decisions, IntArray, side_of
from nemesis.core.random import generator_state, restore_generator
from nemesis.play.players import Choices, SavablePlayer

if TYPE_CHECKING:
    from torch import Tensor

_NONE = -1
_IDLE = 8  # players without a match that stay open, so that the next match need not open them again


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
        self._drawn = np.full((slots, SIDES), _NONE)  # (slot, side) the player in the match there
        self._players: dict[int, SavablePlayer] = {}  # those that are open, the one that was needed last at the end

    def act(self, decisions: Decisions) -> Choices:
        """Let the player of each match and side decide; matches at their first decision draw theirs."""
        side = side_of(decisions.seat)
        new = np.unique(np.stack([decisions.slot, side]), axis=1)
        new = new[:, self._drawn[new[0], new[1]] == _NONE]
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
        self._drawn[slot] = _NONE
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
