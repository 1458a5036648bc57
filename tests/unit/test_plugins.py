"""Code by name: what module:attribute finds, sentences for what is missing, and permission before an import."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
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
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.population.league import open_league
from nemesis.storage.checkpoints import load_checkpoint
from nemesis.storage.policies import find_policy, load_policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run

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
    check_imports("a.run", [], allowed=False)
    check_imports("a.run", ["a:b"], allowed=True)
    check_imports("a.run", ["a:b"], allowed={"a:b"})
    for allowed in (False, {"e:f"}):
        with pytest.raises(
            UserError, match=r"^a\.run names code to import: a:b, c:d\. Importing it runs it; .* --allow-imports"
        ):
            check_imports("a.run", ["a:b", "c:d", "a:b"], allowed=allowed)


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


MARK = "raise SystemExit('this code must not run')\n"


@pytest.fixture
def trap(module: Path) -> str:
    """A module that must never be imported."""
    (module.parent / "trap.py").write_text(MARK)
    return "trap"


@pytest.mark.parametrize("name", ["trap", "trap:", "trap:a-b", "trap:fn"])
def test_an_encoder_that_a_policy_file_names_is_not_imported(trap: str, name: str, tmp_path: Path):
    file = tmp_path / "policy.safetensors"
    game = open_game("openspiel:kuhn_poker")
    config = PolicyConfig(width=16, layers=1)
    save_policy(file, build_policy(game, config), config.model_copy(update={"encoder": name}), game, {})
    with pytest.raises(UserError):
        load_policy(file)
    assert trap not in sys.modules
    with pytest.raises(UserError, match=r"that matches|names code to import"):
        find_policy(file)


@pytest.mark.parametrize("setting", ["policy.init", "opponents.cloned", "opponents.target"])
def test_a_policy_that_a_config_names_is_not_free_to_import(trap: str, setting: str, tmp_path: Path):
    file = tmp_path / "policy.safetensors"
    game = open_game("openspiel:kuhn_poker")
    config = PolicyConfig(width=16, layers=1)
    save_policy(file, build_policy(game, config), config.model_copy(update={"encoder": "trap:fn"}), game, {})
    shares = ["opponents.shares.cloned=0.5"] if setting == "opponents.cloned" else []
    arguments = ["train", "kuhn", "policy.width=16", "policy.layers=1", f"{setting}={file}", *shares, "--dry-run"]
    assert main(arguments) == 2
    assert trap not in sys.modules


def test_what_the_state_of_a_run_names_is_not_imported(trap: str, tmp_path: Path):
    settings = {"game": "openspiel:kuhn_poker", "opponents": {"shares": {"self": 0.5, "scripted": 0.5}}}
    config = build_config(RunConfig, SETTINGS | settings)
    with closing(Run(config, tmp_path, open_league)) as run:
        run.matchmaker.begin()
        run.step()
        checkpoint = load_checkpoint(run.save(tmp_path / "checkpoints"))
    state = json.loads(json.dumps(checkpoint.state).replace('"random"', '"trap:fn"'))
    assert state != checkpoint.state
    changed = replace(checkpoint, state={**state, "random": checkpoint.state["random"]})
    with (
        closing(Run(config, tmp_path, open_league, new=False)) as run,
        pytest.raises(UserError, match="The run names code to import: trap:fn"),
    ):
        run.restore(changed)
    assert trap not in sys.modules


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["game=json:loads"], "json:loads is not a game"),
        (["policy.encoder=json:loads"], "policy.encoder=json:loads is not a class"),
        (["opponents.scripted=json:decoder", "opponents.shares.scripted=0.5"], "json:decoder is not a function"),
        (["opponents.scripted=json:nothing", "opponents.shares.scripted=0.5"], "has no attribute 'nothing'"),
        (["learner.algorithm=json:decoder"], "json:decoder is not a class of learners"),
    ],
)
def test_code_of_the_wrong_kind_is_refused_in_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["train", "kuhn", *arguments, "--dry-run"]) == 2
    assert sentence in capsys.readouterr().err
