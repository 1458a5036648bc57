"""Compares a decision as it was read from a replay with the decision in the battle, and finds unexpected differences.

What may differ is marked as guessed. It is excluded only if the hidden cause applies in the battle. For example,
forbidden moves may differ if an item that was never revealed is a choice item, but not if it is another item.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray
from nemesis.games.pokemon.dex.tables import tables, vocabulary
from nemesis.games.pokemon.replays.reading import Guessed, guessed_numbers
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import OPTIONS, PASS, SWITCH, TARGETS, TURNS, ActionSpace
from nemesis.games.pokemon.views.layout import FOE, MOVES, OWN, POKEMON, POSITION, TEAM

Row = npt.NDArray[np.int16]

_ROUNDING = 0.016  # of HP shown in per cent, where 99 stands for anything from 98 to almost 100
_BY_MOVE = ("moves", "pp", "max_pp", "move_disabled", "move_revealed")
_BINDING = ("only_move", "trapped", "maybe_trapped", "gimmick")  # fields of the position
_EXTENDABLE = ("reflect", "lightscreen", "auroraveil")  # by an item, like weathers and terrains
_EXTENSION = 3  # turns
_BINDING_ITEMS = vocabulary().numbers("items", "choiceband", "choicescarf", "choicespecs", "assaultvest")
_BINDING_ABILITIES = vocabulary().numbers("abilities", "gorillatactics")
_STICKY_BARB = vocabulary().number("items", "stickybarb")
_PRESSURE = vocabulary().number("abilities", "pressure")
_REGENERATOR = vocabulary().number("abilities", "regenerator")
_NATURAL_CURE = vocabulary().number("abilities", "naturalcure")
_CHOICE = np.array(layout.VOLATILES) == "choicelock"
_TRANSFORMED = layout.VOLATILES.index("transform")


@dataclass(frozen=True)
class Comparison:
    """One decision, as read and as it was in the battle."""

    view: Row
    truth: Row
    guessed: npt.NDArray[np.uint16]  # (place,)
    unsure: bool  # whether the log leaves open if a Pokémon was restricted to some moves
    space: ActionSpace
    mod: str

    @cached_property
    def index(self) -> IntArray:
        """The index in the battle of each action as read: (action,)."""
        space = self.space
        moves = np.where(self._only_move[:, None], np.arange(MOVES), self._moves[: layout.SLOTS])
        # Pokémon that may not have been brought are interchangeable.
        places = self._places(known=self.guessed & Guessed.BROUGHT == 0)
        if space.slots == 1:
            return np.concatenate([moves[0], MOVES + moves[0], 2 * MOVES + places, 2 * MOVES + TEAM + np.arange(TEAM)])
        per_move = 2 * len(TARGETS)
        aims = np.arange(per_move)
        switches = np.searchsorted(space.places, places[space.places])
        option = np.stack(
            [
                np.concatenate([(per_move * moves[slot][:, None] + aims).ravel(), SWITCH + switches, [PASS]])
                for slot in range(space.slots)
            ]
        )
        turn = option[0][:, None] * OPTIONS + option[1][None, :]
        return np.concatenate([turn.ravel(), np.arange(TURNS, space.size)])

    @cached_property
    def revealed(self) -> BoolArray:
        """Which actions of the battle use only moves that the log reveals: (action,)."""
        return self._with_moves(self._revealed_moves | self._only_move[:, None])

    @cached_property
    def comparable(self) -> BoolArray:
        """Which actions have a legality that follows from the log: (action,)."""
        if self.unsure:
            return np.zeros(self.space.size, dtype=np.bool_)
        free = np.array([not self._restricted(slot) for slot in range(layout.SLOTS)])
        return self._with_moves((self._revealed_moves | self._only_move[:, None]) & free[:, None])

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield the fields with unexpected differences, and the values."""
        yield from self._shared_differences()
        for place in range(TEAM):
            yield from self._own_differences(place)

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """How many numbers of the true view are not zero, and how many of them were compared."""
        every = int(np.count_nonzero(self.truth))
        return every, every - int(np.count_nonzero((self._others != 0) & self._excluded))

    @cached_property
    def _read(self) -> layout.Views:
        return layout.cut(self.view)

    @cached_property
    def _true(self) -> layout.Views:
        return layout.cut(self.truth)

    @cached_property
    def _same(self) -> IntArray:
        """The place in the battle of each own Pokémon as read: (place,)."""
        return self._places(known=np.ones(TEAM, dtype=np.bool_))

    def _places(self, known: BoolArray) -> IntArray:
        base = tables(self.mod).species["base_species"]
        read, true = (base[one.pokemon[OWN][:, POKEMON.column("base_species")]] for one in (self._read, self._true))
        return _matched(np.where(known & (self.guessed & Guessed.SPECIES == 0), read, 0), true)

    @cached_property
    def _moves(self) -> IntArray:
        """The place in the battle of each move of each own Pokémon as read: (place, move)."""
        read, true = (one.pokemon[OWN][:, POKEMON.columns("moves")] for one in (self._read, self._true))
        return np.stack([_matched(read[place], true[self._same[place]]) for place in range(TEAM)])

    @cached_property
    def _revealed_moves(self) -> BoolArray:
        """Which moves of the Pokémon on the field the log reveals: (slot, move)."""
        revealed = np.zeros((layout.SLOTS, MOVES), dtype=np.bool_)
        for slot in range(layout.SLOTS):
            revealed[slot, self._moves[slot]] = self.guessed[slot] & (Guessed.MOVE << np.arange(MOVES)) == 0
        return revealed

    @cached_property
    def _only_move(self) -> BoolArray:
        """In which slots only one move was available: (slot,)."""
        return np.asarray(self._read.position[POSITION.columns("only_move")] != 0)

    def _with_moves(self, moves: BoolArray) -> BoolArray:
        """Return which actions use only these moves (slot, move): (action,)."""
        move = self.space.move  # (action, slot)
        return np.asarray(((move < 0) | moves[np.arange(self.space.slots), move]).all(axis=1))

    def _restricted(self, place: int) -> bool:
        """Return whether a hidden item or ability restricted the moves of a Pokémon."""
        other = self._true.pokemon[OWN][self._same[place]]
        item = self.guessed[place] & Guessed.ITEM and other[POKEMON.column("item")] in _BINDING_ITEMS
        ability = self.guessed[place] & Guessed.ABILITY and other[POKEMON.column("ability")] in _BINDING_ABILITIES
        return bool(item or ability)

    def _shared_differences(self) -> Iterator[tuple[str, str]]:
        """Yield differences of the position, of the sides and of the opponent's Pokémon."""
        for block, block_name, read, true in (
            (POSITION, "position", self._read.position[None], self._true.position[None]),
            (layout.SIDE, "side", self._read.side, self._true.side),
            (POKEMON, "opponent", self._read.pokemon[FOE], self._true.pokemon[FOE]),
        ):
            for field in () if np.array_equal(read, true) else block.fields:
                columns = block.columns(field.name)
                differs = read[:, columns] != true[:, columns]
                if block_name == "position" and field.name in _BINDING and self.unsure:
                    continue
                if field.name.endswith(("_least", "_most")):
                    differs &= ~self._within(block, field.name.rpartition("_")[0], read, true)
                if block_name == "opponent" and field.name in _BY_MOVE and (self.guessed & Guessed.MOVES).any():
                    differs &= ~_transformed(true)[:, None]
                for row in np.flatnonzero(differs.any(axis=1)):
                    yield f"{block_name} {field.name}", f"{read[row, columns]} not {true[row, columns]}"

    def _within(self, block: layout.Block, name: str, read: Row, true: Row) -> BoolArray:
        """Return which durations contain the true one, as a spectator sees them who does not know the item."""
        least, most = block.columns(f"{name}_least"), block.columns(f"{name}_most")
        within = (read[:, least] <= true[:, least]) & (true[:, most] <= read[:, most])
        within &= read[:, most] - read[:, least] == _EXTENSION
        if block is layout.SIDE:
            within &= np.isin(layout.SIDE_CONDITIONS, _EXTENDABLE)
            within[FOE] = False
        return np.asarray(within & (self.guessed & Guessed.ITEM).any())

    def _own_differences(self, place: int) -> Iterator[tuple[str, str]]:
        row, other, excluded = self._read.pokemon[OWN][place], self._others[place], self._excluded[place]
        for field in () if np.array_equal(row[~excluded], other[~excluded]) else POKEMON.fields:
            columns = POKEMON.columns(field.name)
            read, true, compared = row[columns], other[columns], ~excluded[columns]
            if field.name == "hp":
                read_hp, true_hp = (
                    int(hp[0]) / max(int(pokemon[POKEMON.column("max_hp")]), 1)
                    for hp, pokemon in ((read, row), (true, other))
                )
                differs = abs(read_hp - true_hp) > _ROUNDING or (read_hp > 0) != (true_hp > 0)
                if compared.all() and differs:
                    yield "own hp", f"{read_hp:.3f} not {true_hp:.3f}"
            elif field.name == "volatiles":
                differing = np.not_equal(*map(layout.volatile_bits, (read, true)))
                if (differing & ~(_CHOICE & self._restricted(place))).any():
                    names = [layout.VOLATILES[bit] for bit in np.flatnonzero(differing)]
                    yield "own volatiles", f"differ in {names}"
            elif (read != true)[compared].any():
                yield f"own {field.name}", f"{read} not {true} of {vocabulary().species[other[0] - 1]}"

    @cached_property
    def _others(self) -> Row:
        """The own Pokémon of the battle and their moves, in the order as read: (place, column)."""
        others: Row = self._true.pokemon[OWN][self._same]
        for name in _BY_MOVE:
            columns = POKEMON.columns(name)
            others[:, columns] = np.take_along_axis(others[:, columns], self._moves, axis=1)
        return others

    @cached_property
    def _excluded(self) -> BoolArray:
        """Which numbers of own Pokémon cannot be known: those marked as guessed whose hidden cause applies."""
        return np.stack([self._excluded_of(place) for place in range(TEAM)])

    def _excluded_of(self, place: int) -> BoolArray:
        bits, other = int(self.guessed[place]), self._true.pokemon[OWN][self._same[place]]
        excluded: BoolArray = self._marks[place].copy()
        if bits & Guessed.SPECIES:
            return excluded
        on_bench = not other[POKEMON.column("active")]
        hidden_ability = other[POKEMON.column("base_ability")] if bits & Guessed.ABILITY and on_bench else 0
        excluded[POKEMON.column("hp")] = hidden_ability == _REGENERATOR
        if not self._restricted(place):
            columns = POKEMON.columns("move_disabled")
            excluded[columns] = bits & (Guessed.MOVE << np.arange(MOVES)) > 0
            excluded[POKEMON.columns("volatiles")] = False
        if hidden_ability != _NATURAL_CURE:
            excluded[[POKEMON.column("status"), POKEMON.column("status_turns")]] = False
        if self.unsure:
            excluded[POKEMON.columns("move_disabled")] = True
        excluded[POKEMON.columns("pp")] |= self._affected_by_pressure(place)
        # Before the fifth generation it depends on the order of moves, which the log does not show.
        if tables(self.mod).generation < 5 and _transformed(other[None])[0]:
            excluded[POKEMON.columns("max_pp")] = True
        # It changes its holder without a log line.
        item = POKEMON.column("item")
        if _STICKY_BARB in (other[item], self._read.pokemon[OWN][place, item]):
            excluded[[POKEMON.column(name) for name in ("item", "item_state", "item_revealed")]] = True
        return excluded

    def _affected_by_pressure(self, place: int) -> BoolArray:
        """Return which moves of an own Pokémon may have cost more PP by Pressure, since lines name one target."""
        pressure = (self._true.pokemon[FOE][:, POKEMON.column("base_ability")] == _PRESSURE).any()
        columns = POKEMON.columns("pp")
        return np.asarray(
            pressure & (self.space.slots > 1) & (self._read.pokemon[OWN][place, columns] > self._others[place, columns])
        )

    @cached_property
    def _marks(self) -> BoolArray:
        """Which numbers of own Pokémon are marked as guessed, except those that follow from a correct guess."""
        brought = POKEMON.column("brought")
        correct = self._read.pokemon[OWN][:, brought] == self._true.pokemon[OWN][self._same, brought]
        guessed = np.where(correct, self.guessed & ~np.uint16(Guessed.BROUGHT), self.guessed)
        packed = guessed_numbers(self.view[None], guessed[None])
        marks = np.unpackbits(packed[0], count=layout.VIEW_SIZE).view(np.bool_)
        own: BoolArray = layout.cut(marks).pokemon[OWN]
        return own


def _matched(read: npt.NDArray[np.int16], true: npt.NDArray[np.int16]) -> IntArray:
    """Return the place of each id as read among the true ids; missing ones take the places that are left."""
    places = [int(np.argmax(true == one)) if one and one in true else -1 for one in read]
    left = iter([place for place in range(len(true)) if place not in places])
    return np.array([next(left) if place < 0 else place for place in places])


def _transformed(pokemon: npt.NDArray[np.int16]) -> BoolArray:
    bits: BoolArray = layout.volatile_bits(pokemon[:, POKEMON.columns("volatiles")])[:, _TRANSFORMED]
    return bits
