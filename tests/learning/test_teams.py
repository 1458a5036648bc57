"""Two sides of two seats, rewards per decision, truncation and segments: PPO reaches the known optimum."""

import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch

from nemesis.core.config import build_config
from nemesis.core.game import EndReason
from nemesis.core.trajectory import Trajectories
from nemesis.play.pairings import MAIN
from nemesis.storage.checkpoints import load_checkpoint
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

sys.path.append(str(Path(__file__).parents[1] / "unit"))

torch.set_num_threads(1)

DISCOUNT = 0.9
SETTINGS = {
    "game": "team_game:Relay",
    "collection": {"slots": 32, "decisions": 1024, "staleness": 100},
    "policy": {"width": 32, "layers": 1},
    "learner": {
        "algorithm": "ppo",
        "learning_rate": 0.01,
        "minibatch": 256,
        "discount": DISCOUNT,
        "entropy_weight": 0.001,
        "sequence_length": 8,
        "momentum": 0.9,
    },
}


def config(*overrides: str) -> RunConfig:
    return build_config(RunConfig, SETTINGS, overrides)


def trained(tmp_path: Path, updates: int, *overrides: str) -> Trajectories:
    """Train for some updates, and return the experience of the next one."""
    with closing(Run(config(f"updates={updates}", *overrides), tmp_path)) as run:
        for _ in range(updates):
            run.step()
        return run.source.collect(2048).episodes[MAIN]


def right_actions(episodes: Trajectories) -> float:
    """Return the share of right actions; the reward of a decision tells."""
    assert episodes.reward is not None
    return float((episodes.reward > 0).mean())


@pytest.mark.parametrize("actors", [0, 1])
def test_ppo_learns_the_value_that_a_time_limit_cuts_off(tmp_path: Path, actors: int):
    episodes = trained(
        tmp_path, 60, "game_settings.kind=endless", "game_settings.rounds=6", f"collection.actors={actors}"
    )
    assert right_actions(episodes) > 0.97
    assert episodes.terminated is not None
    assert not episodes.terminated.any()
    expected = 0.1 / (1 - DISCOUNT)  # a time limit that counted as an end would teach 0.3 on average
    assert np.abs(episodes.value - expected).mean() < 0.25
    assert episodes.bootstrap is not None
    assert np.abs(episodes.bootstrap - expected).mean() < 0.25
    assert set(episodes.seat.tolist()) == {0, 1, 2, 3}


def test_recurrent_ppo_remembers_a_cue_over_segments_of_one_episode(tmp_path: Path):
    episodes = trained(
        tmp_path,
        70,
        "game_settings.kind=endless",
        "game_settings.rounds=20",
        "game_settings.hidden=true",
        "policy.memory=lstm",
        "collection.segment=8",
    )
    assert right_actions(episodes) > 0.95
    assert episodes.lengths.max() == 8
    later = episodes.offsets[:-1][episodes.view[episodes.offsets[:-1], 0] == 0]  # segments that do not begin a match
    assert len(later)
    assert np.isin(later, episodes.memory_row).all()
    assert np.abs(episodes.value - 0.1 / (1 - DISCOUNT)).mean() < 0.25


def test_a_side_wins_by_both_of_its_seats_and_a_match_may_use_fewer(tmp_path: Path):
    with closing(Run(config("updates=40"), tmp_path)) as run:
        before = run.source.collect(4096)
        for _ in range(40):
            run.step()
        after = run.source.collect(4096)
    first = before.outcomes
    assert set(first.end_reason.tolist()) == {EndReason.PLAYED}
    assert (first.returns.sum(axis=1) == 0).all()
    assert (first.returns != 0).any()
    episodes = before.episodes[MAIN]
    seats = {match: set(episodes.seat[episodes.match == match].tolist()) for match in np.unique(episodes.match)}
    assert all(used == ({0, 1} if match % 3 == 0 else {0, 1, 2, 3}) for match, used in seats.items())
    by_match = {match: episodes.result[episodes.match == match] for match in seats}
    for match, result in by_match.items():  # seats of one side share its result
        seat = episodes.seat[episodes.match == match]
        assert all(len(set(result[seat % 2 == side].tolist())) == 1 for side in (0, 1))
        assert result[seat % 2 == 0][0] == -result[seat % 2 == 1][0]
    assert right_actions(after.episodes[MAIN]) > 0.97
    assert (after.outcomes.returns == 0).mean() > 0.9  # perfect play is a draw


def test_a_team_learns_from_its_result_alone(tmp_path: Path):
    """A round counts only if both seats of a side are right, and nothing else is paid."""
    episodes = trained(tmp_path, 80, "game_settings.rewards=false", "game_settings.rounds=2", "learner.discount=1")
    assert not np.any(episodes.reward)
    assert ((episodes.view[:, 1] > 0) == episodes.action).mean() > 0.95


@pytest.mark.parametrize("scale", ["none", "running"])
def test_weights_of_reward_components_decide_what_is_learned(tmp_path: Path, scale: str):
    game = ("game=team_game:RatedRelay", "game_settings.rounds=2", "reward.kind=dense", f"reward.scale={scale}")
    right = trained(tmp_path, 40, *game)
    assert ((right.view[:, 1] > 0) == right.action).mean() > 0.95
    low = trained(tmp_path, 40, *game, "reward.weights.low=2")  # more than the right action and a win pay
    assert (low.action == 0).mean() > 0.95


def test_a_run_with_segments_and_truncation_continues_exactly(tmp_path: Path):
    """Results that wait for the pool's next `recv`, and segments in flight, are part of a checkpoint."""
    settings = ("game_settings.kind=endless", "game_settings.rounds=5", "collection.segment=4", "policy.memory=gru")
    with closing(Run(config("updates=6", *settings), tmp_path)) as straight:
        for _ in range(3):
            straight.step()
        saved = straight.save(tmp_path / "checkpoints")
        for _ in range(3):
            straight.step()
        expected = {name: tensor.clone() for name, tensor in straight.policy.state_dict().items()}
    with closing(Run(config("updates=6", *settings), tmp_path, new=False)) as resumed:
        resumed.restore(load_checkpoint(saved))
        for _ in range(3):
            resumed.step()
        assert all(torch.equal(tensor, expected[name]) for name, tensor in resumed.policy.state_dict().items())
