"""Pokémon as the damage formula sees them, read from view records: types, stats, item, ability, what stands around.

What a seat does not know is guessed. The foe's stats are those of a spread without favourites (random battles give
just that), its ability the only one that its species can have.
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
class Field:
    """What is the same for all Pokémon of a position."""

    slots: int
    weather: Ints  # (n,) place in WEATHERS
    terrain: Ints  # (n,) place in TERRAINS
    gravity: BoolArray  # (n,)
    trick_room: BoolArray  # (n,)

    @staticmethod
    def read(views: Views, slots: int) -> "Field":
        rooms = views.position[:, POSITION.columns("rooms")] > 0
        return Field(
            slots,
            views.position[:, POSITION.column("weather")].astype(np.int64),
            views.position[:, POSITION.column("terrain")].astype(np.int64),
            rooms[:, ROOMS.index("gravity")],
            rooms[:, ROOMS.index("trickroom")],
        )


@dataclass(frozen=True)
class Fighters:
    """Some Pokémon of one side in each position: (n, member)."""

    tables: dex.Tables
    field: Field
    pokemon: npt.NDArray[Any]  # (n, member, column)
    conditions: npt.NDArray[Any]  # (n, side condition) layers on their side

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return a field of the view records."""
        return self.pokemon[..., POKEMON.columns(name)]

    def one(self, name: str) -> npt.NDArray[Any]:
        """Return a field of one column: (n, member)."""
        return self.pokemon[..., POKEMON.column(name)]

    def has_volatile(self, name: str) -> BoolArray:
        place = VOLATILES.index(name)
        word = self.pokemon[..., POKEMON.columns("volatiles").start + place // _WORD]
        return np.asarray((word >> (place % _WORD)) & 1, np.bool_)

    def condition(self, name: str) -> BoolArray:
        """Return on which sides a side condition lies: (n, 1)."""
        return np.asarray(self.conditions[:, SIDE_CONDITIONS.index(name), None] > 0)

    def members(self, places: Any) -> "Fighters":
        """Return some of them: places (n, k), or a slice."""
        if isinstance(places, slice):
            return Fighters(self.tables, self.field, self.pokemon[:, places], self.conditions)
        rows = np.arange(len(self.pokemon))[:, None]
        return Fighters(self.tables, self.field, self.pokemon[rows, places], self.conditions)

    @cached_property
    def species(self) -> npt.NDArray[np.int16]:
        """The dex's facts about the species: (n, member, column)."""
        return np.asarray(self.tables.species.values[self.one("species")])

    @cached_property
    def own_types(self) -> npt.NDArray[np.int16]:
        """The types of the species, whatever became of them: (n, member, 2)."""
        return self.species[..., dex.BLOCKS["species"].columns("types")]

    @cached_property
    def types(self) -> npt.NDArray[Any]:
        """The types that they have now, at team preview those of the species: (n, member, 3)."""
        now = self["types"]
        unknown = (now[..., 0] == 0) & (now[..., 1] == 0)
        if not unknown.any():
            return now
        return np.where(unknown[..., None], np.concatenate([self.own_types, np.zeros_like(now[..., :1])], -1), now)

    def has_type(self, name: str) -> BoolArray:
        has = self.types == dex.vocabulary().number("types", name)
        return np.asarray(has[..., 0] | has[..., 1] | has[..., 2])

    @cached_property
    def ability(self) -> npt.NDArray[Any]:
        known = self.one("ability")
        possible = self.species[..., dex.BLOCKS["species"].columns("abilities")]
        several = (possible[..., 1] > 0) | (possible[..., 2] > 0) | (possible[..., 3] > 0)
        return np.where((known > 0) | several, known, possible[..., 0])

    @cached_property
    def _ability_facts(self) -> npt.NDArray[np.int16]:
        return np.asarray(self.tables.abilities.values[self.ability])

    @cached_property
    def _item_facts(self) -> npt.NDArray[np.int16]:
        return np.asarray(self.tables.items.values[self.one("item")])

    @cached_property
    def _ability_factors(self) -> Floats:
        return np.asarray(self.tables.abilities.factors[self.ability])

    @cached_property
    def _item_factors(self) -> Floats:
        return np.asarray(self.tables.items.factors[self.one("item")])

    def ability_fact(self, name: str) -> npt.NDArray[Any]:
        """Return what the dex says about the ability in a field of one column: (n, member)."""
        return self._ability_facts[..., dex.BLOCKS["abilities"].column(name)]

    def ability_facts(self, name: str) -> npt.NDArray[Any]:
        return self._ability_facts[..., dex.BLOCKS["abilities"].columns(name)]

    def ability_factor(self, name: str) -> Floats:
        """Return a field of per cents as factors, 1 where there is none: (n, member)."""
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
        return np.asarray(self.one("item") == dex.vocabulary().number("items", name))

    @cached_property
    def hp(self) -> Floats:
        """Share of HP that is left, 1 for what has not been seen: (n, member)."""
        most = self.one("max_hp")
        share = self.one("hp") / np.maximum(most, 1, dtype=np.float32)
        return np.where(self.one("fainted") > 0, 0, np.where(most > 0, share, 1)).astype(np.float32)

    @cached_property
    def alive(self) -> BoolArray:
        return (self.one("species") > 0) & (self.hp > 0)

    @cached_property
    def stats(self) -> Floats:
        """HP and the five stats without boosts, exact where the record has them: (n, member, 6)."""
        known = self["stats"]
        exact = known[..., :1] > 0
        guess = estimated_stats(
            self.species[..., dex.BLOCKS["species"].columns("base_stats")], self.one("level"), self.tables.generation
        )
        hp = np.where(exact[..., 0], self.one("max_hp"), guess[..., HP])
        hp = np.where(self.has_volatile("dynamax") & ~exact[..., 0], 2 * hp, hp)
        return np.concatenate([hp[..., None], np.where(exact, known, guess[..., 1:])], -1).astype(np.float32)

    @cached_property
    def boosted(self) -> Floats:
        """The five stats with their boosts, and HP: (n, member, 6)."""
        factors = _STAGES[self["boosts"][..., :5] + 6]
        raised = self.one("paradox_stat")
        if raised.any():
            gain = np.where(raised == SPEED, 1.5, 1.3)[..., None]
            factors = np.where(raised[..., None] == np.arange(1, 6), factors * gain, factors)
        return np.concatenate([self.stats[..., :1], self.stats[..., 1:] * factors], -1)

    @cached_property
    def speed(self) -> Floats:
        speed = self.boosted[..., SPEED] * self.item_factor("speed")
        paralysed = self.one("status") == STATUSES.index("par")
        speed = np.where(paralysed, speed * (0.25 if self.tables.generation <= 6 else 0.5), speed)
        weather = self.ability_fact("speed_weather")
        doubled = ((weather > 0) & (weather == self.field.weather[:, None])) | self.has_volatile("unburden")
        return np.where(doubled, 2 * speed, speed) * np.where(self.condition("tailwind"), 2, 1).astype(np.float32)

    @cached_property
    def grounded(self) -> BoolArray:
        """Which of them the ground reaches: (n, member)."""
        floating = self.has_type("flying") | self.has_ability("levitate") | self.has_item("airballoon")
        floating |= self.has_volatile("magnetrise") | self.has_volatile("telekinesis")
        held = self.has_item("ironball") | self.has_volatile("smackdown") | self.has_volatile("ingrain")
        return np.asarray(~floating | held | self.field.gravity[:, None])

    @cached_property
    def defences(self) -> Floats:
        """What meets physical and special moves, with items, abilities and weather: (n, member, 2)."""
        evolving = (self.item_fact("needs_evolution") == 0) | (self.species[..., _CAN_EVOLVE] > 0)
        defence = self.boosted[..., DEFENCE] * np.where(evolving, self.item_factor("defence"), 1)
        special = self.boosted[..., SPECIAL_DEFENCE] * np.where(evolving, self.item_factor("special_defence"), 1)
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


def read_fighters(views: Views, side: int, tables: dex.Tables, field: Field) -> Fighters:
    """Read all Pokémon of a side."""
    return Fighters(tables, field, views.pokemon[:, side], views.side[:, side, SIDE.columns("layers")])


def estimated_stats(base: npt.NDArray[Any], level: npt.NDArray[Any], generation: int) -> Floats:
    """Return HP and stats (…, 6) of a spread without favourites, from base stats (…, 6) and levels (…)."""
    # Up to the second generation everything is at its best at once; later 85 effort points in each stat.
    bonus = 30 + 63 if generation <= 2 else 31 + 21
    stats = np.floor((2 * base.astype(np.float32) + bonus) * (level[..., None] / np.float32(100)))
    stats[..., 1:] += 5
    stats[..., HP] += level + 10
    stats[..., HP] = np.where(base[..., HP] == 1, 1, stats[..., HP])  # Shedinja
    return np.asarray(stats, np.float32)


def active_places(pokemon: npt.NDArray[Any], slots: int) -> tuple[Ints, BoolArray]:
    """Return who stands in each slot of a side (n, slot), and whether anybody does; pokemon is (n, member, column)."""
    stands = pokemon[..., None, POKEMON.column("active")] == np.arange(1, slots + 1)  # (n, member, slot)
    stands &= (pokemon[..., POKEMON.column("fainted")] == 0)[..., None]
    return stands.argmax(axis=1), stands.any(axis=1)
