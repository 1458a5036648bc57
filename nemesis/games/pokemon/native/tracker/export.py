"""Writes the C files that tell the native tracker where columns are and what it needs of the dex.

    python -m nemesis.games.pokemon.native.tracker.export

`layout.h` has the columns of `views/layout.py`, and `facts.c` the numbers of the vocabulary and facts of Gen 1.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nemesis.core.errors import UserError
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout

FOLDER = Path(__file__).parent
# Volatile conditions of Gen 1 that lines show or imply; those with a counter are also among COUNTED_VOLATILES.
VOLATILES = (
    "bide", "confusion", "defensecurl", "disable", "focusenergy", "leechseed", "lightscreen", "lockedmove", "minimize",
    "mist", "mustrecharge", "partiallytrapped", "rage", "reflect", "substitute", "transform", "twoturnmove",
    "typechange",
)  # fmt: skip
# In the order of the types of `lines.h`.
TYPES = (
    "normal", "fighting", "flying", "poison", "ground", "rock", "bug", "ghost", "fire", "water", "grass", "electric",
    "psychic", "ice", "dragon",
)  # fmt: skip
REQUEST_MOVES = ("", "", "fight", "recharge")  # after the last move of the dex; two numbers occur in the engine only
FLAGS = ("named", "inMoveset", "locks", "charges", "binds")
_WIDTH = 118  # of lines of C


def header() -> str:
    """Return the text of layout.h."""
    columns = [("VIEW_SIZE", layout.VIEW_SIZE), ("VIEW_SIDES", layout.POSITION.width)]
    columns += [("VIEW_POKEMON", layout.POSITION.width + 2 * layout.SIDE.width)]
    columns += [("SIDE_WIDTH", layout.SIDE.width), ("POKEMON_WIDTH", layout.POKEMON.width)]
    for title, block in (("POSITION", layout.POSITION), ("SIDE", layout.SIDE), ("POKEMON", layout.POKEMON)):
        columns += [(f"{title}_{field.name.upper()}", int(block.columns(field.name).start)) for field in block.fields]
    names = {
        "PHASE": layout.PHASES, "ACTION": layout.ACTION_KINDS, "ITEM": layout.ITEM_STATES, "BROUGHT": layout.BROUGHT,
        "OUTCOME": layout.OUTCOMES,
    }  # fmt: skip
    for title, values in names.items():
        columns += [(f"{title}_{name.upper()}", place) for place, name in enumerate(values) if name]
    lines = [
        "// Columns of a view record and the numbers in them. Written by export.py from views/layout.py.",
        "",
        "#ifndef NEMESIS_TRACKER_LAYOUT_H",
        "#define NEMESIS_TRACKER_LAYOUT_H",
        "",
        f'#define LAYOUT_VERSION "{layout.for_host()["version"]}"',
        "",
        "enum {",
        *(f"  {name} = {value}," for name, value in columns),
        "};",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def facts() -> str:
    """Return the text of facts.c, from the dex of the installed simulator."""
    read = _read_facts()
    known = dex.vocabulary()
    number = {kind: {id: place for place, id in enumerate(getattr(known, kind), 1)} for kind in dex.KINDS}  # noqa: A001
    species = [[number["species"][entry["id"]], _types(entry["types"], number["types"])] for entry in read["species"]]
    moves = [[number["moves"][entry["id"]], entry["maxPp"], _flags(entry)] for entry in read["moves"]]
    moves += [[number["moves"].get(name, 0), 0, 0] for name in REQUEST_MOVES]
    volatiles = [[_place(layout.VOLATILES, name), _place(layout.COUNTED_VOLATILES, name)] for name in VOLATILES]
    bits = [[place // 16, 1 << place % 16, counter] for place, counter in volatiles]
    types = [0, *(number["types"][name] for name in TYPES)]
    lines = [
        "// The Gen 1 dex by Showdown's numbers, with the numbers of the vocabulary of views. Written by export.py.",
        "",
        '#include "facts.h"',
        "",
        *_array("SpeciesFacts tracker_species[SPECIES_FACTS]", [[0, [0, 0]], *species]),
        *_array("MoveFacts tracker_moves[MOVE_FACTS]", [[0, 0, 0], *moves]),
        *_array("uint8_t tracker_types[LINE_TYPES]", types),
        *_array("VolatileFacts tracker_volatiles[VOLATILES]", bits),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _read_facts() -> Mapping[str, Any]:
    node = find_node("bundled")
    command = [str(node.node), "tools/tracker-facts.js"]
    outcome = subprocess.run(command, cwd=installed_host(node), capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode:
        raise UserError(f"The simulator's dex cannot be read:\n{outcome.stderr.strip()}")
    read: Mapping[str, Any] = json.loads(outcome.stdout)
    return read


def _types(names: Sequence[str], numbers: Mapping[str, int]) -> list[int]:
    return [numbers[name] for name in names] + [0] * (2 - len(names))


def _flags(entry: Mapping[str, Any]) -> int:
    return sum(1 << bit for bit, name in enumerate(FLAGS) if entry[name])


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _array(declaration: str, values: Iterable[Any]) -> list[str]:
    """Return the lines that define an array, wrapped."""
    lines = [f"const {declaration} = {{", " "]
    for value in values:
        text = f" {_text(value)},"
        if len(lines[-1]) + len(text) > _WIDTH:
            lines.append(" ")
        lines[-1] += text
    return [*lines, "};", ""]


def _text(value: Any) -> str:
    return f"{{{', '.join(map(_text, value))}}}" if isinstance(value, list) else str(value)


def write() -> None:
    """Write both files."""
    (FOLDER / "layout.h").write_text(header(), encoding="utf-8")
    (FOLDER / "facts.c").write_text(facts(), encoding="utf-8")


if __name__ == "__main__":
    write()
