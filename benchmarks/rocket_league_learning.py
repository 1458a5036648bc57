"""How runs of Rocket League learned: touches and goals per minute, and win rates, over the decisions played.

    nemesis train rocket_league_1v1 --run runs/feed_forward
    nemesis train rocket_league_1v1 policy.memory=lstm policy.layers=1 --run runs/recurrent
    python -m benchmarks.rocket_league_learning runs/feed_forward runs/recurrent --picture learning.svg
    python -m benchmarks.rocket_league_learning runs/curriculum --size 1v1 --picture curriculum.svg

A minute is one of the match, not of the clock on the wall. Touches are the policy's own, per car: its decisions with a
touch. Goals are those that its side scores and concedes, and those of both sides of all matches. Last, the policies of
all runs play new matches against one opponent, with the last and with the averaged weights, each at the checkpoint that
is closest to the fewest decisions of a run. `win_rate` counts draws as half and `won` counts wins only, each with its
95 % interval.

With --size, the averaged weights of every kept checkpoint play matches of this size, whatever the stage of their run:
does a policy lose its strength in 1v1 when it learns 2v2?
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from benchmarks.report import MeasurementError, Row, option_parser, print_table, progress, run, write_figures
from nemesis.core.game import FloatArray
from nemesis.evaluation.ratings import rate_against
from nemesis.games.rocket_league.arena.simulation import TICKS
from nemesis.games.rocket_league.game import SIZES
from nemesis.play.matches import play, win_rate_interval
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.scripted import anchors_of, open_opponent
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.checkpoints import Checkpoint, checkpoint_paths, load_checkpoint
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policies import from_checkpoint
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig, stage_config

MATCHES, QUICK_MATCHES = 500, 20
CHECKPOINT_MATCHES = 100  # of each checkpoint with --size
POINTS = 10  # rows of a run in the table
SLOTS = 64  # matches at once
MOST_APART = 0.02  # of the decisions of policies that are compared
_WIN_RATE = "evaluation/win_rate_against_"
_COUNTERS = ("collection/decisions", "collection/ended/played")
_WEIGHTS: tuple[Literal["last", "average"], ...] = ("last", "average")
_COLOURS = ("#c2410c", "#0f766e", "#7c3aed", "#a16207")


@dataclass(frozen=True, slots=True)
class Curve:
    """What a run did between its evaluations; the first axis of all arrays is the evaluation."""

    name: str
    decisions: FloatArray
    touches: FloatArray  # per car and minute
    scored: FloatArray  # by the policy's side, per minute; nan if the run has no metric of it
    conceded: FloatArray
    goals: FloatArray  # of both sides, per match and minute
    win_rate: FloatArray  # against the opponent, nan if it did not play it


@dataclass(frozen=True, slots=True)
class Measurement:
    """How policies are measured."""

    opponent: str
    matches: int
    seed: int
    temperature: float
    size: str | None = None  # of the matches; None: those of the checkpoint's stage


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories of Rocket League")
    parser.add_argument("--opponent", default="driver", help="whom the policies play (default: driver)")
    parser.add_argument("--size", choices=SIZES, help="measure every kept checkpoint in matches of this size")
    parser.add_argument("--temperature", type=float, default=1.0, help="of the policies' sampling (default: 1)")
    parser.add_argument(
        "--matches",
        type=int,
        help=f"of each policy (default: {MATCHES}, with --size {CHECKPOINT_MATCHES}, quick: {QUICK_MATCHES}); "
        "0 plays none",
    )
    parser.add_argument("--picture", type=Path, help="where to save the plot, .svg or .png")
    options = parser.parse_args()
    usual = QUICK_MATCHES if options.quick else CHECKPOINT_MATCHES if options.size else MATCHES
    matches = usual if options.matches is None else options.matches
    measurement = Measurement(options.opponent, matches, options.seed, options.temperature, options.size)
    curves = [read_curve(path, options.opponent) for path in options.runs]
    rows = [row for curve in curves for row in _rows(curve)]
    print_table("Learning", rows)
    strengths: list[Row] = []
    if matches and options.size:
        strengths = [row for path in options.runs for row in strength_of_checkpoints(path, measurement)]
    elif matches:
        strengths = compare(options.runs, measurement)
    if strengths:
        print_table(f"Against {options.opponent}, temperature {options.temperature:g}", strengths)
    changes = {path.name: stage_changes(path) for path in options.runs}
    if options.picture:
        _plot(curves, strengths if options.size else [], changes, measurement, options.picture)
    if options.json:
        figures = {"curves": rows, "strength": strengths, "stage_changes": changes}
        write_figures(options.json, figures)


def read_curve(path: Path, opponent: str) -> Curve:
    """Read the metrics of a run; every evaluation sums up the updates since the one before."""
    config: Any = RunConfig.model_validate(RunDirectory.config_of(path))  # with the settings of families
    stages = [stage_config(config, name) for name in config.curriculum.stages] or [config]
    seats = [stage.open_game().spec.seats for stage in stages]
    per_minute = 60 * TICKS / config.rocket_league.tick_skip  # decisions of a car
    points: list[dict[str, float]] = []
    before: dict[str, float] = {"collection/decisions": 0.0}
    since: list[list[float]] = []  # of each update since the last evaluation: minutes, goals, and shares of decisions
    for line in read_metrics(path / "metrics.jsonl"):
        if "collection/decisions" in line:
            stage = int(line.get("curriculum/stage", 1)) - 1
            new = {name: line.get(name, 0.0) - before.get(name, 0.0) for name in _COUNTERS}
            minutes = new["collection/decisions"] / seats[stage] / per_minute
            since.append([minutes, new["collection/ended/played"], _touches(line, stages[stage]), *_results(line)])
            before = line
        if since and any(name.startswith(_WIN_RATE) for name in line):
            won = line.get(f"{_WIN_RATE}{opponent}_average", line.get(f"{_WIN_RATE}{opponent}", math.nan))
            columns = np.array(since).T
            minutes, goals = columns[:2].sum(axis=1)
            touches, scored, conceded = columns[2:].mean(axis=1) * per_minute
            point = {"touches": touches, "scored": scored, "conceded": conceded, "goals": goals / minutes}
            points.append({"decisions": before["collection/decisions"], **point, "win_rate": won})
            since = []
    if not points:
        raise MeasurementError(f"{path} was not evaluated in matches after an update; let it run for longer.")
    return Curve(path.name, **{name: np.array([point[name] for point in points]) for name in points[0]})


def stage_changes(path: Path) -> list[dict[str, float]]:
    """Return after how many decisions a run changed its stage, and to which, counted from 1."""
    changes: list[dict[str, float]] = []
    stage, decisions = 1.0, 0.0
    for line in read_metrics(path / "metrics.jsonl"):
        if "collection/decisions" in line:
            if (now := line.get("curriculum/stage", 1.0)) != stage:
                changes.append({"decisions": decisions, "stage": now})
            stage, decisions = now, line["collection/decisions"]
    return changes


def compare(paths: Sequence[Path], measurement: Measurement) -> list[Row]:
    """Return how the policies of runs do, with both sets of weights, after the same number of decisions."""
    checkpoints = [_checkpoints(path) for path in paths]
    fewest = min(_decisions(own[-1]) for own in checkpoints)
    chosen = [min(own, key=lambda one: abs(_decisions(one) - fewest)) for own in checkpoints]
    for path, checkpoint in zip(paths, chosen, strict=True):
        if abs(_decisions(checkpoint) - fewest) > MOST_APART * fewest:
            raise MeasurementError(
                f"The checkpoint of {path} that is closest to {fewest:,} decisions has {_decisions(checkpoint):,}, so "
                "the policies cannot be compared; train with a smaller checkpoints.keep_every, or measure each alone."
            )
    return [
        _strength(path, checkpoint, weights, measurement)
        for path, checkpoint in zip(paths, chosen, strict=True)
        for weights in _WEIGHTS
    ]


def strength_of_checkpoints(path: Path, measurement: Measurement) -> list[Row]:
    """Return how the averaged weights of all kept checkpoints of a run do."""
    return [_strength(path, checkpoint, "average", measurement) for checkpoint in _checkpoints(path)]


def _touches(line: dict[str, float], stage: Any) -> float:
    """Return the share of decisions with a touch of the car's own; nan if the run cannot tell it from others'."""
    shares = stage.rocket_league.team_spirit or stage.rocket_league.zero_sum
    name = "reward_frequency/touch"  # of the reward, which is the same if rewards are not shared
    return line.get("reward_frequency/touched", math.nan if shares else line.get(name, math.nan))


def _results(line: dict[str, float]) -> tuple[float, float]:
    """Return the shares of decisions that the policy's side ended with a goal, and with one against it."""
    mean, size = (line.get(f"{prefix}/result", math.nan) for prefix in ("reward", "reward_size"))
    return (size + mean) / 2, (size - mean) / 2


def _checkpoints(path: Path) -> list[Checkpoint]:
    """Return the kept checkpoints of a run that have played, the oldest first."""
    loaded = [load_checkpoint(one) for one in reversed(checkpoint_paths(RunDirectory.checkpoints_of(path)))]
    if not (played := [one for one in loaded if _decisions(one)]):
        raise MeasurementError(f"{path} has no checkpoint after an update; let it run for longer.")
    return played


def _decisions(checkpoint: Checkpoint) -> int:
    return int(checkpoint.state["decisions"])


def _rows(curve: Curve) -> list[Row]:
    shown = np.unique(np.linspace(0, len(curve.decisions) - 1, POINTS).round().astype(int))
    return [
        {
            "run": curve.name,
            "million_decisions": float(curve.decisions[point] / 1e6),
            "touches_per_minute": float(curve.touches[point]),
            "scored_per_minute": float(curve.scored[point]),
            "conceded_per_minute": float(curve.conceded[point]),
            "goals_of_both_sides": float(curve.goals[point]),
            "win_rate": float(curve.win_rate[point]),
        }
        for point in shown
    ]


def _strength(path: Path, checkpoint: Checkpoint, weights: Literal["last", "average"], how: Measurement) -> Row:
    """Return how some weights of a checkpoint do in new matches, on the scale of the scripted opponents."""
    progress(f"{path.name}, update {checkpoint.update}: {how.matches} matches against {how.opponent} …")
    saved = from_checkpoint(checkpoint)
    game = saved.game_config([f"game=rocket_league:{how.size}"] if how.size else []).open_game()
    device, style = torch.device("cpu"), PlayStyle(how.temperature)
    player = PolicyPlayer(saved.load(game, weights), game.spec, SLOTS, device, how.seed, style)
    opponent = open_opponent(game, how.opponent, how.seed + 1)
    (score,) = play(game, player, [opponent], matches=how.matches, slots=SLOTS, seed=how.seed + 2)
    if not score.matches:
        raise MeasurementError(f"No match of {checkpoint.path} against {how.opponent} counts.")
    points = {how.opponent: (score.wins + score.draws / 2, score.matches)}
    rating = rate_against("the policy", points, anchors_of(game, {}))
    (low, high), won = score.win_rate_interval, score.wins / score.matches
    won_low, won_high = win_rate_interval(won, score.matches)
    return {
        "run": path.name,
        "weights": weights,
        "game": game.spec.name.partition(":")[2],
        "stage": str(checkpoint.state.get("stage") or ""),
        "million_decisions": _decisions(checkpoint) / 1e6,
        "win_rate": score.win_rate,
        "low": low,
        "high": high,
        "won": won,
        "won_low": won_low,
        "won_high": won_high,
        "draws": score.draws,
        "matches": score.matches,
        "voided": score.voided,
        "elo": rating.elo if rating else "no anchor",
        "elo_margin": rating.margin if rating else "",
    }


def _plot(
    curves: list[Curve],
    strengths: Sequence[Row],
    changes: dict[str, list[dict[str, float]]],
    how: Measurement,
    picture: Path,
) -> None:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  optional
    except ImportError:
        raise MeasurementError(
            "matplotlib is missing. Install it with: pip install --editable '.[benchmarks]'"
        ) from None
    titles = ["touches per car and minute", "goals per minute (dashed: conceded)", f"wins against {how.opponent}, %"]
    titles += [f"in {how.size} against {how.opponent}, %"] if strengths else []
    figure, panels = pyplot.subplots(1, len(titles), figsize=(3.5 * len(titles), 2.9))
    for curve, colour in zip(curves, _COLOURS, strict=False):
        million = curve.decisions / 1e6
        for axes, values in zip(panels, (curve.touches, curve.scored, 100 * curve.win_rate), strict=False):
            axes.plot(million, values, label=curve.name, color=colour, linewidth=2)
        panels[1].plot(million, curve.conceded, color=colour, linewidth=1, linestyle="--")
        if own := [row for row in strengths if row["run"] == curve.name]:
            at, win_rate, low, high = (
                np.array([row[name] for row in own]) for name in ("million_decisions", "win_rate", "low", "high")
            )
            panels[-1].fill_between(at, 100 * low, 100 * high, color=colour, alpha=0.2, linewidth=0)
            panels[-1].plot(at, 100 * win_rate, label=curve.name, color=colour, linewidth=2)
        for change in changes[curve.name]:
            for axes in panels:
                axes.axvline(change["decisions"] / 1e6, color=colour, linewidth=0.8, linestyle=":")
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
