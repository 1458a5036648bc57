"""A run directory is never overwritten, has one writer at a time, and can be read by anyone."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from nemesis.storage.run_directory import RunDirectory, RunError

CONFIG = {"seed": 3, "game": "openspiel:kuhn_poker", "learner": {"name": "rnad", "beta": 0.5}}
HOLD = """
import sys
from pathlib import Path
from nemesis.storage.run_directory import RunDirectory
run = RunDirectory.open(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "x"


@contextmanager
def other_process_holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process  # it ends with its standard input


def test_a_new_run_writes_its_config_in_field_order(path):
    with RunDirectory.create(path, CONFIG):
        assert list(yaml.safe_load((path / "config.yaml").read_text())) == ["seed", "game", "learner"]
        assert RunDirectory.config_of(path) == CONFIG


def test_a_new_run_records_where_it_began_without_environment_variables(path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-hunter2")
    RunDirectory.create(path, CONFIG).close()
    text = (path / "environment.json").read_text()
    environment = json.loads(text)
    assert "hunter2" not in text
    assert environment["python"] == ".".join(map(str, sys.version_info[:3]))
    assert environment["cpus"] == os.cpu_count()
    assert {"torch", "numpy", "nemesis-rl"} <= set(environment["packages"])


def test_the_commit_of_the_working_directory_is_recorded(path, tmp_path, monkeypatch):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    (checkout / "notes.txt").write_text("one")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "begin"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (checkout / "notes.txt").write_text("two")
    monkeypatch.chdir(checkout)
    monkeypatch.setattr("nemesis.storage.run_directory.__file__", str(tmp_path / "site-packages" / "module.py"))
    RunDirectory.create(path, CONFIG).close()
    assert json.loads((path / "environment.json").read_text())["git"] == {"commit": commit, "dirty": True}


def test_a_run_is_never_overwritten(path):
    RunDirectory.create(path, CONFIG).close()
    with pytest.raises(RunError, match=f"nemesis resume {path}"):
        RunDirectory.create(path, {"seed": 4})
    assert RunDirectory.config_of(path) == CONFIG


def test_files_of_another_kind_are_not_mixed_with_a_run(path):
    path.mkdir(parents=True)
    (path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="choose another --run"):
        RunDirectory.create(path, CONFIG)
    assert [entry.name for entry in path.iterdir()] == ["thesis.tex"]


def test_a_creation_killed_before_its_config_was_written_can_be_repeated(path):
    RunDirectory.create(path, CONFIG).close()
    (path / "config.yaml").unlink()
    (path / ".tmp-config.yaml").write_text("se")
    RunDirectory.create(path, CONFIG).close()
    assert RunDirectory.config_of(path) == CONFIG


def test_a_file_cannot_be_a_run_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="choose another --run"):
        RunDirectory.create(tmp_path / "file", CONFIG)


def test_opening_where_there_is_no_run_says_how_to_start_one(path):
    with pytest.raises(RunError, match=f"nemesis train PRESET --run {path}"):
        RunDirectory.open(path)


def test_a_held_directory_is_refused_in_a_sentence_that_names_the_process(path):
    RunDirectory.create(path, CONFIG).close()
    with other_process_holding(path) as process:
        for take in (lambda: RunDirectory.open(path), lambda: RunDirectory.create(path, CONFIG)):
            with pytest.raises(RunError, match=rf"in use by process {process.pid} on \S+, since ") as refusal:
                take()
            assert "\n" not in str(refusal.value)


def test_readers_need_no_lock(path):
    RunDirectory.create(path, CONFIG).close()
    with other_process_holding(path):
        assert RunDirectory.config_of(path) == CONFIG
        assert RunDirectory.checkpoints_of(path) == path / "checkpoints"


def test_kill_minus_nine_frees_the_directory(path):
    RunDirectory.create(path, CONFIG).close()
    with other_process_holding(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert json.loads((path / "holder.json").read_text())["pid"] == process.pid
        with RunDirectory.open(path):
            assert json.loads((path / "holder.json").read_text())["pid"] == os.getpid()


def test_one_process_cannot_hold_a_directory_twice(path):
    with RunDirectory.create(path, CONFIG), pytest.raises(RunError, match=f"process {os.getpid()} "):
        RunDirectory.open(path)
    RunDirectory.open(path).close()


def test_a_run_logs_to_its_own_file_while_it_is_open(tmp_path):
    logger = logging.getLogger("nemesis.anything")
    level = logging.getLogger("nemesis").level
    with RunDirectory.create(tmp_path / "a", CONFIG) as first:
        logger.info("in the first")
    logger.info("in neither")
    with RunDirectory.create(tmp_path / "b", CONFIG) as second:
        logger.info("in the second")
    assert "in the first" in first.log_path.read_text()
    assert "in the second" in second.log_path.read_text()
    assert len(first.log_path.read_text().splitlines()) == len(second.log_path.read_text().splitlines()) == 1
    assert logging.getLogger("nemesis").handlers == []
    assert logging.getLogger("nemesis").level == level


def test_runs_open_at_once_leave_logging_as_it_was_in_whatever_order_they_close(tmp_path):
    level = logging.getLogger("nemesis").level
    first, second = RunDirectory.create(tmp_path / "a", CONFIG), RunDirectory.create(tmp_path / "b", CONFIG)
    first.close()
    logging.getLogger("nemesis.anything").info("still here")
    second.close()
    assert "still here" in second.log_path.read_text()
    assert logging.getLogger("nemesis").level == level
