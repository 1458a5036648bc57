"""`nemesis train` and `nemesis resume`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when a command runs)

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from nemesis.cli.config import resolve, resolved_yaml
from nemesis.cli.options import Flag, LogLevel, log_at
from nemesis.cli.status import output
from nemesis.core.progress import report

if TYPE_CHECKING:
    from nemesis.training.config import RunConfig


def train(
    preset: str,
    /,
    *overrides: str,
    run: Path | None = None,
    dry_run: Flag = False,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Train from a preset.

    Args:
        preset: name of a preset, or a YAML file
        overrides: settings to change, as KEY=VALUE, such as learner.learning_rate=3e-4
        run: new folder of the run; by default runs/PRESET-DATE-TIME
        dry_run: build everything, print the resolved config, and stop
        allow_imports: import the code that policies named in the config name, as module:attribute
        log_level: what run.log records and which warnings are shown, by default info
    """
    log_at(log_level, shown=False)
    report(f"Reading the settings of {preset}")
    config = resolve(preset, overrides)
    run = run or Path("runs", f"{Path(preset).stem}-{datetime.now():%Y%m%d-%H%M%S}")
    _check_new(run)
    _check(config, overrides, allow_imports)
    report("Importing PyTorch")
    from nemesis.population.league import open_league
    from nemesis.training import loop
    from nemesis.training.run import Run

    if dry_run:
        Run(config, run, open_league, allow_imports=allow_imports).close()
        output(resolved_yaml(config), end="")
    else:
        report("Building the run")
        loop.train(config, run, open_matchmaker=open_league, allow_imports=allow_imports)


def resume(
    run: Path,
    /,
    *overrides: str,
    checkpoint: int | None = None,
    new: Annotated[Path | None, Parameter(name="--run")] = None,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Continue a run from its newest valid checkpoint.

    With --run, the run is left as it is, and a new run continues from there.

    Args:
        run: folder of the run
        overrides: settings to change, as KEY=VALUE, such as updates=2000
        checkpoint: update of the checkpoint that the new run continues from; by default the newest
        new: new folder, for a branch of the run
        allow_imports: import the code that the run names as module:attribute
        log_level: what run.log records and which warnings are shown, by default info
    """
    log_at(log_level, shown=False)
    report(f"Opening {run}")
    from nemesis.training.resumption import check_resumption

    check_resumption(run, overrides, checkpoint=checkpoint, new=new, allow_imports=allow_imports)
    report("Importing PyTorch")
    from nemesis.population.league import open_league
    from nemesis.training import loop

    report(f"Opening {run}")
    loop.resume(
        run, overrides, open_matchmaker=open_league, checkpoint=checkpoint, new=new, allow_imports=allow_imports
    )


def _check(config: "RunConfig", overrides: Sequence[str], allow_imports: bool) -> None:
    from nemesis.training.checks import check_config, check_effect

    report(f"Opening {config.game}")
    check_config(config, allow_imports=allow_imports)
    check_effect(config, overrides)


def _check_new(run: Path) -> None:
    from nemesis.storage.run_directory import RunDirectory

    RunDirectory.check_new(run)
