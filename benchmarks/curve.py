"""Draw a run's exact NashConv over its decisions: `python -m benchmarks.curve RUN PICTURE.svg`.

The picture on the front page is made by this from a full-length run of `benchmarks.exact_games --runs FOLDER` on Leduc.
"""

import sys
from pathlib import Path

from benchmarks.report import MeasurementError, run
from nemesis.runtime.metrics import read_metrics
from nemesis.runtime.run_directory import RunDirectory


def main() -> None:
    try:
        from matplotlib import pyplot  # noqa: PLC0415  only this picture needs it
    except ImportError:
        raise MeasurementError("Get matplotlib with pip install -e '.[benchmarks]'.") from None
    if len(sys.argv) != 3:
        raise MeasurementError("Name a run directory and the picture to write, which may end in .svg or .png.")
    path, picture = Path(sys.argv[1]), Path(sys.argv[2])
    config = RunDirectory.config_of(path)
    lines = [line for line in read_metrics(path / "metrics.jsonl") if "evaluation/nash_conv" in line]
    decisions = [line.get("collection/decisions", 0) / 1e6 for line in lines]
    figure, axes = pyplot.subplots(figsize=(7.2, 2.9))
    for name, label, colour in (
        ("evaluation/nash_conv", "last weights", "#9db4c8"),
        ("evaluation/nash_conv_average", "averaged weights", "#c2410c"),
    ):
        values = [line[name] for line in lines]
        axes.plot(decisions, values, label=label, color=colour, linewidth=2)
        axes.annotate(f"{values[-1]:.2f}", (decisions[-1], values[-1]), textcoords="offset points", xytext=(4, -2))
    seconds = lines[-1]["seconds"]
    axes.set(
        title=f"{config['game']}, {config['learner']['algorithm']}, {seconds:.0f} s on one CPU core",
        xlabel="million decisions",
        ylabel="exact NashConv",
        yscale="log",
    )
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(min(line["evaluation/nash_conv_average"] for line in lines) * 0.8)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    run(main)
