"""The simulator's singles and doubles formats and their properties, exported by `host/tools/formats.js`."""

import difflib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from nemesis.core.errors import UserError

_FACTS = Path(__file__).with_name("formats.json")


@dataclass(frozen=True, slots=True)
class Format:
    """One format of Pokémon Showdown."""

    id: str
    name: str
    mod: str  # the Showdown mod with its rules and tables
    generation: int
    slots: int  # active Pokémon per side: 1 in singles, 2 in doubles
    brought: int  # Pokémon of a team that are brought to battle
    preview: bool
    generated: bool  # the simulator generates the teams
    sheets: Literal["none", "offered", "forced"]  # open team sheets


def find_format(name: str) -> Format:
    """Return a format by its id; the prefix gen9 may be omitted."""
    facts = _facts()
    for candidate in (name, f"gen9{name}"):
        if candidate in facts:
            return Format(id=candidate, **facts[candidate])
    nearest = difflib.get_close_matches(name, facts, n=3)
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    raise UserError(f"Pokémon Showdown has no singles or doubles format called '{name}'.{hint}")


@cache
def _facts() -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = json.loads(_FACTS.read_text(encoding="utf-8"))
    return facts
