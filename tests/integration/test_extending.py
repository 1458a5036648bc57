"""docs/extending.md: every file and every command of the page works, as a reader would try them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page."""
    folder = tmp_path_factory.mktemp("extending")
    for text in blocks("python") + blocks("yaml"):
        name = text.partition("\n")[0].removeprefix("# ")
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def nemesis(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(PAGE.parents[1])}
    command = [sys.executable, "-m", "nemesis", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_every_command_of_the_page_works(folder: Path):
    commands = [line for text in blocks("sh") for line in text.splitlines() if line]
    assert len(commands) == 5
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "nemesis"
        done = nemesis(folder, *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        if arguments[0] == "evaluate":
            assert "runs/first against copycat:beat_last: win rate" in done.stderr
    lines = [json.loads(line) for line in (folder / "runs" / "fourth" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["learner/seen"] > 0

    refused = nemesis(folder, "resume", "runs/first", "updates=21")
    assert refused.returncode == 2
    assert "names code to import: rps:RockPaperScissors" in refused.stderr
    assert "--allow-imports" in refused.stderr
    assert nemesis(folder, "resume", "runs/first", "updates=21", "--allow-imports").returncode == 0
    exported = nemesis(folder, "export", "runs/first", "mine.safetensors", "--allow-imports")
    assert exported.returncode == 0, exported.stderr
    assert "names code to import" in nemesis(folder, "evaluate", "mine.safetensors").stderr
