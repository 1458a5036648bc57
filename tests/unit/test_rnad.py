"""R-NaD: the transformed reward, and what its gradient credits."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from episodes import CPU
from learner_setups import (
    build_learner,
    log_probs_on,
    new_policy,
    stale_data,
)

from nemesis.core.game import FloatArray
from nemesis.core.masks import unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import DecisionOutput, to_batch
from nemesis.learners.ppo import Targets
from nemesis.learners.rnad import gains, transformation

torch.set_num_threads(1)


def naive_transformation(trajectories: Trajectories, log_ratio: FloatArray) -> FloatArray:
    """Walk through each match: a decision costs its side and pays the other, at the latest decision of each seat."""
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    earned = np.zeros(trajectories.decisions)
    for match in np.unique(trajectories.match):
        rows = np.flatnonzero(trajectories.match[episode] == match)
        latest: dict[int, int] = {}
        for row in sorted(rows, key=lambda row: trajectories.tick[row]):
            own = int(trajectories.seat[episode[row]])
            latest[own] = row
            for seat, decision in latest.items():
                earned[decision] += -log_ratio[row] if seat % 2 == own % 2 else log_ratio[row]
    return earned


def test_the_transformed_reward_is_that_of_a_walk_through_each_match():
    trajectories = stale_data()
    log_ratio = np.random.default_rng(0).normal(size=trajectories.decisions).astype(np.float32)
    earned = transformation(trajectories, log_ratio)
    np.testing.assert_allclose(earned, naive_transformation(trajectories, log_ratio), atol=1e-4)


def team_matches(seats: int = 4, matches: int = 6) -> Trajectories:
    """Return matches in which the seats decide in a random order."""
    generator = np.random.default_rng(2)
    lengths = generator.integers(1, 8, seats * matches)
    ticks = [generator.permutation(part.sum()) for part in lengths.reshape(matches, seats)]
    tick = [
        np.sort(own)
        for order, part in zip(ticks, lengths.reshape(matches, seats), strict=True)
        for own in np.split(order, np.cumsum(part)[:-1])
    ]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    empty = np.zeros(offsets[-1], dtype=np.float32)
    return Trajectories(
        view=np.zeros((len(empty), 0), dtype=np.float32),
        mask=np.zeros((len(empty), 1), dtype=np.uint8),
        action=np.zeros(len(empty), dtype=np.int64),
        log_prob=empty,
        value=empty,
        version=np.zeros(len(empty), dtype=np.int64),
        tick=np.concatenate(tick),
        offsets=offsets,
        match=np.repeat(np.arange(matches), seats),
        seat=np.tile(np.arange(seats), matches),
        result=np.zeros(seats * matches, dtype=np.float32),
        memory_row=np.zeros(0, dtype=np.int64),
        memory=np.zeros((0, 0), dtype=np.float32),
    )


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_the_transformed_reward_is_paid_by_side_where_a_side_has_several_seats(seats: int):
    trajectories = team_matches(seats)
    log_ratio = np.random.default_rng(3).normal(size=trajectories.decisions).astype(np.float32)
    earned = transformation(trajectories, log_ratio)
    np.testing.assert_allclose(earned, naive_transformation(trajectories, log_ratio), atol=1e-4)


def test_the_transformed_reward_is_zero_sum_but_for_what_no_seat_could_change():
    trajectories = stale_data()
    log_ratio = np.random.default_rng(1).normal(size=trajectories.decisions).astype(np.float32)
    earned = transformation(trajectories, log_ratio)
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    match = trajectories.match[episode]
    first_of_second_seat = trajectories.tick[trajectories.offsets[1:-1:2]]
    for number, each in enumerate(np.unique(match)):
        rows = match == each
        before = rows & (trajectories.tick < first_of_second_seat[number])  # all by the first seat
        assert set(trajectories.seat[episode[before]].tolist()) == {0}
        assert earned[rows].sum() == pytest.approx(-log_ratio[before].sum(), abs=1e-4)


def returns_of(earned: FloatArray, trajectories: Trajectories) -> FloatArray:
    """Return what each decision earns from there to the end of its episode."""
    return np.concatenate([np.cumsum(part[::-1])[::-1] for part in np.split(earned, trajectories.offsets[1:-1])])


def test_the_reward_form_pays_for_staying_near_the_reference():
    """With no result to gain, a decision's return is how much nearer its seat stays than the opponent."""
    policy, trajectories = new_policy(), stale_data()
    quiet = replace(trajectories, result=np.zeros_like(trajectories.result), value=np.zeros_like(trajectories.value))
    reference = losses.of_action(log_probs_on(policy, trajectories), torch.from_numpy(trajectories.action)).numpy()
    earned = returns_of(transformation(trajectories, trajectories.log_prob - reference), trajectories)
    assert np.abs(earned).max() > 0.5
    ratio = np.exp(reference - trajectories.log_prob)
    for weight in (0.0, 0.3):
        advantage = weight * earned
        expected = -np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage).mean()
        settings = {"reward_weight": weight, "advantage_lambda": 1.0, "gradient": "surrogate"}
        metrics = build_learner("reward", copy.deepcopy(policy), **settings).update(quiet, progress=0.0)
        assert metrics["policy_loss"] == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_neurd_credits_the_action_that_was_played_and_pulls_all_to_the_anchors():
    policy, trajectories = new_policy(), stale_data()
    batch = to_batch(trajectories, 1, policy, CPU)
    output = DecisionOutput(torch.arange(batch.decisions), batch.run_all(policy))
    advantage = torch.randn(batch.decisions)
    anchors = [
        (0.3, log_probs_on(new_policy(3), trajectories)),
        (0.2, losses.uniform_log_probs(batch.legal(output))),
    ]
    mask = unpack_mask(trajectories.mask, output.heads.log_probs.shape[1])
    gain = gains(output, batch, Targets(advantage, torch.zeros_like(advantage)), anchors, probability_floor=0.2)
    for row in range(0, batch.decisions, 7):
        for action in np.flatnonzero(mask[row]):
            expected = -sum(
                weight * float(output.heads.log_probs[row, action] - log_probs[row, action])
                for weight, log_probs in anchors
            )
            if action == trajectories.action[row]:
                expected += float(advantage[row]) / max(0.2, float(np.exp(trajectories.log_prob[row])))
            assert gain[row, action].item() == pytest.approx(expected, rel=1e-4, abs=1e-5)
