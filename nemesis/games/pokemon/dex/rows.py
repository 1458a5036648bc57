"""Conversion of the simulator's dex entries to rows of the dex tables.

Effects of items that the dex has only in code are parsed from their descriptions; those of moves and abilities are
listed in `coded_effects.py`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex import coded_effects as coded
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.dex.coded_effects import Row
from nemesis.games.pokemon.views import layout

Entry: TypeAlias = Mapping[str, Any]
"""One id's data in the simulator's dex."""

_FIRST_GENERATION_WITH_ABILITIES = 3
_PROTECTS = ("kingsshield", "banefulbunker", "burningbulwark", "maxguard", "obstruct", "silktrap", "spikyshield")
_EQUIVALENT_VOLATILE = dict.fromkeys(_PROTECTS, "protect") | {"ragepowder": "followme"}
_HAZARDS = ("spikes", "toxicspikes", "stealthrock", "stickyweb")


class RowBuilder:
    """Converts dex entries to rows, by the rules of one generation."""

    def __init__(self, vocabulary: dex.Vocabulary, generation: int) -> None:
        self.vocabulary = vocabulary
        self.generation = generation
        self.numbers = {
            kind: {name: number for number, name in enumerate(getattr(vocabulary, kind), 1)} for kind in dex.KINDS
        }

    def arrays(self, entries: Mapping[str, Mapping[str, Entry]]) -> dict[str, npt.NDArray[np.int16]]:
        """Return the arrays of all kinds (number, column) and the type chart, from the entries of a mod by kind."""
        rows: dict[str, Callable[[str, Entry], Row]] = {
            "species": self.species, "moves": self.move, "items": self.item, "abilities": self.ability,
        }  # fmt: skip
        arrays = {}
        for kind, block in dex.BLOCKS.items():
            values = np.zeros((len(self.numbers[kind]) + 1, block.width), np.int16)
            for name, entry in entries[kind].items():
                row = {"standard": int("isNonstandard" not in entry)} | rows[kind](name, entry)
                values[self.numbers[kind][name]] = _numbers(block, row)
            arrays[kind] = values
        return arrays | {"chart": self.chart(entries["types"])}

    def number(self, kind: str, name: str | None) -> int:
        return self.numbers[kind].get(_to_id(name), 0) if name else 0

    def species(self, name: str, entry: Entry) -> Row:
        types = entry["types"]
        abilities = entry.get("abilities", {}) if self.generation >= _FIRST_GENERATION_WITH_ABILITIES else {}
        ratio = entry.get("genderRatio", {"M": 0, "F": 0})
        return {
            "base_stats": [entry["baseStats"][stat] for stat in ("hp", "atk", "def", "spa", "spd", "spe")],
            "types": [self.type_number(types[0]), self.type_number(types[1]) if len(types) > 1 else 0],
            "weight": entry.get("weighthg", 0),
            "can_evolve": int("nfe" in entry),
            "base_species": self.number("species", entry.get("baseSpecies", name)),
            "abilities": [self.number("abilities", abilities.get(slot)) for slot in ("0", "1", "H", "S")],
            "male": round(100 * ratio["M"]) if entry.get("gender") != "N" else 0,
            "genderless": int(entry.get("gender") == "N"),
            "mega": int("isMega" in entry or "isPrimal" in entry),
            "required_item": self.number("items", entry.get("requiredItem")),
            "forced_tera_type": self.number("types", entry.get("forceTeraType")),
        }

    def type_number(self, name: str) -> int:
        return self.numbers["types"]["???"] if name == "???" else self.number("types", name)

    def move(self, name: str, entry: Entry) -> Row:
        category = entry["category"].lower()
        damage, hits = entry.get("damage", 0), entry.get("multihit", 1)
        flags = entry.get("flags", {})
        row: Row = {
            "power": entry.get("basePower", 0),
            "power_varies": int("basePowerCallback" in entry),
            "accuracy": 101 if entry["accuracy"] is True else entry["accuracy"],
            "pp": self.pp(entry),
            "priority": entry.get("priority", 0),
            "category": dex.CATEGORIES.index(category),
            "type": self.type_number(entry["type"]),
            "target": dex.TARGETS.index(entry["target"]),
            "flags": [int(flag in flags) for flag in dex.FLAGS],
            "fixed_damage": dex.BY_LEVEL if damage == "level" else damage,
            "ohko": int("ohko" in entry),
            "critical_ratio": 4 if "willCrit" in entry else entry.get("critRatio", 1),
            "hits": hits if isinstance(hits, list) else [hits, hits],
            "recoil": _percentage(entry.get("recoil")) if "struggleRecoil" not in entry else 25,
            "drain": _percentage(entry.get("drain")),
            "cost": _cost(entry),
            "heal": _percentage(entry.get("heal")),
            "attack_stat": int("overrideOffensiveStat" in entry) or 2 * int("overrideOffensivePokemon" in entry),
            "hits_defence": int(entry.get("overrideDefensiveStat") == "def"),
            "ignores_boosts": int("ignoreDefensive" in entry),
            "ignores_ability": int("ignoreAbility" in entry),
            "breaks_protect": int("breaksProtect" in entry),
            "z_power": entry.get("zMove", {}).get("basePower", 0),
            "max_power": entry.get("maxMove", {}).get("basePower", 0) if category != "status" else 0,
        }
        row |= _effects(entry) | coded.MOVES.get(name, {})
        return row | {"power": 0} if row["fixed_damage"] or row["ohko"] else row

    def pp(self, entry: Entry) -> int:
        base: int = entry["pp"]
        if "noPPBoosts" in entry:
            return base
        return 61 if base == 40 and self.generation <= 2 else base * 8 // 5

    def item(self, _: str, entry: Entry) -> Row:
        text = entry.get("desc", "")
        boosted = re.search(r"(\w+)-(?: and (\w+)-)?type (?:attack|move)s? (?:will )?have (\d\.\d+)x power", text)
        power = {category: re.search(rf"Holder's {category} attacks have (\d\.\d+)x", text)
                 for category in ("physical", "special")}  # fmt: skip
        resisted = re.search(r"Halves damage taken from an? (?:supereffective )?(\w+)-type attack", text)
        attack = _factor(r"Attack(?: and Sp\. Atk are|,? is) (\d\.\d+)x|its Attack is (doubled)", text)
        special = _factor(r"Sp\. Atk(?: and Sp\. Def)? (?:is|are) (\d\.\d+)x|its Special Attack is (doubled)", text)
        doubled = _factor(r"Attack and Sp\. Atk are (doubled)|attacks have their power (doubled)", text)
        everything = _factor(r"Holder's attacks do (\d\.\d+)x damage|: (\d\.\d+)x power attacks", text)
        once = re.search(r"Restores 1/(\d) max HP (?:when )?at 1/[24]", text)
        return {
            "choice": int("isChoice" in entry),
            "berry": int("isBerry" in entry),
            "gem": int("isGem" in entry),
            "boosted_types": [self.number("types", name) for name in boosted.group(1, 2)] if boosted else 0,
            "type_power": round(100 * float(boosted[3])) if boosted else 0,
            "physical_power": max(attack, doubled, everything, _factor_of(power["physical"])),
            "special_power": max(special, doubled, everything, _factor_of(power["special"])),
            "super_effective_power": _factor(r"super effective against the target do (\d\.\d+)x", text),
            "defence": _factor(r"Defense(?: and Sp\. Def are| is) (\d\.\d+)x", text),
            "special_defence": _factor(r"Sp\. Def (?:is|are) (\d\.\d+)x", text),
            "needs_evolution": int("can evolve" in text and "1.5x" in text),
            "speed": _factor(r"Speed is (\d\.\d+)x", text) or (50 if re.search(r"Speed (is )?halved", text) else 0),
            "resisted_type": self.number("types", resisted[1]) if resisted else 0,
            "heals": 100 // int(once[1]) if once else 0,
            "heals_each_turn": 6
            if re.search(r"turn, (?:holder|if holder is a Poison type,) restores 1/16", text)
            else 0,
            "recoil": 10 if "loses 1/10 its max HP after the attack" in text else 0,
            "mega_of": self.number("species", _first_key(entry.get("megaStone"))),
            "z_type": self.number("types", entry.get("zMoveType")),
            "removable": int("megaStone" not in entry and entry.get("onTakeItem", True)),
            "fling": entry.get("fling", {}).get("basePower", 0),
        }

    def ability(self, name: str, _: Entry) -> Row:
        row: Row = dict(coded.STAT_FACTORS.get(name, {}))
        if name in coded.IMMUNE_TYPE and not (name in coded.REDIRECTING and self.generation < 5):
            row["immune_type"] = self.number("types", coded.IMMUNE_TYPE[name])
        if name in coded.RESISTED_TYPES:
            types, power = coded.RESISTED_TYPES[name]
            numbers = [self.number("types", type_name) for type_name in types]
            row |= {"resisted_types": [*numbers, 0][:2], "resisted_power": power}
        if name in coded.BOOSTED_TYPE:
            type_name, power = coded.BOOSTED_TYPE[name]
            old = name == "transistor" and self.generation == 8
            row |= {"boosted_type": self.number("types", type_name), "type_power": 150 if old else power}
        if name in coded.BOOSTED_FLAG:
            flag, power = coded.BOOSTED_FLAG[name]
            row |= {"boosted_flag": 1 + dex.FLAGS.index(flag), "flag_power": power}
        if name in coded.IMMUNE_FLAG:
            row["immune_flag"] = 1 + dex.FLAGS.index(coded.IMMUNE_FLAG[name])
        return row | {
            "pinch": int(name in coded.PINCH),
            "becomes_type": self.number("types", coded.BECOMES_TYPE.get(name)),
            "ignores_ability": int(name in {"moldbreaker", "teravolt", "turboblaze"}),
            "weather": self.weather(coded.WEATHER.get(name)),
            "terrain": layout.TERRAINS.index(coded.TERRAIN.get(name, "")),
            "speed_weather": self.weather(coded.SPEED_WEATHER.get(name)),
            "intimidates": int(name == "intimidate"),
        }

    def weather(self, name: str | None) -> int:
        return layout.WEATHERS.index("hail" if name == "snowscape" and self.generation < 9 else name or "")

    def chart(self, entries: Mapping[str, Entry]) -> npt.NDArray[np.int16]:
        """Return multipliers in halves: (attacking type, defending type)."""
        halves = {0: 2, 1: 4, 2: 1, 3: 0}
        values = np.full((len(self.numbers["types"]) + 1,) * 2, 2, np.int16)
        for defending, entry in entries.items():
            for attacking, code in entry["damageTaken"].items():
                number = self.number("types", attacking)
                if number:  # the dex also lists effects such as powder and sandstorm
                    values[number, self.number("types", defending)] = halves[code]
        return values


def _numbers(block: layout.Block, row: Row) -> list[int]:
    """Return the columns of a row; a list, because assigning to an array field by field is slow."""
    numbers = [0] * block.width
    for field, value in row.items():
        place = block.columns(field)
        numbers[place] = [value] * (place.stop - place.start) if isinstance(value, int) else value
    return numbers


def _effects(entry: Entry) -> Row:
    """Return the fields of a move's effects other than damage."""
    own = entry.get("self", {})
    certain, on_target = np.zeros(7, np.int64), np.zeros(7, np.int64)
    expected, expected_on_target = np.zeros(7, np.int64), np.zeros(7, np.int64)
    statuses = np.zeros(6, np.int64)
    (certain if entry["target"] == "self" else on_target)[:] += _boosts(entry.get("boosts"))
    certain += _boosts(entry.get("selfBoost", {}).get("boosts"))
    if "chance" in own:
        expected += own["chance"] * _boosts(own.get("boosts"))
    else:
        certain += _boosts(own.get("boosts"))
    if "status" in entry:
        statuses[layout.STATUSES.index(entry["status"]) - 1] = 100
    volatiles = {entry.get("volatileStatus", ""): 100}
    chances = [0]
    for effect in entry.get("secondaries", ()):
        chance = effect.get("chance", 100)
        chances.append(chance)
        expected += chance * _boosts((effect.get("self") or {}).get("boosts"))
        expected_on_target += chance * _boosts(effect.get("boosts"))
        if "status" in effect:
            statuses[layout.STATUSES.index(effect["status"]) - 1] += chance
        volatiles[effect.get("volatileStatus", "")] = chance
    certain_volatiles = [name for name, chance in volatiles.items() if chance == 100]
    condition = entry.get("sideCondition") or own.get("sideCondition")
    switch = entry.get("selfSwitch")
    return {
        "self_boosts": certain.tolist(),
        "target_boosts": on_target.tolist(),
        "secondary_chance": max(chances),
        "secondary_self_boosts": expected.tolist(),
        "secondary_target_boosts": expected_on_target.tolist(),
        "status_chances": statuses.tolist(),
        "flinch": volatiles.get("flinch", 0),
        "confusion": volatiles.get("confusion", 0),
        "volatile": max(map(_volatile, certain_volatiles), default=0),
        "self_volatile": _volatile(own.get("volatileStatus", "")),
        "protects": int("stallingMove" in entry),
        "self_switch": {None: 0, True: 1, "copyvolatile": 2, "shedtail": 3}[switch],
        "force_switch": int("forceSwitch" in entry),
        "weather": layout.WEATHERS.index(_to_id(entry.get("weather", ""))),
        "terrain": layout.TERRAINS.index(entry.get("terrain", "")),
        "room": 1 + layout.ROOMS.index(entry["pseudoWeather"]) if "pseudoWeather" in entry else 0,
        "side_condition": 1 + layout.SIDE_CONDITIONS.index(condition) if condition else 0,
        "hazard": int(condition in _HAZARDS),
    }


def _cost(entry: Entry) -> int:
    if "selfdestruct" in entry:
        return 100
    return 50 if "mindBlownRecoil" in entry or "chloroblastRecoil" in entry else 0


def _boosts(boosts: Mapping[str, int] | None) -> npt.NDArray[np.int64]:
    return np.array([(boosts or {}).get(stat, 0) for stat in layout.BOOSTS], np.int64)


def _volatile(name: str) -> int:
    name = _EQUIVALENT_VOLATILE.get(name, name)
    return 1 + layout.VOLATILES.index(name) if name in layout.VOLATILES else 0


def _percentage(fraction: Sequence[int] | None) -> int:
    return round(100 * fraction[0] / fraction[1]) if fraction else 0


def _factor(pattern: str, text: str) -> int:
    return _factor_of(re.search(pattern, text))


def _factor_of(match: re.Match[str] | None) -> int:
    if match is None:
        return 0
    word = next(group for group in match.groups() if group)
    return 200 if word == "doubled" else round(100 * float(word))


def _first_key(names: Iterable[str] | None) -> str | None:
    return next(iter(names), None) if names else None


def _to_id(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
