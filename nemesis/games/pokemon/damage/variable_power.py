"""Moves whose power depends on the position, as far as view records have what it depends on.

A rule takes the context and the indices (row, attacker, move) of k uses of such a move in it. It returns the power, or
a factor of the power: (k, defender) or (k, 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.damage.pokemon_batch import ATTACK, SUN, Floats, PokemonBatch
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import ITEM_STATES, STATUSES, TERRAINS

_POISONED = tuple(STATUSES.index(name) for name in ("psn", "tox"))
_WEIGHT = dex.BLOCKS["species"].column("weight")


@dataclass(frozen=True, slots=True)
class AttackContext:
    """Attackers, defenders and the base power of the moves."""

    attackers: PokemonBatch
    defenders: PokemonBatch
    power: Floats  # (n, attacker, move) from the dex

    def attacker(self, values: npt.NDArray[Any], at: "Indices") -> npt.NDArray[Any]:
        """Select values of attackers (n, attacker): (k, 1)."""
        return values[at[0], at[1], None]

    def defender(self, values: npt.NDArray[Any], at: "Indices") -> npt.NDArray[Any]:
        """Select values of defenders (n, defender): (k, defender)."""
        return values[at[0]]


Indices: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]
Rule: TypeAlias = Callable[[AttackContext, Indices], npt.NDArray[Any]]


def variable_power(context: AttackContext, moves: npt.NDArray[Any]) -> Floats:
    """Return the power of moves (n, attacker, move) against each defender: (n, attacker, move, defender)."""
    power = context.power[..., None]
    rules = _rule_numbers()[moves]
    present = np.flatnonzero(np.bincount(rules.ravel()))
    if not present[-1]:
        return power
    power = np.repeat(power, context.defenders.pokemon.shape[1], axis=-1)
    for number in present[present > 0]:
        at = np.nonzero(rules == number)
        _, absolute, rule = _RULES[number - 1]
        value = rule(context, at)
        power[at] = value if absolute else value * power[at]
    return power


@cache
def _rule_numbers() -> npt.NDArray[np.int8]:
    numbers = np.zeros(len(dex.vocabulary().moves) + 1, np.int8)
    for number, (names, _, _) in enumerate(_RULES, 1):
        numbers[dex.vocabulary().numbers("moves", *names)] = number
    return numbers


def _by_target_weight(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    weight = context.defender(context.defenders.species[..., _WEIGHT], at)
    return np.asarray(
        np.array([20, 40, 60, 80, 100, 120])[np.searchsorted([100, 250, 500, 1000, 2000], weight, side="right")]
    )


def _by_weight_ratio(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    own = context.attacker(context.attackers.species[..., _WEIGHT], at)
    ratio = own / np.maximum(context.defender(context.defenders.species[..., _WEIGHT], at), 1)
    return np.asarray(np.array([40, 60, 80, 100, 120])[np.searchsorted([2, 3, 4, 5], ratio, side="right")])


def _gyro_ball(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    own = np.maximum(context.attacker(context.attackers.speed, at), 1)
    return np.asarray(np.minimum(25 * context.defender(context.defenders.speed, at) / own + 1, 150))


def _electro_ball(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    ratio = context.attacker(context.attackers.speed, at) / np.maximum(context.defender(context.defenders.speed, at), 1)
    return np.asarray(np.array([40, 60, 80, 120, 150])[np.searchsorted([1, 2, 3, 4], ratio, side="right")])


def _flail(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    parts = 48 * context.attacker(context.attackers.hp, at)
    return np.asarray(np.array([200, 150, 100, 80, 40, 20])[np.searchsorted([2, 5, 10, 17, 33], parts, side="right")])


def _stored_power(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return 20 + 20 * context.attacker(np.maximum(context.attackers["boosts"], 0).sum(-1), at)


def _foul_play(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    own = context.attacker(context.attackers.boosted[..., ATTACK], at)
    return np.asarray(context.defender(context.defenders.boosted[..., ATTACK], at) / np.maximum(own, 1))


def _against_status(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.defender(context.defenders.column("status"), at) > 0, 2, 1)


def _against_poisoned(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(np.isin(context.defender(context.defenders.column("status"), at), _POISONED), 2, 1)


def _against_sleeping(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.defender(context.defenders.column("status"), at) == STATUSES.index("slp"), 1, 0)


def _against_weakened(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.defender(context.defenders.hp, at) <= 0.5, 2, 1)


def _facade(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    status = context.attacker(context.attackers.column("status"), at)
    burnt = (status == STATUSES.index("brn")) & (context.attackers.tables.generation >= 6)
    return np.where(burnt, 4, np.where(status > 0, 2, 1))  # cancels the halving by the burn


def _acrobatics(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.attacker(context.attackers.column("item"), at) == 0, 2, 1)


def _knock_off(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    held = context.defender(context.defenders.column("item_state"), at) != ITEM_STATES.index("none")
    return np.where(held & (context.attackers.tables.generation >= 6), 1.5, 1)


def _poltergeist(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.defender(context.defenders.column("item_state"), at) == ITEM_STATES.index("none"), 0, 1)


def _first_turn_only(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    just_entered = context.attacker(context.attackers.column("turns_active"), at) == 0
    return np.where(just_entered & (context.attacker(context.attackers.column("last_move"), at) == 0), 1, 0)


def _when_first(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.attacker(context.attackers.speed, at) > context.defender(context.defenders.speed, at), 2, 1)


def _in_weather(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.attackers.field.weather[at[0]] > 0, 2, 1)[:, None]


def _hydro_steam(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(SUN[context.attackers.field.weather[at[0]]], 3, 1)[:, None]  # 1.5 instead of the sun's 0.5


def _on_terrain(name: str, factor: float) -> Rule:
    def rule(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
        active = context.attackers.field.terrain[at[0]] == TERRAINS.index(name)
        return np.where(active, factor, 1)[:, None]

    return rule


def _needs_terrain(context: AttackContext, at: Indices) -> npt.NDArray[Any]:
    return np.where(context.attackers.field.terrain[at[0]] > 0, 1, 0)[:, None]


def _by_own_hp(maximum: int) -> Rule:
    return lambda context, at: maximum * context.attacker(context.attackers.hp, at)


def _by_target_hp(maximum: int) -> Rule:
    return lambda context, at: maximum * context.defender(context.defenders.hp, at)


# Moves, whether the rule returns a power (or else a factor), and the rule.
_RULES: tuple[tuple[tuple[str, ...], bool, Rule], ...] = (
    (("lowkick", "grassknot"), True, _by_target_weight),
    (("heavyslam", "heatcrash"), True, _by_weight_ratio),
    (("gyroball",), True, _gyro_ball),
    (("electroball",), True, _electro_ball),
    (("flail", "reversal"), True, _flail),
    (("eruption", "waterspout", "dragonenergy"), True, _by_own_hp(150)),
    (("wringout", "crushgrip"), True, _by_target_hp(120)),
    (("hardpress",), True, _by_target_hp(100)),
    (("storedpower", "powertrip"), True, _stored_power),
    (("foulplay",), False, _foul_play),
    (("hex", "infernalparade"), False, _against_status),
    (("venoshock", "barbbarrage"), False, _against_poisoned),
    (("dreameater",), False, _against_sleeping),
    (("brine",), False, _against_weakened),
    (("facade",), False, _facade),
    (("acrobatics",), False, _acrobatics),
    (("knockoff",), False, _knock_off),
    (("poltergeist",), False, _poltergeist),
    (("fakeout", "firstimpression"), False, _first_turn_only),
    (("boltbeak", "fishiousrend"), False, _when_first),
    (("weatherball",), False, _in_weather),
    (("hydrosteam",), False, _hydro_steam),
    (("expandingforce",), False, _on_terrain("psychicterrain", 1.5)),
    (("psyblade",), False, _on_terrain("electricterrain", 1.5)),
    (("risingvoltage",), False, _on_terrain("electricterrain", 2)),
    (("mistyexplosion",), False, _on_terrain("mistyterrain", 1.5)),
    (("steelroller",), False, _needs_terrain),
)
