"""Makes a difference between Showdown and the native engine smaller: fewer turns, Pokémon and moves that show it."""

import copy
import json
import subprocess
from collections.abc import Iterator
from typing import IO, Any, cast

from benchmarks.native_replay import Battle, Engine, first_difference
from nemesis.games.pokemon.node import find_node, installed_host

_TRIES = 600
_MOVES = 4  # place of the moves in a packed Pokémon


def reference_command(*, overlay: bool) -> list[str]:
    """Return the command that plays battles in Showdown, without its options."""
    node = find_node("bundled")
    command = [str(node.node), str(installed_host(node) / "tools/native-reference.js")]
    return [*command, "--overlay"] if overlay else command


class Shrinker:
    """Replays changed set-ups in both engines; the choices that a change makes illegal become others."""

    def __init__(self, engine: Engine, *, overlay: bool) -> None:
        self._engine = engine
        command = [*reference_command(overlay=overlay), "--replay"]
        self._showdown = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._input, self._output = cast("IO[str]", self._showdown.stdin), cast("IO[str]", self._showdown.stdout)

    def __enter__(self) -> "Shrinker":
        return self

    def __exit__(self, *_: object) -> None:
        self._showdown.terminate()
        self._showdown.wait()

    def shrink(self, difference: dict[str, Any]) -> dict[str, Any]:
        """Return a difference that no single change makes smaller, or the smallest after many tries."""
        smallest = difference
        tries = 0
        improved = True
        while improved and tries < _TRIES:
            improved = False
            for setup in _smaller(smallest["setup"]):
                tries += 1
                found = first_difference(self._engine, self._play(setup))
                if found is not None and _size(found["setup"]) < _size(smallest["setup"]):
                    smallest, improved = found, True
                    break
                if tries >= _TRIES:
                    break
        return smallest

    def _play(self, setup: Battle) -> Battle:
        self._input.write(json.dumps(setup) + "\n")
        self._input.flush()
        battle: Battle = json.loads(self._output.readline())
        return battle


def _size(setup: Battle) -> tuple[int, int]:
    return len(setup["choices"]), sum(len(team) for team in setup["teams"])


def _smaller(setup: Battle) -> Iterator[Battle]:
    """Yield set-ups with less: turns in long and short pieces, Pokémon, moves."""
    piece = len(setup["choices"]) // 2
    while piece:
        for start in range(0, len(setup["choices"]), piece):
            yield {**setup, "choices": setup["choices"][:start] + setup["choices"][start + piece :]}
        piece //= 2
    if setup["pp"]:
        return
    for side, team in enumerate(setup["teams"]):
        members = team.split("]")
        for place, member in enumerate(members):
            if len(members) > 1:
                yield _with_team(setup, side, members[:place] + members[place + 1 :])
            fields = member.split("|")
            moves = fields[_MOVES].split(",")
            for slot in range(len(moves)):
                if len(moves) > 1:
                    fewer = [*fields[:_MOVES], ",".join(moves[:slot] + moves[slot + 1 :]), *fields[_MOVES + 1 :]]
                    yield _with_team(setup, side, [*members[:place], "|".join(fewer), *members[place + 1 :]])


def _with_team(setup: Battle, side: int, members: list[str]) -> Battle:
    changed = copy.deepcopy(setup)
    changed["teams"][side] = "]".join(members)
    return changed
