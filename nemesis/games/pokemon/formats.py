"""What a format is: facts of the simulator's singles and doubles formats, written by `host/tools/formats.js`."""

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
    mod: str  # whose rules and tables it plays by
    generation: int
    slots: int  # active places of a side: 1 in singles, 2 in doubles
    brought: int  # Pokémon of a full team that take part
    preview: bool
    generated: bool  # teams are drawn by the simulator
    sheets: Literal["none", "offered", "forced"]  # open team sheets


def find_format(name: str) -> Format:
    """Return a format by its id; the generation may be left out where it is the ninth."""
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
