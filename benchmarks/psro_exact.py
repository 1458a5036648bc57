"""How many iterations PSRO with exact best responses needs on small games, and how long that takes.

Every run uses the production path, `nemesis psro PRESET best_response=exact`, in a temporary folder. NashConv of the
mixture in the whole game is computed, and the run ends when it is below the goal of its game. The equilibrium of the
meta-game is unique or of maximum entropy and best responses are exact, so that nothing is random.

    python -m benchmarks.psro_exact                            Kuhn and Leduc poker, with the Nash mixture
    python -m benchmarks.psro_exact --solvers nash uniform --games kuhn
"""

import argparse
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import torch

from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_json
from nemesis.population.meta_game.solvers import SOLVERS
from nemesis.population.psro.config import psro_config
from nemesis.population.psro.loop import run_psro
from nemesis.presets import load_preset

GOALS = {"kuhn": 1e-3, "leduc": 0.05}
"""Presets, and NashConv of the mixture that they should reach."""

LIMIT = 1200.0  # seconds
CURVE_POINTS = 8


def main() -> None:
    torch.set_num_threads(1)
    options = _options()
    rows = [_measure(game, solver, options.iterations) for game in options.games for solver in options.solvers]
    if options.json:
        write_json(options.json, rows)
    print_table("PSRO with exact best responses", [_shown(row) for row in rows])
    if missed := [row for row in rows if row["solver"] == "nash" and row["nash_conv"] > row["goal"]]:
        raise MeasurementError(f"{missed[0]['game']} did not reach its goal within {options.iterations} iterations.")


def _options() -> argparse.Namespace:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--games", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=["nash"])
    parser.add_argument("--iterations", type=int, default=400, help="most iterations of a run (default: 400)")
    options = parser.parse_args()
    if options.quick:
        options.games = ["kuhn"]
    return options


def _measure(game: str, solver: str, iterations: int) -> dict[str, Any]:
    settings = ["best_response=exact", f"solver={solver}", f"iterations={iterations}", f"nash_conv={GOALS[game]}"]
    progress(f"{game}, {solver}")
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = perf_counter(), process_time()
        results = run_psro(psro_config(load_preset(game), settings), Path(folder) / "psro")
        seconds, cpu_seconds = perf_counter() - wall, process_time() - cpu
    curve = [one.exact for one in results.iterations]
    if seconds > LIMIT:
        progress(f"{game} by {solver} took longer than {LIMIT:.0f} seconds.")
    return {
        "game": game,
        "solver": solver,
        "iterations": len(curve) - 1,
        "nash_conv": curve[-1],
        "goal": GOALS[game],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "curve": curve,
    }


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    curve = row["curve"]
    points = sorted({round(step * (len(curve) - 1) / CURVE_POINTS) for step in range(CURVE_POINTS + 1)})
    return row | {"curve": " ".join(f"{curve[point]:.2g}" for point in points)}


if __name__ == "__main__":
    run(main)
