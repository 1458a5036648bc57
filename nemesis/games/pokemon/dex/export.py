"""Writes the files behind `dex.py`: what the simulator's dex says, brought into columns.

    python -m nemesis.games.pokemon.dex.export

`host/dex.js` prints the plain facts of every mod; here each becomes the numbers of its columns. A few effects exist in
the dex as program text only. Those of items are read from their descriptions; those of moves and abilities are listed.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout

Facts: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, int | Sequence[int]]
Index: TypeAlias = dict[str, Any]

_PROTECTS = ("kingsshield", "banefulbunker", "burningbulwark", "maxguard", "obstruct", "silktrap", "spikyshield")
_STANDS_FOR = dict.fromkeys(_PROTECTS, "protect") | {"ragepowder": "followme"}
_HAZARDS = ("spikes", "toxicspikes", "stealthrock", "stickyweb")

# What the dex holds as program text.
_MOVES: dict[str, Row] = {
    "return": {"power": 102},
    "frustration": {"power": 102},
    "magnitude": {"power": 71},
    "present": {"power": 52},
    "hiddenpower": {"power": 60},
    "triplekick": {"power": 20},
    "tripleaxel": {"power": 40},
    "populationbomb": {"hits": (2, 10)},
    "superfang": {"fixed_damage": dex.HALF_OF_TARGET},
    "naturesmadness": {"fixed_damage": dex.HALF_OF_TARGET},
    "ruination": {"fixed_damage": dex.HALF_OF_TARGET},
    "psywave": {"fixed_damage": dex.BY_LEVEL},
    "finalgambit": {"fixed_damage": dex.OWN_HP},
    "counter": {"fixed_damage": dex.RETURNED},
    "mirrorcoat": {"fixed_damage": dex.RETURNED},
    "metalburst": {"fixed_damage": dex.RETURNED},
    "comeuppance": {"fixed_damage": dex.RETURNED},
    "bide": {"fixed_damage": dex.RETURNED},
    "substitute": {"cost": 25},
    "bellydrum": {"cost": 50, "self_boosts": (6, 0, 0, 0, 0, 0, 0)},
    "filletaway": {"cost": 50},
    "clangoroussoul": {"cost": 33},
    "curse": {"self_boosts": (1, 1, 0, 0, -1, 0, 0)},
    "stockpile": {"self_boosts": (0, 1, 0, 1, 0, 0, 0)},
    "partingshot": {"target_boosts": (-1, 0, -1, 0, 0, 0, 0)},
    "strengthsap": {"target_boosts": (-1, 0, 0, 0, 0, 0, 0), "heal": 33},
    "tidyup": {"self_boosts": (1, 0, 0, 0, 1, 0, 0), "clears_hazards": 1},
    "rapidspin": {"clears_hazards": 1},
    "mortalspin": {"clears_hazards": 1},
    "defog": {"clears_hazards": 1},
    "stoneaxe": {"side_condition": 1 + layout.SIDE_CONDITIONS.index("stealthrock"), "hazard": 1},
    "ceaselessedge": {"side_condition": 1 + layout.SIDE_CONDITIONS.index("spikes"), "hazard": 1},
    "triattack": {"status_chances": (7, 7, 0, 7, 0, 0)},
    "direclaw": {"status_chances": (0, 17, 17, 0, 17, 0)},
    "rest": {"heal": 100},
    "wish": {"heal": 50},
}
_HALF_HEALING = (
    "recover", "softboiled", "synthesis", "moonlight", "morningsun", "shoreup", "healpulse", "floralhealing", "purify",
)  # fmt: skip
_MOVES |= {name: {"heal": 50} for name in _HALF_HEALING}
_MOVES |= {name: {"heal": 25} for name in ("junglehealing", "lunarblessing", "swallow")}

_IMMUNE = {
    "levitate": "ground", "eartheater": "ground", "flashfire": "fire", "wellbakedbody": "fire", "waterabsorb": "water",
    "dryskin": "water", "stormdrain": "water", "voltabsorb": "electric", "motordrive": "electric",
    "lightningrod": "electric", "sapsipper": "grass",
}  # fmt: skip
_FIRST_WITH_ABILITIES = 3
_DRAWING = ("stormdrain", "lightningrod")  # immune since the fifth generation
_RESISTED: Mapping[str, tuple[tuple[str, ...], int]] = {
    "thickfat": (("fire", "ice"), 50),
    "heatproof": (("fire",), 50),
    "waterbubble": (("fire",), 50),
    "purifyingsalt": (("ghost",), 50),
    "dryskin": (("fire",), 125),
    "fluffy": (("fire",), 200),
}
_BOOSTED = {
    "steelworker": ("steel", 150), "steelyspirit": ("steel", 150), "dragonsmaw": ("dragon", 150),
    "rockypayload": ("rock", 150), "transistor": ("electric", 130), "waterbubble": ("water", 200),
    "overgrow": ("grass", 150), "blaze": ("fire", 150), "torrent": ("water", 150), "swarm": ("bug", 150),
}  # fmt: skip
_PINCH = ("overgrow", "blaze", "torrent", "swarm")
_BECOMES = {"aerilate": "flying", "pixilate": "fairy", "refrigerate": "ice", "galvanize": "electric"}
_FLAG_POWER = {
    "ironfist": ("punch", 120), "strongjaw": ("bite", 150), "sharpness": ("slicing", 150),
    "megalauncher": ("pulse", 150), "toughclaws": ("contact", 130), "punkrock": ("sound", 130),
}  # fmt: skip
_FLAG_IMMUNE = {"soundproof": "sound", "bulletproof": "bullet", "overcoat": "powder", "windrider": "wind"}
_STAT_POWER: Mapping[str, Row] = {
    "hugepower": {"physical_power": 200},
    "purepower": {"physical_power": 200},
    "hustle": {"physical_power": 150},
    "gorillatactics": {"physical_power": 150},
    "furcoat": {"defence": 200},
    "icescales": {"special_defence": 200},
}
_WEATHER = {
    "drizzle": "raindance", "drought": "sunnyday", "sandstream": "sandstorm", "snowwarning": "snowscape",
    "desolateland": "desolateland", "primordialsea": "primordialsea", "deltastream": "deltastream",
    "orichalcumpulse": "sunnyday",
}  # fmt: skip
_TERRAIN = {
    "electricsurge": "electricterrain", "grassysurge": "grassyterrain", "mistysurge": "mistyterrain",
    "psychicsurge": "psychicterrain", "hadronengine": "electricterrain",
}  # fmt: skip
_SPEED_WEATHER = {
    "swiftswim": "raindance", "chlorophyll": "sunnyday", "sandrush": "sandstorm", "slushrush": "snowscape",
}  # fmt: skip


def export() -> tuple[Index, dict[str, npt.NDArray[np.int16]]]:
    """Return the index and the arrays of the installed simulator; the last axis of an array is the table."""
    lines = _dex_of_host()
    vocabulary = dex.Vocabulary(**{kind: tuple(ids) for kind, ids in next(lines).items()})
    index: Index = {"vocabulary": vocabulary.for_host(), "tables": [], "mods": {}, "generations": {}}
    found: list[dict[str, npt.NDArray[np.int16]]] = []
    for line in lines:
        mod, generation = line["mod"], line["generation"]
        index["generations"][mod] = generation
        if line["facts"] is None:
            index["mods"][mod] = index["mods"][f"gen{generation}"]
            continue
        arrays = _Columns(vocabulary, generation).arrays(line["facts"])
        same = [name for name, other in zip(index["tables"], found, strict=True) if _equal(arrays, other)]
        index["mods"][mod] = same[0] if same else mod
        if not same:
            index["tables"].append(mod)
            found.append(arrays)
    return index, {name: np.stack([arrays[name] for arrays in found], axis=-1) for name in found[0]}


def write(index: Index, arrays: Mapping[str, npt.NDArray[np.int16]]) -> None:
    """Write the files that `dex.py` reads."""
    dex.FOLDER.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in index.items() if key != "vocabulary"]
    kinds = [f"{json.dumps(kind)}: {json.dumps(ids)}" for kind, ids in index["vocabulary"].items()]
    text = "{\n" + ",\n".join([*lines, '"vocabulary": {\n' + ",\n".join(kinds) + "\n}"]) + "\n}\n"
    (dex.FOLDER / "vocabulary.json").write_text(text, encoding="utf-8")
    narrow: dict[str, Any] = {name: _narrow(values) for name, values in arrays.items()}
    np.savez_compressed(dex.FOLDER / "tables.npz", **narrow)


def _dex_of_host() -> Iterator[Any]:
    node = find_node("bundled")
    host = installed_host(node)
    outcome = subprocess.run([str(node.node), "dex.js"], cwd=host, capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode:
        raise UserError(f"The simulator's dex cannot be read:\n{outcome.stderr.strip()}")
    return map(json.loads, outcome.stdout.splitlines())


def _equal(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def _narrow(values: npt.NDArray[np.int16]) -> npt.NDArray[Any]:
    fits = values.min() >= -128 and values.max() <= 127
    return values.astype(np.int8) if fits else values


class _Columns:
    """Brings facts into columns, by the rules of one generation."""

    def __init__(self, vocabulary: dex.Vocabulary, generation: int) -> None:
        self.vocabulary = vocabulary
        self.generation = generation
        self.place = {
            kind: {name: number for number, name in enumerate(getattr(vocabulary, kind), 1)} for kind in dex.KINDS
        }

    def arrays(self, facts: Mapping[str, Mapping[str, Facts]]) -> dict[str, npt.NDArray[np.int16]]:
        rows: dict[str, Callable[[str, Facts], Row]] = {
            "species": self.species, "moves": self.move, "items": self.item, "abilities": self.ability,
        }  # fmt: skip
        arrays = {}
        for kind, block in dex.BLOCKS.items():
            values = np.zeros((len(self.place[kind]) + 1, block.width), np.int16)
            for name, entry in facts[kind].items():
                row = {"standard": int("isNonstandard" not in entry)} | rows[kind](name, entry)
                for field, value in row.items():
                    values[self.place[kind][name], block.columns(field)] = value
            arrays[kind] = values
        return arrays | {"chart": self.chart(facts["types"])}

    def number(self, kind: str, name: str | None) -> int:
        return self.place[kind].get(_to_id(name), 0) if name else 0

    def species(self, name: str, facts: Facts) -> Row:
        types = facts["types"]
        abilities = facts.get("abilities", {}) if self.generation >= _FIRST_WITH_ABILITIES else {}
        ratio = facts.get("genderRatio", {"M": 0, "F": 0})
        return {
            "base_stats": [facts["baseStats"][stat] for stat in ("hp", "atk", "def", "spa", "spd", "spe")],
            "types": [self.type_number(types[0]), self.type_number(types[1]) if len(types) > 1 else 0],
            "weight": facts.get("weighthg", 0),
            "can_evolve": int("nfe" in facts),
            "base_species": self.number("species", facts.get("baseSpecies", name)),
            "abilities": [self.number("abilities", abilities.get(slot)) for slot in ("0", "1", "H", "S")],
            "male": round(100 * ratio["M"]) if facts.get("gender") != "N" else 0,
            "genderless": int(facts.get("gender") == "N"),
            "mega": int("isMega" in facts or "isPrimal" in facts),
            "required_item": self.number("items", facts.get("requiredItem")),
            "forced_tera_type": self.number("types", facts.get("forceTeraType")),
        }

    def type_number(self, name: str) -> int:
        return self.place["types"]["???"] if name == "???" else self.number("types", name)

    def move(self, name: str, facts: Facts) -> Row:
        category = facts["category"].lower()
        damage, hits = facts.get("damage", 0), facts.get("multihit", 1)
        flags = facts.get("flags", {})
        row: Row = {
            "power": facts.get("basePower", 0),
            "power_varies": int("basePowerCallback" in facts),
            "accuracy": 101 if facts["accuracy"] is True else facts["accuracy"],
            "pp": self.pp(facts),
            "priority": facts.get("priority", 0),
            "category": dex.CATEGORIES.index(category),
            "type": self.type_number(facts["type"]),
            "target": dex.TARGETS.index(facts["target"]),
            "flags": [int(flag in flags) for flag in dex.FLAGS],
            "fixed_damage": dex.BY_LEVEL if damage == "level" else damage,
            "ohko": int("ohko" in facts),
            "critical_ratio": 4 if "willCrit" in facts else facts.get("critRatio", 1),
            "hits": hits if isinstance(hits, list) else [hits, hits],
            "recoil": _per_cent(facts.get("recoil")) if "struggleRecoil" not in facts else 25,
            "drain": _per_cent(facts.get("drain")),
            "cost": _cost(facts),
            "heal": _per_cent(facts.get("heal")),
            "attack_stat": int("overrideOffensiveStat" in facts) or 2 * int("overrideOffensivePokemon" in facts),
            "hits_defence": int(facts.get("overrideDefensiveStat") == "def"),
            "ignores_boosts": int("ignoreDefensive" in facts),
            "ignores_ability": int("ignoreAbility" in facts),
            "breaks_protect": int("breaksProtect" in facts),
            "z_power": facts.get("zMove", {}).get("basePower", 0),
            "max_power": facts.get("maxMove", {}).get("basePower", 0) if category != "status" else 0,
        }
        row |= _effects(facts) | _MOVES.get(name, {})
        return row | {"power": 0} if row["fixed_damage"] or row["ohko"] else row

    def pp(self, facts: Facts) -> int:
        least: int = facts["pp"]
        if "noPPBoosts" in facts:
            return least
        return 61 if least == 40 and self.generation <= 2 else least * 8 // 5

    def item(self, _: str, facts: Facts) -> Row:
        text = facts.get("desc", "")
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
            "choice": int("isChoice" in facts),
            "berry": int("isBerry" in facts),
            "gem": int("isGem" in facts),
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
            "mega_of": self.number("species", _first(facts.get("megaStone"))),
            "z_type": self.number("types", facts.get("zMoveType")),
            "removable": int("megaStone" not in facts and facts.get("onTakeItem", True)),
            "fling": facts.get("fling", {}).get("basePower", 0),
        }

    def ability(self, name: str, _: Facts) -> Row:
        row: Row = dict(_STAT_POWER.get(name, {}))
        if name in _IMMUNE and not (name in _DRAWING and self.generation < 5):
            row["immune_type"] = self.number("types", _IMMUNE[name])
        if name in _RESISTED:
            types, left = _RESISTED[name]
            numbers = [self.number("types", type_name) for type_name in types]
            row |= {"resisted_types": [*numbers, 0][:2], "resisted_power": left}
        if name in _BOOSTED:
            type_name, power = _BOOSTED[name]
            old = name == "transistor" and self.generation == 8
            row |= {"boosted_type": self.number("types", type_name), "type_power": 150 if old else power}
        if name in _FLAG_POWER:
            flag, power = _FLAG_POWER[name]
            row |= {"boosted_flag": 1 + dex.FLAGS.index(flag), "flag_power": power}
        if name in _FLAG_IMMUNE:
            row["immune_flag"] = 1 + dex.FLAGS.index(_FLAG_IMMUNE[name])
        return row | {
            "pinch": int(name in _PINCH),
            "becomes_type": self.number("types", _BECOMES.get(name)),
            "ignores_ability": int(name in {"moldbreaker", "teravolt", "turboblaze"}),
            "weather": self.weather(_WEATHER.get(name)),
            "terrain": layout.TERRAINS.index(_TERRAIN.get(name, "")),
            "speed_weather": self.weather(_SPEED_WEATHER.get(name)),
            "intimidates": int(name == "intimidate"),
        }

    def weather(self, name: str | None) -> int:
        return layout.WEATHERS.index("hail" if name == "snowscape" and self.generation < 9 else name or "")

    def chart(self, facts: Mapping[str, Facts]) -> npt.NDArray[np.int16]:
        """Return multipliers in halves: (attacking type, defending type)."""
        halves = {0: 2, 1: 4, 2: 1, 3: 0}
        values = np.full((len(self.place["types"]) + 1,) * 2, 2, np.int16)
        for defending, entry in facts.items():
            for attacking, code in entry["damageTaken"].items():
                place = self.number("types", attacking)
                if place:  # the dex lists effects such as powder and sandstorm beside the types
                    values[place, self.number("types", defending)] = halves[code]
        return values


def _effects(facts: Facts) -> Row:
    """Return the columns of what a move does beside its damage."""
    own = facts.get("self", {})
    certain, on_target = np.zeros(7, np.int64), np.zeros(7, np.int64)
    expected, expected_on_target = np.zeros(7, np.int64), np.zeros(7, np.int64)
    statuses = np.zeros(6, np.int64)
    (certain if facts["target"] == "self" else on_target)[:] += _boosts(facts.get("boosts"))
    certain += _boosts(facts.get("selfBoost", {}).get("boosts"))
    if "chance" in own:
        expected += own["chance"] * _boosts(own.get("boosts"))
    else:
        certain += _boosts(own.get("boosts"))
    if "status" in facts:
        statuses[layout.STATUSES.index(facts["status"]) - 1] = 100
    volatiles = {facts.get("volatileStatus", ""): 100}
    chances = [0]
    for effect in facts.get("secondaries", ()):
        chance = effect.get("chance", 100)
        chances.append(chance)
        expected += chance * _boosts((effect.get("self") or {}).get("boosts"))
        expected_on_target += chance * _boosts(effect.get("boosts"))
        if "status" in effect:
            statuses[layout.STATUSES.index(effect["status"]) - 1] += chance
        volatiles[effect.get("volatileStatus", "")] = chance
    certain_volatiles = [name for name, chance in volatiles.items() if chance == 100]
    condition = facts.get("sideCondition") or own.get("sideCondition")
    switch = facts.get("selfSwitch")
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
        "protects": int("stallingMove" in facts),
        "self_switch": {None: 0, True: 1, "copyvolatile": 2, "shedtail": 3}[switch],
        "force_switch": int("forceSwitch" in facts),
        "weather": layout.WEATHERS.index(_to_id(facts.get("weather", ""))),
        "terrain": layout.TERRAINS.index(facts.get("terrain", "")),
        "room": 1 + layout.ROOMS.index(facts["pseudoWeather"]) if "pseudoWeather" in facts else 0,
        "side_condition": 1 + layout.SIDE_CONDITIONS.index(condition) if condition else 0,
        "hazard": int(condition in _HAZARDS),
    }


def _cost(facts: Facts) -> int:
    if "selfdestruct" in facts:
        return 100
    return 50 if "mindBlownRecoil" in facts or "chloroblastRecoil" in facts else 0


def _boosts(boosts: Mapping[str, int] | None) -> npt.NDArray[np.int64]:
    return np.array([(boosts or {}).get(stat, 0) for stat in layout.BOOSTS], np.int64)


def _volatile(name: str) -> int:
    name = _STANDS_FOR.get(name, name)
    return 1 + layout.VOLATILES.index(name) if name in layout.VOLATILES else 0


def _per_cent(fraction: Sequence[int] | None) -> int:
    return round(100 * fraction[0] / fraction[1]) if fraction else 0


def _factor(pattern: str, text: str) -> int:
    return _factor_of(re.search(pattern, text))


def _factor_of(match: re.Match[str] | None) -> int:
    if match is None:
        return 0
    word = next(group for group in match.groups() if group)
    return 200 if word == "doubled" else round(100 * float(word))


def _first(names: Iterable[str] | None) -> str | None:
    return next(iter(names), None) if names else None


def _to_id(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


if __name__ == "__main__":
    write(*export())
