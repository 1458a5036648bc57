"""`nemesis train` and `nemesis resume`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when a command runs)

from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nemesis.cli.config import resolve, resolved_yaml


def train(
    preset: str,
    /,
    *overrides: str,
    run: Path | None = None,
    dry_run: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Train from a preset.

    Args:
        preset: name of a preset, or a YAML file
        overrides: settings to change, as KEY=VALUE, such as learner.learning_rate=3e-4
        run: new folder for everything the run writes; runs/PRESET-DATE-TIME unless given
        dry_run: build everything, print the resolved config, and stop
    """
    config = resolve(preset, overrides)
    from nemesis.population.league import open_league
    from nemesis.training import run as training

    run = run or Path("runs", f"{Path(preset).stem}-{datetime.now():%Y%m%d-%H%M%S}")
    if dry_run:
        training.Run(config, run, open_league).close()
        print(resolved_yaml(config), end="")
    else:
        training.train(config, run, open_matchmaker=open_league)


def resume(run: Path, /, *overrides: str) -> None:
    """Go on with a run from its newest valid checkpoint.

    Args:
        run: folder of the run
        overrides: settings to change, as KEY=VALUE, such as updates=2000
    """
    from nemesis.population.league import open_league
    from nemesis.training import run as training

    training.resume(run, overrides, open_matchmaker=open_league)
