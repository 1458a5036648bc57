"""Whether the native Gen 1 engine plays exactly as Showdown: both play the same battles, compared at every decision.

Compared are the random number generator, the whole hidden state (health, statuses, counters, power points, stats,
conditions with their data, what was last selected and used), both requests with the legal actions, and the log lines.
The players choose at random. A difference is shown with both engines' last two turns and as a smaller case, and fails
the command.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.native_replay import Battle, Engine, first_difference, shown
from benchmarks.native_shrinking import Shrinker, reference_command
from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_figures

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
_PROGRESS_SECONDS = 60


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
        with Shrinker(engine, overlay=options.overlay) as shrinker:
            smallest = shrinker.shrink(found[0])
        raise MeasurementError(f"The engines differ.\n{shown(found[0])}\n\nThe smallest case found:\n{shown(smallest)}")


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


def reference(kind: str, options: argparse.Namespace) -> Iterator[Battle]:
    """Yield battles that Showdown played."""
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    command = [*reference_command(overlay=options.overlay), "--sheets", str(SHEETS)]
    command += ["--kind", kind, "--battles", str(battles), "--first", str(options.first), "--seed", str(options.seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                yield json.loads(line)
        finally:
            process.terminate()


def _kinds_help() -> str:
    return "; ".join(f"{kind}: {description}" for kind, description in KINDS.items())


if __name__ == "__main__":
    run(main)
