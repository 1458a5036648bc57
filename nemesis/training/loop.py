"""The training loop: start or resume a run, and take it to its end."""

import errno
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console

from nemesis.core import progress
from nemesis.core.errors import UserError
from nemesis.core.interrupts import Interrupted, Interrupts, StoppedError, interruptible
from nemesis.evaluation.run_evaluation import BEST
from nemesis.learners.data_parallel import any_of
from nemesis.storage.metrics import Metrics, check_tracking
from nemesis.storage.run_directory import RunDirectory, environment, log_end, log_level, log_to_run
from nemesis.training.branching import branch
from nemesis.training.config import RunConfig
from nemesis.training.display import Display, open_display
from nemesis.training.process_group import is_secondary_process, process_group
from nemesis.training.reporter import Reporter
from nemesis.training.resumption import check_resumption, continued_config, found_checkpoint
from nemesis.training.run import OpenMatchmaker, Run, self_play
from nemesis.training.summary import summary

_log = logging.getLogger(__name__)

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


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
    config = config.pinned()
    with (
        interruptible(),
        process_group(config),
        closing(Run(config, path, open_matchmaker, allow_imports=allow_imports)) as run,
    ):
        if is_secondary_process():
            _run_secondary(run, path)
            return
        with RunDirectory.create(path, config.model_dump(mode="json")) as directory:
            run_to_end(run, directory, console or Console(), resumed=False)


def resume(
    path: Path,
    overrides: Sequence[str] = (),
    console: Console | None = None,
    open_matchmaker: OpenMatchmaker = self_play,
    *,
    checkpoint: int | None = None,
    new: Path | None = None,
    allow_imports: bool = False,
) -> None:
    """Continue a run from its newest valid checkpoint; settings that keep it the same run may be changed.

    With a `new` folder, the run is left as it is, and a new run continues from its newest checkpoint or a chosen one.
    """
    check_resumption(path, overrides, checkpoint=checkpoint, new=new, allow_imports=allow_imports)
    with interruptible():
        if new is not None and not is_secondary_process():
            found, _ = found_checkpoint(path, checkpoint)
            continued_config(path, found, overrides, allow_imports=allow_imports)
            branch(path, found, new)
            path, checkpoint = new, None
        with nullcontext() if is_secondary_process() else RunDirectory.open(path) as directory:
            found, skipped = found_checkpoint(path, checkpoint)
            config = continued_config(path, found, overrides, allow_imports=allow_imports)
            with (
                process_group(config),
                closing(Run(config, path, open_matchmaker, new=False, allow_imports=allow_imports)) as run,
            ):
                run.restore(found)
                if directory is None:
                    _run_secondary(run, path)
                    return
                directory.change_config(config.model_dump(mode="json"))
                _log.info("Resuming with %s", environment())
                run_to_end(run, directory, console or Console(), resumed=True, skipped=skipped)


def run_to_end(run: Run, directory: RunDirectory, console: Console, resumed: bool, skipped: Sequence[str] = ()) -> None:
    """Take a run to its end, reporting to the directory and the console; raises `Interrupted` if it is interrupted.

    `skipped` are sentences about damaged checkpoints.
    """
    interrupts = Interrupts()
    directory.running = True
    with _watched(console, interrupts), _disk_errors_explained(directory.path):
        for sentence in skipped:
            _say(console, f"Warning: {sentence}", style="bold red")
        with interrupts:
            reporter = _train(run, directory, console, interrupts, resumed)
        finished = run.update == run.config.updates
        if finished and not interrupts.requested:
            _conclude(run, directory, console, reporter)
        elif finished:
            _say(console, f"The run has finished its {run.update} updates; it is saved in {directory.path}.")
        else:
            command = f"nemesis resume {directory.path}{_flag(run)}"
            _say(console, f"Stopped and saved at update {run.update}; continue with `{command}`.")
    if interrupts.requested or not finished:
        raise interrupts.cause or Interrupted("a signal to another process of the run", 143)


def _train(run: Run, directory: RunDirectory, console: Console, interrupts: Interrupts, resumed: bool) -> Reporter:
    """Learn until the last update or a request to stop, and save what was learned."""
    config, root = run.base, directory.checkpoints_path
    title = f"{config.game} · {config.learner.algorithm} · {directory.path}"
    progress.clear()
    with (
        open_display(title, config.updates, console) as display,
        progress.warnings_shown(lambda text: display.message(text.splitlines()[0])),  # the log has all
        progress.listening(display.activity),
        Metrics(directory, config.tracking, run.update if resumed else None) as metrics,
    ):
        run.interrupts = interrupts
        _log.info("%s at update %d of %d", "Resumed" if resumed else "Started", run.update, config.updates)
        since = run.curriculum.since
        reporter = Reporter(display, run.clock, run.config, run.update, run.decisions, directory.metrics_path, since)
        if not resumed:
            run.matchmaker.begin()
            metrics.write(0, _evaluate(run, directory, reporter))
            run.save(root)
        elif run.evaluation_is_missing:
            metrics.write(run.update, _evaluate(run, directory, reporter))
        while run.update < config.updates and not any_of(interrupts.requested, run.device):
            try:
                with _saved_on_failure(run, root):
                    _change_stage(run, root, reporter, display, metrics)
                    values = run.step()
            except StoppedError:
                break
            with _saved_on_failure(run, root):
                values |= _evaluate(run, directory, reporter) if run.evaluation_is_due else run.curriculum.metrics()
                rates = reporter.report(run.update, run.decisions, values, str(run.curriculum))
                metrics.write(run.update, values | rates)
            if run.save_is_due:
                metrics.flush()
                run.save(root)
        if run.update < config.updates:
            metrics.flush()
            run.save(root)
        _log.info("Ended at update %d", run.update)
    return reporter


def _evaluate(run: Run, directory: RunDirectory, reporter: Reporter) -> dict[str, float]:
    values = reporter.evaluated(run.update, run.evaluate())
    run.evaluator.keep_best(directory.path, run.policy, run.average, run.update, reporter.history)
    return values | run.curriculum.metrics()


def _change_stage(run: Run, root: Path, reporter: Reporter, display: Display, metrics: Metrics) -> None:
    """Let the run go on in another stage if its curriculum calls for it, and save that at once."""
    transition = run.change_stage()
    if transition is None:
        return
    _log.info("%s", transition)
    display.message(str(transition))
    reporter.enter_stage(run.config)
    metrics.flush()
    run.save(root)


def _conclude(run: Run, directory: RunDirectory, console: Console, reporter: Reporter) -> None:
    """Say what the run has achieved, and where it is."""
    for sentence in summary(reporter.history) if reporter.history else ():
        _say(console, sentence)
    if story := run.curriculum.story():
        _say(console, story)
    if (directory.path / BEST).exists():
        _say(console, f"The policy with the best validation accuracy is {directory.path / BEST}.")
    folder = directory.replays_path / f"update-{run.update:08d}"
    if replay := run.evaluator.save_replays(run.policy, run.average, folder):
        _say(console, f"Watch one of its matches: {replay}")
    _say(console, f"The run is in {directory.path}; measure it with `nemesis evaluate {directory.path}{_flag(run)}`.")


def _flag(run: Run) -> str:
    """Return the option that commands on the run need, with a space before it; nothing for most runs."""
    return " --allow-imports" if run.base.imports() else ""


def _run_secondary(run: Run, folder: Path) -> None:
    """Take a run to its end in a process beside the one that reports it."""
    try:
        with Interrupts() as interrupts:
            while run.update < run.config.updates and not any_of(interrupts.requested, run.device):
                run.step()
    except BaseException as error:
        if folder.is_dir():
            log_to_run(folder, log_level())
            log_end(error)
        raise


@contextmanager
def _watched(console: Console, interrupts: Interrupts) -> Iterator[None]:
    """Let a console that can no longer be written stop the run."""
    file = console.file
    console.file = interrupts.watched(file)
    try:
        yield
    finally:
        console.file = file


@contextmanager
def _saved_on_failure(run: Run, root: Path) -> Iterator[None]:
    """Save the last finished update if what follows fails, unless the next one had begun to change the weights."""
    try:
        yield
    except StoppedError:
        raise
    except Exception:
        try:
            if run.intact:
                run.save(root)
        except (UserError, OSError) as error:
            _log.error("Update %d is not saved: %s", run.update, error)
        raise


@contextmanager
def _disk_errors_explained(folder: Path) -> Iterator[None]:
    """Turn the error of a full or read-only disk into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); free or repair the disk, then continue with "
            f"`nemesis resume {folder}`."
        ) from error


def _say(console: Console, sentence: str, style: str | None = None) -> None:
    """Print a sentence as it is, whatever brackets a path in it may have."""
    progress.clear()
    console.print(sentence, style=style, highlight=False, markup=False, soft_wrap=True)
