"""A family of games as an installed package, that of docs/extending.md: its settings, commands and checks."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from doc_pages import ROOT, blocks

DRIVER = """
import contextlib, io, json, sys
from nemesis.cli import main

done = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    done.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""


def run(folder: Path, *commands: Sequence[str]) -> list[tuple[int, str, str]]:
    """Run commands in a process of its own, because families are found once: exit code, output and errors of each."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
    command = [sys.executable, "-c", DRIVER, json.dumps(commands)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [tuple(one) for one in json.loads(done.stdout)]


def install(folder: Path) -> list[list[str]]:
    """Do what pip would with the package of the page; returns the commands that the page gives for it."""
    found = blocks(ROOT / "docs" / "extending.md")
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    (package,) = (tomllib.loads(block.text)["project"] for block in found if block.language == "toml")
    name, version = package["name"], package["version"]
    information = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    for group, points in package["entry-points"].items():
        lines = [f"[{group}]", *(f"{point} = {place}" for point, place in points.items())]
        (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (commands,) = (block.text.splitlines() for block in found if block.language == "text")
    return [shlex.split(command)[1:] for command in commands]


def test_an_installed_package_brings_a_family_with_its_settings_commands_and_checks(tmp_path: Path):
    """The package of the page, and the commands that the page gives for it."""
    commands = install(tmp_path)
    refused = ["export", "binary", "runs/board", "rps.txt"], ["train", "first.yaml", "game=cards:rps"]
    fields, trained, resumed, command, doctor, exported, binary, unknown = run(tmp_path, *commands, *refused)
    assert "board.rounds" in fields[1], fields[2]
    assert trained[0] == 0, trained[2]
    assert resumed[0] == 0, resumed[2]  # a registered family needs no permission
    assert "counted 2 rounds" in command[1]
    assert "board games" in doctor[1]
    assert exported[1].strip() == "rps.txt: board:rps after update 21"
    assert "cannot be exported as binary, only as text or, without a format, as a policy file." in binary[2]
    assert unknown[0] == 2
    assert "There is no module 'cards'" in unknown[2]
