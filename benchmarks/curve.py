"""Plot how a run improved over its decisions: `python -m benchmarks.curve RUN PICTURE.svg`.

Plotted is what was evaluated during the run: win rates against scripted players and of exploiters, or exact NashConv.
The picture in the README is made by this command from a run of `make train`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import MeasurementError, run
from nemesis.storage.metrics import read_metrics
from nemesis.storage.run_directory import RunDirectory

_COLOURS = ("#9db4c8", "#c2410c", "#0f766e", "#7c3aed", "#a16207")
_WIN_RATE = "evaluation/win_rate_against_"
_AVERAGE = "_average"
_EXPLOITER = "exploiter/win_rate"


def main() -> None:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  optional
    except ImportError:
        raise MeasurementError(
            "matplotlib is missing. Install it with: pip install --editable '.[benchmarks]'"
        ) from None
    if len(sys.argv) != 3:
        raise MeasurementError("Give a run directory and the picture to write, which may end in .svg or .png.")
    path, picture = Path(sys.argv[1]), Path(sys.argv[2])
    config = RunDirectory.config_of(path)
    updates = list(read_metrics(path / "metrics.jsonl"))
    lines = [line for line in updates if any("evaluation/" in name for name in line)]
    if not lines:
        raise MeasurementError(f"{path} has no evaluation yet; let the run reach its first one.")
    figure, axes = pyplot.subplots(figsize=(7.2, 2.9))
    axes.set_title(f"{config['game']}, {config['learner']['algorithm']}, {_duration(lines)} on a CPU")
    decisions = [line.get("collection/decisions", 0) / 1e6 for line in lines]
    names = sorted(name for name in lines[-1] if name.startswith(_WIN_RATE))
    if names:
        _draw_win_rates(axes, decisions, lines, names)
        _draw_exploiters(axes, [line for line in updates if _EXPLOITER in line])
    else:
        _draw_nash_conv(axes, decisions, lines)
    axes.set_xlabel("million decisions")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


def _draw_win_rates(axes: Any, decisions: Sequence[float], lines: Sequence[dict[str, Any]], names: list[str]) -> None:
    names.sort(key=lambda name: -lines[-1][name])
    for name, colour in zip(names, _COLOURS, strict=False):
        label = name.removeprefix(_WIN_RATE).replace(_AVERAGE, ", averaged weights")
        axes.plot(decisions, [100 * line[name] for line in lines], label=f"against {label}", color=colour, linewidth=2)
    axes.set(ylabel="battles won, %", ylim=(-2, 102))


def _draw_exploiters(axes: Any, lines: Sequence[dict[str, Any]]) -> None:
    """Plot the win rates of exploiters against the policy of their time, with intervals."""
    if not lines:
        return
    rates, low, high = (
        [100 * line[name] for line in lines] for name in (_EXPLOITER, f"{_EXPLOITER}_low", f"{_EXPLOITER}_high")
    )
    below, above = ([abs(edge - rate) for rate, edge in zip(rates, edges, strict=True)] for edges in (low, high))
    decisions = [line["collection/decisions"] / 1e6 for line in lines]
    axes.errorbar(decisions, rates, (below, above), fmt="o", color="black", capsize=3, label="of exploiters against it")


def _draw_nash_conv(axes: Any, decisions: Sequence[float], lines: Sequence[dict[str, Any]]) -> None:
    for name, label, colour in (
        ("evaluation/nash_conv", "last weights", _COLOURS[0]),
        ("evaluation/nash_conv_average", "averaged weights", _COLOURS[1]),
    ):
        values = [line[name] for line in lines]
        axes.plot(decisions, values, label=label, color=colour, linewidth=2)
        axes.annotate(f"{values[-1]:.2f}", (decisions[-1], values[-1]), textcoords="offset points", xytext=(4, -2))
    axes.set(ylabel="exact NashConv", yscale="log")
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(min(line["evaluation/nash_conv_average"] for line in lines) * 0.8)


def _duration(lines: Sequence[dict[str, Any]]) -> str:
    seconds = lines[-1]["seconds"]
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} minutes"


if __name__ == "__main__":
    run(main)
