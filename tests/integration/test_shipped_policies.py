"""The policies that come with Nemesis: they open, are small, have a card each, and win."""

import pytest

import nemesis
from nemesis.evaluation.entrants import open_entrants
from nemesis.evaluation.tournament import run_tournament
from nemesis.policies.policy import parameter_count
from nemesis.population.exploitation_config import exploiter_config
from nemesis.storage.policies import policy_path
from nemesis.storage.policy_files import read_header

POLICIES = {  # with the game, and a scripted player that loses
    "gen1ou": ("pokemon:gen1ou", "max_power"),
    "gen9vgc2025regi": ("pokemon:gen9vgc2025regi", "max_power"),
    "rocket_league_1v1": ("rocket_league:1v1", "idle"),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shipped_policy_beats_a_scripted_opponent(policy: str):
    tournament = run_tournament(open_entrants([f"shipped:{policy}", POLICIES[policy][1]], None, []), matches=60, seed=0)
    (pair,) = tournament.pairs
    assert pair.score.matches == 60
    assert pair.score.win_rate > 0.75


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shipped_policy_can_be_loaded_and_exploited(policy: str):
    name = f"shipped:{policy}"
    assert parameter_count(nemesis.load_policy(name)) > 10_000
    config = exploiter_config(name, [])
    assert (config.game, config.opponents.target, config.policy.init) == (POLICIES[policy][0], name, name)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_shipped_policy_is_small_and_has_a_card(policy: str):
    path = policy_path(f"shipped:{policy}")
    assert path.stat().st_size < 5e6
    about = read_header(path).about
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"{about['decisions']:,} decisions" in card
    assert f"{about['update']:,} updates" in card
    assert "nemesis train" in card
    assert sorted(file.stem for file in path.parent.glob("*.safetensors")) == sorted(POLICIES)
