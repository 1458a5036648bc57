"""Whether the native Gen 1 engine plays exactly as Showdown: both play the same battles, compared at every decision.

Compared are the random number generator, the whole hidden state (health, statuses, counters, power points, stats,
conditions with their data, what was last selected and used), both requests with the legal actions, and the log lines.
The players choose at random. A difference is shown with both engines' last two turns and fails the command.
"""

import argparse
import ctypes
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_figures
from nemesis.games.pokemon.native import library
from nemesis.games.pokemon.native.team_sheets import team_sheet
from nemesis.games.pokemon.node import find_node, installed_host

KINDS = {
    "sheets": "the shipped teams of gen1ou",
    "generated": "teams of gen1randombattle",
    "wild": "any sets, mostly moves with code of their own",
    "even": "any sets, all moves alike",
    "focused": "wild teams with a few moves that meet in rare ways",
    "mirror": "the same wild team on both sides",
    "pp": "small wild teams with 0 to 3 power points for each move",
    "long": "wild teams that hardly deal damage",
}
BATTLES, QUICK_BATTLES = 2000, 40
SHEETS = Path(__file__).parents[1] / "nemesis/games/pokemon/teams/sets/gen1ou"
_CLAUSES = 3  # those for sleep and freeze
_TEXT_BYTES = 1 << 16
_SHOWN_STEPS = 3
_PROGRESS_SECONDS = 60


class Engine:
    """The native engine with one battle."""

    def __init__(self, path: Path | None = None) -> None:
        self._library = ctypes.CDLL(str(path)) if path else library.load()
        self._battle = ctypes.create_string_buffer(self._library.nemesis_battle_size())
        self._text = ctypes.create_string_buffer(_TEXT_BYTES)

    def start(self, setup: dict[str, Any]) -> None:
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


@dataclass
class Tally:
    """What was compared of one kind of battles."""

    battles: int = 0
    decisions: int = 0
    turns: int = 0
    failed_in_both: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)


def main() -> None:
    """Compare the engines."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--battles", type=int, metavar="N", help=f"number of battles of each kind (default: {BATTLES})")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first battle (default: 0)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="K", help=_kinds_help())
    parser.add_argument("--overlay", action="store_true", help="compare with the overlaid simulator, which is faster")
    parser.add_argument("--library", type=Path, metavar="FILE", help="the native library, if not the built one")
    options = parser.parse_args()
    engine = Engine(options.library)
    tallies: dict[str, Tally] = {}
    for kind in options.kinds:
        tallies[kind] = compare(engine, kind, options)
    rows = [
        {
            "kind": kind,
            "battles": tally.battles,
            "turns": tally.turns,
            "decisions": tally.decisions,
            "failed_in_both": tally.failed_in_both,
            "differences": len(tally.differences),
        }
        for kind, tally in tallies.items()
    ]
    print_table("Native engine and Showdown, battles with random players", rows)
    found = [difference for tally in tallies.values() for difference in tally.differences]
    if options.json:
        write_figures(options.json, {"rows": rows, "differences": found})
    if found:
        raise MeasurementError(f"The engines differ.\n{shown(found[0])}")


def compare(engine: Engine, kind: str, options: argparse.Namespace) -> Tally:
    """Compare battles of one kind up to the first that differs."""
    tally = Tally()
    reported = time.monotonic()
    for battle in reference(kind, options):
        tally.battles += 1
        tally.decisions += sum(action >= 0 for step in battle["steps"] for action in step[2])
        tally.turns += int(battle["steps"][-1][0].split("turn")[1].split()[0])
        tally.failed_in_both += bool(battle["failure"])
        if (difference := first_difference(engine, battle)) is not None:
            number = options.first + tally.battles - 1
            tally.differences.append({"kind": kind, "seed": options.seed, "battle": number, **difference})
            break
        if time.monotonic() - reported > _PROGRESS_SECONDS:
            reported = time.monotonic()
            progress(f"{kind}: {tally.battles} battles")
    return tally


def reference(kind: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield battles that Showdown played."""
    node = find_node("bundled")
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    command = [str(node.node), str(installed_host(node) / "tools/native-reference.js"), "--sheets", str(SHEETS)]
    command += ["--kind", kind, "--battles", str(battles), "--first", str(options.first), "--seed", str(options.seed)]
    if options.overlay:
        command.append("--overlay")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
        finally:
            process.terminate()


def first_difference(engine: Engine, battle: dict[str, Any]) -> dict[str, Any] | None:
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


def _difference(battle: dict[str, Any], place: int, past: list[Any], problem: str) -> dict[str, Any]:
    setup = {key: value for key, value in battle.items() if key != "steps"}
    choices = [step[2] for step in battle["steps"][: place + 1]]
    return {"step": place, "problem": problem, "setup": setup, "choices": choices, "steps": past[-_SHOWN_STEPS:]}


def shown(difference: dict[str, Any]) -> str:
    """Describe a difference: both engines' last steps, and which fields differ in the last one."""
    text = [f"{difference['kind']} battle {difference['battle']}, step {difference['step']} {difference['problem']}"]
    text += difference["setup"]["teams"]
    for state, native, lines, native_lines, choices in difference["steps"]:
        text += [f"Showdown  {state}", f"  lines  {lines}", f"native    {native}", f"  lines  {native_lines}"]
        text.append(f"choices   {choices}")
    state, native, lines, native_lines, _ = difference["steps"][-1]
    pairs = zip(state.split(), native.split(), strict=False)
    text += [f"differs: {one} in Showdown, {other} here" for one, other in pairs if one != other]
    if lines != native_lines:
        text.append("The lines differ.")
    return "\n".join(text)


def _kinds_help() -> str:
    return "; ".join(f"{kind}: {description}" for kind, description in KINDS.items())


if __name__ == "__main__":
    run(main)
