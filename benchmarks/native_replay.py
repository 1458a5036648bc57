"""Replaying battles of Showdown in the native Gen 1 engine, and where it plays otherwise."""

import ctypes
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from nemesis.games.pokemon.native import library
from nemesis.games.pokemon.native.team_sheets import team_sheet

Battle = dict[str, Any]
"""A set-up and its steps, as host/tools/native-reference.js writes them: state, lines and the choices that follow."""

_CLAUSES = 3  # those for sleep and freeze
_TEXT_BYTES = 1 << 16
_SHOWN_STEPS = 3


class Engine:
    """The native engine with one battle."""

    def __init__(self, path: Path | None = None) -> None:
        self._library = ctypes.CDLL(str(path)) if path else library.load()
        self._battle = ctypes.create_string_buffer(self._library.nemesis_battle_size())
        self._text = ctypes.create_string_buffer(_TEXT_BYTES)

    def start(self, setup: Battle) -> None:
        """Start the battle of a set-up."""
        teams = b"".join(team_sheet(team) for team in setup["teams"])
        seed = ctypes.c_uint64(int(setup["seed"], 16))
        self._library.nemesis_battle_start(self._battle, teams, seed, _CLAUSES)
        if setup["pp"]:
            self._library.nemesis_battle_set_pp(self._battle, bytes(setup["pp"]))

    def choose(self, seat: int, action: int) -> bool:
        """Make a choice; return whether it was accepted."""
        return bool(self._library.nemesis_battle_choose(self._battle, seat, action))

    def state(self) -> str:
        """Return the whole state as text."""
        self._library.nemesis_battle_describe(self._battle, self._text, _TEXT_BYTES)
        return self._text.value.decode()

    def lines(self) -> str:
        """Return the lines of the last step as text."""
        self._library.nemesis_battle_lines(self._battle, self._text, _TEXT_BYTES)
        return self._text.value.decode()


def first_difference(engine: Engine, battle: Battle) -> dict[str, Any] | None:
    """Replay a battle in the native engine and return where it differs, or None."""
    engine.start(battle)
    past: list[tuple[str, str, str, str, list[int]]] = []
    for place, (state, lines, choices) in enumerate(battle["steps"]):
        native = (engine.state(), engine.lines())
        past.append((state, native[0], lines, native[1], choices))
        if native != (state, lines):
            return _difference(battle, place, past, "")
        for seat, action in enumerate(choices):
            if action >= 0 and not engine.choose(seat, action):
                return _difference(battle, place, past, f"refused action {action} of seat {seat}")
    if battle["failure"] and ".1 damage" not in engine.state().split(" | ")[0]:
        return _difference(battle, len(battle["steps"]), past, f"only Showdown failed: {battle['failure']}")
    return None


def _difference(battle: Battle, place: int, past: list[Any], problem: str) -> dict[str, Any]:
    setup = {key: value for key, value in battle.items() if key not in {"steps", "failure"}}
    setup["choices"] = [step[2] for step in battle["steps"][:place]]
    return {"step": place, "problem": problem, "setup": setup, "steps": past[-_SHOWN_STEPS:]}


def shown(difference: dict[str, Any]) -> str:
    """Describe a difference: both engines' last steps, and which fields differ in the last one."""
    setup = difference["setup"]
    text = [f"Step {difference['step']} {difference['problem']}", *setup["teams"], f"choices {setup['choices']}"]
    for state, native, lines, native_lines, choices in difference["steps"]:
        text += [f"Showdown  {state}", f"  lines  {lines}", f"native    {native}", f"  lines  {native_lines}"]
        text.append(f"choices   {choices}")
    state, native, lines, native_lines, _ = difference["steps"][-1]
    one, other = state.split(), native.split()
    for kind, start, end, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            text.append(f"differs: '{' '.join(one[start:end])}' in Showdown, '{' '.join(other[first:last])}' here")
    if lines != native_lines:
        text.append("The lines differ.")
    return "\n".join(text)
