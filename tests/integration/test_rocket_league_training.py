"""Runs on Rocket League: from 1v1 to 2v2 by the rule of a curriculum."""

import json
import shutil
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import rocket_league_learning as learning
from benchmarks.report import MeasurementError
from nemesis.core.config import build_config
from nemesis.evaluation.strength import AgainstOpponents, evaluate
from nemesis.evaluation.subject import open_subject
from nemesis.population.league import open_league
from nemesis.presets import load_preset
from nemesis.storage.metrics import read_metrics
from nemesis.storage.policies import find_policy
from nemesis.training.config import RunConfig, stage_config
from nemesis.training.loop import train
from nemesis.training.run import Run

LOSER = "rocket_league_opponents:own_goals"
CONFIG = {
    "game": "rocket_league:1v1",
    "updates": 4,
    "rocket_league": {"match_seconds": 40, "touch_seconds": 20},
    "collection": {"slots": 4, "decisions": 128, "segment": 16},
    "policy": {"size": "nano", "memory": "lstm"},
    "learner": {"algorithm": "ppo", "sequence_length": 8, "minibatch": 64},
    "reward": {"kind": "dense"},
    "evaluation": {
        "interval": 1,
        "matches": 4,
        "opponents": [LOSER],
        "anchors": {LOSER: 1000.0},
        "weights": "average",
    },
    "checkpoints": {"interval": 1, "keep_last": 9},
    "tracking": {"tensorboard": False},
    "curriculum": {
        "stages": {
            "alone": {"settings": {}, "advance": {"win_rate": 0.6, "rating": 1010}},
            "in_pairs": {"settings": {"game": "rocket_league:2v2"}},
        }
    },
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run that has won, and what its display showed."""
    path, output = tmp_path_factory.mktemp("runs") / "run", StringIO()
    train(build_config(RunConfig, CONFIG), path, Console(file=output, width=200), open_league)
    return path, output.getvalue()


def test_a_run_goes_from_1v1_to_2v2_by_winning(trained: tuple[Path, str]):
    path, shown = trained
    lines = read_metrics(path / "metrics.jsonl")
    stages = {line["update"]: line["curriculum/stage"] for line in lines if line["update"]}
    assert stages == {1: 1, 2: 2, 3: 2, 4: 2}  # after the evaluations of updates 0 and 1
    for line in lines[:2]:
        assert line["evaluation/win_rate"] >= 0.6
        assert line["evaluation/rating_average"] > 1010
        assert line[f"evaluation/return_against_{LOSER}_average"] > 0  # by goals
    assert "Stage alone passed at update 1 (win rate" in shown
    for size in ("1v1", "2v2", "3v3"):  # the same weights
        subject = open_subject(path, 2, ["idle"], [f"game=rocket_league:{size}", "rocket_league.match_seconds=1"])
        strength = evaluate(subject, 0).average
        assert isinstance(strength, AgainstOpponents)
        assert strength.scores["idle"].matches == 2


def test_a_run_is_measured_at_all_of_its_checkpoints_in_one_size(
    trained: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, _ = trained
    picture, figures = tmp_path / "learning.svg", tmp_path / "figures.json"
    options = ["--size", "1v1", "--opponent", LOSER, "--matches", "2", "--temperature", "0.5"]
    arguments = [str(path), *options, "--picture", str(picture), "--json", str(figures)]
    monkeypatch.setattr(sys, "argv", ["learning", *arguments])
    learning.main()
    measured = json.loads(figures.read_text())
    assert find_policy(path).game == "rocket_league:2v2"
    assert [row["game"] for row in measured["strength"]] == ["1v1"] * 4
    assert all(row["matches"] == 2 for row in measured["strength"])
    (change,) = measured["stage_changes"]["run"]
    assert change["stage"] == 2
    assert 0 < change["decisions"] < measured["strength"][1]["million_decisions"] * 1e6
    assert picture.stat().st_size > 1000


def test_touches_and_goals_are_those_of_the_policy(trained: tuple[Path, str], tmp_path: Path):
    path = tmp_path / "run"
    shutil.copytree(trained[0], path)
    minute = {"update": 1, "seconds": 1.0, "time": 1.0, "collection/decisions": 1800.0, "collection/ended/played": 3.0}
    minute |= {
        "reward/result": 1 / 900,
        "reward_size/result": 3 / 900,
        "reward_frequency/touch": 1.0,
        "curriculum/stage": 1.0,
    }
    minute |= {"reward_frequency/touched": 4 / 900, f"evaluation/win_rate_against_{LOSER}_average": 0.75}
    pairs = minute | {"update": 2, "collection/decisions": 5400.0, "curriculum/stage": 2.0}  # a minute of four cars
    without = {name: value for name, value in pairs.items() if "touched" not in name and "/result" not in name}
    shared = without | {"update": 3, "collection/decisions": 9000.0}
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (minute, pairs, shared)))
    curve = learning.read_curve(path, "driver")
    assert curve.touches.tolist() == pytest.approx([4, 4, 900], nan_ok=True)
    assert curve.scored.tolist() == pytest.approx([2, 2, np.nan], nan_ok=True)
    assert curve.conceded.tolist() == pytest.approx([1, 1, np.nan], nan_ok=True)
    assert curve.goals.tolist() == pytest.approx([3, 0, 0])
    assert np.isnan(curve.win_rate).all()  # it was not measured against the driver
    assert learning.read_curve(path, LOSER).win_rate.tolist() == [0.75, 0.75, 0.75]


def test_runs_are_compared_after_as_many_decisions_or_not_at_all(trained: tuple[Path, str], tmp_path: Path):
    path, _ = trained
    shorter = tmp_path / "shorter"
    shutil.copytree(path, shorter)
    for checkpoint in ("update-00000003", "update-00000004"):
        shutil.rmtree(shorter / "checkpoints" / checkpoint)
    how = learning.Measurement(LOSER, matches=2, seed=0, temperature=1.0, size="1v1")
    rows = learning.compare([path, shorter], how)
    assert [(row["run"], row["weights"]) for row in rows] == [
        ("run", "last"),
        ("run", "average"),
        ("shorter", "last"),
        ("shorter", "average"),
    ]
    assert len({row["million_decisions"] for row in rows}) == 1
    assert rows[0]["won_low"] <= rows[0]["won"] <= rows[0]["won_high"]
    for checkpoint in ("update-00000001", "update-00000002"):
        shutil.rmtree(path / "checkpoints" / checkpoint)
    with pytest.raises(MeasurementError, match=r"the policies cannot be compared; train with a smaller"):
        learning.compare([path, shorter], how)


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
