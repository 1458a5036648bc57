"""Whatever ends a run, its last finished update is saved, run.log says what it was, and the run can be resumed."""

import errno
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pytest
import torch
from duel import Duel, register
from rich.console import Console

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.interrupts import SIGNALS, Interrupted
from nemesis.evaluation.run_evaluation import BEST, RunEvaluator
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policies import find_checkpoint
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run

torch.set_num_threads(1)

UPDATES = 6
SETTINGS = {
    "game": "duel:plain",
    "updates": UPDATES,
    "collection": {"slots": 16, "decisions": 64},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo"},
    "evaluation": {"interval": 2, "matches": 2, "opponents": ["bold"]},
    "checkpoints": {"interval": 100},
    "tracking": {"tensorboard": False},
}


@pytest.fixture(autouse=True)
def duel(monkeypatch: pytest.MonkeyPatch) -> Duel:
    """The game of every run."""
    return register(monkeypatch, Duel())


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """Handle signals as a process does that was not started in the background or under nohup."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def config(*overrides: str) -> RunConfig:
    return build_config(RunConfig, SETTINGS, overrides)


def console() -> Console:
    return Console(file=StringIO(), width=200)


def recorded(path: Path) -> list[int]:
    return [line["update"] for line in read_metrics(path / "metrics.jsonl")]


def log(path: Path) -> str:
    return RunDirectory.log_of(path).read_text()


@contextmanager
def disturbed(owner: object, name: str, call: int, action: Callable[[], object]) -> Iterator[None]:
    """Let something happen before the n-th call of a function, the first being 0."""
    function, calls = getattr(owner, name), count()

    def wrapped(*arguments: object, **options: object) -> object:
        if next(calls) == call:
            action()
        return function(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, wrapped)
        yield


def sent(*numbers: signal.Signals) -> Callable[[], object]:
    return lambda: [signal.raise_signal(number) for number in numbers]


def raised(error: BaseException) -> Callable[[], object]:
    def action() -> None:
        raise error

    return action


MOMENTS = {
    "the first evaluation": (Run, "evaluate", 0, 0),
    "the first checkpoint": (Run, "save", 0, 0),
    "an update": (Run, "step", 2, 3),
    "an evaluation": (Run, "evaluate", 1, 2),
    "the last evaluation": (Run, "evaluate", 3, UPDATES),
    "the last checkpoint": (Run, "save", 1, UPDATES),
    "the conclusion": (RunEvaluator, "save_replays", 0, UPDATES),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_loses_no_finished_update_whatever_the_run_is_doing(moment: str, tmp_path: Path):
    owner, name, call, update = MOMENTS[moment]
    with disturbed(owner, name, call, sent(signal.SIGHUP)), pytest.raises(Interrupted) as ended:
        train(config(), tmp_path, console())
    assert ended.value.exit_code == 129
    assert find_checkpoint(tmp_path).update == update
    assert recorded(tmp_path) == list(range(update + 1))
    assert "Ended by SIGHUP." in log(tmp_path)
    resume(tmp_path, [f"updates={update + 2}"], console())
    assert recorded(tmp_path) == list(range(update + 3))


def test_a_second_signal_while_saving_leaves_the_checkpoint_before(tmp_path: Path):
    twice = sent(signal.SIGTERM, signal.SIGTERM)
    with disturbed(os, "fsync", 40, twice), pytest.raises(Interrupted, match="SIGTERM"):
        train(config("checkpoints.interval=1"), tmp_path, console())
    assert "Ended by SIGTERM." in log(tmp_path)
    saved = find_checkpoint(tmp_path).update
    assert recorded(tmp_path)[-1] - saved <= 1
    resume(tmp_path, console=console())
    assert recorded(tmp_path) == list(range(UPDATES + 1))


def test_a_signal_while_a_run_is_resumed_is_logged(tmp_path: Path):
    train(config("updates=2"), tmp_path, console())
    with disturbed(Run, "restore", 0, sent(signal.SIGTERM)), pytest.raises(Interrupted, match="SIGTERM"):
        resume(tmp_path, ["updates=4"], console())
    assert "Ended by SIGTERM." in log(tmp_path)
    assert find_checkpoint(tmp_path).update == 2


def read_until_called(reader: int) -> Callable[[], None]:
    """Read a pipe, so that it does not fill up, until the function that this returns is called; then close it."""
    closing = Event()

    def read() -> None:
        with os.fdopen(reader, "rb", buffering=0) as file:
            while not closing.is_set():
                if select.select([file], [], [], 0.05)[0]:
                    file.read(1 << 16)

    thread = Thread(target=read, daemon=True)
    thread.start()

    def close() -> None:
        closing.set()
        thread.join()

    return close


@pytest.mark.parametrize("terminal", [False, True])
def test_a_closed_output_saves_and_ends_the_run(tmp_path: Path, terminal: bool):
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w", encoding="utf-8")
    with disturbed(Run, "step", 2, read_until_called(reader)), pytest.raises(Interrupted) as ended:
        train(config("updates=100000"), tmp_path, Console(file=stream, width=200, force_terminal=terminal))
    os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
    stream.close()
    assert ended.value.exit_code == 141
    assert "Ended by a closed standard output (Broken pipe)." in log(tmp_path)
    assert find_checkpoint(tmp_path).update == recorded(tmp_path)[-1] >= 3


def test_an_exception_in_an_evaluation_is_logged_and_loses_no_update(tmp_path: Path):
    with disturbed(Run, "evaluate", 2, lambda: 1 // 0), pytest.raises(ZeroDivisionError):
        train(config(), tmp_path, console())
    assert find_checkpoint(tmp_path).update == 4
    assert "Ended by an unexpected ZeroDivisionError.\nTraceback" in log(tmp_path)


def test_a_user_error_is_logged_as_its_sentence(tmp_path: Path):
    with disturbed(Run, "step", 1, raised(UserError("Something broke."))), pytest.raises(UserError, match="broke"):
        train(config("checkpoints.interval=1000"), tmp_path, console())
    assert "Ended by an error: Something broke.\n" in log(tmp_path)
    assert find_checkpoint(tmp_path).update == recorded(tmp_path)[-1] == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ESTALE])
def test_a_disk_that_cannot_be_written_is_said_and_logged(tmp_path: Path, number: int):
    problem = OSError(number, os.strerror(number))
    with disturbed(Run, "evaluate", 1, raised(problem)), pytest.raises(UserError, match="cannot be written"):
        train(config(), tmp_path, console())
    assert f"Ended by an error: {tmp_path} cannot be written ({os.strerror(number)}); free" in log(tmp_path)


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOENT])
def test_a_folder_that_changes_during_a_run_is_said_and_logged(tmp_path: Path, number: int):
    run = tmp_path / "run"
    problem = OSError(number, os.strerror(number), str(run / "metrics.jsonl"))
    with disturbed(Run, "evaluate", 1, raised(problem)), pytest.raises(UserError, match="cannot be written"):
        train(config(), run, console())
    assert f"Ended by an error: {run} cannot be written ({os.strerror(number)}); free" in log(run)
    elsewhere = OSError(number, os.strerror(number), str(tmp_path / "other"))
    with disturbed(Run, "evaluate", 1, raised(elsewhere)), pytest.raises(type(problem)):
        train(config(), tmp_path / "second", console())


def test_a_branch_may_replace_an_empty_folder_but_not_the_one_that_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    train(config("updates=2"), tmp_path / "run", console())
    (tmp_path / "run" / BEST).write_bytes(b"damaged")  # which a branch can do without
    (tmp_path / "new").mkdir()
    resume(tmp_path / "run", ["updates=3"], console(), new=tmp_path / "new")
    assert recorded(tmp_path / "new") == [0, 1, 2, 3]
    assert not (tmp_path / "new" / BEST).exists()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UserError, match=r"here is the folder that you are in; choose another --run\."):
        resume(tmp_path / "run", ["updates=3"], console(), new=Path())


def test_checkpoints_are_saved_by_time_too(tmp_path: Path):
    train(config("updates=3", "checkpoints.minutes=1e-9"), tmp_path, console())
    saved = sorted(int(path.name.removeprefix("update-")) for path in (tmp_path / "checkpoints").iterdir())
    assert saved == [0, 2, 3]  # the three that are kept


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ([], r"has finished its 2 updates; add some with `nemesis resume .* updates=4`"),
        (["updates=1"], r"is at update 2, and updates=1 asks for no more; add some with .* updates=4`"),
    ],
)
def test_a_resumption_that_asks_for_no_more_updates_is_told_where_the_run_is(
    tmp_path: Path, asked: list[str], sentence: str
):
    train(config("updates=2"), tmp_path, console())
    with pytest.raises(UserError, match=sentence):
        resume(tmp_path, asked, console())


def test_the_log_level_is_chosen_by_option_or_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    preset = tmp_path / "preset.yaml"
    train(config("updates=1"), tmp_path / "run", console())
    preset.write_text((tmp_path / "run" / "config.yaml").read_text())
    assert main(["train", str(preset), "--run", str(tmp_path / "quiet"), "--log-level", "error"]) == 0
    assert log(tmp_path / "quiet") == ""
    with monkeypatch.context() as patch:
        patch.setenv("NEMESIS_LOG_LEVEL", "debug")
        assert main(["train", str(preset), "--run", str(tmp_path / "loud")]) == 0
    assert "DEBUG nemesis.storage.checkpoints: Saved" in log(tmp_path / "loud")
    assert "DEBUG" not in log(tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "update-00000001" / "state.json").write_text("{}")
    for level, shown in (("error", False), ("warning", True)):
        assert main(["evaluate", str(tmp_path / "run"), "--matches", "2", "--log-level", level]) == 0
        assert ("WARNING nemesis.storage.checkpoints: Skipped" in capfd.readouterr().err) == shown


def test_a_branch_needs_a_checkpoint_that_is_kept_and_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    run, new = tmp_path / "run", tmp_path / "new"
    train(config("updates=2"), run, console())
    assert main(["resume", str(run), "--checkpoint", "1", "--run", str(new)]) == 2
    assert f"There is no checkpoint of update 1 in {run / 'checkpoints'}; there are: 0, 2.\n" in capfd.readouterr().err
    assert main(["resume", str(run), "--checkpoint", "0"]) == 2
    assert f"--checkpoint 0 would discard what {run} learned later; branch to a new" in capfd.readouterr().err
    assert main(["resume", str(run), "--run", str(new)]) == 2  # it would be finished
    assert not new.exists()
    assert main(["resume", str(run), "--checkpoint", "0", "--run", str(new)]) == 0
    assert (recorded(run), recorded(new)) == ([0, 1, 2], [0, 1, 2])
    assert "Resumed at update 0 of 2" in log(new)
