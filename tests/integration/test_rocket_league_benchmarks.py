"""Rocket League benchmarks: every figure is measured, the peer plays as it should, and the soak test detects faults."""

import multiprocessing
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("RocketSim")

from benchmarks import rocket_league_soak as soak
from benchmarks import rocket_league_speed
from benchmarks.peers.rlgym_environment import as_views, is_installed, make_environment
from benchmarks.peers.rlgym_loops import loop_config, reported_speed, rlgym_ppo_speed
from benchmarks.peers.rlgym_trainer import Trainer, _stepped, _trajectories
from benchmarks.report import MeasurementError
from benchmarks.rocket_league_speed import QUICK, compare_loops, measure_environments
from nemesis.core.config import build_config
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.views import POSITION, SPEED, VIEW_SIZE, ball_columns, car_columns, cars_of
from nemesis.training.config import RunConfig

torch.set_num_threads(1)
PEER = pytest.mark.skipif(not is_installed(), reason="rlgym-rocket-league is not installed")


@PEER
def test_all_figures_of_environments_are_measured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rocket_league_speed, "SLOTS", 8)
    figures = measure_environments(1, replace(QUICK, turns=1, steps=4), seed=0)
    assert figures["ratio"] == pytest.approx(figures["nemesis"] / figures["rlgym"])
    assert figures["share_of_rocketsim"] == pytest.approx(figures["nemesis"] / figures["rocketsim"])
    assert figures["ticks"] == pytest.approx(figures["nemesis"] / 2 * 8)


@PEER
def test_the_peer_has_the_same_actions_as_our_pool():
    environment = make_environment(1)
    assert (environment.action_parser.parser._lookup_table == ACTIONS).all()


@PEER
def test_observations_of_the_peer_are_read_by_the_same_network():
    environment = make_environment(2)
    observation = environment.reset()
    for _ in range(5):
        observation, *_ = environment.step({agent: np.array([8]) for agent in environment.agents})
    view = as_views(np.array(list(observation.values())), 2)
    assert view.shape == (4, VIEW_SIZE)
    state, cars = environment.state, cars_of(view)
    assert cars[..., 0].tolist() == [[1, 1, 0, 1, 1, 0]] * 4
    for row, car in enumerate(state.cars.values()):
        own = car.inverted_physics if car.is_orange else car.physics
        assert cars[row, 0, car_columns("position")] * POSITION == pytest.approx(own.position, abs=0.01)
        assert cars[row, 0, car_columns("velocity")] * SPEED == pytest.approx(own.linear_velocity, abs=0.01)
        assert cars[row, 0, car_columns("up")] == pytest.approx(own.up, abs=1e-5)
    assert view[0, ball_columns("position")] * POSITION == pytest.approx(state.ball.position, abs=0.01)
    assert view[:, 9 + 6 * 21 : 9 + 6 * 21 + 34].all()  # every pad can be picked up


@PEER
def test_the_peer_pays_for_what_its_reward_functions_name():
    environment = make_environment(1)
    environment.reset()
    forward = int(np.flatnonzero((ACTIONS == [1, 0, 0, 0, 0, 0, 1, 0]).all(axis=1))[0])
    for _ in range(10):
        _, reward, *_ = environment.step({agent: np.array([forward]) for agent in environment.agents})
    assert all(0 < one < 0.02 for one in reward.values())  # towards the ball, and in front of it


@PEER
def test_the_loop_on_the_peer_learns_from_whole_episodes():
    config = build_config(
        RunConfig, loop_config(0, 0).model_dump(), ["collection.decisions=96", "policy.width=16", "learner.epochs=1"]
    )
    trainer = Trainer(config, workers=1, environments=2, threads=1)
    before = [weight.clone() for weight in trainer._policy.parameters()]
    assert trainer.train(0.01)["learned"] == 96
    assert any((weight != old).any() for weight, old in zip(trainer._policy.parameters(), before, strict=True))
    (worker,) = trainer._workers
    columns = worker.columns
    columns["truncated"][10] = np.array([True, True, False, False])
    columns["terminated"][-1] = np.array([False, False, True, True])
    values = [None] * 24 + [np.full(4, 3.0, dtype=np.float32)]
    values[10] = np.full(2, 2.0, dtype=np.float32)
    trajectories = _trajectories([worker], [values])
    assert trajectories.offsets.tolist() == [0, 11, 24, 35, 48, 72, 96]
    assert trajectories.bootstrap.tolist() == [2, 3, 2, 3, 0, 0]
    assert trajectories.terminated.tolist() == [False] * 4 + [True] * 2
    assert (trajectories.view[11] == columns["view"][11][0]).all()
    worker.pipe.close()


@PEER
def test_a_match_of_the_peer_that_ends_is_followed_by_another():
    environment = make_environment(1)
    environment.reset()
    environment.truncation_cond.conditions[1].timeout_seconds = 0.1
    observation, reward, terminated, truncated, final = _stepped([environment], np.array([0, 0]))
    assert final is None
    observation, reward, terminated, truncated, final = _stepped([environment], np.array([0, 0]))
    assert truncated.tolist() == [True, True]
    assert not terminated.any()
    assert final.shape == observation.shape
    assert (final != observation).any()
    assert reward.shape == (2,)


def test_the_fastest_loops_are_compared_turn_by_turn():
    turns = [
        {"nemesis, a": 10.0, "nemesis, b": 40.0, "rlgym, a": 10.0, "rlgym, b": 1.0},
        {"nemesis, a": 11.0, "nemesis, b": 60.0, "rlgym, a": 20.0, "rlgym, b": 1.0},
        {"nemesis, a": 12.0, "nemesis, b": 50.0, "rlgym, a": 12.5, "rlgym, b": 99.0},
    ]
    figures = compare_loops(turns)
    assert (figures["nemesis"], figures["rlgym"], figures["ratio"]) == (50.0, 12.5, 4.0)
    assert (figures["nemesis_best_with"], figures["rlgym_best_with"]) == ("nemesis, b", "rlgym, a")


def test_a_folder_without_rlgym_ppo_is_refused(tmp_path: Path):
    with pytest.raises(MeasurementError, match="not a folder with the package rlgym_ppo"):
        rlgym_ppo_speed(str(tmp_path), loop_config(0, 0), 1.0)


def test_the_speed_of_rlgym_ppo_is_what_it_prints_after_its_first_iteration():
    report = "Collected Steps per Second: 9.0\nOverall Steps per Second: {}\n"
    assert reported_speed("".join(report.format(f"{speed:7.5f}") for speed in (1, 1500, 2500, 2000))) == 2000
    with pytest.raises(MeasurementError, match="could not be measured: No module named wandb"):
        reported_speed(report.format(1.0), "Traceback\nNo module named wandb")


def test_the_soak_test_plays_and_samples():
    ours, theirs = multiprocessing.Pipe(duplex=False)
    soak.play(theirs, ticks=soak.SAMPLES * 256, seed=0)
    samples = [ours.recv() for _ in range(soak.SAMPLES)]
    assert samples[-1].ticks == soak.SAMPLES * 256
    assert samples[-1].memory > 50
    assert not samples[-1].not_finite
    assert (samples[-1].farthest > [1000, 1000, 90]).all()
    soak.check([samples])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"ended": Counter(simulator_failure=2, played=1)}, "2 by simulator failure"),
        ({"not_finite": 3}, "3 numbers are not finite"),
        ({"farthest": np.array([0, 6500, 0])}, "left the arena"),
    ],
)
def test_the_soak_test_detects(change, sentence: str):
    sample = soak.Sample(1, Counter(played=5), np.array([4000, 5900, 2000]), 0, 100.0)
    flat = [sample] * soak.SAMPLES
    soak.check([flat])
    with pytest.raises(MeasurementError, match=sentence):
        soak.check([flat, [*flat, replace(sample, **change)]])
    growing = [replace(sample, memory=100.0 + 2 * number) for number in range(soak.SAMPLES)]
    with pytest.raises(MeasurementError, match="process 2"):
        soak.check([flat, growing])
