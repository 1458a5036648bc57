"""The training loop: start or resume a run, and take it to its end."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console

from nemesis.core import progress
from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.interrupts import Interrupts, StoppedError
from nemesis.core.plugins import check_imports
from nemesis.evaluation.run_evaluation import BEST
from nemesis.games.config import family_settings
from nemesis.learners.data_parallel import any_of
from nemesis.storage.checkpoints import newest_valid
from nemesis.storage.metrics import Metrics, check_tracking
from nemesis.storage.run_directory import RunDirectory, environment
from nemesis.training.config import RunConfig
from nemesis.training.display import Display, open_display
from nemesis.training.process_group import is_secondary_process, process_group
from nemesis.training.reporter import Reporter
from nemesis.training.run import OpenMatchmaker, Run, self_play
from nemesis.training.summary import summary

_log = logging.getLogger(__name__)

_MAY_CHANGE = ("updates", "device", "threads", "evaluation", "checkpoints", "tracking")


def train(
    config: RunConfig,
    path: Path,
    console: Console | None = None,
    open_matchmaker: OpenMatchmaker = self_play,
    *,
    allow_imports: bool = False,
) -> None:
    """Start a run in a new directory and take it to its end.

    Policies that the config names may use the code that it names too, and any other with `allow_imports`.
    """
    check_tracking(config.tracking)
    with (
        process_group(config),
        closing(Run(config, path, open_matchmaker, allow_imports=allow_imports)) as run,
    ):
        if is_secondary_process():
            _run_secondary(run)
            return
        with RunDirectory.create(path, config.model_dump(mode="json")) as directory:
            run_to_end(run, directory, console or Console(), resumed=False)


def resume(
    path: Path,
    overrides: Sequence[str] = (),
    console: Console | None = None,
    open_matchmaker: OpenMatchmaker = self_play,
    *,
    allow_imports: bool = False,
) -> None:
    """Continue a run from its newest valid checkpoint; settings that keep it the same run may be changed."""
    console = console or Console()
    with nullcontext() if is_secondary_process() else RunDirectory.open(path) as directory:
        checkpoint, skipped = newest_valid(RunDirectory.checkpoints_of(path))
        config = build_config(RunConfig, checkpoint.config)
        check_imports(path, config.imports(), allowed=allow_imports)
        config = _changed(config, overrides)
        check_tracking(config.tracking)
        if checkpoint.update >= config.updates:
            raise UserError(
                f"{path} has finished its {config.updates} updates; "
                f"add some with `nemesis resume {path} updates={2 * config.updates}`."
            )
        with (
            process_group(config),
            closing(Run(config, path, open_matchmaker, new=False, allow_imports=allow_imports)) as run,
        ):
            run.restore(checkpoint)
            if directory is None:
                _run_secondary(run)
                return
            for sentence in skipped:
                _say(console, f"Warning: {sentence}", style="bold red")
            directory.change_config(config.model_dump(mode="json"))
            _log.info("Resuming with %s", environment())
            run_to_end(run, directory, console, resumed=True)


def run_to_end(run: Run, directory: RunDirectory, console: Console, resumed: bool) -> None:
    """Take a run to its end, reporting to the directory and the console; raises KeyboardInterrupt if interrupted."""
    config, root = run.config, directory.checkpoints_path
    title = f"{config.game} · {config.learner.algorithm} · {directory.path}"
    progress.clear()
    with (
        Metrics(directory, config.tracking, run.update if resumed else None) as metrics,
        open_display(title, config.updates, console) as display,
        _warnings_shown(display),
        progress.listening(display.activity),
        Interrupts() as interrupts,
    ):
        run.interrupts = interrupts
        _log.info("%s at update %d of %d", "Resumed" if resumed else "Started", run.update, config.updates)
        reporter = Reporter(display, run.clock, config, run.update, run.decisions, directory.metrics_path)
        if not resumed:
            run.matchmaker.begin()
            metrics.write(0, _evaluate(run, directory, reporter))
            run.save(root)
        while run.update < config.updates and not any_of(interrupts.requested, run.device):
            try:
                values = run.step()
            except StoppedError:
                break
            last = run.update == config.updates
            if last or run.update % config.evaluation.interval == 0:
                values |= _evaluate(run, directory, reporter)
            metrics.write(run.update, values | reporter.report(run.update, run.decisions, values))
            if last or run.update % config.checkpoints.interval == 0:
                metrics.flush()
                run.save(root)
        if run.update < config.updates:
            metrics.flush()
            run.save(root)
        _log.info("Ended at update %d", run.update)
    if run.update < config.updates:
        _say(
            console,
            f"Stopped and saved at update {run.update}; continue with `nemesis resume {directory.path}{_flag(run)}`.",
        )
        raise KeyboardInterrupt
    _conclude(run, directory, console, reporter)


def _evaluate(run: Run, directory: RunDirectory, reporter: Reporter) -> dict[str, float]:
    values = reporter.evaluated(run.update, run.evaluate())
    run.evaluator.keep_best(directory.path, run.policy, run.average, run.update, reporter.history)
    return values


def _conclude(run: Run, directory: RunDirectory, console: Console, reporter: Reporter) -> None:
    """Say what the run has achieved, and where it is."""
    for sentence in summary(reporter.history) if reporter.history else ():
        _say(console, sentence)
    if (directory.path / BEST).exists():
        _say(console, f"The policy with the best validation accuracy is {directory.path / BEST}.")
    folder = directory.replays_path / f"update-{run.update:08d}"
    if replay := run.evaluator.save_replays(run.policy, run.average, folder):
        _say(console, f"Watch one of its battles: {replay}")
    _say(console, f"The run is in {directory.path}; measure it with `nemesis evaluate {directory.path}{_flag(run)}`.")


def _flag(run: Run) -> str:
    """Return the option that commands on the run need, with a space before it; nothing for most runs."""
    return " --allow-imports" if run.config.imports() else ""


def _run_secondary(run: Run) -> None:
    """Take a run to its end in a process beside the one that reports it."""
    with Interrupts() as interrupts:
        while run.update < run.config.updates and not any_of(interrupts.requested, run.device):
            run.step()


def _changed(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Apply overrides to a run's own config, refusing those that would make it another run."""
    may_change = list(_MAY_CHANGE)
    for family, settings in family_settings().items():
        may_change += [f"{family}.{name}" for name in getattr(settings, "may_change", ())]
    for override in overrides:
        name = override.partition("=")[0].strip()
        known = name.partition(".")[0] in RunConfig.model_fields
        if known and not any(f"{name}.".startswith(f"{free}.") for free in may_change):
            raise ConfigError(
                f"{name} cannot change when a run is resumed; start a new run instead.\n"
                f"What can change: {', '.join(may_change)}."
            )
    return build_config(RunConfig, config.model_dump(mode="json"), overrides)


def _say(console: Console, sentence: str, style: str | None = None) -> None:
    """Print a sentence as it is, whatever brackets a path in it may have."""
    progress.clear()
    console.print(sentence, style=style, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _warnings_shown(display: Display) -> Iterator[None]:
    """Show the first line of the package's warnings on the display; the log has them in full."""

    def show(record: logging.LogRecord) -> None:
        line, _, _ = record.getMessage().partition("\n")
        display.message(f"Warning: {line}")

    handler = logging.Handler(logging.WARNING)
    handler.emit = show  # type: ignore[method-assign]
    logger = logging.getLogger("nemesis")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
