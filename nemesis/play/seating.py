"""The players of one pool: opened when they first have to play, asked in batches, let go when no match needs them.

Every match draws its pair from the lineups when it begins, and keeps it to its end, whatever the lineups become.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from nemesis.core.game import SIDES, BoolArray, Decisions, FloatArray, IntArray
from nemesis.core.random import generator_state, restore_generator
from nemesis.play.matches import Player
from nemesis.play.pairings import Pairing, Pairings, PlayerSource
from nemesis.play.players import Choices

NOBODY = -1


class SavablePlayer(Player, Protocol):
    """A player that can be saved in the middle of its matches."""

    def snapshot(self) -> dict[str, torch.Tensor]: ...

    def restore(self, snapshot: Mapping[str, torch.Tensor]) -> None: ...


@runtime_checkable
class LearningPlayer(SavablePlayer, Protocol):
    """A player whose decisions are learned from."""

    version: int
    """How many updates its weights have behind them."""

    def memory(self, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memory of some seats: (n, state)."""
        ...


@runtime_checkable
class ClosingPlayer(Protocol):
    """A player that holds something elsewhere."""

    def close(self) -> None: ...


class Seating:
    """Whoever plays in one pool, by number."""

    def __init__(
        self, slots: int, pairings: Pairings, open_player: Callable[[PlayerSource, int], SavablePlayer], seed: int
    ) -> None:
        """Open players by their source and a seed of their own; a source that learns gives a `LearningPlayer`."""
        self._open = open_player
        self._seed = seed
        self._generator = np.random.default_rng(seed)
        self.sources: list[PlayerSource] = []
        self._players: dict[int, SavablePlayer] = {}
        self._learns = np.zeros(1, dtype=np.bool_)  # (number,), and nobody at the end
        self.seats = np.full((slots, SIDES), NOBODY)  # (slot, seat) numbers
        self.follow(pairings)

    def follow(self, pairings: Pairings) -> None:
        """Draw the matches to come from these lineups, and let go whoever is neither in them nor in a match."""
        self._pairings = pairings
        self._pairs = np.array([[self._number(pair.first), self._number(pair.second)] for pair in pairings.pairs])
        needed = np.union1d(self._pairs, self.seats)
        for number in [number for number in self._players if number not in needed]:
            player = self._players.pop(number)
            if isinstance(player, ClosingPlayer):
                player.close()

    @property
    def needed(self) -> set[PlayerSource]:
        """Whoever is in the lineups, at play, or open."""
        numbers = {*self._pairs.flat, *self.seats.flat, *self._players} - {NOBODY}
        return {self.sources[number] for number in numbers}

    def seat(self, slot: IntArray, match: IntArray) -> None:
        """Give the seats of matches that begin to players; in every other match, the first of a pair has seat 0."""
        pairs = self._pairs[self._pairings.draw(slot, len(self.seats), self._generator)]
        self.seats[slot] = np.where((match % SIDES == 0)[:, None], pairs, pairs[:, ::-1])

    def clear(self, slot: IntArray) -> None:
        """Take the players of matches that ended out of their seats."""
        for player in self._players.values():
            player.forget(slot)
        self.seats[slot] = NOBODY

    def learns(self, player: IntArray) -> BoolArray:
        """Tell which of the players learn."""
        learns: BoolArray = self._learns[player]
        return learns

    def named(self, player: IntArray, name: str) -> BoolArray:
        """Tell which of the players are the learner of that name."""
        source = PlayerSource("learning", name)
        named: BoolArray = player == (self.sources.index(source) if source in self.sources else NOBODY - 1)
        return named

    def version(self, player: IntArray) -> IntArray:
        """Return the versions of learning players."""
        table = np.zeros(len(self.sources), dtype=np.int64)
        for number, one in self._players.items():
            if isinstance(one, LearningPlayer):
                table[number] = one.version
        return table[player]

    def act(self, waiting: Decisions, player: IntArray) -> Choices:
        """Ask each player for its actions, all decisions of one at once."""
        numbers = np.unique(player)
        if len(numbers) == 1:
            return self._player(int(numbers[0])).act(waiting)
        action = np.empty(len(waiting), dtype=np.int64)
        log_prob, value = np.empty((2, len(waiting)), dtype=np.float32)
        for number in numbers:
            rows = np.flatnonzero(player == number)
            choices = self._player(int(number)).act(waiting.at(rows))
            action[rows], log_prob[rows], value[rows] = choices.action, choices.log_prob, choices.value
        return Choices(action, log_prob, value)

    def memory(self, player: IntArray, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memories (n, state) of learning players, which are of one size."""
        parts = {}
        for number in np.unique(player):
            one = self._player(int(number))
            assert isinstance(one, LearningPlayer)  # noqa: S101
            rows = np.flatnonzero(player == number)
            parts[number] = (rows, one.memory(slot[rows], seat[rows]))
        memory = np.empty((len(player), next(iter(parts.values()))[1].shape[1]), dtype=np.float32)
        for rows, part in parts.values():
            memory[rows] = part
        return memory

    def snapshot(self) -> dict[str, Any]:
        return {
            "generator": torch.from_numpy(generator_state(self._generator).view(np.int64)),
            "sources": [[source.kind, source.name] for source in self.sources],
            "pairs": [
                [*map(int, pair), one.share] for pair, one in zip(self._pairs, self._pairings.pairs, strict=True)
            ],
            "seats": torch.from_numpy(self.seats.copy()),
            "players": {number: player.snapshot() for number, player in self._players.items()},
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        restore_generator(self._generator, snapshot["generator"].numpy().view(np.uint64))
        learning = {self.sources[number]: one for number, one in self._players.items() if self._learns[number]}
        self.sources, self._players, self._learns = [], {}, np.zeros(1, dtype=np.bool_)
        for kind, name in snapshot["sources"]:
            self._number(PlayerSource(kind, name))
        self.seats = snapshot["seats"].numpy().copy()
        for number, saved in snapshot["players"].items():
            if self.sources[number] in learning:  # whoever learns stays the player that it is
                self._players[number] = learning[self.sources[number]]
            self._player(number).restore(saved)
        self.follow(
            Pairings(tuple(Pairing(self.sources[a], self.sources[b], share) for a, b, share in snapshot["pairs"]))
        )

    def _number(self, source: PlayerSource) -> int:
        if source not in self.sources:
            self.sources.append(source)
            self._learns = np.append(self._learns[:-1], [source.kind == "learning", False])
        return self.sources.index(source)

    def _player(self, number: int) -> SavablePlayer:
        if number not in self._players:
            seed = np.random.SeedSequence([self._seed, number]).generate_state(1)
            self._players[number] = self._open(self.sources[number], int(seed[0]))
        return self._players[number]
