"""The view record: all that one seat knows at one decision, as one row of small integers.

This is the only definition of the layout. A host receives it as JSON when it starts and refuses any other; encoders,
scripted players and rewards read columns by name. A record has one block for the position, two for the sides and
twelve for Pokémon, own before foe:

    position | own side | foe side | 6 own Pokémon | 6 foe Pokémon

Own Pokémon are in the order of the request, which is also the order of Showdown's switch numbers. Foe Pokémon are in
the order of team preview, or of their first appearance in formats without one. Ids are numbers in the vocabulary of
`dex/tables.py`; 0 always means unknown or none.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

TEAM = 6  # Pokémon of a side in a record
SLOTS = 2  # active Pokémon of a side in a record
MOVES = 4
OWN, FOE = 0, 1

PHASES = ("", "preview", "turn", "forced_switch")
STATUSES = ("", "brn", "par", "slp", "frz", "psn", "tox")
STATS = ("atk", "def", "spa", "spd", "spe")
BOOSTS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")
GENDERS = ("", "M", "F", "N")
GIMMICKS = ("", "terastallize", "mega", "zmove", "dynamax", "ultra")
NATURES = (
    "", "adamant", "bashful", "bold", "brave", "calm", "careful", "docile", "gentle", "hardy", "hasty", "impish",
    "jolly", "lax", "lonely", "mild", "modest", "naive", "naughty", "quiet", "quirky", "rash", "relaxed", "sassy",
    "serious", "timid",
)  # fmt: skip
ITEM_STATES = ("unknown", "held", "none")
BROUGHT = ("unknown", "yes", "no")
ACTION_KINDS = ("", "move", "switch", "cannot_move")

WEATHERS = (
    "", "raindance", "sunnyday", "sandstorm", "hail", "snowscape", "primordialsea", "desolateland", "deltastream",
)  # fmt: skip
TERRAINS = ("", "electricterrain", "grassyterrain", "mistyterrain", "psychicterrain")
ROOMS = (
    "trickroom", "gravity", "magicroom", "wonderroom", "mudsport", "watersport", "fairylock", "iondeluge",
)  # fmt: skip
SIDE_CONDITIONS = (
    "reflect", "lightscreen", "auroraveil", "safeguard", "mist", "tailwind", "luckychant", "spikes", "toxicspikes",
    "stealthrock", "stickyweb", "waterpledge", "firepledge", "grasspledge", "gmaxsteelsurge", "gmaxvinelash",
    "gmaxwildfire", "gmaxcannonade", "gmaxvolcalith", "quickguard", "wideguard", "craftyshield", "matblock",
)  # fmt: skip
OUTCOMES = ("missed", "failed", "immune", "critical", "super_effective", "resisted", "protected", "knocked_out")
VOLATILES = (
    "aquaring", "attract", "autotomize", "bide", "charge", "choicelock", "commanded", "commanding", "confusion",
    "curse", "defensecurl", "destinybond", "disable", "dragoncheer", "dynamax", "electrify", "embargo", "encore",
    "endure", "fallen", "flashfire", "focusenergy", "followme", "foresight", "gastroacid", "glaiverush",
    "gmaxchistrike", "grudge", "healblock", "helpinghand", "imprison", "ingrain", "laserfocus", "leechseed",
    "lightscreen", "lockedmove", "lockon", "magiccoat", "magnetrise", "minimize", "miracleeye", "mist", "mudsport",
    "mustrecharge", "nightmare", "noretreat", "octolock", "partiallytrapped", "perishsong", "powder", "powershift",
    "powertrick", "protect", "protosynthesis", "quarkdrive", "rage", "reflect", "roost", "saltcure", "skydrop",
    "slowstart", "smackdown", "snatch", "spotlight", "stall", "stockpile", "substitute", "syrupbomb", "tarshot",
    "taunt", "telekinesis", "throatchop", "torment", "transform", "trapped", "truant", "twoturnmove", "typeadd",
    "typechange", "unburden", "uproar", "watersport", "yawn", "zenmode",
)  # fmt: skip
# Turns since the start; stack count (fallen, gmaxchistrike, stall, stockpile); turns left (perishsong).
COUNTED_VOLATILES = (
    "confusion", "disable", "encore", "taunt", "perishsong", "yawn", "lockedmove", "partiallytrapped", "stockpile",
    "healblock", "throatchop", "embargo", "telekinesis", "magnetrise", "slowstart", "substitute", "dynamax", "uproar",
    "fallen", "gmaxchistrike", "stall", "syrupbomb",
)  # fmt: skip
_WORD = 16  # volatiles in one column


class Field(NamedTuple):
    """One or several columns of a block, with a name."""

    name: str
    size: int
    meaning: str


_POSITION = (
    Field("phase", 1, "index in PHASES"),
    Field("turn", 1, "number of the turn, 0 at team preview"),
    Field("generation", 1, "of the rules"),
    Field("slots", 1, "active Pokémon of a side: 1 in singles, 2 in doubles"),
    Field("must_switch", SLOTS, "own slots that a forced switch replaces"),
    Field("reviving", SLOTS, "own slots whose forced switch names a fainted Pokémon to revive"),
    Field("trapped", SLOTS, "own slots that may not switch"),
    Field("maybe_trapped", SLOTS, "own slots that a hidden ability may trap"),
    Field("only_move", SLOTS, "move id, if the request offers no other: locked, Struggle, recharge, fight"),
    Field("gimmick", SLOTS, "index in GIMMICKS of the gimmick that own slots may use now"),
    Field("refusals", 1, "choices refused at this decision for hidden reasons"),
    Field("weather", 1, "index in WEATHERS"),
    Field("weather_least", 1, "minimum of turns left; -1 without end"),
    Field("weather_most", 1, "maximum of turns left; -1 without end"),
    Field("terrain", 1, "index in TERRAINS"),
    Field("terrain_least", 1, "minimum of turns left"),
    Field("terrain_most", 1, "maximum of turns left"),
    Field("rooms", len(ROOMS), "turns left of each of ROOMS"),
)
_SIDE = (
    Field("team_size", 1, "Pokémon of the team, as far as the seat knows"),
    Field("brought_size", 1, "Pokémon that take part in the battle"),
    Field("left", 1, "of those, how many have not fainted"),
    Field("gimmick_used", 1, "1 once the side has used its gimmick of the battle"),
    Field("layers", len(SIDE_CONDITIONS), "layers of each of SIDE_CONDITIONS; 0 if absent"),
    Field("turns_least", len(SIDE_CONDITIONS), "minimum of turns left of each; -1 without end"),
    Field("turns_most", len(SIDE_CONDITIONS), "maximum of turns left of each; -1 without end"),
    Field("wish", SLOTS, "turns until a wish heals the slot"),
    Field("future_move", SLOTS, "turns until a future move (Future Sight, Doom Desire) hits the slot"),
    Field("healing_wish", SLOTS, "1 if the next Pokémon in the slot will be healed"),
    Field("last_kind", SLOTS, "index in ACTION_KINDS of the slot's action in the last turn, or so far in this one"),
    Field("last_move", SLOTS, "move id"),
    Field("last_target", SLOTS, "1, 2 own slots; 3, 4 foe slots; 0 none or spread"),
    Field("last_outcome", SLOTS, "bits of OUTCOMES"),
    Field("last_order", SLOTS, "1 for the first to act"),
)
_POKEMON = (
    Field("species", 1, "current species id, including formes and transformations"),
    Field("base_species", 1, "species id at the start of the battle"),
    Field("level", 1, ""),
    Field("gender", 1, "index in GENDERS"),
    Field("hp", 1, "out of max_hp: own exact, foe as shown (per cent or 48ths)"),
    Field("max_hp", 1, "own exact, foe 100 or 48; 0 while unknown"),
    Field("fainted", 1, ""),
    Field("status", 1, "index in STATUSES"),
    Field("status_turns", 1, "turns asleep so far, or the counter of toxic poison"),
    Field("types", 3, "current type ids"),
    Field("tera_type", 1, "type id, if known"),
    Field("terastallized", 1, ""),
    Field("item", 1, "item id, if held and known"),
    Field("item_state", 1, "index in ITEM_STATES"),
    Field("last_item", 1, "item id that it lost or consumed"),
    Field("ability", 1, "current ability id, if known"),
    Field("base_ability", 1, "ability id at the start, if known"),
    Field("nature", 1, "index in NATURES, if an open team sheet shows it"),
    Field("stats", len(STATS), "own only"),
    Field("boosts", len(BOOSTS), "stages from -6 to 6"),
    Field("moves", MOVES, "move ids: own from the request, foe as revealed"),
    Field("pp", MOVES, "uses left, as far as they are known"),
    Field("max_pp", MOVES, ""),
    Field("move_disabled", MOVES, "own active only: 1 if the request disables it"),
    Field("move_revealed", MOVES, "1 if the other side knows the move"),
    Field("item_revealed", 1, "1 if the other side knows the item"),
    Field("ability_revealed", 1, "1 if the other side knows the ability"),
    Field("active", 1, "1 or 2: its slot; 0 on the bench"),
    Field("brought", 1, "index in BROUGHT"),
    Field("seen", 1, "1 once it has been on the field"),
    Field("turns_active", 1, "turns since it switched in"),
    Field("last_move", 1, "move id that it used last since it switched in"),
    Field("streak", 1, "consecutive uses of that move"),
    Field("disabled_move", 1, "move id that Disable blocks"),
    Field("encored_move", 1, "move id that Encore forces"),
    Field("paradox_stat", 1, "index in STATS, from 1, that Protosynthesis or Quark Drive boosts"),
    Field("volatiles", -(-len(VOLATILES) // _WORD), "bits of VOLATILES, 16 per column"),
    Field("counters", len(COUNTED_VOLATILES), "counter of each of COUNTED_VOLATILES"),
)


class Block:
    """The columns of one kind of entity, by name."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self.width = sum(field.size for field in fields)
        self._place: dict[str, slice] = {}
        start = 0
        for field in fields:
            self._place[field.name] = slice(start, start + field.size)
            start += field.size

    def columns(self, name: str) -> slice:
        """Return the columns of a field."""
        return self._place[name]

    def column(self, name: str) -> int:
        """Return the column of a field that has only one."""
        place = self._place[name]
        if place.stop - place.start != 1:
            raise ValueError(f"{name} has {place.stop - place.start} columns; use columns().")
        return int(place.start)


POSITION, SIDE, POKEMON = Block(_POSITION), Block(_SIDE), Block(_POKEMON)
_SIDE_START = POSITION.width
_POKEMON_START = _SIDE_START + 2 * SIDE.width
VIEW_SIZE = _POKEMON_START + 2 * TEAM * POKEMON.width


@dataclass(frozen=True, slots=True)
class Views:
    """View records cut into their blocks, without a copy; arrays or tensors."""

    position: Any  # (…, column)
    side: Any  # (…, own and foe, column)
    pokemon: Any  # (…, own and foe, member, column)


def cut(view: Any) -> Views:
    """Cut records (…, view) into blocks."""
    lead = view.shape[:-1]
    return Views(
        view[..., :_SIDE_START],
        view[..., _SIDE_START:_POKEMON_START].reshape(*lead, 2, SIDE.width),
        view[..., _POKEMON_START:].reshape(*lead, 2, TEAM, POKEMON.width),
    )


def volatile_bits(words: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    """Unpack the volatiles of Pokémon: (…, word) → (…, volatile)."""
    bits = (words[..., None] >> np.arange(_WORD, dtype=np.int16)) & 1
    return bits.reshape(*words.shape[:-1], -1)[..., : len(VOLATILES)].astype(np.bool_)


def volatile_column(name: str) -> int:
    """Return the column of a Pokémon that has the bit of a volatile."""
    return int(POKEMON.columns("volatiles").start) + VOLATILES.index(name) // _WORD


def for_host() -> dict[str, Any]:
    """Return the layout for a host, with a version that both must share."""
    layout = {
        "team": TEAM,
        "slots": SLOTS,
        "moves": MOVES,
        "size": VIEW_SIZE,
        "blocks": {
            name: {
                "start": start,
                "width": block.width,
                "fields": {field.name: [block.columns(field.name).start, field.size] for field in block.fields},
            }
            for name, block, start in (
                ("position", POSITION, 0),
                ("side", SIDE, _SIDE_START),
                ("pokemon", POKEMON, _POKEMON_START),
            )
        },
        "names": {
            "phases": PHASES,
            "statuses": STATUSES,
            "stats": STATS,
            "boosts": BOOSTS,
            "genders": GENDERS,
            "gimmicks": GIMMICKS,
            "natures": NATURES,
            "item_states": ITEM_STATES,
            "brought": BROUGHT,
            "action_kinds": ACTION_KINDS,
            "weathers": WEATHERS,
            "terrains": TERRAINS,
            "rooms": ROOMS,
            "side_conditions": SIDE_CONDITIONS,
            "outcomes": OUTCOMES,
            "volatiles": VOLATILES,
            "counted_volatiles": COUNTED_VOLATILES,
        },
    }
    text = json.dumps(layout, sort_keys=True)
    return layout | {"version": hashlib.sha256(text.encode()).hexdigest()[:16]}
