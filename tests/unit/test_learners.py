"""Learners: every term and setting acts on the weights."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from learner_setups import (
    ALGORITHMS,
    SCHEDULE,
    build_learner,
    flat,
    learned,
    log_probs_on,
    new_policy,
    own_data,
    stale_data,
    weights,
)
from torch import Tensor

from nemesis.core.masks import unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.returns import gae, terminal_rewards

torch.set_num_threads(1)

ACTIONS = 3


@pytest.mark.parametrize(
    ("algorithm", "base", "change"),
    [
        ("ppo", {}, {"value_weight": 2.0}),
        ("ppo", {}, {"entropy_weight": 0.3}),
        ("ppo", {}, {"clip": 0.01}),
        ("ppo", {}, {"discount": 0.5}),
        ("ppo", {}, {"advantage_lambda": 0.1}),
        ("ppo", {}, {"value_lambda": 0.1}),
        ("ppo", {}, {"advantage": "vtrace"}),
        ("ppo", {"advantage": "vtrace"}, {"ratio_limit": 0.1}),
        ("ppo", {"advantage": "vtrace"}, {"advantage_lambda": 0.1}),
        ("ppo", {"advantage": "vtrace"}, {"value_lambda": 0.1}),
        ("ppo", {}, {"normalise_advantages": True}),
        ("ppo", {}, {"advantage_share": 0.25}),
        ("ppo", {"memory": "lstm"}, {"advantage_share": 0.25}),
        ("magnet", {}, {"advantage_share": 0.25}),
        ("magnet", {"gradient": "surrogate"}, {"advantage_share": 0.25}),
        ("portfolio", {"updates": 2}, {"advantage_share": 0.25}),
        ("ppo", {}, {"learning_rate": 0.001}),
        ("ppo", {}, {"gradient_clip": 1e-6}),
        ("ppo", {}, {"weight_decay": 0.5}),
        ("ppo", {"updates": 2}, {"momentum": 0.6}),
        ("ppo", {}, {"epochs": 2}),
        ("ppo", {}, {"minibatch": 100}),
        ("ppo", {"value": "categorical"}, {"value_weight": 2.0}),
        ("ppo", {"memory": "lstm"}, {"sequence_length": 2}),
        ("reference", {"updates": 2}, {"reference_weight": 0.5}),
        ("reference", {"updates": 2}, {"reference_interval": 1}),
        ("reference", {"updates": 2}, {"entropy_weight": 0.3}),
        ("reference", {"updates": 2}, {"value_weight": 2.0}),
        ("reference", {"updates": 2}, {"gradient": "surrogate"}),
        ("reference", {"updates": 2, "gradient": "surrogate"}, {"clip": 0.01}),
        ("reference", {"updates": 2, "gradient": "surrogate"}, {"reference_weight": 0.5}),
        ("reward", {}, {"reward_weight": 0.5}),
        ("reward", {"gradient": "surrogate"}, {"reward_weight": 0.5}),
        ("reward", {"updates": 2}, {"reference_interval": 1}),
        ("reward", {}, {"entropy_weight": 0.3}),
        ("reward", {}, {"value_weight": 2.0}),
        ("magnet", {}, {"magnet_weight": 0.5}),
        ("magnet", {"gradient": "surrogate"}, {"magnet_weight": 0.5}),
        ("magnet", {"minibatch": 100}, {"data_weight": 1.0}),
        ("magnet", {"minibatch": 100, "gradient": "surrogate"}, {"data_weight": 1.0}),
        ("magnet", {"updates": 3, "average_span": 1.0}, {"average_weight": 1.0}),
        ("magnet", {"updates": 3, "average_span": 1.0, "gradient": "surrogate"}, {"average_weight": 1.0}),
        ("magnet", {}, {"probability_floor": 0.9}),
        ("magnet", {}, {"entropy_weight": 0.3}),
        ("magnet", {}, {"value_weight": 2.0}),
        ("magnet", {}, {"advantage_lambda": 0.1}),
        ("portfolio", {"updates": 2}, {"reference_weight": 0.5}),
        ("portfolio", {"updates": 2, "gradient": "surrogate"}, {"reference_weight": 0.5}),
        ("portfolio", {"updates": 2}, {"probability_floor": 0.9}),
        ("portfolio", {"updates": 3}, {"add_interval": 1}),
        ("portfolio", {"updates": 2}, {"entropy_weight": 0.3}),
        ("portfolio", {"updates": 2}, {"value_weight": 2.0}),
    ],
)
def test_every_coefficient_moves_the_weights(algorithm: str, base: dict[str, Any], change: dict[str, Any]):
    expected = learned(algorithm, **base)
    assert torch.equal(learned(algorithm, **base), expected)
    assert (learned(algorithm, **base | change) - expected).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("form", "foreign"),
    [
        ("reference", {"reward_weight": 0.9, "magnet_weight": 0.9, "data_weight": 0.9, "average_weight": 0.9}),
        ("reward", {"reference_weight": 0.9, "magnet_weight": 0.9, "data_weight": 0.9, "average_weight": 0.9}),
        ("magnet", {"reference_weight": 0.9, "reward_weight": 0.9, "reference_interval": 1}),
    ],
)
def test_a_form_of_rnad_uses_only_its_own_weights(form: str, foreign: dict[str, Any]):
    assert torch.equal(learned(form, updates=2, minibatch=100, **foreign), learned(form, updates=2, minibatch=100))


def distance_after(algorithm: str, measure: Callable[[Tensor, Tensor, Trajectories], Tensor], **settings: Any) -> float:
    """Learn for a while, and measure (now, at the start, trajectories) how far the policy went."""
    policy = new_policy()
    start = copy.deepcopy(policy)
    learner = build_learner(algorithm, policy, minibatch=100, **settings)
    for seed in range(10):
        trajectories = own_data(policy, seed)
        learner.update(trajectories, progress=0.0)
    return float(measure(log_probs_on(policy, trajectories), log_probs_on(start, trajectories), trajectories))


def kl_to_start(now: Tensor, start: Tensor, _: Trajectories) -> Tensor:
    return losses.kl(now, start)


def kl_to_uniform(now: Tensor, _: Tensor, trajectories: Trajectories) -> Tensor:
    return losses.kl(now, losses.uniform_log_probs(torch.from_numpy(unpack_mask(trajectories.mask, ACTIONS))))


@pytest.mark.parametrize(
    ("algorithm", "measure", "weight", "settings"),
    [
        ("ppo", kl_to_uniform, "entropy_weight", {}),
        *(
            (algorithm, measure, weight, {"gradient": gradient})
            for gradient in ("surrogate", "neurd")
            for algorithm, measure, weight in (
                ("reference", kl_to_start, "reference_weight"),
                ("reward", kl_to_start, "reward_weight"),
                ("magnet", kl_to_uniform, "magnet_weight"),
                ("portfolio", kl_to_start, "reference_weight"),
            )
        ),
    ],
)
def test_a_heavier_regulariser_holds_the_policy_nearer(algorithm: str, measure: Any, weight: str, settings: Any):
    free, held = (distance_after(algorithm, measure, **settings, **{weight: value}) for value in (0.0, 2.0))
    assert held < 0.7 * free


@pytest.mark.parametrize("gradient", ["surrogate", "neurd"])
@pytest.mark.parametrize("weight", ["data_weight", "average_weight"])
def test_a_pull_to_where_the_policy_was_shortens_an_update(weight: str, gradient: str):
    moved = {0.0: 0.0, 1.0: 0.0}
    for value in moved:
        for seed in range(5):
            policy = new_policy(seed)
            trajectories = own_data(policy, seed)
            before = log_probs_on(policy, trajectories)
            settings = {"magnet_weight": 0.0, "data_weight": 0.0, "average_weight": 0.0} | {weight: value}
            learner = build_learner("magnet", policy, minibatch=50, gradient=gradient, **settings)
            learner.update(trajectories, progress=0.0)
            moved[value] += float(losses.kl(log_probs_on(policy, trajectories), before))
    assert moved[1.0] < 0.7 * moved[0.0]


@pytest.mark.parametrize("form", ["reference", "reward"])
def test_the_reference_is_renewed_on_schedule(form: str):
    policy = new_policy()
    learner = build_learner(form, policy, reference_interval=3)
    before = []
    for update in range(8):
        before.append(flat(policy.state_dict()))
        learner.update(stale_data(update + 1), progress=0.0)
        assert torch.equal(flat(learner.state()["reference"]), before[update - update % 3])
    assert not torch.equal(before[0], before[3])


def test_learning_rate_and_entropy_follow_their_schedules():
    start, middle = (learned("ppo", entropy_weight=SCHEDULE, progress=progress) for progress in (0.0, 0.5))
    assert torch.equal(start, learned("ppo", entropy_weight=0.5))
    assert torch.equal(middle, learned("ppo", entropy_weight=0.25))
    assert torch.equal(learned("ppo", entropy_weight=SCHEDULE, progress=1.0), learned("ppo", entropy_weight=0.0))
    rate = {"start": 0.01, "end": 0.0, "shape": "cosine"}
    assert torch.equal(learned("ppo", learning_rate=rate), learned("ppo", learning_rate=0.01))
    assert torch.equal(learned("ppo", learning_rate=rate, progress=1.0), weights(new_policy()))
    metrics = build_learner("ppo", new_policy(), learning_rate=rate).update(stale_data(), progress=0.5)
    assert metrics["learning_rate"] == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("algorithm", "weight"),
    [
        ("reference", "reference_weight"),
        ("reward", "reward_weight"),
        ("magnet", "magnet_weight"),
        ("magnet", "data_weight"),
        ("magnet", "average_weight"),
        ("portfolio", "reference_weight"),
    ],
)
def test_regularisers_follow_their_schedules(algorithm: str, weight: str):
    settings: dict[str, Any] = {"updates": 3, "minibatch": 100, "average_span": 1.0}
    middle = learned(algorithm, **settings, progress=0.5, **{weight: SCHEDULE})
    assert torch.equal(middle, learned(algorithm, **settings, **{weight: 0.25}))
    assert not torch.equal(middle, learned(algorithm, **settings, **{weight: SCHEDULE}))


def test_an_update_ends_early_once_the_policy_has_moved_too_far():
    policy = new_policy()
    trajectories = own_data(policy)
    steps = {}
    for kl_stop in (None, 0.02):
        learner = build_learner("ppo", copy.deepcopy(policy), epochs=30, kl_stop=kl_stop)
        metrics = learner.update(trajectories, progress=0.0)
        steps[kl_stop] = metrics["steps"]
    assert steps[None] == 30
    assert 2 <= steps[0.02] < 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_learning_raises_the_chance_of_what_won(algorithm: str):
    """A bandit in disguise: one action of every position is declared the winner."""
    policy = new_policy()
    learner = build_learner(algorithm, policy, value_weight=0.1)
    chances = []
    for seed in range(15):
        trajectories = own_data(policy, seed)
        last = trajectories.offsets[1:] - 1
        won = trajectories.action[last] == unpack_mask(trajectories.mask[last], ACTIONS).argmax(axis=1)
        chances.append(won.mean())
        learner.update(replace(trajectories, result=np.where(won, 1, -1).astype(np.float32)), progress=0.0)
    assert np.mean(chances[-3:]) > chances[0] + 0.2


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize(
    ("algorithm", "interval"),
    [
        ("ppo", {}),
        ("reference", {"reference_interval": 3}),
        ("reward", {"reference_interval": 3}),
        ("magnet", {}),
        ("portfolio", {"add_interval": 1}),
    ],
)
def test_a_restored_learner_continues_identically(algorithm: str, interval: dict[str, int], memory: str):
    data = [stale_data(seed, memory) for seed in range(4)]
    settings: dict[str, Any] = {"minibatch": 100, "sequence_length": 2} | interval
    policy = new_policy(memory=memory)
    learner = build_learner(algorithm, policy, **settings)
    for trajectories in data[:2]:
        learner.update(trajectories, progress=0.2)
    saved, state = copy.deepcopy(policy.state_dict()), copy.deepcopy(learner.state())

    other_policy = new_policy(seed=7, memory=memory)
    other = build_learner(algorithm, other_policy, **settings)
    other_policy.load_state_dict(saved)
    other.restore(state)
    for trajectories in data[2:]:
        assert other.update(trajectories, progress=0.6) == learner.update(trajectories, progress=0.6)
    assert torch.equal(weights(other_policy), weights(policy))
    assert torch.equal(weights(other.average), weights(learner.average))


@pytest.mark.parametrize("span", [0.4, 1.0])
def test_averaged_weights_average_over_a_share_of_the_updates(span: float):
    policy = new_policy()
    learner = build_learner("ppo", policy, average_span=span)
    expected = weights(policy)
    history = []
    for update in range(1, 7):
        learner.update(stale_data(update), progress=0.0)
        history.append(weights(policy))
        expected += (history[-1] - expected) / max(1, span * update)
        torch.testing.assert_close(weights(learner.average), expected)
    if span == 1:
        torch.testing.assert_close(weights(learner.average), torch.stack(history).mean(0))
    assert not torch.equal(weights(learner.average), weights(policy))
    assert not any(parameter.requires_grad for parameter in learner.average.parameters())


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_the_policy_learns_from_the_largest_advantages_alone_and_the_value_from_all(memory: str):
    policy = new_policy(memory=memory)
    trajectories = own_data(policy)
    noise = np.random.default_rng(0).normal(scale=0.1, size=trajectories.decisions)  # no two advantages are equal
    trajectories = replace(trajectories, value=(trajectories.value + noise).astype(np.float32))
    value = torch.from_numpy(trajectories.value)
    reward = torch.from_numpy(terminal_rewards(trajectories))
    advantage = gae(reward, value, trajectories.offsets, discount=1.0, decay=0.95)
    count = round(0.3 * len(advantage))
    least = advantage.abs().sort(descending=True).values[count - 1]
    metrics = {}
    for share in (1.0, 0.3):
        learner = build_learner("ppo", copy.deepcopy(policy), advantage_share=share, sequence_length=2)
        metrics[share] = learner.update(trajectories, progress=0.0)
    assert metrics[1.0]["policy_loss"] == pytest.approx(-float(advantage.mean()), abs=1e-5)
    # The policy is the one that played, so that every ratio is 1.
    expected = -float(advantage[advantage.abs() >= least].mean())
    assert metrics[0.3]["policy_loss"] == pytest.approx(expected, abs=1e-4)
    assert metrics[0.3]["value_loss"] == pytest.approx(metrics[1.0]["value_loss"], rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_minibatch_without_any_large_advantage_teaches_the_value_alone(algorithm: str):
    policy = new_policy()
    learner = build_learner(algorithm, policy, advantage_share=1e-6, minibatch=20, epochs=2)
    metrics = learner.update(stale_data(), progress=0.0)
    assert metrics["skipped_steps"] == 0
    assert 0 < (weights(policy) - weights(new_policy())).abs().max() < 1


@pytest.mark.parametrize("settings", [{}, {"advantage": "vtrace"}])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_bootstrap_value_counts_as_a_result_of_the_same_height(algorithm: str, settings: dict[str, Any]):
    data = stale_data()
    terminated = np.arange(data.episodes) % 2 == 0
    truncated = replace(
        data,
        terminated=terminated,
        result=np.where(terminated, data.result, 0).astype(np.float32),
        bootstrap=np.where(terminated, 0, data.result).astype(np.float32),
    )
    policies = []
    for given in (data, truncated, replace(truncated, bootstrap=None)):
        policies.append(new_policy())
        build_learner(algorithm, policies[-1], **settings).update(given, progress=0.0)
    assert torch.equal(weights(policies[0]), weights(policies[1]))
    assert not torch.equal(weights(policies[0]), weights(policies[2]))
