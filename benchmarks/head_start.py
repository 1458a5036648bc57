"""Does imitation of people help self-play? R-NaD from a cloned policy is compared with R-NaD from scratch.

    python -m benchmarks.head_start RUN/best.safetensors --picture curves.svg

Both runs share preset (without exploiters), seed, network and number of updates. One takes its initial weights, and so
its first reference policy, from a policy file. Win rates against the scripted players are plotted over the decisions,
with 95 % intervals.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_figures
from nemesis.core.config import build_config
from nemesis.play.matches import win_rate_interval
from nemesis.population.league import open_league
from nemesis.presets import load_preset
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policy_files import read_header
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

PRESET = "vgc"
UPDATES, QUICK_UPDATES = 100, 2
QUICK = ("collection.decisions=256", "collection.slots=32", "evaluation.matches=10")
LEARNER: dict[str, Any] = {
    "algorithm": "rnad",
    "form": "reference",
    "gradient": "surrogate",
    "reference_interval": 50,
    "learning_rate": {"start": 5e-4, "end": 5e-5, "shape": "linear"},
    "minibatch": 1024,
    "advantage_lambda": 0.9,
    "entropy_weight": {"start": 0.01, "end": 0.001, "shape": "linear"},
    "momentum": 0.9,
}
_WIN_RATE = "evaluation/win_rate_against_"
_STYLES = {"from cloning": "-", "from scratch": "--"}
_COLOURS = ("#9db4c8", "#c2410c", "#0f766e", "#7c3aed")


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("policy", type=Path, help="policy file of behaviour cloning")
    parser.add_argument("--preset", default=PRESET, help=f"what is trained (default: {PRESET})")
    parser.add_argument("--updates", type=int, help=f"of each run (default: {UPDATES}, quick: {QUICK_UPDATES})")
    parser.add_argument("--runs", type=Path, help="folder in which both runs are kept")
    parser.add_argument("--picture", type=Path, help="where to save the plot, .svg or .png")
    options = parser.parse_args()
    torch.set_num_threads(1)
    updates = options.updates or (QUICK_UPDATES if options.quick else UPDATES)
    shape = read_header(options.policy).policy.model_dump(mode="json")
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.runs or Path(temporary)
        curves = {}
        for name, init in (("from cloning", str(options.policy)), ("from scratch", None)):
            settings = load_preset(options.preset) | {"learner": LEARNER, "policy": shape | {"init": init}}
            common = (
                "evaluation.weights=average",
                f"updates={updates}",
                f"seed={options.seed}",
                f"evaluation.interval={max(1, updates // 10)}",
            )
            config = build_config(
                RunConfig, settings, [*common, "exploiter.interval=0", *(QUICK if options.quick else ())]
            )
            Console().print(f"{name}: training …")
            train(config, folder / name.replace(" ", "-"), open_matchmaker=open_league)
            curves[name] = _curve(folder / name.replace(" ", "-"), config.evaluation.matches)
    rows = [_row(name, point) for name, curve in curves.items() for point in curve]
    print_table(f"{options.preset}, {updates} updates of R-NaD: win rates, in %", rows)
    if options.json:
        write_figures(options.json, {"updates": updates, "rows": rows})
    if options.picture:
        _draw(curves, options.picture)


@dataclass(frozen=True, slots=True)
class _Point:
    """One evaluation of a run."""

    decisions: int  # so far
    rates: dict[str, float]  # win rate by opponent
    matches: int  # against each

    def interval(self, opponent: str) -> tuple[float, float]:
        return win_rate_interval(self.rates[opponent], self.matches)


def _curve(path: Path, matches: int) -> list[_Point]:
    points = []
    for line in read_metrics(path / "metrics.jsonl"):
        rates = {
            name.removeprefix(_WIN_RATE).removesuffix("_average"): value
            for name, value in line.items()
            if name.startswith(_WIN_RATE)
        }
        if rates:
            points.append(_Point(int(line.get("collection/decisions", 0)), rates, matches))
    return points


def _row(name: str, point: _Point) -> Row:
    def shown(opponent: str) -> str:
        low, high = point.interval(opponent)
        return f"{100 * point.rates[opponent]:.1f} ({100 * low:.1f}–{100 * high:.1f})"

    rates = {f"against_{opponent}": shown(opponent) for opponent in point.rates}
    return {"run": name, "decisions": point.decisions, **rates, "matches": point.matches}


def _draw(curves: dict[str, list[_Point]], picture: Path) -> None:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  optional
    except ImportError:
        raise MeasurementError(
            "matplotlib is missing. Install it with: pip install --editable '.[benchmarks]'"
        ) from None
    figure, axes = pyplot.subplots(figsize=(7.2, 2.9))
    for name, curve in curves.items():
        decisions = [point.decisions / 1e6 for point in curve]
        for opponent, colour in zip(sorted(curve[-1].rates), _COLOURS, strict=False):
            rates = [100 * point.rates[opponent] for point in curve]
            low, high = 100 * np.array([point.interval(opponent) for point in curve]).T
            axes.plot(decisions, rates, _STYLES[name], color=colour, label=f"{opponent}, {name}", linewidth=2)
            axes.fill_between(decisions, low, high, color=colour, alpha=0.12)
    axes.set(xlabel="million decisions", ylabel="battles won, %", ylim=(-2, 102))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    run(main)
