"""Runs on Rocket League: from 1v1 to 2v2 by the rule of a curriculum."""

from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from nemesis.core.config import build_config
from nemesis.evaluation.strength import AgainstOpponents, evaluate
from nemesis.evaluation.subject import open_subject
from nemesis.population.league import open_league
from nemesis.presets import load_preset
from nemesis.storage.metrics import read_metrics
from nemesis.training.config import RunConfig, stage_config
from nemesis.training.loop import train
from nemesis.training.run import Run

SHORT = {"match_seconds": 1.0, "touch_seconds": 0.5}
CONFIG = {
    "game": "rocket_league:1v1",
    "updates": 4,
    "rocket_league": SHORT,
    "collection": {"slots": 4, "decisions": 128, "segment": 16},
    "policy": {"size": "nano", "memory": "lstm"},
    "learner": {"algorithm": "ppo", "sequence_length": 8, "minibatch": 64},
    "reward": {"kind": "dense"},
    "evaluation": {"interval": 1, "matches": 4, "opponents": ["idle"], "weights": "average"},
    "tracking": {"tensorboard": False},
    # Matches that end before anybody can score are draws: a win rate of 50 %, and the rating of the opponent.
    "curriculum": {
        "stages": {
            "alone": {"settings": {}, "advance": {"win_rate": 0.5, "rating": 690}},
            "in_pairs": {"settings": {"game": "rocket_league:2v2"}},
        }
    },
}


def test_a_run_goes_from_1v1_to_2v2_by_win_rate_and_rating(tmp_path: Path):
    output = StringIO()
    train(build_config(RunConfig, CONFIG), tmp_path / "run", Console(file=output, width=200), open_league)
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    stages = {line["update"]: line["curriculum/stage"] for line in lines if line["update"]}
    assert stages == {1: 1, 2: 2, 3: 2, 4: 2}  # after the evaluations of updates 0 and 1
    assert "Stage alone passed at update 1 (win rate 50.0%" in output.getvalue()
    for size in ("1v1", "2v2", "3v3"):  # the same weights
        subject = open_subject(tmp_path / "run", 2, ["idle"], [f"game=rocket_league:{size}"])
        strength = evaluate(subject, 0).average
        assert isinstance(strength, AgainstOpponents)
        assert strength.scores["idle"].matches == 2


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_actors_play_what_a_policy_learns_from(tmp_path: Path, memory: str):
    changes = {"game": "rocket_league:2v2", "policy": {"size": "nano", "memory": memory}, "curriculum": {}}
    collection = {"slots": 2, "decisions": 128, "segment": 16, "actors": 1}
    config = build_config(RunConfig, CONFIG | changes | {"collection": collection})
    with closing(Run(config, tmp_path)) as run:
        metrics = run.step()
    assert metrics["collection/batch"] >= 128
    assert 0 < metrics["reward_frequency/velocity_to_ball"] <= 1


def test_the_preset_goes_from_ball_handling_to_3v3():
    config = build_config(RunConfig, load_preset("rocket_league"))
    names = list(config.curriculum.stages)
    games = [stage_config(config, name).game.partition(":")[2] for name in names]
    assert games == ["1v1", "1v1", "1v1", "2v2", "3v3"]
    first, duel = stage_config(config, names[0]), config.curriculum.stages["duel"].advance
    assert first.opponents.shares.scripted > 0  # cars that do not defend
    assert first.opponents.scripted == ("idle",)
    assert stage_config(config, "duel").evaluation.opponents == ("driver",)  # so that no win against random counts
    assert duel is not None
    assert (duel.win_rate, duel.rating) == (0.6, 1400)
