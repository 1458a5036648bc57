"""Code by name: what module:attribute finds, sentences for what is missing, and permission before an import."""

import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
from duel import VIEW, Duel
from rich.console import Console

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import GameSpec
from nemesis.core.plugins import check_imports, import_attribute, is_import
from nemesis.games import registry
from nemesis.games.registry import open_game
from nemesis.storage.policies import find_policy, load_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train

GAME = "test_plugins:OwnGame"
SETTINGS = {
    "game": GAME,
    "updates": 2,
    "collection": {"slots": 8, "decisions": 64},
    "policy": {"width": 16, "layers": 1},
    "evaluation": {"matches": 4},
    "tracking": {"tensorboard": False},
}


class OwnGame(Duel):
    """A game outside the package."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = GameSpec(GAME, VIEW, 4, 1.0, 2, "1")


class Misnamed(Duel):
    """A game whose spec has another name than its import."""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of the working directory, which is not installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "my_own_code.py"
    path.write_text("answer = 42\n")
    yield path
    sys.modules.pop("my_own_code", None)


@pytest.mark.parametrize("name", ["module:attribute", "package.module:Class", "_a.b2:_c"])
def test_module_and_attribute_make_an_import(name: str):
    assert is_import(name)


@pytest.mark.parametrize("name", ["random", "module:", ":attribute", "a-b:c", "a:b.c", "a..b:c", "poke-env:Player", ""])
def test_anything_else_is_no_import(name: str):
    assert not is_import(name)


def test_an_attribute_of_an_installed_module_is_found():
    assert import_attribute("nemesis.core.errors:UserError") is UserError


def test_an_attribute_of_a_module_in_the_working_directory_is_found(module: Path):  # noqa: ARG001
    assert import_attribute("my_own_code:answer") == 42


def test_an_attribute_of_a_loaded_module_without_a_spec_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The __main__ module of a script is one."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("script")
    module.answer = 42  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "script", module)
    assert import_attribute("script:answer") == 42


@pytest.mark.parametrize("name", ["no_such_module:x", "nemesis.no_such_module:x"])
def test_a_missing_module_is_a_sentence(name: str):
    with pytest.raises(UserError, match=rf"^There is no module '{name[:-2]}' for {name}; install it, "):
        import_attribute(name)


def test_a_missing_attribute_is_a_sentence():
    with pytest.raises(UserError, match=r"^The module 'nemesis' has no attribute 'x', which nemesis:x names\.$"):
        import_attribute("nemesis:x")


def test_a_module_that_another_one_needs_is_named(module: Path):
    module.write_text("import no_such_module\n")
    with pytest.raises(UserError, match=r"it needs the module 'no_such_module', which is missing\.$"):
        import_attribute("my_own_code:answer")


@pytest.mark.parametrize(("text", "error"), [("1 / 0\n", "ZeroDivisionError"), ("def (\n", "SyntaxError")])
def test_a_module_that_fails_is_a_sentence(module: Path, text: str, error: str):
    module.write_text(text)
    with pytest.raises(UserError, match=rf"^my_own_code:answer cannot be imported: {error}: "):
        import_attribute("my_own_code:answer")


def test_imports_need_permission():
    sentence = r"^a\.run names code to import: a:b, c:d\. Importing it runs it; .* --allow-imports"
    with pytest.raises(UserError, match=sentence):
        check_imports("a.run", ["a:b", "random", "c:d", "a:b"], allowed=False)
    check_imports("a.run", ["a:b", "c:d"], allowed=True)
    check_imports("a.run", ["random", "greedy"], allowed=False)


@pytest.mark.parametrize("name", ["chess", "openspiel", "openspiel:", "no-such-family:chess", ""])
def test_what_names_no_game_gets_examples_of_every_family(name: str):
    with pytest.raises(UserError, match=rf"^'{name}' names no game\. A game is written as family:game") as caught:
        open_game(name)
    for family in registry.families().values():
        assert f"{family.name}:{family.example}" in str(caught.value)
    assert "module:attribute" in str(caught.value)


def test_an_unknown_family_is_looked_for_as_a_module():
    with pytest.raises(UserError, match=r"^There is no module 'no_such_family' for no_such_family:chess;"):
        open_game("no_such_family:chess")


def test_a_game_outside_the_package_is_opened_by_its_import_name():
    assert isinstance(open_game(GAME), OwnGame)


def test_a_game_whose_spec_has_another_name_is_refused():
    sentence = r"^The spec of test_plugins:Misnamed calls it 'duel:plain'; its spec\.name must be 'test_plugins"
    with pytest.raises(UserError, match=sentence):
        open_game("test_plugins:Misnamed")


def test_settings_for_a_game_that_takes_none_are_refused():
    with pytest.raises(UserError, match=r"^test_plugins:OwnGame takes no game_settings; leave them out\.$"):
        open_game(GAME, game_settings={"size": 3})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a game outside the package; the user who starts it names the game, so nothing is asked."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(build_config(RunConfig, SETTINGS), path, Console(file=StringIO()))
    return path


@pytest.mark.parametrize("command", ["resume", "evaluate", "export"])
def test_a_run_that_names_code_is_opened_only_with_permission(
    run: Path, tmp_path: Path, command: str, capfd: pytest.CaptureFixture[str]
):
    arguments = {
        "resume": ["resume", str(run), "updates=3"],
        "evaluate": ["evaluate", str(run), "--matches", "4"],
        "export": ["export", str(run), str(tmp_path / "own.safetensors")],
    }[command]
    assert main(arguments) == 2
    error = capfd.readouterr().err
    assert "names code to import: test_plugins:OwnGame." in error
    assert "--allow-imports" in error
    assert main([*arguments, "--allow-imports"]) == 0


def test_a_policy_file_that_names_code_is_opened_only_with_permission(run: Path, tmp_path: Path):
    file = tmp_path / "own.safetensors"
    assert main(["export", str(run), str(file), "--allow-imports"]) == 0
    for opener in (find_policy, load_policy):
        with pytest.raises(UserError, match=r"own\.safetensors names code to import: test_plugins:OwnGame\."):
            opener(file)
        opener(file, allow_imports=True)


def test_a_resumption_without_permission_changes_nothing(run: Path):
    before = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match="names code to import"):
        resume(run, ["updates=99"])
    assert (run / "metrics.jsonl").read_bytes() == before
