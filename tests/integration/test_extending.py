"""A family of games as an installed package, with the game of docs/extending.md: its settings, commands and checks."""

import json
import os
import subprocess
import sys
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


def test_an_installed_package_brings_a_family_with_its_settings_commands_and_checks(tmp_path: Path):
    """What pip would install: a module, and metadata that names an entry point."""
    files = {block.file: block.text for block in blocks(ROOT / "docs" / "extending.md") if block.file}
    (tmp_path / "rps.py").write_text(files["rps.py"], encoding="utf-8")
    (tmp_path / "board_games.py").write_text(FAMILY, encoding="utf-8")
    information = tmp_path / "board_games-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: board-games\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text("[nemesis.games]\nboard = board_games:FAMILY\n", encoding="utf-8")
    (tmp_path / "board.yaml").write_text(files["first.yaml"].replace("rps:RockPaperScissors", "board:rps"))
    fields, trained, resumed, command, doctor, exported, refused, unknown = run(
        tmp_path,
        ("config", "fields", "board"),
        ("train", "board.yaml", "updates=2", "board.rounds=2", "--run", "runs/board"),
        ("resume", "runs/board", "updates=3"),
        ("board", "count", "2"),
        ("doctor",),
        ("export", "text", "runs/board", "rps.txt"),
        ("export", "binary", "runs/board", "rps.txt"),
        ("train", "board.yaml", "game=cards:rps"),
    )
    assert "board.rounds" in fields[1], fields[2]
    assert trained[0] == 0, trained[2]
    assert resumed[0] == 0, resumed[2]  # a registered family needs no permission
    assert "played 2 rounds" in command[1]
    assert "board games" in doctor[1]
    assert exported[1].strip() == "rps.txt: board:rps after update 3"
    assert "cannot be exported as binary, only as text or, without a format, as a policy file." in refused[2]
    assert unknown[0] == 2
    assert "There is no module 'cards'" in unknown[2]


FAMILY = """
from pydantic import Field

from nemesis.core.commands import Command, CommandGroup
from nemesis.core.family import Family
from nemesis.core.settings import Settings


class BoardSettings(Settings):
    rounds: int = Field(3, ge=1, description="rounds of a match")


def open_game(name, settings):
    import dataclasses
    import rps

    rps.ROUNDS = (settings or BoardSettings()).rounds
    game = rps.RockPaperScissors()
    game.spec = dataclasses.replace(game.spec, name=f"board:{name}")
    return game


def count(rounds: int, /):
    \"\"\"Count rounds.\"\"\"
    print(f"played {rounds} rounds")


def checks():
    return [("board games", "ready")]


def as_text(policy, file):
    file.write_text(policy.saved.game)
    return f"{file}: {policy.saved.game} after update {policy.saved.update}"


FAMILY = Family(
    name="board",
    example="rps",
    open_game="board_games:open_game",
    settings="board_games:BoardSettings",
    commands=[CommandGroup("board", "Board games.", [Command("count", "Count rounds.", "board_games:count")])],
    checks="board_games:checks",
    exporters={"text": "board_games:as_text"},
)
"""
