"""The players of a tournament share one game, with settings that all of them agree on."""

import json
from pathlib import Path

import pytest
import safetensors.torch

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.evaluation.entrants import open_entrants
from nemesis.games import open_game
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.checkpoints import save_checkpoint
from nemesis.storage.policies import find_policy
from nemesis.storage.policy_files import save_policy
from nemesis.training.config import RunConfig


def checkpoint(root: Path, *overrides: str) -> str:
    """Write what a tournament reads of a checkpoint before the matches."""
    config = build_config(RunConfig, {"game": "pokemon:gen1ou"}, overrides)
    state = {"view_version": "1", "decisions": 0}
    return str(save_checkpoint(root, 1, {"weights": {}}, state, config.model_dump(mode="json")))


def policy_file(path: Path, config: RunConfig | None) -> str:
    """Write a policy, with the config of its run or as files were that knew none."""
    game = open_game("pokemon:gen1ou")
    small = PolicyConfig(width=8, layers=1)
    about = {} if config is None else {"config": config.model_dump(mode="json")}
    save_policy(path, build_policy(game, small), small, game, about)
    return str(path)


def test_policy_files_with_different_settings_of_the_game_are_refused_until_one_is_chosen(tmp_path: Path):
    run = checkpoint(tmp_path / "run", "pokemon.turn_limit=100", "pokemon.hosts=1")
    settings = {"game": "pokemon:gen1ou", "pokemon": {"turn_limit": 200, "hosts": 7, "node": "system"}}
    file = policy_file(tmp_path / "file.safetensors", build_config(RunConfig, settings))
    with pytest.raises(UserError) as caught:
        open_entrants([file, run], None, [])
    assert str(caught.value) == (
        f"{file} and {run} were trained with different settings of the game: pokemon.turn_limit is 200 and 100. Say "
        "which are used for all players, such as pokemon.turn_limit=200."
    )
    assert open_entrants([file, run], None, ["pokemon.turn_limit=150"]).game.turn_limit == 150


def test_a_policy_file_plays_with_the_settings_of_its_run_but_not_with_those_of_its_machine(tmp_path: Path):
    settings = {"game": "pokemon:gen1ou", "pokemon": {"turn_limit": 200, "hosts": 7, "node": "system"}}
    file = policy_file(tmp_path / "file.safetensors", build_config(RunConfig, settings))
    assert open_entrants([file, "random"], None, []).game.turn_limit == 200
    chosen = find_policy(file).game_config().pokemon
    assert (chosen.turn_limit, chosen.hosts, chosen.node) == (200, 2, "bundled")


def test_a_policy_file_without_settings_plays_with_those_of_the_others(tmp_path: Path):
    file = policy_file(tmp_path / "file.safetensors", None)
    run = checkpoint(tmp_path / "run", "pokemon.turn_limit=100")
    assert open_entrants([file, run], None, []).game.turn_limit == 100
    assert open_entrants([file, "random"], None, []).game.turn_limit == PokemonSettings().turn_limit


def test_settings_of_a_policy_file_that_do_not_fit_are_said_in_a_sentence(tmp_path: Path):
    file = policy_file(tmp_path / "file.safetensors", build_config(RunConfig, {"game": "openspiel:kuhn_poker"}))
    with safetensors.safe_open(file, "numpy") as opened:
        header = json.loads(opened.metadata()["nemesis"])
    header["about"]["config"] = {"pokemon": {"turn_limits": 3}}
    safetensors.torch.save_file(safetensors.torch.load_file(file), file, {"nemesis": json.dumps(header)})
    with pytest.raises(UserError, match=r"file\.safetensors was trained with settings that do not fit .*turn_limits"):
        open_entrants([file, "random"], None, [])


def test_runs_with_different_settings_of_the_game_are_refused_until_one_is_chosen(tmp_path: Path):
    names = [
        checkpoint(tmp_path / "a", "pokemon.turn_limit=100", "pokemon.hosts=1"),
        checkpoint(tmp_path / "b", "pokemon.teams=mine", "pokemon.hosts=2"),
    ]
    with pytest.raises(UserError) as caught:
        open_entrants(names, None, [])
    assert str(caught.value) == (
        f"{names[0]} and {names[1]} were trained with different settings of the game: pokemon.teams is null and "
        '"mine", pokemon.turn_limit is 100 and 300. Say which are used for all players, such as pokemon.teams=null '
        "pokemon.turn_limit=100."
    )
    entrants = open_entrants(names, None, ["pokemon.teams=null", "pokemon.turn_limit=100"])
    assert entrants.game.spec.name == "pokemon:gen1ou"
