"""The quick tier: every algorithm comes near an equilibrium of Kuhn poker in seconds, by its exact NashConv."""

import json
from pathlib import Path

import pytest

from nemesis.cli import main

UNIFORM = 0.9167  # NashConv of playing at random
BOUND = 0.1  # of the averaged weights
LAST_BOUND = 0.25  # the last ones circle round the equilibrium: 0.05 to 0.21 over six seeds

SHORT = ["collection.decisions=2048", "learner.minibatch=512"]
SLOW = 'learner.learning_rate={"start": 0.002, "end": 0.00005}'
FAST = 'learner.learning_rate={"start": 0.005, "end": 0.00005}'
# What each algorithm needs beside the preset.
OVERRIDES: dict[str, list[str]] = {
    "ppo": [
        FAST,
        "learner.algorithm=ppo",
        "learner.momentum=0",
        'learner.entropy_weight={"start": 0.1, "end": 0.05, "shape": "exponential"}',
    ],
    "reference": [
        SLOW,
        "learner.algorithm=rnad",
        "learner.form=reference",
        "learner.reference_weight=0.2",
        "learner.reference_interval=20",
    ],
    "reward": [
        FAST,
        "learner.algorithm=rnad",
        "learner.form=reward",
        "learner.gradient=surrogate",
        "learner.reward_weight=0.1",
        "learner.reference_interval=40",
    ],
    "magnet": [
        SLOW,
        "learner.algorithm=rnad",
        "learner.form=magnet",
        'learner.magnet_weight={"start": 0.1, "end": 0.02, "shape": "exponential"}',
        "learner.average_weight=0.1",
    ],
    "portfolio": [
        SLOW,
        "seed=2",
        "learner.algorithm=portfolio",
        "learner.reference_weight=0.2",
        "learner.add_interval=20",
    ],
}


@pytest.mark.parametrize("algorithm", OVERRIDES)
def test_nash_conv_on_kuhn_poker_ends_near_zero(algorithm: str, tmp_path: Path):
    run = tmp_path / "run"
    updates = 150 if algorithm == "reference" else 100
    settings = [*SHORT, *OVERRIDES[algorithm], f"updates={updates}", "tracking.tensorboard=false"]
    assert main(["train", "kuhn", *settings, "--run", str(run)]) == 0
    first, *_, last = (json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    assert first["evaluation/nash_conv"] == pytest.approx(UNIFORM, abs=0.05)
    assert last["evaluation/nash_conv"] <= LAST_BOUND
    assert last["evaluation/nash_conv_average"] <= BOUND
