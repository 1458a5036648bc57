"""The policies that come with Nemesis: they open, are small, have a card each, and win."""

import pytest

import nemesis
from nemesis.evaluation.entrants import open_entrants
from nemesis.evaluation.tournament import run_tournament
from nemesis.policies.policy import parameter_count
from nemesis.population.exploitation_config import exploiter_config
from nemesis.storage.policies import policy_path
from nemesis.storage.policy_files import read_header

FORMATS = ["gen1ou", "gen9vgc2025regi"]


@pytest.mark.parametrize("battle_format", FORMATS)
def test_a_shipped_policy_beats_a_scripted_opponent(battle_format: str):
    tournament = run_tournament(open_entrants([f"shipped:{battle_format}", "max_power"], None, []), matches=60, seed=0)
    (pair,) = tournament.pairs
    assert pair.score.matches == 60
    assert pair.score.win_rate > 0.75


@pytest.mark.parametrize("battle_format", FORMATS)
def test_a_shipped_policy_can_be_loaded_and_exploited(battle_format: str):
    name = f"shipped:{battle_format}"
    assert parameter_count(nemesis.load_policy(name)) > 10_000
    config = exploiter_config(name, [])
    assert (config.game, config.opponents.target, config.policy.init) == (f"pokemon:{battle_format}", name, name)


@pytest.mark.parametrize("battle_format", FORMATS)
def test_a_shipped_policy_is_small_and_has_a_card(battle_format: str):
    path = policy_path(f"shipped:{battle_format}")
    assert path.stat().st_size < 5e6
    about = read_header(path).about
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"{about['decisions']:,} decisions" in card
    assert f"{about['update']:,} updates" in card
    assert "nemesis train" in card
    assert sorted(file.stem for file in path.parent.glob("*.safetensors")) == FORMATS
