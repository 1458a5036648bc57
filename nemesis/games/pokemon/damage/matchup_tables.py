"""The tables of `matchups.py`: the factors of every id on stats, on attacks by type and on damage taken by type."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.columns import PLACES
from nemesis.games.pokemon.views.layout import POKEMON, POSITION, SIDE, SIDE_CONDITIONS, STATS, STATUSES, TEAM

TYPES = 1 + len(dex.vocabulary().types)
BASE = slice(0, 6)  # twice the base stats plus the average spread; not logarithms
STAT = slice(6, 12)  # factors of HP and the five stats
ATTACK = slice(12, 12 + TYPES)  # factors of the Pokémon's moves, by move type
DEFENCE = slice(12 + TYPES, 12 + 2 * TYPES)  # factors of damage taken, by move type
FACTORS = DEFENCE.stop

BY_DEFENCE, BY_SPECIAL_DEFENCE, BY_HP = range(3)  # the target's stat that damage is divided by

_VARIABLE_POWER = 60  # of moves whose power only the simulator can compute
_ZERO = 1e-9  # stands for the factor 0, which has no logarithm
_SAME_TYPE = 1.5
_HIGHEST_BOOST = 6
_NATURES = {
    "lonely": ("atk", "def"), "adamant": ("atk", "spa"), "naughty": ("atk", "spd"), "brave": ("atk", "spe"),
    "bold": ("def", "atk"), "impish": ("def", "spa"), "lax": ("def", "spd"), "relaxed": ("def", "spe"),
    "modest": ("spa", "atk"), "mild": ("spa", "def"), "rash": ("spa", "spd"), "quiet": ("spa", "spe"),
    "calm": ("spd", "atk"), "gentle": ("spd", "def"), "careful": ("spd", "spa"), "sassy": ("spd", "spe"),
    "timid": ("spe", "atk"), "hasty": ("spe", "def"), "jolly": ("spe", "spa"), "naive": ("spe", "spd"),
}  # fmt: skip
_WEATHER_POWER = {
    "raindance": {"water": 1.5, "fire": 0.5},
    "primordialsea": {"water": 1.5, "fire": 0.0},
    "sunnyday": {"fire": 1.5, "water": 0.5},
    "desolateland": {"fire": 1.5, "water": 0.0},
}
_TERRAIN_POWER = {
    "electricterrain": {"electric": 1.3},
    "grassyterrain": {"grass": 1.3},
    "psychicterrain": {"psychic": 1.3},
    "mistyterrain": {"dragon": 0.5},
}

Array: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.int64]


class Factors(NamedTuple):
    """A table of factors, and the record columns whose numbers, plus an offset, index its rows. A Pokémon sums them."""

    places: Integers  # (side, member, number); if the last is 1 (terastallized), its number is the species
    offset: Integers  # (number,)
    table: Array  # (row, FACTORS)


def factors(mod: str, slots: int) -> Factors:
    """Return the factors of a mod."""
    tables = dex.tables(mod)
    generation = tables.generation
    screened = 2.0 if slots == 1 else 1.5
    parts = [
        (_of_pokemon("species"), 0, _species(tables)),
        (_of_pokemon("nature"), 0, _natures()),
        (_of_pokemon("types"), 0, _rows(attack=_same_type(), defence=tables.chart.T)),
        (_of_pokemon("item"), 0, _items(tables.items)),
        (_of_pokemon("ability"), 0, _abilities(tables.abilities)),
        (_of_pokemon("status"), 0, _by_stat(STATUSES, {"brn": {"atk": 0.5}, "par": {"spe": _paralysed(generation)}})),
        (_of_pokemon("paradox_stat"), 0, _by_stat(("", *STATS), {stat: {stat: _paradox(stat)} for stat in STATS})),
        *((_of_pokemon("boosts")[..., [k]], _HIGHEST_BOOST, _boosts(stat)) for k, stat in enumerate(STATS)),
        (_of_position("weather"), 0, _rows(attack=_by_type(layout.WEATHERS, _WEATHER_POWER))),
        (_of_position("terrain"), 0, _rows(attack=_by_type(layout.TERRAINS, _TERRAIN_POWER))),
        (_of_side("tailwind"), 0, _by_stat(("", "here"), {"here": {"spe": 2.0}})),
        (_of_side("reflect"), 0, _by_stat(("", "here"), {"here": {"def": screened}})),
        (_of_side("lightscreen"), 0, _by_stat(("", "here"), {"here": {"spd": screened}})),
        (_of_side("auroraveil"), 0, _by_stat(("", "here"), {"here": {"def": screened, "spd": screened}})),
        (_of_pokemon("terastallized"), 0, _rows(attack=_same_type()[tables.species["types"]].prod(axis=1))),
    ]
    starts = np.cumsum([0, *(len(table) for _, _, table in parts)])
    offset = [np.full(places.shape[-1], starts[k] + shift) for k, (places, shift, _) in enumerate(parts)]
    return Factors(
        places=np.concatenate([places for places, _, _ in parts], axis=-1),
        offset=np.concatenate(offset),
        table=np.concatenate([table for _, _, table in parts]),
    )


def move_powers(mod: str, slots: int) -> Array:
    """Return the expected power of moves by what it is multiplied with: HP and the stats, the level, or 1.

    (move, 8)
    """
    moves = dex.tables(mod).moves
    fixed = moves["fixed_damage"]
    varies = (moves["power_varies"] > 0) & (moves["power"] == 0) & (fixed == 0)
    power = np.where(varies, _VARIABLE_POWER, moves["power"]) * moves["hits"].mean(axis=1)
    if slots > 1:
        spread = [dex.TARGETS.index(target) for target in dex.SPREAD_TARGETS]
        power = np.where(np.isin(moves["target"], spread), 0.75 * power, power)
    by_defence = moves["attack_stat"] == 1
    physical = (moves["category"] == dex.CATEGORIES.index("physical")) & ~by_defence
    special = (moves["category"] == dex.CATEGORIES.index("special")) & ~by_defence
    none = np.zeros(len(power))
    by_stat = (none, power * physical, power * by_defence, power * special, none, none)
    columns = (*by_stat, fixed == dex.BY_LEVEL, np.maximum(fixed, 0))
    return (np.stack(columns, axis=1) * np.minimum(moves["accuracy"], 100)[:, None] / 100).astype(np.float32)


def move_types(mod: str) -> Integers:
    """Return the type that scales a move's power, its type, and the target's stat that it is divided by: (move, 3)."""
    moves = dex.tables(mod).moves
    fixed = moves["fixed_damage"] != 0
    physical = (moves["category"] == dex.CATEGORIES.index("physical")) | (moves["hits_defence"] > 0)
    defence = np.where(fixed, BY_HP, np.where(physical, BY_DEFENCE, BY_SPECIAL_DEFENCE))
    return np.stack((np.where(fixed, 0, moves["type"]), moves["type"], defence), axis=1).astype(np.int64)


def _species(tables: dex.Tables) -> Array:
    average_spread = 93 if tables.generation <= 2 else 52  # at level 100
    rows = np.zeros((len(tables.species.values), FACTORS), np.float32)
    rows[:, BASE] = 2 * tables.species["base_stats"] + average_spread
    rows[:, 0] += 100  # the level is added to HP
    return rows


def _natures() -> Array:
    """Return what natures add to guessed base stats: about a tenth of a typical stat."""
    rows = np.zeros((len(layout.NATURES), FACTORS), np.float32)
    for nature, (raised, lowered) in _NATURES.items():
        rows[layout.NATURES.index(nature), 1 + STATS.index(raised)] = 25
        rows[layout.NATURES.index(nature), 1 + STATS.index(lowered)] = -25
    return rows


def _items(items: dex.Table) -> Array:
    return _rows(_stats(items, items["speed"]), attack=_of_types(items["boosted_types"], _factor(items["type_power"])))


def _abilities(abilities: dex.Table) -> Array:
    raised = _factor(np.where(abilities["pinch"] > 0, 0, abilities["type_power"]))
    resisted = _of_types(abilities["resisted_types"], _factor(abilities["resisted_power"]))
    immune = _of_types(abilities["immune_type"][:, None], np.zeros(len(abilities.values), np.float32))
    return _rows(
        _stats(abilities, np.zeros_like(abilities["defence"])),
        attack=_of_types(abilities["boosted_type"][:, None], raised),
        defence=resisted * immune,
    )


def _paralysed(generation: int) -> float:
    return 0.25 if generation <= 6 else 0.5


def _paradox(stat: str) -> float:
    return 1.5 if stat == "spe" else 1.3


def _boosts(stat: str) -> Array:
    boost = np.arange(-_HIGHEST_BOOST, _HIGHEST_BOOST + 1)
    factor = (2 + np.maximum(boost, 0)) / (2 - np.minimum(boost, 0))
    return _by_stat([str(name) for name in boost], {str(b): {stat: f} for b, f in zip(boost, factor, strict=True)})


def _rows(stats: Array | None = None, attack: Array | None = None, defence: Array | None = None) -> Array:
    """Return rows of log factors; factors that are not given are 1."""
    count = next(len(part) for part in (stats, attack, defence) if part is not None)
    rows = np.zeros((count, FACTORS), np.float32)
    for columns, part in ((STAT, stats), (ATTACK, attack), (DEFENCE, defence)):
        if part is not None:
            rows[:, columns] = np.log(np.maximum(part, _ZERO))
    return rows


def _by_stat(names: Sequence[str], given: Mapping[str, Mapping[str, float]]) -> Array:
    stats = np.ones((len(names), 1 + len(STATS)), np.float32)
    for name, by_stat in given.items():
        for stat, factor in by_stat.items():
            stats[names.index(name), 1 + STATS.index(stat)] = factor
    return _rows(stats)


def _by_type(names: Sequence[str], given: Mapping[str, Mapping[str, float]]) -> Array:
    table = np.ones((len(names), TYPES), dtype=np.float32)
    for name, by_type in given.items():
        for kind, factor in by_type.items():
            table[names.index(name), dex.vocabulary().number("types", kind)] = factor
    return table


def _of_types(types: npt.NDArray[np.int16], factor: Array) -> Array:
    """Return the factor for the named types (number, k) and 1 for all others: (number, type)."""
    named = (types[..., None] == np.arange(1, TYPES)).any(axis=1)
    return np.concatenate((np.ones((len(types), 1)), np.where(named, factor[:, None], 1)), axis=1, dtype=np.float32)


def _same_type() -> Array:
    bonus = 1 + (_SAME_TYPE - 1) * np.eye(TYPES, dtype=np.float32)
    bonus[0] = 1
    return bonus


def _stats(table: dex.Table, speed: npt.NDArray[np.int16]) -> Array:
    names = ("physical_power", "defence", "special_power", "special_defence")
    return _factor(np.stack([np.zeros_like(speed), *(table[name] for name in names), speed], axis=1))


def _factor(percentage: npt.NDArray[np.int16]) -> Array:
    """Convert percentages to factors; 0 means no effect."""
    return np.where(percentage > 0, percentage / 100, 1).astype(np.float32)


def _of_pokemon(name: str) -> Integers:
    places: Integers = PLACES.pokemon[..., POKEMON.columns(name)]
    return places


def _of_position(name: str) -> Integers:
    return np.broadcast_to(PLACES.position[POSITION.columns(name)], (2, TEAM, 1))


def _of_side(condition: str) -> Integers:
    place = SIDE.columns("layers").start + SIDE_CONDITIONS.index(condition)
    return np.broadcast_to(PLACES.side[:, None, place : place + 1], (2, TEAM, 1))
