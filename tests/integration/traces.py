"""Battles as one seat sees them: traces of `host/tools/trace.js`, and view records read by name."""

import base64
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN, Block, cut

TIMES = int(os.environ.get("NEMESIS_VIEW_BATTLES", "1"))
"""How many times as many battles as in the test suite are compared."""


def trace(
    battle_format: str,
    battles: Sequence[dict[str, Any]],
    *,
    sheets: bool = False,
    turn_limit: int = 100,
    prints: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Play battles `{"seed": …, "teams": …, "choices": …}`, and return what happened in each, decision by decision."""
    job = {
        "layout": layout.for_host(),
        "vocabulary": vocabulary().for_host(),
        "format": battle_format,
        "sheets": sheets,
        "turnLimit": turn_limit,
        "battles": list(battles),
        "print": list(prints),
    }
    process = _tracer()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        _tracer.cache_clear()
    assert answer, "trace.js has failed; it says why on standard error."
    return json.loads(answer)


@cache
def _tracer() -> "subprocess.Popen[str]":
    """Return the process that plays, one for all tests: it takes a second to load the simulator."""
    node = find_node("bundled")
    command = [node.node, installed_host(node) / "tools/trace.js"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def seeded(count: int, teams: str = "generated", first: int = 1) -> list[dict[str, Any]]:
    """Return battles with random teams, more of them if the environment asks for it."""
    return [{"seed": first + number, "teams": teams} for number in range(count * TIMES)]


def team_pastes(battle_format: str) -> list[str]:
    """Return the teams of a format that the package ships."""
    folder = Path(layout.__file__).parents[1] / "teams" / "sets" / battle_format
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]


def with_teams(battle_format: str, count: int, first: int = 1) -> list[dict[str, Any]]:
    """Return battles between teams that the package ships, more of them if the environment asks for it."""
    pastes = team_pastes(battle_format)
    pairs = [(pastes[number % len(pastes)], pastes[(7 * number + 3) % len(pastes)]) for number in range(count * TIMES)]
    return [{"seed": first + number, "teams": pair} for number, pair in enumerate(pairs)]


@dataclass(frozen=True)
class Entity:
    """One block of a view record, by name."""

    block: Block
    values: npt.NDArray[np.int16]

    def __getitem__(self, name: str) -> Any:
        """Return a field: a number, or an array if it has several columns."""
        place = self.block.columns(name)
        return self.values[place].copy() if place.stop - place.start > 1 else int(self.values[place.start])

    def id(self, kind: str, name: str) -> str:
        """Return the id in a field; '' is unknown or none."""
        return ("", *getattr(vocabulary(), kind))[self[name]]

    def ids(self, kind: str, name: str) -> list[str]:
        """Return the ids in a field of several columns, without the empty ones."""
        return [("", *getattr(vocabulary(), kind))[number] for number in self[name] if number]

    def named(self, names: Sequence[str], name: str) -> dict[str, int]:
        """Return the columns of a field that are not zero, by name."""
        return {key: int(value) for key, value in zip(names, self[name], strict=True) if value}

    @property
    def species(self) -> str:
        return self.id("species", "species")

    @property
    def moves(self) -> list[str]:
        return self.ids("moves", "moves")

    @property
    def boosts(self) -> dict[str, int]:
        return self.named(layout.BOOSTS, "boosts")

    @property
    def volatiles(self) -> set[str]:
        bits = layout.volatile_bits(self["volatiles"])
        return {name for name, bit in zip(layout.VOLATILES, bits, strict=True) if bit}

    @property
    def counters(self) -> dict[str, int]:
        return self.named(layout.COUNTED_VOLATILES, "counters")


class View:
    """A view record, by name."""

    def __init__(self, encoded: str) -> None:
        self.row = np.frombuffer(base64.b64decode(encoded), np.int16)
        blocks = cut(self.row)
        self.position = Entity(layout.POSITION, blocks.position)
        self.sides = [Entity(layout.SIDE, values) for values in blocks.side]
        self.team, self.foes = (
            [Entity(layout.POKEMON, values) for values in blocks.pokemon[which] if values.any()] for which in (OWN, FOE)
        )

    def foe(self, species: str) -> Entity:
        """Return the foe that was of a species at the start."""
        return next(foe for foe in self.foes if foe.id("species", "base_species") == species)

    def own(self, species: str) -> Entity:
        return next(own for own in self.team if own.id("species", "base_species") == species)

    @property
    def weather(self) -> str:
        return layout.WEATHERS[self.position["weather"]]

    def conditions(self, which: int) -> dict[str, int]:
        """Return the layers of what lies on a side."""
        return self.sides[which].named(layout.SIDE_CONDITIONS, "layers")
