"""How close each learner gets to a Nash equilibrium, on games where the distance can be computed.

Every run uses the production path: a preset, `nemesis.training.loop.train` and a run directory, from which the curve is
read. The algorithms of a game share its preset's matches, network and number of updates. NashConv is the sum over both
seats of what an exact best response gains. The value at the end of a run counts, not the best during it.

    python -m benchmarks.exact_games                          all games and algorithms
    python -m benchmarks.exact_games --games leduc --algorithms rnad-magnet --seeds 5
    python -m benchmarks.exact_games --ablation               the magnet form on Leduc without each of its parts
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from rich.console import Console

from benchmarks.report import MeasurementError, option_parser, print_table, run, write_json
from nemesis.core.config import build_config
from nemesis.presets import load_preset
from nemesis.storage.metrics import read_metrics
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

GOALS = {"kuhn": 0.02, "leduc": 0.20, "liars_dice": 0.10, "goofspiel": 0.10}
"""Presets, and the NashConv that the best R-NaD form should reach at the end."""

LONGER = {"leduc": ["updates=4000", "learner.magnet_weight.end=0.004"]}
"""What a full-length run changes in presets that are short by default."""

ALGORITHMS: dict[str, list[str]] = {
    "ppo": ["learner.algorithm=ppo", 'learner.entropy_weight={"start": 0.1, "end": 0.01, "shape": "exponential"}'],
    "rnad-reference": ["learner.form=reference", "learner.reference_weight=0.1", "learner.reference_interval=20"],
    "rnad-reward": ["learner.form=reward", "learner.reward_weight=0.1", "learner.reference_interval=20"],
    "rnad-magnet": [],
    "portfolio": ["learner.algorithm=portfolio", "learner.reference_weight=0.1", "learner.add_interval=20"],
}
"""What each algorithm changes in a preset, which is written for the magnet form."""

ABLATION: dict[str, list[str]] = {
    "the preset": [],
    "surrogate, not NeuRD": ["learner.gradient=surrogate"],
    "no pull to the average": ["learner.average_weight=0"],
    "magnet not annealed": ["learner.magnet_weight=0.03"],
    "learning rate not annealed": ["learner.learning_rate=1e-3"],
    "momentum 0.9": ["learner.momentum=0.9"],
    "minibatches of 1024": ["learner.minibatch=1024"],
    "minibatches of 1024, pull to the data policy": ["learner.minibatch=1024", "learner.data_weight=1"],
}
"""What each variant changes in the preset; the two result columns show the effect of averaging weights."""

CURVE_POINTS = 8


def main() -> None:
    torch.set_num_threads(1)  # as in every run
    options = _options()
    if options.ablation is not None:
        variants = options.ablation or list(ABLATION)
        jobs = [("leduc", name, seed, ABLATION[name]) for name in variants for seed in _seeds(options)]
    else:
        jobs = [
            (game, name, seed, ALGORITHMS[name])
            for game in options.games
            for name in options.algorithms
            for seed in _seeds(options)
        ]
    jobs = [(game, name, seed, [*_length(game, options), *extra]) for game, name, seed, extra in jobs]
    rows = list(_measure(jobs, options.processes, options.runs))
    if options.json:
        write_json(options.json, rows)
    print_table("NashConv at the end of each run, mean over seeds", _summary(rows))


def _options() -> argparse.Namespace:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--games", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--seeds", type=int, default=5, help="runs per algorithm (default: 5)")
    parser.add_argument("--updates", type=int, help="length of every run, instead of the preset's")
    parser.add_argument("--processes", type=int, default=2, help="parallel runs (default: 2)")
    parser.add_argument("--runs", type=Path, help="folder that keeps the run directories (default: a temporary one)")
    parser.add_argument(
        "--ablation",
        nargs="*",
        choices=ABLATION,
        metavar="VARIANT",
        help="the magnet form on Leduc without each of its parts, or only these variants",
    )
    options = parser.parse_args()
    if options.quick:
        options.games, options.seeds, options.updates = ["kuhn"], 1, 100
    return options


def _length(game: str, options: argparse.Namespace) -> list[str]:
    return [f"updates={options.updates}"] if options.updates else LONGER.get(game, [])


def _seeds(options: argparse.Namespace) -> range:
    return range(options.seed, options.seed + options.seeds)


def _measure(
    jobs: Sequence[tuple[str, str, int, list[str]]], processes: int, runs: Path | None
) -> Iterator[dict[str, Any]]:
    """Run the jobs in parallel, and yield one row per job, in their order."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = runs or Path(temporary)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            futures = [pool.submit(_run, *job, folder) for job in jobs]
            for number, (job, future) in enumerate(zip(jobs, futures, strict=True), start=1):
                row = future.result()
                last, average, seconds = row["nash_conv_last"], row["nash_conv_average"], row["seconds"]
                print(
                    f"[{number}/{len(jobs)}] {job[0]} {job[1]} seed {job[2]}: last {last:.4f}, average {average:.4f}, "
                    f"{row['decisions'] / 1e6:.1f}M decisions in {seconds:.0f} s",
                    flush=True,
                )
                yield row


def _run(game: str, algorithm: str, seed: int, extra: list[str], folder: Path) -> dict[str, Any]:
    """Train once and return the figures of the run directory."""
    path = folder / f"{game}-{algorithm.replace(' ', '-')}-{seed}"
    config = build_config(RunConfig, load_preset(game), [*extra, f"seed={seed}", "tracking.tensorboard=false"])
    train(config, path, Console(file=StringIO()))
    lines = read_metrics(path / "metrics.jsonl")
    evaluated = [line for line in lines if "evaluation/nash_conv" in line]
    if lines[-1]["update"] != config.updates or evaluated[-1] is not lines[-1]:
        raise MeasurementError(f"The run of {game} by {algorithm} with seed {seed} did not complete.")
    return {
        "game": game,
        "algorithm": algorithm,
        "seed": seed,
        "decisions": int(lines[-1]["collection/decisions"]),
        "seconds": lines[-1]["seconds"],
        "nash_conv_last": lines[-1]["evaluation/nash_conv"],
        "nash_conv_average": lines[-1]["evaluation/nash_conv_average"],
        "curve_last": [(line["update"], line["evaluation/nash_conv"]) for line in evaluated],
        "curve_average": [(line["update"], line["evaluation/nash_conv_average"]) for line in evaluated],
    }


def _summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per game and algorithm, averaged over seeds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["game"], row["algorithm"]), []).append(row)
    return [
        {
            "game": game,
            "algorithm": algorithm,
            "seeds": len(group),
            "decisions": f"{mean(row['decisions'] for row in group) / 1e6:.1f}M",
            "seconds": f"{mean(row['seconds'] for row in group):.0f}",
            "last": _mean_and_range([row["nash_conv_last"] for row in group]),
            "average": _mean_and_range([row["nash_conv_average"] for row in group]),
            "goal": f"{GOALS[game]:.2f}",
            "curve_of_last": _curve(group, "curve_last"),
            "curve_of_average": _curve(group, "curve_average"),
        }
        for (game, algorithm), group in groups.items()
    ]


def _mean_and_range(values: Sequence[float]) -> str:
    return f"{mean(values):.4f} ({min(values):.3f}–{max(values):.3f})"


def _curve(group: Sequence[dict[str, Any]], name: str) -> str:
    """Return the mean curve at a few evenly spaced points of the run, from start to end."""
    curves = [[value for _, value in row[name]] for row in group]
    length = min(len(curve) for curve in curves)
    points = sorted({round(step * (length - 1) / CURVE_POINTS) for step in range(CURVE_POINTS + 1)})
    return " ".join(f"{mean(curve[point] for curve in curves):.2f}" for point in points)


if __name__ == "__main__":
    run(main)
