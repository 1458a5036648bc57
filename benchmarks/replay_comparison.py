"""What a replay tells of a decision beside what was true of it, and where they differ though they must not.

Whatever may differ is marked as guessed, and is left out only where the truth shows that the hidden thing mattered:
which moves are forbidden if the item that nobody saw is a choice item, and not if it is any other.
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

_ROUNDING = 0.016  # of HP that are shown in per cent, where 99 may be anything from 98 to almost all
_BY_MOVE = ("moves", "pp", "max_pp", "move_disabled", "move_revealed")
_BINDING = ("only_move", "trapped", "maybe_trapped", "gimmick")  # fields of the position
_LENGTHENED = ("reflect", "lightscreen", "auroraveil")  # by an item, as weathers and terrains are,
_PROLONGED = 3  # and by so many turns
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
    """One decision, as it was read and as it was."""

    view: Row
    truth: Row
    guessed: npt.NDArray[np.uint16]  # (place,)
    unsure: bool  # whether the log does not tell if a Pokémon was bound
    space: ActionSpace
    mod: str

    @cached_property
    def index(self) -> IntArray:
        """Which index each action, as read, has in the battle: (action,)."""
        space = self.space
        moves = np.where(self._only_move[:, None], np.arange(MOVES), self._moves[: layout.SLOTS])
        # Whoever may have stayed at home stands for anybody of whom that is so.
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
    def told(self) -> BoolArray:
        """Which actions of the battle have moves that the log tells: (action,)."""
        return self._with_moves(self._told_moves | self._only_move[:, None])

    @cached_property
    def comparable(self) -> BoolArray:
        """Which of them are legal or not by what the log tells: (action,)."""
        if self.unsure:
            return np.zeros(self.space.size, dtype=np.bool_)
        free = np.array([not self._bound(slot) for slot in range(layout.SLOTS)])
        return self._with_moves((self._told_moves | self._only_move[:, None]) & free[:, None])

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield the fields that differ though they must not, and how."""
        yield from self._shared_differences()
        for place in range(TEAM):
            yield from self._own_differences(place)

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """How many numbers of the truth there are that say something, and how many of them were compared."""
        every = int(np.count_nonzero(self.truth))
        return every, every - int(np.count_nonzero((self._others != 0) & self._excused))

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
    def _told_moves(self) -> BoolArray:
        """Which moves of the battle the log tells of the Pokémon on the field: (slot, move)."""
        told = np.zeros((layout.SLOTS, MOVES), dtype=np.bool_)
        for slot in range(layout.SLOTS):
            told[slot, self._moves[slot]] = self.guessed[slot] & (Guessed.MOVE << np.arange(MOVES)) == 0
        return told

    @cached_property
    def _only_move(self) -> BoolArray:
        """In which slots one move was all that there was: (slot,)."""
        return np.asarray(self._read.position[POSITION.columns("only_move")] != 0)

    def _with_moves(self, moves: BoolArray) -> BoolArray:
        """Return the actions all of whose moves are among these (slot, move)."""
        move = self.space.move  # (action, slot)
        return np.asarray(((move < 0) | moves[np.arange(self.space.slots), move]).all(axis=1))

    def _bound(self, place: int) -> bool:
        """Return whether something that nobody saw held a Pokémon to its move, or forbade it some."""
        other = self._true.pokemon[OWN][self._same[place]]
        item = self.guessed[place] & Guessed.ITEM and other[POKEMON.column("item")] in _BINDING_ITEMS
        ability = self.guessed[place] & Guessed.ABILITY and other[POKEMON.column("ability")] in _BINDING_ABILITIES
        return bool(item or ability)

    def _shared_differences(self) -> Iterator[tuple[str, str]]:
        """Yield those of the position, of the sides and of the foe's Pokémon."""
        for block, names, read, true in (
            (POSITION, "position", self._read.position[None], self._true.position[None]),
            (layout.SIDE, "side", self._read.side, self._true.side),
            (POKEMON, "foe", self._read.pokemon[FOE], self._true.pokemon[FOE]),
        ):
            for one in () if np.array_equal(read, true) else block.fields:
                columns = block.columns(one.name)
                differs = read[:, columns] != true[:, columns]
                if names == "position" and one.name in _BINDING and self.unsure:
                    continue
                if one.name.endswith(("_least", "_most")):
                    differs &= ~self._within(block, one.name.rpartition("_")[0], read, true)
                if names == "foe" and one.name in _BY_MOVE and (self.guessed & Guessed.MOVES).any():
                    differs &= ~_transformed(true)[:, None]
                for row in np.flatnonzero(differs.any(axis=1)):
                    yield f"{names} {one.name}", f"{read[row, columns]} not {true[row, columns]}"

    def _within(self, block: layout.Block, name: str, read: Row, true: Row) -> BoolArray:
        """Return which lengths are told as by a spectator, who does not know the item that may have prolonged them."""
        least, most = block.columns(f"{name}_least"), block.columns(f"{name}_most")
        within = (read[:, least] <= true[:, least]) & (true[:, most] <= read[:, most])
        within &= read[:, most] - read[:, least] == _PROLONGED
        if block is layout.SIDE:
            within &= np.isin(layout.SIDE_CONDITIONS, _LENGTHENED)
            within[FOE] = False
        return np.asarray(within & (self.guessed & Guessed.ITEM).any())

    def _own_differences(self, place: int) -> Iterator[tuple[str, str]]:
        row, other, excused = self._read.pokemon[OWN][place], self._others[place], self._excused[place]
        for one in () if np.array_equal(row[~excused], other[~excused]) else POKEMON.fields:
            columns = POKEMON.columns(one.name)
            mine, theirs, told = row[columns], other[columns], ~excused[columns]
            if one.name == "hp":
                part, true = (
                    int(each[0]) / max(int(whole[POKEMON.column("max_hp")]), 1)
                    for each, whole in ((mine, row), (theirs, other))
                )
                differs = abs(part - true) > _ROUNDING or (part > 0) != (true > 0)
                if told.all() and differs:
                    yield "own hp", f"{part:.3f} not {true:.3f}"
            elif one.name == "volatiles":
                differing = np.not_equal(*map(layout.volatile_bits, (mine, theirs)))
                if (differing & ~(_CHOICE & self._bound(place))).any():
                    names = [layout.VOLATILES[bit] for bit in np.flatnonzero(differing)]
                    yield "own volatiles", f"differ in {names}"
            elif (mine != theirs)[told].any():
                yield f"own {one.name}", f"{mine} not {theirs} of {vocabulary().species[other[0] - 1]}"

    @cached_property
    def _others(self) -> Row:
        """The own Pokémon of the battle, and their moves, in the order in which they were read: (place, column)."""
        others: Row = self._true.pokemon[OWN][self._same]
        for name in _BY_MOVE:
            columns = POKEMON.columns(name)
            others[:, columns] = np.take_along_axis(others[:, columns], self._moves, axis=1)
        return others

    @cached_property
    def _excused(self) -> BoolArray:
        """Which numbers of own Pokémon cannot be known: marked ones that something hidden is behind."""
        return np.stack([self._excused_of(place) for place in range(TEAM)])

    def _excused_of(self, place: int) -> BoolArray:
        bits, other = int(self.guessed[place]), self._true.pokemon[OWN][self._same[place]]
        excused: BoolArray = self._marks[place].copy()
        if bits & Guessed.SPECIES:
            return excused
        on_bench = not other[POKEMON.column("active")]
        hidden_ability = other[POKEMON.column("base_ability")] if bits & Guessed.ABILITY and on_bench else 0
        excused[POKEMON.column("hp")] = hidden_ability == _REGENERATOR
        if not self._bound(place):
            columns = POKEMON.columns("move_disabled")
            excused[columns] = bits & (Guessed.MOVE << np.arange(MOVES)) > 0
            excused[POKEMON.columns("volatiles")] = False
        if hidden_ability != _NATURAL_CURE:
            excused[[POKEMON.column("status"), POKEMON.column("status_turns")]] = False
        if self.unsure:
            excused[POKEMON.columns("move_disabled")] = True
        excused[POKEMON.columns("pp")] |= self._pressed(place)
        # Before the fifth generation it goes by the order of moves, which the log does not tell.
        if tables(self.mod).generation < 5 and _transformed(other[None])[0]:
            excused[POKEMON.columns("max_pp")] = True
        # It goes from one to another without a line.
        item = POKEMON.column("item")
        if _STICKY_BARB in (other[item], self._read.pokemon[OWN][place, item]):
            excused[[POKEMON.column(name) for name in ("item", "item_state", "item_revealed")]] = True
        return excused

    def _pressed(self, place: int) -> BoolArray:
        """Return which moves of an own Pokémon may have cost more by Pressure, where lines name one target of two."""
        pressure = (self._true.pokemon[FOE][:, POKEMON.column("base_ability")] == _PRESSURE).any()
        columns = POKEMON.columns("pp")
        return np.asarray(
            pressure & (self.space.slots > 1) & (self._read.pokemon[OWN][place, columns] > self._others[place, columns])
        )

    @cached_property
    def _marks(self) -> BoolArray:
        """Which numbers of own Pokémon are marked, but for what follows from who is rightly taken to be brought."""
        brought = POKEMON.column("brought")
        right = self._read.pokemon[OWN][:, brought] == self._true.pokemon[OWN][self._same, brought]
        guessed = np.where(right, self.guessed & ~np.uint16(Guessed.BROUGHT), self.guessed)
        packed = guessed_numbers(self.view[None], guessed[None])
        marks = np.unpackbits(packed[0], count=layout.VIEW_SIZE).view(np.bool_)
        own: BoolArray = layout.cut(marks).pokemon[OWN]
        return own


def _matched(read: npt.NDArray[np.int16], true: npt.NDArray[np.int16]) -> IntArray:
    """Return the place among the true ids of each that was read; those that are not there take what is left."""
    places = [int(np.argmax(true == one)) if one and one in true else -1 for one in read]
    left = iter([place for place in range(len(true)) if place not in places])
    return np.array([next(left) if place < 0 else place for place in places])


def _transformed(pokemon: npt.NDArray[np.int16]) -> BoolArray:
    bits: BoolArray = layout.volatile_bits(pokemon[:, POKEMON.columns("volatiles")])[:, _TRANSFORMED]
    return bits
