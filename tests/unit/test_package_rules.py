"""Rules of the package that no linter knows: only a game's own files name it, and files stay small."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from functools import partial
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
MOST_UNLISTED_LINES = 30  # of an __init__.py that the architecture page need not list

# Words that the glossary of docs/architecture.md replaces by others.
REPLACED = re.compile(
    r"casts?|lineups?|oppositions?|harvest(s|ed)?|retelling|retold|nurser(y|ies)|rivals?|deeds?|foresight|foretold|"
    r"thoughts|opinions|victims?|judge[sd]?|left off|begin anew"
)
STOCK = re.compile(r"stock(?!.{0,24}simulator)")  # the stock simulator is the one without overlay
SHARED_BY_BENCHMARKS = {
    "memory.py",
    "native_replay.py",
    "native_shrinking.py",
    "replay_comparison.py",
    "report.py",
    "rlbot_packets.py",
}
GENERIC_PAGES = ("data", "environments", "extending", "reproducibility", "training")  # of docs/


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
    files = {
        path.relative_to(ROOT).as_posix()
        for path in tracked("nemesis")
        if path.name != "__init__.py" or len(path.read_text(encoding="utf-8").splitlines()) > MOST_UNLISTED_LINES
    }
    assert {name for name in files if not any(map(partial(fnmatch, name), listed))} == set(), "not on the page"
    assert {name for name in listed if not filter_names(files, name)} == set(), "on the page, but gone"


def test_benchmarks_are_commands_and_what_they_share():
    modules = {path for path in tracked("benchmarks/*.py") if path.parent == ROOT / "benchmarks"}
    commands = {path for path in modules if '__name__ == "__main__"' in path.read_text(encoding="utf-8")}
    assert {path.name for path in modules - commands} == SHARED_BY_BENCHMARKS | {"__init__.py"}


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the identifiers, comments and docstrings of a module, or the lines of a page, in lower case."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(re.sub(r"`[^`\n]*`", "", text).lower().splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string != "cast":  # of typing
            yield token.start[0], re.sub(r"(?<=[a-z])(?=[A-Z])", " ", token.string).replace("_", " ").lower()
        elif token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lower()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, re.sub(r"`[^`]*`", "", node.value.value).lower()


def uses(paths: list[Path], words: re.Pattern[str]) -> list[str]:
    whole = re.compile(rf"\b(?:{words.pattern})\b")
    return [
        f"{path.relative_to(ROOT)}:{line}: {found[0]}"
        for path in paths
        for line, text in words_of(path)
        if (found := whole.search(text))
    ]


def test_words_that_the_glossary_replaces_are_not_used():
    pages = tracked("docs/*.md", "README.md")
    assert uses([*tracked("nemesis/*.py", "benchmarks/*.py"), *pages], REPLACED) == []
    assert uses([*tracked("nemesis/*.py"), *pages], STOCK) == []


def test_only_pokemon_has_battles():
    own = [PACKAGE / folder for folder in ("games/pokemon", "deploy/pokemon", "presets", "shipped")]
    modules = [path for path in tracked("nemesis/*.py") if not any(folder in path.parents for folder in own)]
    assert uses([*modules, *(ROOT / "docs" / f"{name}.md" for name in GENERIC_PAGES)], re.compile("battles?")) == []
