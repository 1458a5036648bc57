"""Moves whose power the simulator computes anew at each use, as far as a view record tells what it depends on.

A rule takes the scene and where in it such a move is (row, attacker, move), k places, and returns a power or a factor
of power: (k, defender) or (k, 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.damage.battlers import ATTACK, SUN, Fighters, Floats
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import ITEM_STATES, STATUSES, TERRAINS

_POISONED = tuple(STATUSES.index(name) for name in ("psn", "tox"))
_WEIGHT = dex.BLOCKS["species"].column("weight")


@dataclass(frozen=True, slots=True)
class Scene:
    """Who attacks whom."""

    attackers: Fighters
    defenders: Fighters
    power: Floats  # (n, attacker, move) as the dex gives it

    def attacker(self, values: npt.NDArray[Any], at: "Places") -> npt.NDArray[Any]:
        """Pick values of attackers (n, attacker): (k, 1)."""
        return values[at[0], at[1], None]

    def defender(self, values: npt.NDArray[Any], at: "Places") -> npt.NDArray[Any]:
        """Pick values of defenders (n, defender): (k, defender)."""
        return values[at[0]]


Places: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]
Rule: TypeAlias = Callable[[Scene, Places], npt.NDArray[Any]]


def varied_power(scene: Scene, moves: npt.NDArray[Any]) -> Floats:
    """Return the power of moves (n, attacker, move) against each defender: (n, attacker, move, defender)."""
    power = scene.power[..., None]
    rules = _rule_numbers()[moves]
    present = np.flatnonzero(np.bincount(rules.ravel()))
    if not present[-1]:
        return power
    power = np.repeat(power, scene.defenders.pokemon.shape[1], axis=-1)
    for number in present[present > 0]:
        at = np.nonzero(rules == number)
        _, absolute, rule = _RULES[number - 1]
        value = rule(scene, at)
        power[at] = value if absolute else value * power[at]
    return power


@cache
def _rule_numbers() -> npt.NDArray[np.int8]:
    numbers = np.zeros(len(dex.vocabulary().moves) + 1, np.int8)
    for number, (names, _, _) in enumerate(_RULES, 1):
        numbers[dex.vocabulary().numbers("moves", *names)] = number
    return numbers


def _by_target_weight(scene: Scene, at: Places) -> npt.NDArray[Any]:
    weight = scene.defender(scene.defenders.species[..., _WEIGHT], at)
    return np.asarray(
        np.array([20, 40, 60, 80, 100, 120])[np.searchsorted([100, 250, 500, 1000, 2000], weight, side="right")]
    )


def _by_weight_ratio(scene: Scene, at: Places) -> npt.NDArray[Any]:
    own = scene.attacker(scene.attackers.species[..., _WEIGHT], at)
    ratio = own / np.maximum(scene.defender(scene.defenders.species[..., _WEIGHT], at), 1)
    return np.asarray(np.array([40, 60, 80, 100, 120])[np.searchsorted([2, 3, 4, 5], ratio, side="right")])


def _gyro_ball(scene: Scene, at: Places) -> npt.NDArray[Any]:
    own = np.maximum(scene.attacker(scene.attackers.speed, at), 1)
    return np.asarray(np.minimum(25 * scene.defender(scene.defenders.speed, at) / own + 1, 150))


def _electro_ball(scene: Scene, at: Places) -> npt.NDArray[Any]:
    ratio = scene.attacker(scene.attackers.speed, at) / np.maximum(scene.defender(scene.defenders.speed, at), 1)
    return np.asarray(np.array([40, 60, 80, 120, 150])[np.searchsorted([1, 2, 3, 4], ratio, side="right")])


def _flail(scene: Scene, at: Places) -> npt.NDArray[Any]:
    parts = 48 * scene.attacker(scene.attackers.hp, at)
    return np.asarray(np.array([200, 150, 100, 80, 40, 20])[np.searchsorted([2, 5, 10, 17, 33], parts, side="right")])


def _stored_power(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return 20 + 20 * scene.attacker(np.maximum(scene.attackers["boosts"], 0).sum(-1), at)


def _foul_play(scene: Scene, at: Places) -> npt.NDArray[Any]:
    own = scene.attacker(scene.attackers.boosted[..., ATTACK], at)
    return np.asarray(scene.defender(scene.defenders.boosted[..., ATTACK], at) / np.maximum(own, 1))


def _against_ailing(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.defender(scene.defenders.one("status"), at) > 0, 2, 1)


def _against_poisoned(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(np.isin(scene.defender(scene.defenders.one("status"), at), _POISONED), 2, 1)


def _against_sleeping(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.defender(scene.defenders.one("status"), at) == STATUSES.index("slp"), 1, 0)


def _against_weakened(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.defender(scene.defenders.hp, at) <= 0.5, 2, 1)


def _facade(scene: Scene, at: Places) -> npt.NDArray[Any]:
    status = scene.attacker(scene.attackers.one("status"), at)
    burnt = (status == STATUSES.index("brn")) & (scene.attackers.tables.generation >= 6)
    return np.where(burnt, 4, np.where(status > 0, 2, 1))  # a burn's halving is undone


def _acrobatics(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.attacker(scene.attackers.one("item"), at) == 0, 2, 1)


def _knock_off(scene: Scene, at: Places) -> npt.NDArray[Any]:
    held = scene.defender(scene.defenders.one("item_state"), at) != ITEM_STATES.index("none")
    return np.where(held & (scene.attackers.tables.generation >= 6), 1.5, 1)


def _poltergeist(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.defender(scene.defenders.one("item_state"), at) == ITEM_STATES.index("none"), 0, 1)


def _first_turn_only(scene: Scene, at: Places) -> npt.NDArray[Any]:
    fresh = scene.attacker(scene.attackers.one("turns_active"), at) == 0
    return np.where(fresh & (scene.attacker(scene.attackers.one("last_move"), at) == 0), 1, 0)


def _when_first(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.attacker(scene.attackers.speed, at) > scene.defender(scene.defenders.speed, at), 2, 1)


def _in_weather(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.attackers.field.weather[at[0]] > 0, 2, 1)[:, None]


def _hydro_steam(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(SUN[scene.attackers.field.weather[at[0]]], 3, 1)[:, None]  # gains what the sun takes


def _on_terrain(name: str, factor: float) -> Rule:
    def rule(scene: Scene, at: Places) -> npt.NDArray[Any]:
        lies = scene.attackers.field.terrain[at[0]] == TERRAINS.index(name)
        return np.where(lies, factor, 1)[:, None]

    return rule


def _needs_terrain(scene: Scene, at: Places) -> npt.NDArray[Any]:
    return np.where(scene.attackers.field.terrain[at[0]] > 0, 1, 0)[:, None]


def _by_own_hp(most: int) -> Rule:
    return lambda scene, at: most * scene.attacker(scene.attackers.hp, at)


def _by_target_hp(most: int) -> Rule:
    return lambda scene, at: most * scene.defender(scene.defenders.hp, at)


# Names, whether the rule gives a power or a factor, and the rule.
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
    (("hex", "infernalparade"), False, _against_ailing),
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
