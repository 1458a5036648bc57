"""Rules of the package that no linter knows: only a game's own files name it, and files stay small."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "nemesis"
# Words by which a game would be named, and where they may stand.
GAMES = {
    "pokemon": ("pokemon", "pokémon", "showdown", "poke_env", "poke-env"),
    "rocket_league": ("rocket", "rlgym", "rlbot", "soccar"),
    "openspiel": ("pyspiel",),
}
SOURCES = ("nemesis/*.py", "nemesis/*.js", "nemesis/*.c", "nemesis/*.h")
MOST_MODULES, MOST_LINES, MOST_FUNCTION_LINES = 16, 400, 60


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("the files of the package are known by git")
    return [ROOT / name for name in listed.stdout.split("\n") if name and (ROOT / name).exists()]


@pytest.mark.parametrize("game", GAMES)
def test_only_the_files_of_a_game_name_it(game: str):
    own = [PACKAGE / "games" / game, PACKAGE / "deploy" / game, PACKAGE / "presets", PACKAGE / "shipped"]
    for path in tracked("nemesis/*.py"):
        if not any(folder in path.parents for folder in own):
            text = path.read_text(encoding="utf-8").lower()
            assert not [word for word in GAMES[game] if word in text], path


def test_no_folder_has_too_many_modules():
    files = tracked(*SOURCES)
    for folder in {path.parent for path in files}:
        modules = [path for path in files if path.parent == folder and path.name != "__init__.py"]
        assert len(modules) <= MOST_MODULES, folder


def test_no_file_or_function_is_too_long():
    for path in tracked(*SOURCES):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MOST_LINES, path
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    lines = (node.end_lineno or node.lineno) - node.lineno + 1
                    assert lines <= MOST_FUNCTION_LINES, f"{path}: {node.name}"


def test_the_architecture_page_lists_every_file_and_none_that_is_gone():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed, folders = set(), []
    for line in page[page.index("    nemesis/\n") :].splitlines():
        match = re.fullmatch(r"    ( *)(\S+?)(/?)(?:  +(.+))?", line)
        if not line.strip():
            continue
        if match is None:
            break
        depth, name, is_folder, words = len(match[1]) // 2, match[2], match[3], match[4]
        folders = folders[:depth]
        assert words or depth == 0, f"{line} has no words"
        if is_folder:
            folders.append(name)
        else:
            listed.add("/".join([*folders, name]))
    files = {path.relative_to(ROOT).as_posix() for path in tracked(*SOURCES) if path.name != "__init__.py"}
    assert files - listed == set(), "not on the page"
    assert listed - files == set(), "on the page, but gone"
