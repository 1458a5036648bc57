"""Assigns players to the sides of each match in a pool.

Players are opened when they are first needed, called in batches, and closed when no match needs them. Every match draws
its pairing when it starts and keeps it until its end, even if the pairings change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import torch

from nemesis.core.game import SIDES, BoolArray, Decisions, FloatArray, Game, IntArray, side_of
from nemesis.core.plugins import ImportPermission
from nemesis.core.random import generator_state, restore_generator
from nemesis.play.pairings import Pairing, Pairings, PlayerSource
from nemesis.play.players import Choices, LearningPlayer, SavablePlayer
from nemesis.play.scripted import open_opponent

NO_PLAYER = -1

OpenPlayer: TypeAlias = Callable[[PlayerSource, int], SavablePlayer]
"""Opens a player by its source, with its own seed."""


@runtime_checkable
class ClosingPlayer(Protocol):
    """A player that holds resources in another process."""

    def close(self) -> None: ...


class Seating:
    """The players of one pool, by number."""

    def __init__(self, slots: int, pairings: Pairings, open_player: OpenPlayer, seed: int) -> None:
        """Open players by their source; learning sources must return a `LearningPlayer`."""
        self._open = open_player
        self._seed = seed
        self._generator = np.random.default_rng(seed)
        self.sources: list[PlayerSource] = []
        self._players: dict[int, SavablePlayer] = {}
        self._learns = np.zeros(1, dtype=np.bool_)  # (number,), and NO_PLAYER at the end
        self.sides = np.full((slots, SIDES), NO_PLAYER)  # (slot, side) numbers
        self.follow(pairings)

    def follow(self, pairings: Pairings) -> None:
        """Draw the next matches from these pairings, and close players that are neither in them nor in a match."""
        self._pairings = pairings
        self._pairs = np.array([[self._number(one.first), self._number(one.second)] for one in pairings.pairings])
        needed = np.union1d(self._pairs, self.sides)
        for number in [number for number in self._players if number not in needed]:
            player = self._players.pop(number)
            if isinstance(player, ClosingPlayer):
                player.close()

    @property
    def needed(self) -> set[PlayerSource]:
        """The players in the pairings, in a match, or open."""
        numbers = {*self._pairs.flat, *self.sides.flat, *self._players} - {NO_PLAYER}
        return {self.sources[number] for number in numbers}

    def players_of(self, decisions: Decisions) -> IntArray:
        """Return the players (n,) that decide. Matches at their first decision get their pairing."""
        new = np.flatnonzero(self.sides[decisions.slot, 0] == NO_PLAYER)
        if new.size:
            slot, first = np.unique(decisions.slot[new], return_index=True)
            self._begin(slot, decisions.match[new[first]])
        players: IntArray = self.sides[decisions.slot, side_of(decisions.seat)]
        return players

    def clear(self, slot: IntArray) -> None:
        """Remove the players of matches that ended."""
        for player in self._players.values():
            player.forget(slot)
        self.sides[slot] = NO_PLAYER

    def learns(self, player: IntArray) -> BoolArray:
        """Return which of the players learn."""
        learns: BoolArray = self._learns[player]
        return learns

    def named(self, player: IntArray, name: str) -> BoolArray:
        """Return which of the players are the learner of that name."""
        source = PlayerSource("learning", name)
        named: BoolArray = player == (self.sources.index(source) if source in self.sources else NO_PLAYER - 1)
        return named

    def version(self, player: IntArray) -> IntArray:
        """Return the versions of learning players."""
        table = np.zeros(len(self.sources), dtype=np.int64)
        for number in np.unique(player):
            table[number] = self._learner(int(number)).version
        return table[player]

    def act(self, decisions: Decisions, player: IntArray) -> Choices:
        """Call each player for its actions, with all of its decisions at once."""
        numbers = np.unique(player)
        if len(numbers) == 1:
            return self._player(int(numbers[0])).act(decisions)
        action = np.empty(len(decisions), dtype=np.int64)
        log_prob, value = np.empty((2, len(decisions)), dtype=np.float32)
        for number in numbers:
            rows = np.flatnonzero(player == number)
            choices = self._player(int(number)).act(decisions.at(rows))
            action[rows], log_prob[rows], value[rows] = choices.action, choices.log_prob, choices.value
        return Choices(action, log_prob, value)

    def memory(self, player: IntArray, slot: IntArray, seat: IntArray) -> FloatArray:
        """Return the memories (n, state) of learning players, which have one size."""
        parts = {}
        for number in np.unique(player):
            rows = np.flatnonzero(player == number)
            parts[number] = (rows, self._learner(int(number)).memory(slot[rows], seat[rows]))
        memory = np.empty((len(player), next(iter(parts.values()))[1].shape[1]), dtype=np.float32)
        for rows, part in parts.values():
            memory[rows] = part
        return memory

    def value(self, decisions: Decisions) -> FloatArray:
        """Return the values (n,) that learning players predict for what their seats see; 0 for other players."""
        player = self.sides[decisions.slot, side_of(decisions.seat)]
        value = np.zeros(len(decisions), dtype=np.float32)
        for number in np.unique(player[self.learns(player)]):
            rows = np.flatnonzero(player == number)
            value[rows] = self._learner(int(number)).value(decisions.at(rows))
        return value

    def snapshot(self) -> dict[str, Any]:
        pairs = zip(self._pairs, self._pairings.pairings, strict=True)
        return {
            "generator": torch.from_numpy(generator_state(self._generator).view(np.int64)),
            "sources": [[source.kind, source.name] for source in self.sources],
            "pairings": [[*map(int, pair), one.share] for pair, one in pairs],
            "sides": torch.from_numpy(self.sides.copy()),
            "players": {number: player.snapshot() for number, player in self._players.items()},
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        restore_generator(self._generator, snapshot["generator"].numpy().view(np.uint64))
        learning = {self.sources[number]: one for number, one in self._players.items() if self._learns[number]}
        self.sources, self._players, self._learns = [], {}, np.zeros(1, dtype=np.bool_)
        for kind, name in snapshot["sources"]:
            self._number(PlayerSource(kind, name))
        self.sides = snapshot["sides"].numpy().copy()
        for number, saved in snapshot["players"].items():
            if self.sources[number] in learning:  # learning players are reused
                self._players[number] = learning[self.sources[number]]
            self._player(number).restore(saved)
        sources = self.sources
        pairings = (Pairing(sources[first], sources[second], share) for first, second, share in snapshot["pairings"])
        self.follow(Pairings(tuple(pairings)))

    def _begin(self, slot: IntArray, match: IntArray) -> None:
        """Draw the pairings of new matches; the first player has side 0 in matches with an even number."""
        pairs = self._pairs[self._pairings.draw(slot, len(self.sides), self._generator)]
        self.sides[slot] = np.where((match % SIDES == 0)[:, None], pairs, pairs[:, ::-1])

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

    def _learner(self, number: int) -> LearningPlayer:
        return cast("LearningPlayer", self._player(number))  # isinstance of a protocol is slower than a small network


def open_seating(
    game: Game,
    slots: int,
    pairings: Pairings,
    learning: Mapping[str, LearningPlayer],
    open_frozen: OpenPlayer,
    seed: int,
    imports: ImportPermission = False,
) -> Seating:
    """Return the players of a pool: learners by name, scripted ones of the game, and frozen policies."""

    def open_player(source: PlayerSource, player_seed: int) -> SavablePlayer:
        if source.kind == "learning":
            return learning[source.name]
        if source.kind == "scripted":
            return open_opponent(game, source.name, player_seed, imports)
        return open_frozen(source, player_seed)

    return Seating(slots, pairings, open_player, seed)
