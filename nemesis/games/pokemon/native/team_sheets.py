"""Team sheets for the native engine: packed teams, read as Showdown reads them, as the bytes of its struct `Team`."""

import json
import re
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

TEAM_SIZE = 6
_MOVES = 4
_STATS = ("hp", "atk", "def", "spa", "spd", "spe")
_FACTS = struct.Struct("3B 4B 6B 6B 2B")  # of `TeamMember` in engine/battle.h; then the number of its name, its gender
_MEMBER_BYTES = _FACTS.size + 2
TEAM_BYTES = 1 + TEAM_SIZE * _MEMBER_BYTES
_FIELDS = 11  # of a packed Pokémon
_NAME_UNITS = 20  # of a nickname; Showdown cuts off the rest
_MAX_LEVEL = 100
_MOST_MEMBERS = 1 << 14  # that are cached
_GENDERS = {"": 0, "N": 0, "M": 1, "F": 2}
_NATURES = {
    "adamant": ("atk", "spa"), "bold": ("def", "atk"), "brave": ("atk", "spe"), "calm": ("spd", "atk"),
    "careful": ("spd", "spa"), "gentle": ("spd", "def"), "hasty": ("spe", "def"), "impish": ("def", "spa"),
    "jolly": ("spe", "spa"), "lax": ("def", "spd"), "lonely": ("atk", "def"), "mild": ("spa", "def"),
    "modest": ("spa", "atk"), "naive": ("spe", "spd"), "naughty": ("atk", "spd"), "quiet": ("spa", "spe"),
    "rash": ("spa", "spd"), "relaxed": ("def", "spe"), "sassy": ("spd", "spe"), "timid": ("spe", "atk"),
}  # fmt: skip


class TeamSheetError(ValueError):
    """A team that only Showdown plays; the message says why."""


def team_sheet(packed: str) -> bytes:
    """Return the bytes of a packed team. Its members are cached, because teams differ in their order only."""
    members = [_member(text) for text in packed.split("]")]
    if len(members) > TEAM_SIZE:
        raise TeamSheetError(f"A team has {len(members)} Pokémon; the native engine plays up to {TEAM_SIZE}.")
    names = [name for _, name, _ in members]
    sheets = [facts + bytes((names.index(name), gender)) for facts, name, gender in members]
    return (bytes((len(members),)) + b"".join(sheets)).ljust(TEAM_BYTES, b"\0")


@lru_cache(_MOST_MEMBERS)
def _member(text: str) -> tuple[bytes, bytes, int]:
    """Return the facts of a Pokémon, its name as Showdown cuts it, and its gender."""
    parts = text.split("|")
    if len(parts) < _FIELDS:
        raise TeamSheetError(f"'{text}' is not a Pokémon of a packed team.")
    name, species, item, ability, moves, nature, evs, gender, ivs, _, level = parts[:_FIELDS]
    number = _numbers("species").get(_id(species or name))
    if number is None:
        raise TeamSheetError(f"{species or name} is not a Pokémon of Gen 1.")
    if item or _id(ability) != "noability" or gender not in _GENDERS:
        raise TeamSheetError(f"{species or name} has an item, an ability or a gender that Gen 1 does not have.")
    slots = [_move(move) for move in moves.split(",") if move]
    if not 1 <= len(slots) <= _MOVES:
        raise TeamSheetError(f"{species or name} has {len(slots)} moves; the native engine plays 1 to {_MOVES}.")
    raised, lowered = (_STATS.index(stat) for stat in _NATURES.get(_id(nature), ("hp", "hp")))
    padded = slots + [0] * (_MOVES - len(slots))
    spread = (*_spread(ivs, empty=31, absent=31, most=31), *_spread(evs, empty=0, absent=0, most=255))
    facts = _FACTS.pack(number, _level(level), len(slots), *padded, *spread, raised, lowered)
    return facts, (name or species).encode("utf-16-le")[: 2 * _NAME_UNITS], _GENDERS[gender]


def _move(name: str) -> int:
    number = _numbers("moves").get(_id(name))
    if number is None:
        raise TeamSheetError(f"{name} is not a move of Gen 1.")
    return number


def _level(text: str) -> int:
    level = _integer(text) or _MAX_LEVEL
    if not 1 <= level <= _MAX_LEVEL:
        raise TeamSheetError(f"The native engine plays levels from 1 to {_MAX_LEVEL}, not {level}.")
    return level


def _spread(text: str, *, empty: int, absent: int, most: int) -> Sequence[int]:
    """Return six EVs or IVs: of an absent list, and with empty entries."""
    if not text:
        return [absent] * len(_STATS)
    values = [_integer(value) if value else empty for value in text.split(",")[: len(_STATS)]]
    return [min(max(value, 0), most) for value in values] + [0] * (len(_STATS) - len(values))


def _integer(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else 0


def _id(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _numbers(kind: str) -> dict[str, int]:
    """Return Showdown's numbers of the species or moves of Gen 1 by id."""
    ids = json.loads(Path(__file__).with_name("numbers.json").read_text(encoding="utf-8"))[kind]
    return {each: number for number, each in enumerate(ids, 1)}
