"""Everybody against everybody, in process and on a server, with ratings and replays."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from test_pokemon_observer import game_of

from benchmarks import battle_strength
from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.games.pokemon.teams import team_sets as team_module
from nemesis.play.matches import win_rate_interval
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy
from nemesis.storage.policy_files import save_policy

TEAM_SETS = Path(team_module.__file__).with_name("sets")


def saved_policy(folder: Path) -> Path:
    game, config = game_of("gen1ou"), PolicyConfig(size="nano")
    file = folder / "policy.safetensors"
    save_policy(file, Policy(game.encoder, game.action_head, config), config, game, {})
    return file


@pytest.mark.usefixtures("_matches_on_shared_server")
def test_policies_scripted_players_and_poke_env_meet(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    figures_file = tmp_path / "figures.json"
    players = [str(saved_policy(tmp_path)), "max_power", "poke-env:RandomPlayer"]
    options = ["--matches", "2", "--replays", "1", "--folder", str(tmp_path / "replays"), "--json", str(figures_file)]
    assert main(["evaluate", *players, *options]) == 0
    figures = json.loads(figures_file.read_text())
    assert figures["game"] == "pokemon:gen1ou"
    assert [(pair["matches"], pair["voided"]) for pair in figures["pairs"]] == [(2, 0)] * 3
    assert all(pair["turns"] > 3 and pair["decisions"] > 3 for pair in figures["pairs"])
    points = Counter[str]()
    for pair in figures["pairs"]:
        points.update({pair["first"]: pair["win_rate"], pair["second"]: 1 - pair["win_rate"]})
    by_rating = [points[rating["name"]] for rating in figures["ratings"]]
    assert by_rating == sorted(points.values(), reverse=True)
    assert [rating["matches"] for rating in figures["ratings"]] == [4] * 3
    replays = [Path(path) for path in figures["replays"]]
    assert len(replays) == 3
    assert all("|turn|" in path.read_text() for path in replays)
    assert "rating of max_power" in capfd.readouterr().out


@pytest.mark.usefixtures("_matches_on_shared_server")
def test_strength_is_measured_on_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, teams = tmp_path / "strength.json", tmp_path / "teams"
    teams.mkdir()
    for name in ("jolteon-lead", "persian-speed"):
        shutil.copy(TEAM_SETS / "gen1ou" / f"{name}.txt", teams)
    (teams / "illegal.txt").write_text("Mewtwo\nEVs: 252 HP\n- Psychic\n")
    options = [
        "--opponent",
        "RandomPlayer",
        "--battles",
        "4",
        "--teams",
        str(teams),
        "--json",
        str(file),
    ]
    monkeypatch.setattr("sys.argv", ["battle_strength", "--format", "gen1ou", *options])
    battle_strength.main()
    figures = json.loads(file.read_text())
    assert (figures["battles"], figures["voided"]) == (4, 0)
    assert (figures["teams_played"], figures["teams_left_out"]) == (2, 1)
    assert figures["policy"] == "shipped:gen1ou"
    assert figures["win_rate"] >= 0.75
    assert (figures["low"], figures["high"]) == win_rate_interval(figures["win_rate"], 4)


def test_a_format_without_a_shipped_policy_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["battle_strength", "--format", "gen5ou"])
    with pytest.raises(UserError, match=r"^There is no shipped:gen5ou\."):
        battle_strength.main()
