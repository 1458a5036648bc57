"""The documentation tells the truth: its code runs, and what it names exists."""

import ast
import fnmatch
import gzip
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pyspiel
import pytest
from doc_pages import PAGES, ROOT, Reader, blocks, check_arguments, check_extras, nemesis, prose, working_directory

from benchmarks.replay_round_trip import play
from nemesis.core.config import ConfigError, build_config, describe
from nemesis.games import open_game
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.game import PokemonGame
from nemesis.policies.policy import Policy
from nemesis.training.config import RunConfig

REPLAYS = 10
# What a page takes as given, besides what its own commands make.
PLAYER = "from poke_env.player import RandomPlayer\n\n\nclass MyPlayer(RandomPlayer):\n    pass\n"

pages = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a reader has: replays of people, teams, and a player of poke-env."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "saved").mkdir()
    game = open_game("pokemon:gen9vgc2025regi")
    assert isinstance(game, PokemonGame)
    _, logs = play(game, REPLAYS, 3, tmp_path_factory.mktemp("battles"))
    replays = [
        {"id": f"gen9vgc2025regi-{match}", "log": re.sub(r"\|(One|Other)\b", rf"|\1 {match}", log)}
        for match, log in logs.items()
    ]
    for replay in replays[1:]:
        (folder / "saved" / f"{replay['id']}.json").write_text(json.dumps(replay), encoding="utf-8")
    (folder / "more.jsonl.gz").write_bytes(gzip.compress(json.dumps(replays[0]).encode()))
    shutil.copytree(ROOT / "nemesis" / "games" / "pokemon" / "teams" / "sets" / "gen9ou", folder / "my_teams")
    (folder / "my_package").mkdir()
    (folder / "my_package" / "players.py").write_text(PLAYER, encoding="utf-8")
    return folder


@pages
def test_the_code_of_a_page_runs(page: Path, given: Path, tmp_path: Path):
    folder = Path(shutil.copytree(given, tmp_path / "reader"))
    with working_directory(folder):
        Reader(page).try_all()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "nemesis train khun --run runs/x"),
        ("sh", "nemesis train kuhn --runs runs/x"),
        ("sh", "nemesis train kuhn learner.learning_rat=1"),
        ("sh", "nemesis evaluate runs/nowhere"),
        ("sh", "torchrun --nproc-per-nodes 4 -m -- nemesis config list"),
        ("sh", "make trian"),
        ("sh", "python -m benchmarks.pool_speed --fast"),
        ("sh", "pytest tests/unit/test_nothing.py"),
        ("sh", "pip install 'nemesis-rl[nothing]'"),
        ("sh", "rm -rf runs"),
        ("console", "$ nemesis train khun\nkhun is a preset."),
        ("python", "import nemesis\nnemesis.load_polic"),
        ("yaml", "collection: {slot: 1}"),
        ("toml", "[project.entry-points.nemesis]"),
        ("", "nemesis config list"),
    ],
)
def test_a_wrong_snippet_fails(language: str, text: str, tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(f"```{language}\n{text}\n```\n", encoding="utf-8")
    with working_directory(tmp_path), pytest.raises((AssertionError, AttributeError, ConfigError)):
        Reader(page).try_all()


@pages
def test_commands_stand_in_blocks_that_are_run(page: Path):
    commands = re.findall(r"^ {4,}(?:\$ )?(?:nemesis|make|python|pip|torchrun|pytest) .*$", prose(page), re.MULTILINE)
    assert not commands, "put them into a fenced block of sh"


@pages
def test_the_settings_that_a_page_names_exist(page: Path):
    groups = {path.partition(".")[0] for path in settings() if "." in path} - {"game"}
    for span in spans(page):
        words = span.split()
        if all(re.fullmatch(r"[a-z_]+(\.[a-z_]+)*=.*", word) and setting_of(word) in settings() for word in words):
            check_values(words)
        elif re.fullmatch(r"[a-z_]+(\.[a-z_]+)+(=.*)?", span) and span.partition(".")[0] in groups:
            is_attribute = span.startswith("policy.") and hasattr(Policy, span.removeprefix("policy."))
            assert is_attribute or setting_of(span) in settings(), span


@pages
def test_the_commands_and_options_that_a_page_names_exist(page: Path):
    for span in spans(page):
        words = span.split()
        if words[0] == "nemesis":
            depth = 3 if words[1:2] and any(command.startswith(f"nemesis {words[1]} ") for command in helps()) else 2
            command = " ".join(word for word in words[:depth] if not word.startswith("-"))
            assert command in helps(), span
        if words[:2] == ["python", "-m"] and words[2] != "nemesis":
            check_arguments(*words[2:])
        if words[:2] == ["pip", "install"]:
            check_extras(words[-1].strip("'"))
        of_others = words[0] in ("docker", "pip", "mypy")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", "" if of_others else span):
            assert any(option in text for text in helps().values()), span


@pages
def test_the_files_and_links_of_a_page_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (page.parent / target).exists(), target
    own = {block.file for block in blocks(page)}
    for span in spans(page):
        if re.fullmatch(r"[\w./*-]+\.(py|js)", span) and span not in own:
            assert any(fnmatch.fnmatch(f"/{file}", f"*/{span}") for file in files()), span


@pages
def test_the_games_and_policies_that_a_page_names_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\bpokemon:([a-z0-9]+)", text):
        find_format(name)
    assert set(re.findall(r"\bopenspiel:(\w+)", text)) <= set(pyspiel.registered_names())
    for name in re.findall(r"\bshipped:([a-z0-9]+)", text):
        assert (ROOT / "nemesis" / "shipped" / f"{name}.safetensors").exists(), name


def test_the_messages_that_troubleshooting_quotes_are_those_of_the_package():
    quoted = re.findall(r"“([^”]+)”", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"))
    assert len(quoted) > 20
    for message in quoted:
        for part in message.split("…"):
            assert any(part.strip() in text for text in texts()), message


@cache
def settings() -> set[str]:
    """All settings of a run, and the groups that they are in."""
    paths = [setting.path.split(".") for setting in describe(RunConfig)]
    return {".".join(path[:depth]) for path in paths for depth in range(1, len(path) + 1)}


@cache
def helps() -> dict[str, str]:
    """The help of every command, such as `nemesis replays import`; of groups of commands too."""

    def below(*command: str) -> dict[str, str]:
        code, text = nemesis([*command[1:], "--help"])
        assert code == 0
        inner = re.findall(r"^│ ([a-z]+) {2,}", text.partition("─ Commands ─")[2], re.MULTILINE)
        return {" ".join(command): text} | {key: one for name in inner for key, one in below(*command, name).items()}

    return below("nemesis")


@cache
def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.py", "*.js"], cwd=ROOT, capture_output=True, text=True, check=False)
    return listed.stdout.split() or pytest.skip("the files of the repository are known by git")


@cache
def texts() -> set[str]:
    """All constant texts in the code of the package."""
    trees = [
        ast.parse((ROOT / file).read_text(encoding="utf-8"))
        for file in files()
        if fnmatch.fnmatch(file, "nemesis/*.py")
    ]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def spans(page: Path) -> list[str]:
    """The code within the sentences of a page."""
    return [span for span in re.findall(r"`([^`\n]+)`", prose(page)) if span.strip()]


def setting_of(text: str) -> str:
    return text.partition("=")[0]


def check_values(words: list[str]) -> None:
    """Raise unless the values of settings are right for some learner; a word in capitals stands for any value."""
    given = [word for word in words if not re.search(r"=[A-Z]+$", word)]
    problem: ConfigError | None = None
    for learner in ("rnad", "ppo", "portfolio", "bc", "offline"):
        try:
            build_config(RunConfig, {"game": "pokemon:gen1ou", "learner": {"algorithm": learner}}, given)
        except ConfigError as error:
            problem = error
        else:
            return
    raise AssertionError(words) from problem
