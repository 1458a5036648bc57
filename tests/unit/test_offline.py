"""Offline actor-critic: returns, weights, critics, and that weighting by advantage beats behaviour cloning."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, opened
from learner_setups import build_learner, new_policy, own_data, stale_data, weights

from nemesis.core.errors import UserError
from nemesis.learners import offline
from nemesis.learners.batch import to_batch
from nemesis.learners.behaviour_cloning import terminated_decisions
from nemesis.learners.config import OfflineConfig
from nemesis.learners.returns import gae, n_step
from nemesis.play.matches import play
from nemesis.play.players import RandomPlayer
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.policy import Policy

torch.set_num_threads(1)


def learned(policy: Policy | None = None, **settings: Any) -> Policy:
    policy = policy or new_policy()
    build_learner("offline", policy, **settings).update(stale_data(), 0.0)
    return policy


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"weighting": "binary"}, [1.0, 0.2, 0.2, 1.0]),
        ({"weighting": "binary", "better_weight": 2, "worse_weight": 0.5}, [2.0, 0.5, 0.5, 2.0]),
        ({"weighting": "filter"}, [1.0, 0.0, 0.0, 1.0]),
        ({"weighting": "exp", "temperature": 0.5, "largest_weight": 3}, [np.exp(1.0), np.exp(-1.0), 1.0, 3.0]),
        ({"weighting": "none"}, [1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_weights_of_advantages(settings: dict[str, Any], expected: list[float]):
    advantage = torch.tensor([0.5, -0.5, 0.0, 4.0])
    assert offline.weights(advantage, OfflineConfig.model_validate(settings)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_n_step_returns_are_those_of_the_definition(steps: int):
    offsets = np.array([0, 1, 5, 8])
    generator = torch.Generator().manual_seed(0)
    reward, value = (torch.rand(8, generator=generator) for _ in range(2))
    given = n_step(reward, value, offsets, 0.9, steps)
    for first, last in pairwise(offsets):
        for row in range(first, last):
            until = min(row + steps, last)
            expected = sum(0.9 ** (place - row) * float(reward[place]) for place in range(row, until))
            expected += 0.9**steps * float(value[row + steps]) if row + steps < last else 0.0
            assert float(given[row]) == pytest.approx(expected, rel=1e-5)


def test_one_step_is_td_without_traces():
    offsets = np.array([0, 4, 6])
    reward, value = torch.rand(6), torch.rand(6)
    torch.testing.assert_close(n_step(reward, value, offsets, 0.8, 1), value + gae(reward, value, offsets, 0.8, 0.0))


def test_without_weights_and_critic_it_is_behaviour_cloning():
    clone = new_policy()
    build_learner("bc", clone, value_weight=0.0).update(stale_data(), 0.0)
    assert torch.equal(weights(learned(weighting="none", value_weight=0.0)), weights(clone))
    assert not torch.equal(weights(learned(weighting="filter", value_weight=0.0)), weights(clone))


@pytest.mark.parametrize(
    "change",
    [
        {"discount": 0.5},
        {"value_lambda": 0.0},
        {"returns": "n_step"},
        {"returns": "n_step", "steps": 1},
        {"weighting": "exp"},
        {"weighting": "exp", "temperature": 0.1},
        {"worse_weight": 0.7},
    ],
)
def test_every_setting_changes_what_is_learned(change: dict[str, Any]):
    base = {"weighting": change.get("weighting", "binary")} if "temperature" in change else {}
    assert not torch.equal(weights(learned(**base)), weights(learned(**change)))


def test_a_critic_of_actions_weights_by_its_own_values():
    policy = new_policy(action_values=True)
    learner = build_learner("offline", policy, critic="actions")
    losses = [learner.update(stale_data(), 0.0)["action_value_loss"] for _ in range(8)]
    assert losses[-1] < losses[0]
    other = new_policy(action_values=True)
    build_learner("offline", other).update(stale_data(), 0.0)
    assert not torch.equal(weights(policy), weights(other))
    with pytest.raises(UserError, match=r"policy\.action_values=true"):
        learned(critic="actions")


def test_a_critic_of_actions_learns_their_returns():
    policy = new_policy(action_values=True)
    learner = build_learner("offline", policy, critic="actions", value_lambda=1.0, weighting="none")
    data = stale_data()
    losses = [learner.update(data, 0.0)["action_value_loss"] for _ in range(60)]
    assert losses[-1] < 0.8 * losses[0]


def test_further_discounts_have_values_of_their_own():
    policy = new_policy(horizons=2)
    before = weights(policy.heads.horizons)
    build_learner("offline", policy, more_discounts=(0.9, 0.5)).update(stale_data(), 0.0)
    assert not torch.equal(weights(policy.heads.horizons), before)
    with pytest.raises(UserError, match=r"policy\.horizons"):
        learned(more_discounts=(0.9,))


def test_unknown_actions_carry_rewards_but_are_not_imitated():
    data = stale_data()
    known = np.arange(data.decisions) % 2 == 0
    hidden = replace(data, known=known, action=np.where(known, data.action, -1))
    for settings in ({}, {"critic": "actions"}):
        policy, other = (new_policy(action_values=True) for _ in range(2))
        build_learner("offline", policy, **settings).update(hidden, 0.0)
        build_learner("offline", other, **settings).update(replace(data, known=known), 0.0)
        assert torch.equal(weights(policy), weights(other))


def test_results_of_episodes_that_did_not_terminate_are_ignored():
    data = stale_data()
    terminated = np.arange(data.episodes) % 2 == 0
    turned = replace(data, terminated=terminated, result=np.where(terminated, data.result, -data.result))
    for settings in ({}, {"critic": "actions"}, {"returns": "n_step"}):
        policy, other = (new_policy(action_values=True) for _ in range(2))
        build_learner("offline", policy, **settings).update(replace(data, terminated=terminated), 0.0)
        build_learner("offline", other, **settings).update(turned, 0.0)
        assert torch.equal(weights(policy), weights(other))


@pytest.mark.parametrize("returns", ["lambda", "n_step"])
def test_an_episode_that_did_not_terminate_ends_with_the_value_of_the_critic_itself(returns: str):
    data = stale_data()
    terminated = np.arange(data.episodes) % 2 == 0
    bootstrap = np.where(terminated, 0, 0.9).astype(np.float32)
    data = replace(data, terminated=terminated, bootstrap=bootstrap)
    policy = new_policy()
    batch = to_batch(data, 64, policy, CPU)
    critic = batch.run_all(policy)
    flags = terminated_decisions(data, CPU)
    config = OfflineConfig.model_validate({"returns": returns, "discount": 0.9, "steps": 2})
    targets = offline.estimate_targets(critic, batch, data, flags, config)
    last = data.offsets[1:] - 1
    torch.testing.assert_close(targets.value[last[~terminated]], critic.value[last[~terminated]])
    torch.testing.assert_close(targets.value[last[terminated]], torch.from_numpy(data.result[terminated]))


def test_shaping_reaches_the_critic():
    data = stale_data()
    shaped = replace(data, potential=np.linspace(-0.5, 0.5, data.decisions, dtype=np.float32))
    plain, other = new_policy(), new_policy()
    build_learner("offline", plain).update(data, 0.0)
    build_learner("offline", other).update(shaped, 0.0)
    assert not torch.equal(weights(plain), weights(other))


def test_weighting_by_advantage_plays_better_than_cloning():
    game = opened(LEDUC)
    data = own_data(new_policy(5))
    returns = {}
    for weighting in ("none", "filter"):
        policy = new_policy()
        learner = build_learner("offline", policy, weighting=weighting, value_lambda=1.0, learning_rate=3e-3)
        for seed in range(150):
            learner.update(own_data(new_policy(5), seed) if seed < 20 else data, 0.0)
        player = PolicyPlayer(policy, game.spec, 128, CPU, seed=0)
        (score,) = play(game, player, [RandomPlayer(1)], matches=2000, slots=128, seed=2)
        returns[weighting] = score.mean
    assert returns["filter"] > returns["none"] + 0.02
