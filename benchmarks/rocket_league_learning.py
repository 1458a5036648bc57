"""How runs of Rocket League learned: touches and goals per minute, and win rates, over the decisions played.

    nemesis train rocket_league_1v1 --run runs/feed_forward
    nemesis train rocket_league_1v1 policy.memory=lstm policy.layers=1 --run runs/recurrent
    python -m benchmarks.rocket_league_learning runs/feed_forward runs/recurrent --picture learning.svg

Runs are compared at equal numbers of decisions. A minute is one of the match, not of the clock on the wall; touches are
decisions with a touch, per car; goals are per match, of both sides. Last, the policy of each run plays new matches
against the strongest scripted player, by which it is rated.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import MeasurementError, Row, option_parser, print_table, progress, run, write_figures
from nemesis.core.game import FloatArray
from nemesis.evaluation.strength import AgainstOpponents, evaluate
from nemesis.evaluation.subject import open_subject
from nemesis.games.rocket_league.arena.simulation import TICKS
from nemesis.storage.metrics import read_metrics
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig, stage_config

MATCHES, QUICK_MATCHES = 500, 20
POINTS = 10  # rows of a run in the table
_WIN_RATE = "evaluation/win_rate_against_"
_COLOURS = ("#c2410c", "#0f766e", "#7c3aed", "#a16207")


@dataclass(frozen=True, slots=True)
class Curve:
    """What a run did between its evaluations; the first axis of all arrays is the evaluation."""

    name: str
    decisions: FloatArray
    touches: FloatArray  # per car and minute
    goals: FloatArray  # per match and minute
    win_rate: FloatArray  # against the opponent, nan if it did not play it


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories of Rocket League")
    parser.add_argument("--opponent", default="driver", help="whom the policies play (default: driver)")
    parser.add_argument(
        "--matches", type=int, help=f"of each policy (default: {MATCHES}, quick: {QUICK_MATCHES}); 0 plays none"
    )
    parser.add_argument("--picture", type=Path, help="where to save the plot, .svg or .png")
    options = parser.parse_args()
    matches = (QUICK_MATCHES if options.quick else MATCHES) if options.matches is None else options.matches
    curves = [read_curve(path, options.opponent) for path in options.runs]
    print_table("Learning", [row for curve in curves for row in _rows(curve)])
    strengths = [_strength(path, options.opponent, matches, options.seed) for path in options.runs if matches]
    if strengths:
        print_table(f"Against {options.opponent}", strengths)
    if options.picture:
        _plot(curves, options.opponent, options.picture)
    if options.json:
        write_figures(
            options.json, {"curves": [row for curve in curves for row in _rows(curve)], "strength": strengths}
        )


def read_curve(path: Path, opponent: str) -> Curve:
    """Read the metrics of a run; every evaluation sums up the updates since the one before."""
    config: Any = RunConfig.model_validate(RunDirectory.config_of(path))  # with the settings of families
    seats = [stage_config(config, name).open_game().spec.seats for name in config.curriculum.stages]
    seats = seats or [config.open_game().spec.seats]
    per_minute = 60 * TICKS / config.rocket_league.tick_skip  # decisions of a car
    points: list[dict[str, float]] = []
    touched, minutes, goals, batches = 0.0, 0.0, 0.0, 0  # since the last evaluation
    before: dict[str, float] = {"collection/decisions": 0.0}
    for line in read_metrics(path / "metrics.jsonl"):
        if "collection/decisions" in line:
            cars = seats[int(line.get("curriculum/stage", 1)) - 1]
            minutes += (line["collection/decisions"] - before["collection/decisions"]) / cars / per_minute
            goals += line.get("collection/ended/played", 0.0) - before.get("collection/ended/played", 0.0)
            touched += line["reward_frequency/touch"]
            batches += 1
            before = line
        won = line.get(f"{_WIN_RATE}{opponent}_average", line.get(f"{_WIN_RATE}{opponent}"))
        if minutes and won is not None:
            point = {"touches": touched / batches * per_minute, "goals": goals / minutes, "win_rate": won}
            points.append({"decisions": before["collection/decisions"], **point})
            touched, minutes, goals, batches = 0.0, 0.0, 0.0, 0
    if not points:
        raise MeasurementError(f"{path} was not evaluated against {opponent} after an update; let it run for longer.")
    columns: dict[str, Any] = {name: np.array([point[name] for point in points]) for name in points[0]}
    return Curve(path.name, **columns)


def _rows(curve: Curve) -> list[Row]:
    shown = np.unique(np.linspace(0, len(curve.decisions) - 1, POINTS).round().astype(int))
    return [
        {
            "run": curve.name,
            "million_decisions": float(curve.decisions[point] / 1e6),
            "touches_per_minute": float(curve.touches[point]),
            "goals_per_minute": float(curve.goals[point]),
            "win_rate": float(curve.win_rate[point]),
        }
        for point in shown
    ]


def _strength(path: Path, opponent: str, matches: int, seed: int) -> Row:
    """Return how the averaged weights of a run do in new matches, on the scale of the scripted players."""
    progress(f"{path.name}: {matches} matches against {opponent} …")
    strength = evaluate(open_subject(path, matches, [opponent]), seed).average
    if not isinstance(strength, AgainstOpponents) or not strength.scores[opponent].matches:
        raise MeasurementError(f"No match of {path} against {opponent} counts.")
    score, rating = strength.scores[opponent], strength.rating
    low, high = score.win_rate_interval
    return {
        "run": path.name,
        "win_rate": score.win_rate,
        "low": low,
        "high": high,
        "wins": score.wins,
        "draws": score.draws,
        "matches": score.matches,
        "voided": score.voided,
        "elo": rating.elo if rating else "no anchor",
        "elo_margin": rating.margin if rating else "",
    }


def _plot(curves: list[Curve], opponent: str, picture: Path) -> None:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  optional
    except ImportError:
        raise MeasurementError(
            "matplotlib is missing. Install it with: pip install --editable '.[benchmarks]'"
        ) from None
    figure, panels = pyplot.subplots(1, 3, figsize=(10.5, 2.9))
    for curve, colour in zip(curves, _COLOURS, strict=False):
        for axes, values in zip(panels, (curve.touches, curve.goals, 100 * curve.win_rate), strict=True):
            axes.plot(curve.decisions / 1e6, values, label=curve.name, color=colour, linewidth=2)
    titles = ("touches per car and minute", "goals per minute", f"wins against {opponent}, %")
    for axes, title in zip(panels, titles, strict=True):
        axes.set(title=title, xlabel="million decisions")
        axes.set_ylim(0)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        panels[-1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    run(main)
