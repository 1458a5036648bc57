"""`nemesis psro`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from datetime import datetime
from pathlib import Path

from nemesis.cli.options import Flag, LogLevel, log_at
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report


def psro(
    preset: str,
    /,
    *overrides: str,
    run: Path | None = None,
    dry_run: Flag = False,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Grow a population by best responses (PSRO).

    Args:
        preset: name of a preset, or a YAML file; or the folder of a PSRO, to continue it
        overrides: settings of PSRO, as KEY=VALUE, such as iterations=5 or solver=replicator; settings of the runs that
            train best responses as training.KEY=VALUE
        run: new folder; by default runs/psro-PRESET-DATE-TIME
        dry_run: print all settings and stop
        allow_imports: import the code that policies name as module:attribute
        log_level: what the runs' logs record and which warnings are shown, by default info
    """
    log_at(log_level, shown=False)
    report(f"Reading the settings of {preset}")
    from nemesis.population.psro import folders
    from nemesis.population.psro.config import psro_config
    from nemesis.presets import dump_yaml, load_preset

    if folders.is_psro(Path(preset)):
        if run is not None:
            raise UserError(f"{preset} continues in its own folder; leave out --run.")
        folder = Path(preset)
        config = folders.saved_config(folder, overrides)
    else:
        folder = run or Path("runs", f"psro-{Path(preset).stem}-{datetime.now():%Y%m%d-%H%M%S}")
        config = psro_config(load_preset(preset), overrides)
        if not dry_run:
            folders.check_new(folder)
    if dry_run:
        output(dump_yaml(config.model_dump(mode="json")), end="")
        return
    report("Importing PyTorch")
    from nemesis.population.psro.loop import run_psro

    try:
        run_psro(config, folder, output, allow_imports=allow_imports)
    except KeyboardInterrupt:
        output(f"Stopped; continue with `nemesis psro {folder}`.", error=True)
        raise
