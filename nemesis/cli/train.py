"""`nemesis train` and `nemesis resume`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when a command runs)

from datetime import datetime
from pathlib import Path

from nemesis.cli.config import resolve, resolved_yaml
from nemesis.cli.options import Flag
from nemesis.cli.status import output
from nemesis.core.progress import report


def train(
    preset: str, /, *overrides: str, run: Path | None = None, dry_run: Flag = False, allow_imports: Flag = False
) -> None:
    """Train from a preset.

    Args:
        preset: name of a preset, or a YAML file
        overrides: settings to change, as KEY=VALUE, such as learner.learning_rate=3e-4
        run: new folder of the run; by default runs/PRESET-DATE-TIME
        dry_run: build everything, print the resolved config, and stop
        allow_imports: import the code that policies named in the config name, as module:attribute
    """
    report(f"Reading the settings of {preset}")
    config = resolve(preset, overrides)
    report("Importing PyTorch")
    from nemesis.population.league import open_league
    from nemesis.training import loop
    from nemesis.training.run import Run

    run = run or Path("runs", f"{Path(preset).stem}-{datetime.now():%Y%m%d-%H%M%S}")
    if dry_run:
        Run(config, run, open_league, allow_imports=allow_imports).close()
        output(resolved_yaml(config), end="")
    else:
        report("Building the run")
        loop.train(config, run, open_matchmaker=open_league, allow_imports=allow_imports)


def resume(run: Path, /, *overrides: str, allow_imports: Flag = False) -> None:
    """Continue a run from its newest valid checkpoint.

    Args:
        run: folder of the run
        overrides: settings to change, as KEY=VALUE, such as updates=2000
        allow_imports: import the code that the run names as module:attribute
    """
    report("Importing PyTorch")
    from nemesis.population.league import open_league
    from nemesis.training import loop

    report(f"Opening {run}")
    loop.resume(run, overrides, open_matchmaker=open_league, allow_imports=allow_imports)
