"""Pokémon in a batch of view records, as the damage formula needs them: types, stats, items, abilities, the field.

Unknown values are guessed. The foe's stats are those of an even spread, which is exact in random battles. Its ability
is guessed only if its species has just one.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import (
    POKEMON,
    POSITION,
    ROOMS,
    SIDE,
    SIDE_CONDITIONS,
    STATUSES,
    VOLATILES,
    WEATHERS,
    Views,
)

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.floating[Any]]

HP, ATTACK, DEFENCE, SPECIAL_ATTACK, SPECIAL_DEFENCE, SPEED = range(6)
SUN = np.array([name in {"sunnyday", "desolateland"} for name in WEATHERS])
RAIN = np.array([name in {"raindance", "primordialsea"} for name in WEATHERS])
_SANDSTORM, _SNOW = WEATHERS.index("sandstorm"), WEATHERS.index("snowscape")
_STAGES = np.array([2 / (2 - stage) if stage < 0 else (2 + stage) / 2 for stage in range(-6, 7)], np.float32)
ACCURACY_STAGES = np.array([3 / (3 - stage) if stage < 0 else (3 + stage) / 3 for stage in range(-6, 7)], np.float32)
_CAN_EVOLVE = dex.BLOCKS["species"].column("can_evolve")
_WORD = 16


@dataclass(frozen=True, slots=True)
class Battlefield:
    """What all Pokémon of a position share."""

    slots: int
    weather: Ints  # (n,) index in WEATHERS
    terrain: Ints  # (n,) index in TERRAINS
    gravity: BoolArray  # (n,)
    trick_room: BoolArray  # (n,)

    @staticmethod
    def read(views: Views, slots: int) -> "Battlefield":
        rooms = views.position[:, POSITION.columns("rooms")] > 0
        return Battlefield(
            slots,
            views.position[:, POSITION.column("weather")].astype(np.int64),
            views.position[:, POSITION.column("terrain")].astype(np.int64),
            rooms[:, ROOMS.index("gravity")],
            rooms[:, ROOMS.index("trickroom")],
        )


@dataclass(frozen=True)
class PokemonBatch:
    """Some Pokémon of one side in each position: (n, member)."""

    tables: dex.Tables
    field: Battlefield
    pokemon: npt.NDArray[Any]  # (n, member, column)
    conditions: npt.NDArray[Any]  # (n, side condition) layers of their side

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a field of the view records."""
        return self.pokemon[..., POKEMON.columns(name)]

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a field of one column: (n, member)."""
        return self.pokemon[..., POKEMON.column(name)]

    def has_volatile(self, name: str) -> BoolArray:
        place = VOLATILES.index(name)
        word = self.pokemon[..., POKEMON.columns("volatiles").start + place // _WORD]
        return np.asarray((word >> (place % _WORD)) & 1, np.bool_)

    def has_condition(self, name: str) -> BoolArray:
        """Return whether their side has a side condition: (n, 1)."""
        return np.asarray(self.conditions[:, SIDE_CONDITIONS.index(name), None] > 0)

    def select(self, members: Any) -> "PokemonBatch":
        """Return some of them: indices (n, k), or a slice."""
        if isinstance(members, slice):
            return PokemonBatch(self.tables, self.field, self.pokemon[:, members], self.conditions)
        rows = np.arange(len(self.pokemon))[:, None]
        return PokemonBatch(self.tables, self.field, self.pokemon[rows, members], self.conditions)

    @cached_property
    def species(self) -> npt.NDArray[np.int16]:
        """The dex row of the species: (n, member, column)."""
        return np.asarray(self.tables.species.values[self.column("species")])

    @cached_property
    def species_types(self) -> npt.NDArray[np.int16]:
        """The types of the species, regardless of changes in battle: (n, member, 2)."""
        return self.species[..., dex.BLOCKS["species"].columns("types")]

    @cached_property
    def types(self) -> npt.NDArray[Any]:
        """The current types, at team preview those of the species: (n, member, 3)."""
        current = self["types"]
        unknown = (current[..., 0] == 0) & (current[..., 1] == 0)
        if not unknown.any():
            return current
        return np.where(
            unknown[..., None], np.concatenate([self.species_types, np.zeros_like(current[..., :1])], -1), current
        )

    def has_type(self, name: str) -> BoolArray:
        has = self.types == dex.vocabulary().number("types", name)
        return np.asarray(has[..., 0] | has[..., 1] | has[..., 2])

    @cached_property
    def ability(self) -> npt.NDArray[Any]:
        known = self.column("ability")
        possible = self.species[..., dex.BLOCKS["species"].columns("abilities")]
        several = (possible[..., 1] > 0) | (possible[..., 2] > 0) | (possible[..., 3] > 0)
        return np.where((known > 0) | several, known, possible[..., 0])

    @cached_property
    def _ability_facts(self) -> npt.NDArray[np.int16]:
        return np.asarray(self.tables.abilities.values[self.ability])

    @cached_property
    def _item_facts(self) -> npt.NDArray[np.int16]:
        return np.asarray(self.tables.items.values[self.column("item")])

    @cached_property
    def _ability_factors(self) -> Floats:
        return np.asarray(self.tables.abilities.factors[self.ability])

    @cached_property
    def _item_factors(self) -> Floats:
        return np.asarray(self.tables.items.factors[self.column("item")])

    def ability_fact(self, name: str) -> npt.NDArray[Any]:
        """Return a field of the ability's dex row, of one column: (n, member)."""
        return self._ability_facts[..., dex.BLOCKS["abilities"].column(name)]

    def ability_facts(self, name: str) -> npt.NDArray[Any]:
        return self._ability_facts[..., dex.BLOCKS["abilities"].columns(name)]

    def ability_factor(self, name: str) -> Floats:
        """Return a percentage as a factor, 1 where there is none: (n, member)."""
        return self._ability_factors[..., dex.BLOCKS["abilities"].column(name)]

    def has_ability(self, *names: str) -> BoolArray:
        return np.asarray(_ability_set(names)[self.ability])

    def item_fact(self, name: str) -> npt.NDArray[Any]:
        return self._item_facts[..., dex.BLOCKS["items"].column(name)]

    def item_facts(self, name: str) -> npt.NDArray[Any]:
        return self._item_facts[..., dex.BLOCKS["items"].columns(name)]

    def item_factor(self, name: str) -> Floats:
        return self._item_factors[..., dex.BLOCKS["items"].column(name)]

    def has_item(self, name: str) -> BoolArray:
        return np.asarray(self.column("item") == dex.vocabulary().number("items", name))

    @cached_property
    def hp(self) -> Floats:
        """The fraction of HP that is left, 1 for unseen Pokémon: (n, member)."""
        maximum = self.column("max_hp")
        fraction = self.column("hp") / np.maximum(maximum, 1, dtype=np.float32)
        return np.where(self.column("fainted") > 0, 0, np.where(maximum > 0, fraction, 1)).astype(np.float32)

    @cached_property
    def alive(self) -> BoolArray:
        return (self.column("species") > 0) & (self.hp > 0)

    @cached_property
    def stats(self) -> Floats:
        """HP and the five stats without boosts, exact where the record has them: (n, member, 6)."""
        known = self["stats"]
        exact = known[..., :1] > 0
        guess = estimated_stats(
            self.species[..., dex.BLOCKS["species"].columns("base_stats")], self.column("level"), self.tables.generation
        )
        hp = np.where(exact[..., 0], self.column("max_hp"), guess[..., HP])
        hp = np.where(self.has_volatile("dynamax") & ~exact[..., 0], 2 * hp, hp)
        return np.concatenate([hp[..., None], np.where(exact, known, guess[..., 1:])], -1).astype(np.float32)

    @cached_property
    def boosted(self) -> Floats:
        """The five stats with their boosts, and HP: (n, member, 6)."""
        factors = _STAGES[self["boosts"][..., :5] + 6]
        paradox = self.column("paradox_stat")
        if paradox.any():
            gain = np.where(paradox == SPEED, 1.5, 1.3)[..., None]
            factors = np.where(paradox[..., None] == np.arange(1, 6), factors * gain, factors)
        return np.concatenate([self.stats[..., :1], self.stats[..., 1:] * factors], -1)

    @cached_property
    def speed(self) -> Floats:
        speed = self.boosted[..., SPEED] * self.item_factor("speed")
        paralysed = self.column("status") == STATUSES.index("par")
        speed = np.where(paralysed, speed * (0.25 if self.tables.generation <= 6 else 0.5), speed)
        weather = self.ability_fact("speed_weather")
        doubled = ((weather > 0) & (weather == self.field.weather[:, None])) | self.has_volatile("unburden")
        return np.where(doubled, 2 * speed, speed) * np.where(self.has_condition("tailwind"), 2, 1).astype(np.float32)

    @cached_property
    def grounded(self) -> BoolArray:
        """Which of them are affected by Ground moves and terrain: (n, member)."""
        floating = self.has_type("flying") | self.has_ability("levitate") | self.has_item("airballoon")
        floating |= self.has_volatile("magnetrise") | self.has_volatile("telekinesis")
        forced_down = self.has_item("ironball") | self.has_volatile("smackdown") | self.has_volatile("ingrain")
        return np.asarray(~floating | forced_down | self.field.gravity[:, None])

    @cached_property
    def defences(self) -> Floats:
        """Defence and special defence with boosts, items, abilities and weather: (n, member, 2)."""
        item_applies = (self.item_fact("needs_evolution") == 0) | (self.species[..., _CAN_EVOLVE] > 0)
        defence = self.boosted[..., DEFENCE] * np.where(item_applies, self.item_factor("defence"), 1)
        special = self.boosted[..., SPECIAL_DEFENCE] * np.where(item_applies, self.item_factor("special_defence"), 1)
        defence *= self.ability_factor("defence")
        special *= self.ability_factor("special_defence")
        weather = self.field.weather[:, None]
        if self.tables.generation >= 4 and (weather == _SANDSTORM).any():
            special = np.where((weather == _SANDSTORM) & self.has_type("rock"), 1.5 * special, special)
        if (weather == _SNOW).any():
            defence = np.where((weather == _SNOW) & self.has_type("ice"), 1.5 * defence, defence)
        return np.asarray(np.maximum(np.stack([defence, special], -1), 1), np.float32)


@cache
def _ability_set(names: tuple[str, ...]) -> BoolArray:
    chosen = np.zeros(len(dex.vocabulary().abilities) + 1, np.bool_)
    chosen[dex.vocabulary().numbers("abilities", *names)] = True
    return chosen


def read_side(views: Views, side: int, tables: dex.Tables, field: Battlefield) -> PokemonBatch:
    """Return all Pokémon of a side."""
    return PokemonBatch(tables, field, views.pokemon[:, side], views.side[:, side, SIDE.columns("layers")])


def estimated_stats(base: npt.NDArray[Any], level: npt.NDArray[Any], generation: int) -> Floats:
    """Return HP and stats (…, 6) of an even spread, from base stats (…, 6) and levels (…)."""
    # Up to the second generation all stats are at their maximum; later each has 85 effort points.
    bonus = 30 + 63 if generation <= 2 else 31 + 21
    stats = np.floor((2 * base.astype(np.float32) + bonus) * (level[..., None] / np.float32(100)))
    stats[..., 1:] += 5
    stats[..., HP] += level + 10
    stats[..., HP] = np.where(base[..., HP] == 1, 1, stats[..., HP])  # Shedinja
    return np.asarray(stats, np.float32)


def active_members(pokemon: npt.NDArray[Any], slots: int) -> tuple[Ints, BoolArray]:
    """Return the member in each slot of a side (n, slot), and whether there is one; pokemon is (n, member, column)."""
    in_slot = pokemon[..., None, POKEMON.column("active")] == np.arange(1, slots + 1)  # (n, member, slot)
    in_slot &= (pokemon[..., POKEMON.column("fainted")] == 0)[..., None]
    return in_slot.argmax(axis=1), in_slot.any(axis=1)
