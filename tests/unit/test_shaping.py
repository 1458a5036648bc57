"""Reward shaping: potentials of the game, weighted by the run, and their effect on a learner."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from duel import HIT_POINTS, ROUND_LIMIT, Duel
from episodes import CPU, KUHN, build_collector, build_policy, opened, play

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories
from nemesis.learners.config import PPOConfig, RewardConfig
from nemesis.learners.ppo import PPO
from nemesis.learners.returns import rewards_of, terminal_rewards
from nemesis.learners.shaping import RewardShaping
from nemesis.training.config import RunConfig

torch.set_num_threads(1)


def config(**settings: object) -> RewardConfig:
    return RewardConfig.model_validate(settings)


@pytest.fixture(scope="module")
def duels() -> Trajectories:
    game = Duel()
    return play(game, build_policy(game), 300)


def potential(trajectories: Trajectories, progress: float = 0.0, **settings: object) -> np.ndarray | None:
    return RewardShaping(config(**settings), Duel()).shape(trajectories, progress).trajectories.potential


def test_by_default_there_is_no_shaping(duels: Trajectories):
    assert potential(duels) is None


def test_potentials_have_the_weights_of_the_game_unless_the_run_has_its_own(duels: Trajectories):
    ahead = (duels.view[:, 0] - duels.view[:, 1]) / HIT_POINTS
    rounds = duels.view[:, 2] / ROUND_LIMIT
    np.testing.assert_allclose(potential(duels, kind="dense"), 0.5 * ahead, atol=1e-6)
    both = potential(duels, kind="dense", weights={"round": 0.25})
    np.testing.assert_allclose(both, 0.5 * ahead + 0.25 * rounds, atol=1e-6)
    assert both.dtype == np.float32


def test_dense_stays_and_hybrid_fades_into_sparse(duels: Trajectories):
    dense = potential(duels, kind="dense")
    np.testing.assert_array_equal(potential(duels, 0.7, kind="dense"), dense)
    np.testing.assert_allclose(potential(duels, 0.75, kind="hybrid"), dense / 4, atol=1e-6)
    assert potential(duels, 1.0, kind="hybrid") is None
    held = {"start": 1, "end": 0.5}
    np.testing.assert_allclose(potential(duels, 1.0, kind="hybrid", dense_weight=held), dense / 2, atol=1e-6)


def test_the_rewards_of_an_episode_add_up_to_its_result_less_the_first_potential(duels: Trajectories):
    shaped = RewardShaping(config(kind="dense"), Duel()).shape(duels, 0.0).trajectories
    sums = np.add.reduceat(rewards_of(shaped, 1.0), duels.offsets[:-1])
    np.testing.assert_allclose(sums, duels.result - shaped.potential[duels.offsets[:-1]], atol=1e-6)
    assert not np.array_equal(rewards_of(shaped, 1.0), terminal_rewards(duels))


def test_episodes_that_go_on_have_a_final_potential(duels: Trajectories):
    terminated = np.arange(duels.episodes) % 2 == 0
    final_view = np.tile(np.array([6, 2, 1, 0], dtype=duels.view.dtype), (duels.episodes, 1))
    segments = replace(duels, terminated=terminated, final_view=final_view)
    shaped = RewardShaping(config(kind="dense"), Duel()).shape(segments, 0.0).trajectories
    expected = np.where(terminated, 0.0, 0.5 * (6 - 2) / HIT_POINTS)
    np.testing.assert_allclose(shaped.final_potential, expected, atol=1e-6)
    assert shaped.final_potential.dtype == np.float32
    assert RewardShaping(config(kind="dense"), Duel()).shape(duels, 0.0).trajectories.final_potential is None
    sums = np.add.reduceat(rewards_of(shaped, 1.0), duels.offsets[:-1])
    result = np.where(terminated, duels.result, 0.0)
    np.testing.assert_allclose(sums, result + expected - shaped.potential[duels.offsets[:-1]], atol=1e-6)


def test_a_game_without_potentials_is_refused():
    sentence = r"reward.kind=dense needs reward components or potentials, and openspiel:kuhn_poker has none; use"
    with pytest.raises(UserError, match=sentence):
        RewardShaping(config(kind="dense"), opened(KUHN))
    RewardShaping(config(kind="sparse"), opened(KUHN))


def test_an_unknown_potential_is_refused_with_those_that_there_are():
    with pytest.raises(
        UserError,
        match=r"^reward.weights.hit_points is not a reward of duel:plain; it has hp, round, and a potential",
    ):
        RewardShaping(config(kind="dense", weights={"hit_points": 1}), Duel())


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ["reward.weights.hp=-1"],
            "reward.weights must be a group of settings, each a number of at least 0, or a schedule of start, end, "
            'shape, warmup, not {"hp": -1}.',
        ),
        (
            ["reward.kind=hybrid", "policy.value=categorical"],
            "reward.kind=hybrid leads to returns outside the range of a categorical value; use policy.value=scalar.",
        ),
        (
            ["learner.form=reward", "policy.value=categorical"],
            "learner.form=reward leads to returns outside the range of a categorical value; use policy.value=scalar.",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(overrides: list[str], sentence: str):
    with pytest.raises(ConfigError) as caught:
        build_config(RunConfig, {"game": "openspiel:kuhn_poker"}, overrides)
    assert str(caught.value) == sentence


def strikes(kind: str, updates: int) -> float:
    """Return how often a policy strikes as hard as it can after some updates with λ = 0."""
    game = Duel()
    policy = build_policy(game)
    settings = {"learning_rate": 0.02, "minibatch": 100_000, "advantage_lambda": 0.0, "value_weight": 0.0}
    learner = PPO(policy, PPOConfig.model_validate(settings), CPU, seed=0)
    collector = build_collector(game, policy, slots=40)
    rewards = RewardShaping(config(kind=kind), game)
    for update in range(updates):
        learner.update(rewards.shape(collector.collect(400, update), update / updates).trajectories, update / updates)
    played = play(game, policy, 1000)
    free = played.view[:, 3] == 0
    return float((played.action[free] == 2).mean())


def test_dense_rewards_teach_a_good_move_at_once_where_sparse_ones_come_too_late():
    assert strikes("dense", 30) > 0.9
    assert strikes("sparse", 30) < 0.8
