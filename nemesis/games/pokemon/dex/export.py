"""Writes the data files of `tables.py` from the simulator's dex.

    python -m nemesis.games.pokemon.dex.export

`host/tools/dex.js` prints the dex of every mod; `rows.py` converts it.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.dex.rows import RowBuilder
from nemesis.games.pokemon.node import find_node, installed_host

Index: TypeAlias = dict[str, Any]


def export() -> tuple[Index, dict[str, npt.NDArray[np.int16]]]:
    """Return the index and the arrays of the installed simulator; the last axis of an array is the table."""
    lines = _read_simulator_dex()
    vocabulary = dex.Vocabulary(**{kind: tuple(ids) for kind, ids in next(lines).items()})
    index: Index = {"vocabulary": vocabulary.for_host(), "tables": [], "mods": {}, "generations": {}}
    distinct: list[dict[str, npt.NDArray[np.int16]]] = []
    standard: dict[int, Any] = {}  # generation → facts of its own mod, which comes first
    for line in lines:
        mod, generation, facts = line["mod"], line["generation"], line["facts"]
        index["generations"][mod] = generation
        if generation in standard and facts in (None, standard[generation]):
            index["mods"][mod] = index["mods"][f"gen{generation}"]
            continue
        standard.setdefault(generation, facts)
        arrays = RowBuilder(vocabulary, generation).arrays(facts)
        same = [name for name, other in zip(index["tables"], distinct, strict=True) if _equal(arrays, other)]
        index["mods"][mod] = same[0] if same else mod
        if not same:
            index["tables"].append(mod)
            distinct.append(arrays)
    return index, {name: np.stack([arrays[name] for arrays in distinct], axis=-1) for name in distinct[0]}


def write(index: Index, arrays: Mapping[str, npt.NDArray[np.int16]]) -> None:
    """Write the files that `tables.py` reads."""
    dex.FOLDER.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in index.items() if key != "vocabulary"]
    kinds = [f"{json.dumps(kind)}: {json.dumps(ids)}" for kind, ids in index["vocabulary"].items()]
    text = "{\n" + ",\n".join([*lines, '"vocabulary": {\n' + ",\n".join(kinds) + "\n}"]) + "\n}\n"
    (dex.FOLDER / "vocabulary.json").write_text(text, encoding="utf-8")
    compact: dict[str, Any] = {name: _compact(values) for name, values in arrays.items()}
    np.savez_compressed(dex.FOLDER / "tables.npz", **compact)


def _read_simulator_dex() -> Iterator[Any]:
    node = find_node("bundled")
    host = installed_host(node)
    outcome = subprocess.run([str(node.node), "tools/dex.js"], cwd=host, capture_output=True, text=True, check=False)  # noqa: S603
    if outcome.returncode:
        raise UserError(f"The simulator's dex cannot be read:\n{outcome.stderr.strip()}")
    return map(json.loads, outcome.stdout.splitlines())


def _equal(one: Mapping[str, npt.NDArray[Any]], other: Mapping[str, npt.NDArray[Any]]) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


def _compact(values: npt.NDArray[np.int16]) -> npt.NDArray[Any]:
    fits = values.min() >= -128 and values.max() <= 127
    return values.astype(np.int8) if fits else values


if __name__ == "__main__":
    write(*export())
