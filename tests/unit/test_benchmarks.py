"""Benchmarks: the hand-written peer learns what production learns, or a speed beside it says nothing."""

from typing import Any

import pytest
import torch

from benchmarks import learner_speed
from benchmarks.plain_torch import PlainLearner, PlainPolicy
from benchmarks.report import MeasurementError
from nemesis.learners.ppo import PPOConfig
from nemesis.learners.rnad import RNaDConfig
from nemesis.policies.config import PolicyConfig

torch.set_num_threads(1)

TINY = learner_speed.Size(PolicyConfig(width=16, layers=1, memory="lstm"), view=8, actions=16, decisions=240)
CUT: dict[str, Any] = {"sequence_length": 16, "minibatch": 120}
# Every term strong enough, and enough updates for the averaged weights to fall behind, that leaving one out shows.
STRONG = CUT | {"learning_rate": 0.01, "magnet_weight": 0.5, "average_weight": 0.5, "probability_floor": 0.5}
UPDATES = 6


@pytest.mark.parametrize("kind", [PPOConfig, RNaDConfig])
def test_peer_follows_the_defaults(kind: type[PPOConfig]):
    row = learner_speed.measure_update(kind.model_validate(CUT), TINY, 1, seed=0, compared_updates=UPDATES)
    assert row["ours"] > 0
    assert row["peer"] > 0


def test_peer_has_every_term_of_rnad():
    learner_speed.measure_update(RNaDConfig.model_validate(STRONG), TINY, 1, seed=0, compared_updates=UPDATES)


@pytest.mark.parametrize(
    "change",
    [
        {"magnet_weight": 0.0},
        {"average_weight": 0.0},
        {"average_span": 1.0},
        {"probability_floor": 0.1},
        {"entropy_weight": 0.05},
        {"momentum": 0.9},
    ],
    ids=lambda change: next(iter(change)),
)
def test_peer_that_learns_otherwise_is_refused(change: dict[str, float], monkeypatch: pytest.MonkeyPatch):
    def otherwise(policy: PlainPolicy, _: PPOConfig, seed: int) -> PlainLearner:
        return PlainLearner(policy, RNaDConfig.model_validate(STRONG | change), seed)

    monkeypatch.setattr(learner_speed, "PlainLearner", otherwise)
    with pytest.raises(MeasurementError, match="the same weights"):
        learner_speed.measure_update(RNaDConfig.model_validate(STRONG), TINY, 1, seed=0, compared_updates=UPDATES)
