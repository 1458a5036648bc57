"""The dex: one vocabulary of ids for all formats, and the static data of each id, as arrays.

The number of an id is its index in the vocabulary plus one; 0 is unknown. A *table* has one row per number, so that ids
of view records index it directly; row 0 is all zero. Data differ between generations and games, so every mod of the
simulator has its own tables, such as `tables("gen1")`. `python -m nemesis.games.pokemon.dex.export` writes the files.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.games.pokemon.views.layout import BOOSTS, Block, Field

FOLDER = Path(__file__).parent / "data"
KINDS = ("species", "moves", "items", "abilities", "types")

CATEGORIES = ("", "physical", "special", "status")
TARGETS = (
    "", "normal", "any", "adjacentFoe", "randomNormal", "allAdjacentFoes", "allAdjacent", "self", "adjacentAlly",
    "adjacentAllyOrSelf", "allies", "allySide", "allyTeam", "foeSide", "all", "scripted",
)  # fmt: skip
SPREAD_TARGETS = ("allAdjacentFoes", "allAdjacent")
FLAGS = (
    "contact", "protect", "sound", "bullet", "punch", "bite", "slicing", "wind", "powder", "pulse", "dance", "heal",
    "bypasssub", "reflectable", "charge", "recharge", "futuremove", "defrost", "gravity", "snatch", "cantusetwice",
)  # fmt: skip
BY_LEVEL, HALF_OF_TARGET, OWN_HP, RETURNED = -1, -2, -3, -4  # special values of fixed_damage

_SPECIES = (
    Field("base_stats", 6, "hp, atk, def, spa, spd, spe"),
    Field("types", 2, "type ids"),
    Field("weight", 1, "in tenths of a kilogram"),
    Field("can_evolve", 1, "into a species of the mod"),
    Field("base_species", 1, "species id of the base forme"),
    Field("abilities", 4, "possible ability ids: first, second, hidden, special"),
    Field("male", 1, "per cent of males; 0 if all are female or genderless"),
    Field("genderless", 1, ""),
    Field("mega", 1, "1 for mega and primal formes"),
    Field("required_item", 1, "item id that the forme needs"),
    Field("forced_tera_type", 1, "type id"),
    Field("standard", 1, "1 if the mod's games have it"),
)
_MOVES = (
    Field("power", 1, "0 for status moves and fixed damage"),
    Field("power_varies", 1, "1 if the simulator computes the power at each use"),
    Field("accuracy", 1, "per cent; 101 never misses"),
    Field("pp", 1, "with all PP Ups"),
    Field("priority", 1, ""),
    Field("category", 1, "index in CATEGORIES"),
    Field("type", 1, "type id"),
    Field("target", 1, "index in TARGETS"),
    Field("flags", len(FLAGS), "of each of FLAGS"),
    Field("fixed_damage", 1, "HP; BY_LEVEL, HALF_OF_TARGET, OWN_HP or RETURNED"),
    Field("ohko", 1, "1 if a hit knocks out"),
    Field("critical_ratio", 1, "1 is the default; 4 is always critical"),
    Field("hits", 2, "minimum and maximum"),
    Field("recoil", 1, "per cent of the damage, taken by the user"),
    Field("drain", 1, "per cent of the damage, healed by the user"),
    Field("cost", 1, "per cent of the user's HP; 100 if it faints"),
    Field("heal", 1, "per cent of HP healed by the target, usually the user"),
    Field("self_boosts", len(BOOSTS), "certain"),
    Field("target_boosts", len(BOOSTS), "certain, if the target is not the user"),
    Field("secondary_chance", 1, "per cent, of the most likely secondary effect"),
    Field("secondary_self_boosts", len(BOOSTS), "expected, in hundredths of a stage"),
    Field("secondary_target_boosts", len(BOOSTS), "expected, in hundredths of a stage"),
    Field("status_chances", 6, "per cent of each status of STATUSES from brn on, as main or secondary effect"),
    Field("flinch", 1, "per cent"),
    Field("confusion", 1, "per cent"),
    Field("volatile", 1, "1 + index in layout.VOLATILES that the target gets; protect also stands for similar moves"),
    Field("self_volatile", 1, "1 + index in layout.VOLATILES that the user gets"),
    Field("protects", 1, "1 for Protect and similar moves, which fail if repeated"),
    Field("self_switch", 1, "1 if the user switches out, 2 with Baton Pass, 3 with Shed Tail"),
    Field("force_switch", 1, "1 if the target must switch out"),
    Field("weather", 1, "index in layout.WEATHERS"),
    Field("terrain", 1, "index in layout.TERRAINS"),
    Field("room", 1, "1 + index in layout.ROOMS"),
    Field("side_condition", 1, "1 + index in layout.SIDE_CONDITIONS"),
    Field("hazard", 1, "1 if it is an entry hazard on the foe's side"),
    Field("clears_hazards", 1, "1 if it removes hazards from the own side"),
    Field("attack_stat", 1, "1 if it uses the user's defence, 2 if it uses the target's attack"),
    Field("hits_defence", 1, "1 if a special move is reduced by defence"),
    Field("ignores_boosts", 1, "1 if it ignores boosts of the target's defence"),
    Field("ignores_ability", 1, ""),
    Field("breaks_protect", 1, ""),
    Field("z_power", 1, ""),
    Field("max_power", 1, ""),
    Field("standard", 1, "1 if the mod's games have it"),
)
_ITEMS = (
    Field("choice", 1, "locks the holder into one move"),
    Field("berry", 1, ""),
    Field("gem", 1, ""),
    Field("boosted_types", 2, "type ids"),
    Field("type_power", 1, "per cent, of moves of those types"),
    Field("physical_power", 1, "per cent"),
    Field("special_power", 1, "per cent"),
    Field("super_effective_power", 1, "per cent"),
    Field("defence", 1, "per cent"),
    Field("special_defence", 1, "per cent"),
    Field("needs_evolution", 1, "1 if it works only for Pokémon that can evolve (Eviolite)"),
    Field("speed", 1, "per cent"),
    Field("resisted_type", 1, "type id: halves one super effective hit"),
    Field("heals", 1, "per cent of HP, once"),
    Field("heals_each_turn", 1, "per cent of HP"),
    Field("recoil", 1, "per cent of the holder's HP that an attack costs"),
    Field("mega_of", 1, "species id that can mega evolve with it"),
    Field("z_type", 1, "type id of the Z-move, if it depends on the type"),
    Field("removable", 1, "0 if Knock Off and similar moves cannot remove it from most holders"),
    Field("fling", 1, "power"),
    Field("standard", 1, "1 if the mod's games have it"),
)
_ABILITIES = (
    Field("immune_type", 1, "type id that the holder is immune to"),
    Field("resisted_types", 2, "type ids of moves with changed damage to the holder"),
    Field("resisted_power", 1, "per cent of their damage"),
    Field("boosted_type", 1, "type id of own moves with increased power"),
    Field("type_power", 1, "per cent"),
    Field("pinch", 1, "1 if it works only at a third of the HP or less"),
    Field("becomes_type", 1, "type id that own Normal moves get"),
    Field("boosted_flag", 1, "1 + index in FLAGS of own moves with increased power"),
    Field("flag_power", 1, "per cent"),
    Field("immune_flag", 1, "1 + index in FLAGS of moves that the holder is immune to"),
    Field("physical_power", 1, "per cent"),
    Field("special_power", 1, "per cent"),
    Field("defence", 1, "per cent"),
    Field("special_defence", 1, "per cent"),
    Field("ignores_ability", 1, "1 if own moves ignore the target's ability"),
    Field("weather", 1, "index in layout.WEATHERS that it sets"),
    Field("terrain", 1, "index in layout.TERRAINS that it sets"),
    Field("speed_weather", 1, "index in layout.WEATHERS that doubles its speed"),
    Field("intimidates", 1, "1 if it lowers the foes' attack on entry"),
    Field("standard", 1, "1 if the mod's games have it"),
)

BLOCKS: Mapping[str, Block] = {
    "species": Block(_SPECIES),
    "moves": Block(_MOVES),
    "items": Block(_ITEMS),
    "abilities": Block(_ABILITIES),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All ids of each kind, in the order of their numbers."""

    species: tuple[str, ...]
    moves: tuple[str, ...]
    items: tuple[str, ...]
    abilities: tuple[str, ...]
    types: tuple[str, ...]

    def number(self, kind: str, id: str) -> int:  # noqa: A002
        """Return the number of an existing id."""
        try:
            return self._numbers[kind][id]
        except KeyError:
            raise KeyError(f"no {kind} has the id {id!r}") from None

    def numbers(self, kind: str, *ids: str) -> npt.NDArray[np.int64]:
        """Return the numbers of existing ids."""
        return np.array([self.number(kind, id) for id in ids], np.int64)  # noqa: A001

    def for_host(self) -> dict[str, list[str]]:
        """Return the lists for a host."""
        return {kind: list(getattr(self, kind)) for kind in KINDS}

    @functools.cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {kind: {id: number for number, id in enumerate(getattr(self, kind), 1)} for kind in KINDS}  # noqa: A001


@dataclass(frozen=True, eq=False)
class Table:
    """The data of one kind, by number and named column."""

    block: Block
    values: npt.NDArray[np.int16]  # (number, column)

    def __getitem__(self, name: str) -> npt.NDArray[np.int16]:
        """Return a field of all rows: (number,), or (number, column) if it has several."""
        place = self.block.columns(name)
        several = place.stop - place.start > 1
        return self.values[:, place] if several else self.values[:, place.start]

    @functools.cached_property
    def factors(self) -> npt.NDArray[np.float32]:
        """All columns as factors (percentages divided by 100), 1 where there is none: (number, column)."""
        return np.where(self.values > 0, self.values / np.float32(100), np.float32(1))


@dataclass(frozen=True, eq=False)
class Tables:
    """The data of all ids in one mod."""

    generation: int
    species: Table
    moves: Table
    items: Table
    abilities: Table
    chart: npt.NDArray[np.float32]  # (attacking type, defending type) multiplier, 1 where either is unknown


@functools.cache
def vocabulary() -> Vocabulary:
    """Return the ids of view records, the same for all formats."""
    return Vocabulary(**{kind: tuple(ids) for kind, ids in _index()["vocabulary"].items()})


@functools.cache
def tables(mod: str) -> Tables:
    """Return the tables of a mod of the simulator, such as gen1 or champions."""
    index = _index()
    if mod not in index["mods"]:
        raise UserError(f"There is no dex for {mod!r}; there is one for {', '.join(index['mods'])}.")
    place = index["tables"].index(index["mods"][mod])
    arrays = {name: np.ascontiguousarray(values[..., place]) for name, values in _arrays().items()}
    for array in arrays.values():
        array.setflags(write=False)
    rows = {kind: Table(block, arrays[kind]) for kind, block in BLOCKS.items()}
    chart = (arrays["chart"] / 2).astype(np.float32)
    chart.setflags(write=False)
    return Tables(generation=int(index["generations"][mod]), chart=chart, **rows)


@functools.cache
def _index() -> dict[str, Any]:
    index: dict[str, Any] = json.loads((FOLDER / "vocabulary.json").read_text(encoding="utf-8"))
    return index


@functools.cache
def _arrays() -> dict[str, npt.NDArray[np.int16]]:
    with np.load(FOLDER / "tables.npz") as file:
        return {name: file[name].astype(np.int16) for name in file.files}
