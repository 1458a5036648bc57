"""Benchmarks that train: each completes on a small game, with settings that exist and differ in what it compares."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch
from duel import Duel
from rich.console import Console

from benchmarks import ablations, eta, exploitability, faults
from benchmarks.report import MeasurementError
from nemesis.core.config import build_config
from nemesis.games import config as game_config
from nemesis.play.matches import win_rate_interval
from nemesis.population.league import open_league
from nemesis.presets import load_preset
from nemesis.storage.policies import find_checkpoint
from nemesis.training.config import RunConfig
from nemesis.training.display import PlainDisplay, Progress
from nemesis.training.loop import train

torch.set_num_threads(1)

SMALL = (
    "collection.actors=0",
    "collection.slots=16",
    "collection.decisions=64",
    "policy.width=16",
    "policy.layers=1",
    "policy.opponent_model=false",
    "learner.opponent_model_weight=0",
    "opponents.scripted=bold",
)


@pytest.fixture
def duel(monkeypatch: pytest.MonkeyPatch) -> Duel:
    """The game that every run plays, whatever name it asks for."""
    game = Duel(lost=range(0, 100_000, 11))

    def open_named(name: str, *_: object) -> Duel:
        game.spec = replace(game.spec, name=name)
        return game

    monkeypatch.setattr(game_config, "open_game", open_named)
    return game


def test_every_ablation_changes_the_preset():
    configs = {
        name: ablations._config("gen1ou", 4, 0, changes) for name, changes in ablations.TRAINING_VARIANTS.items()
    }
    base = configs.pop(ablations.BASE)
    assert configs
    assert base not in configs.values()


def test_ablations_are_trained_and_played(duel: Duel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: ARG001
    other = "another rate"
    changed = {ablations.BASE: SMALL, other: (*SMALL, "learner.learning_rate=1e-5")}
    monkeypatch.setattr(ablations, "TRAINING_VARIANTS", changed)
    monkeypatch.setattr(ablations, "QUICK", ())
    monkeypatch.setattr("sys.argv", ["ablations", "--quick", "--json", str(tmp_path / "figures.json")])
    ablations.main()
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert [row["variant"] for row in rows] == [*changed, *ablations.PLAY_VARIANTS]
    assert rows[0]["against_base"] == "–"
    assert all("%" in row["against_base"] for row in rows[1:])


@pytest.mark.parametrize("name", exploitability.LEARNERS)
def test_every_algorithm_has_settings_that_exist(name: str):
    learner = exploitability.COMMON | exploitability.LEARNERS[name]
    assert build_config(RunConfig, {"game": exploitability.GAME, "learner": learner}).learner.algorithm == name


def test_target_policies_are_trained_and_exploited(duel: Duel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: ARG001
    monkeypatch.setattr(exploitability, "QUICK_MATCHES", 20)
    options = [
        "--quick",
        "--updates",
        "1",
        "--algorithms",
        "ppo",
        "portfolio",
        "--json",
        str(tmp_path / "figures.json"),
    ]
    monkeypatch.setattr("sys.argv", ["exploitability", *options])
    exploitability.main()
    rows = json.loads((tmp_path / "figures.json").read_text())["algorithms"]
    assert [row["algorithm"] for row in rows] == ["ppo", "portfolio"]
    for row in rows:
        assert (row["low"], row["high"]) == pytest.approx(win_rate_interval(row["exploiter_win_rate"], row["matches"]))
        assert row["matches"] + row["voided"] == 20
        assert 4096 <= row["exploiter_decisions"] < 1.5 * 4096
        assert row["target_against_timid"] > row["target_against_bold"]


@pytest.mark.parametrize("preset", faults.PRESETS)
def test_the_fault_run_has_settings_that_exist(preset: str):
    config = build_config(RunConfig, load_preset(preset), (*faults.SETTINGS, *faults.PRESETS[preset]))
    assert config.collection.actors == 2


def test_the_fault_run_detects_matches_that_count_although_they_were_voided(duel: Duel, tmp_path: Path):  # noqa: ARG001
    shares = ("opponents.shares.self=0.5", "opponents.shares.scripted=0.3", "opponents.shares.past=0.2")
    config = build_config(
        RunConfig, load_preset("gen1ou"), [*SMALL, *shares, "updates=4", "tracking.tensorboard=false"]
    )
    train(config, tmp_path / "run", Console(file=StringIO()), open_league)
    matches = faults._matches(find_checkpoint(tmp_path / "run").state)
    assert matches["voided"] == matches["ended"]["host_lost"] > 0
    assert matches["recorded"] > 0
    faults._check(matches, hosts_lost=matches["voided"])
    wrong = [
        {"played": matches["played"] + 1, "self": matches["self"] + 1},
        {"self": matches["self"] + 1},
        {"recorded": matches["credited"] + 1},
        {"credited": matches["others"] + 1},
        {"voided": 0},
    ]
    for change in wrong:
        with pytest.raises(MeasurementError):
            faults._check(matches | change, hosts_lost=0)
    with pytest.raises(MeasurementError, match="not all were voided"):
        faults._check(matches, hosts_lost=matches["voided"] + 1)


def plain_lines(updates: int, per_update: float, too_much: float = 1.0) -> list[tuple[float, str]]:
    """The lines of a display, which shows too much time left, and when they are written; a run starts in 5 s."""
    stream = StringIO()
    with PlainDisplay("kuhn", updates, Console(file=stream), seconds_between_lines=0) as display:
        for update in range(1, updates + 1):
            left = (updates - update) * per_update * too_much
            display.update(Progress(update, updates, 10, 1.0, 1.0, left, {}, {}, {}, [], 0))
    about, *lines = stream.getvalue().splitlines()
    return [(0.0, about), *((5 + per_update * update, line) for update, line in enumerate(lines, start=1))]


def test_the_time_left_that_a_run_shows_is_compared_with_what_it_took():
    readings = list(eta.readings_of(plain_lines(100, 60.0, too_much=1.25)))
    rows = eta.compared(readings, took=5 + 100 * 60.0)
    assert [row["share"] for row in rows] == [0.1, 0.25, 0.5, 0.75]
    assert [row["took_s"] for row in rows] == [5400, 4500, 3000, 1500]
    assert [row["error"] for row in rows] == pytest.approx([0.25] * 4)


def test_a_run_that_shows_no_time_left_after_a_tenth_is_too_short_to_measure():
    readings = list(eta.readings_of(plain_lines(100, 60.0)))
    with pytest.raises(MeasurementError, match=r"after about 10% of the run"):
        eta.compared(readings[20:], took=6005.0)
