"""Behaviour cloning: what it learns, from which decisions, and that it does not matter how a batch is split."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from episodes import CPU
from learner_setups import build_learner, new_policy, own_data, stale_data, weights

from nemesis.core.masks import pack_mask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import to_batch
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

ACTIONS = 3


def mask_of(trajectories: Trajectories) -> np.ndarray:
    return unpack_mask(trajectories.mask, ACTIONS)


def last_actions(**changes: Any) -> Trajectories:
    """Return data in which the last legal action is always played."""
    played = stale_data()
    last = ACTIONS - 1 - np.argmax(mask_of(played)[:, ::-1], axis=1)
    return replace(played, action=last, **changes)


def without_memory(trajectories: Trajectories) -> Trajectories:
    """Return episodes as datasets store them, without memory states."""
    return replace(trajectories, memory_row=np.zeros(0, dtype=np.int64), memory=np.zeros((0, 0), dtype=np.float32))


def cloned(trajectories: Trajectories, updates: int = 1, policy: Policy | None = None, **settings: Any) -> Policy:
    policy = policy or new_policy()
    learner = build_learner("bc", policy, **settings)
    for _ in range(updates):
        learner.update(trajectories, 0.0)
    return policy


def outputs_of(policy: Policy, trajectories: Trajectories) -> tuple[torch.Tensor, torch.Tensor]:
    output = to_batch(trajectories, 64, policy, CPU).run_all(policy)
    return output.log_probs, output.value


def test_it_imitates_and_predicts_who_wins():
    data = last_actions()
    policy = cloned(data, updates=100)
    log_probs, value = outputs_of(policy, data)
    assert (log_probs.argmax(-1).numpy() == data.action).mean() > 0.98
    result = np.repeat(data.result, data.lengths)
    assert np.corrcoef(value.numpy(), result)[0, 1] > 0.5


def test_unknown_actions_teach_the_value_alone():
    known = np.arange(len(last_actions().action)) % 3 != 0
    unknown = last_actions(known=known)
    hidden = replace(unknown, action=np.where(known, unknown.action, -1))
    guessed = replace(unknown, action=np.where(known, unknown.action, np.argmax(mask_of(unknown), axis=1)))
    assert torch.equal(weights(cloned(hidden)), weights(cloned(guessed)))
    assert not torch.equal(weights(cloned(hidden)), weights(cloned(last_actions())))
    blank = replace(hidden, known=np.zeros_like(known), action=np.full_like(hidden.action, -1))
    before, after = new_policy(), cloned(blank)
    assert torch.equal(weights(before.heads.action), weights(after.heads.action))
    assert not torch.equal(weights(before.heads.value), weights(after.heads.value))


def test_an_action_that_is_known_in_part_is_one_of_several():
    data = last_actions()
    known = np.arange(data.decisions) % 2 == 0
    mask = mask_of(data)
    several = np.zeros_like(mask)
    several[~known] = mask[~known]
    first = np.argmax(mask, axis=1)
    several[np.arange(data.decisions), first] &= mask.sum(axis=1) == 1  # all but the first that is legal
    partly = replace(data, known=known, possible=pack_mask(several), action=np.where(known, data.action, -1))
    policy = cloned(partly, updates=100)
    log_probs, _ = outputs_of(policy, data)
    chance = torch.where(torch.from_numpy(several), log_probs.exp(), 0).sum(-1)[torch.from_numpy(~known)]
    assert float(chance.mean()) > 0.95
    metrics = build_learner("bc", new_policy()).update(partly, 0.0)
    start, _ = outputs_of(new_policy(), data)
    whole = -start[torch.arange(data.decisions), torch.from_numpy(data.action)][torch.from_numpy(known)]
    parts = -torch.where(torch.from_numpy(several), start.exp(), 0).sum(-1)[torch.from_numpy(several.any(1))].log()
    assert metrics["action_loss"] == pytest.approx(float(torch.cat([whole, parts]).mean()), rel=1e-5)


def test_results_of_episodes_that_did_not_terminate_train_no_value():
    data = last_actions()
    terminated = np.arange(data.episodes) % 2 == 0
    turned = replace(data, terminated=terminated, result=np.where(terminated, data.result, -data.result))
    assert torch.equal(weights(cloned(replace(data, terminated=terminated))), weights(cloned(turned)))
    assert not torch.equal(weights(cloned(data)), weights(cloned(replace(turned, terminated=None))))


@pytest.mark.parametrize("memory", ["none", "lstm", "gru", "transformer"])
def test_how_many_decisions_are_run_at_once_changes_nothing(memory: str):
    data = without_memory(stale_data())
    whole, parts = (
        cloned(data, policy=new_policy(memory=memory), decisions_at_once=size, learning_rate=1e-3)
        for size in (100_000, 50)
    )
    torch.testing.assert_close(weights(whole), weights(parts), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("memory", ["lstm", "gru", "transformer"])
def test_sequences_start_from_the_memory_of_the_policy_itself(memory: str):
    data = without_memory(own_data(new_policy(3)))
    assert data.lengths.max() >= 3
    policy = new_policy(memory=memory)
    whole = to_batch(data, 64, policy, CPU).run_all(policy)
    cut = to_batch(data, 1, policy, CPU)
    torch.testing.assert_close(cut.with_states_of(policy).run_all(policy).log_probs, whole.log_probs)
    assert not torch.allclose(cut.run_all(policy).log_probs, whole.log_probs, atol=1e-3)


def test_label_smoothing_spreads_a_share_over_the_legal_actions():
    data = last_actions()
    log_probs, _ = outputs_of(new_policy(), data)
    rows = torch.arange(len(data.action))
    hard = -log_probs[rows, torch.from_numpy(data.action)]
    mask = torch.from_numpy(mask_of(data))
    even = -torch.where(mask, log_probs, 0).sum(-1) / mask.sum(-1)
    expected = float((0.9 * hard + 0.1 * even).mean())
    metrics = build_learner("bc", new_policy(), label_smoothing=0.1).update(data, 0.0)
    assert metrics["action_loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("memory", ["none", "lstm", "transformer"])
def test_dropout_draws_other_features_at_each_step_and_nothing_else_is_random(memory: str):
    data = last_actions() if memory == "none" else without_memory(last_actions())

    def losses(share: float) -> list[float]:
        learner = build_learner("bc", new_policy(memory=memory), dropout=share, learning_rate=0.0)
        return [learner.update(data, 0.0)["action_loss"] for _ in range(2)]

    whole = losses(0.0)
    assert whole[0] == whole[1]
    torch.rand(3)  # other random draws change nothing
    dropped = losses(0.5)
    assert dropped == losses(0.5)
    assert len({*whole, *dropped}) == 3


@pytest.mark.parametrize("algorithm", ["bc", "offline"])
def test_dropout_is_off_outside_of_the_step(algorithm: str):
    data = without_memory(last_actions())
    policy = new_policy(memory="lstm")
    # One decision per sequence, so that most start from a memory that is computed before the step.
    learner = build_learner(algorithm, policy, dropout=0.5, sequence_length=1)
    learner.update(data, 0.0)
    for one in (policy, learner.average):
        assert isinstance(one, Policy)
        assert not any(module.training for module in one.modules())
        assert torch.equal(outputs_of(one, data)[0], outputs_of(one, data)[0])
    still = build_learner(algorithm, new_policy(memory="lstm"), dropout=0.5, sequence_length=1, learning_rate=0.0)
    first, second = (still.update(data, 0.0) for _ in range(2))
    assert first["action_loss"] != second["action_loss"]
    if algorithm == "offline":
        assert first["advantage"] == second["advantage"]


def test_the_learning_rate_warms_up():
    learner = build_learner("bc", new_policy(), learning_rate={"start": 0.1, "end": 0.0, "warmup": 0.5})
    rates = [learner.update(last_actions(), progress)["learning_rate"] for progress in (0.0, 0.25, 0.5, 0.75)]
    assert rates == pytest.approx([0.0, 0.5 * 0.075, 0.05, 0.025])


@pytest.mark.parametrize("algorithm", ["bc", "offline"])
def test_a_learner_continues_from_its_state(algorithm: str):
    policy, other = new_policy(), new_policy()
    learner = build_learner(algorithm, policy)
    for seed in (1, 2):
        learner.update(stale_data(seed), 0.0)
    twin = build_learner(algorithm, other)
    twin.restore(copy.deepcopy(learner.state()))
    other.load_state_dict(policy.state_dict())
    for one in (learner, twin):
        one.update(stale_data(3), 0.5)
    assert torch.equal(weights(policy), weights(other))
    assert torch.equal(weights(learner.average), weights(twin.average))
