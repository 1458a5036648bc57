"""Rewards, advantages and value targets, against hand-computed numbers and loops over one episode at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from nemesis.core.game import FloatArray, IntArray
from nemesis.core.trajectory import Trajectories
from nemesis.learners.returns import gae, n_step, rewards_of, terminal_rewards, vtrace

torch.set_num_threads(1)

SETTINGS = [(1.0, 0.95), (0.9, 0.8), (0.99, 0.0), (1.0, 1.0)]  # discount, λ


class Episodes:
    """Random ragged episodes, in float64 so that agreement is to nine digits."""

    def __init__(self, seed: int = 0, episodes: int = 40) -> None:
        generator = np.random.default_rng(seed)
        lengths = generator.integers(1, 15, episodes)
        lengths[[0, -1]] = 1, 14
        self.offsets: IntArray = np.concatenate([[0], np.cumsum(lengths)])
        self.reward, self.value, self.log_ratio = generator.normal(size=(3, self.offsets[-1]))

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.from_numpy(self.reward), torch.from_numpy(self.value), torch.from_numpy(self.log_ratio)

    def rows(self):
        """Yield the rows of each episode, the last first, with the row that follows each."""
        for first, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            for row in range(end - 1, first - 1, -1):
                yield row, row + 1 if row + 1 < end else None


def naive_gae(episodes: Episodes, discount: float, decay: float) -> FloatArray:
    advantage = np.zeros_like(episodes.reward)
    for row, after in episodes.rows():
        next_value, next_advantage = (0.0, 0.0) if after is None else (episodes.value[after], advantage[after])
        delta = episodes.reward[row] + discount * next_value - episodes.value[row]
        advantage[row] = delta + discount * decay * next_advantage
    return advantage


def naive_vtrace(episodes: Episodes, discount: float, decay: float, limit: float) -> tuple[FloatArray, FloatArray]:
    advantage, target = np.zeros_like(episodes.reward), np.zeros_like(episodes.reward)
    for row, after in episodes.rows():
        next_value, next_target = (0.0, 0.0) if after is None else (episodes.value[after], target[after])
        ratio = min(limit, np.exp(episodes.log_ratio[row]))
        delta = ratio * (episodes.reward[row] + discount * next_value - episodes.value[row])
        target[row] = episodes.value[row] + delta + discount * decay * ratio * (next_target - next_value)
        advantage[row] = episodes.reward[row] + discount * next_target - episodes.value[row]
    return advantage, target


@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_gae_is_the_backward_recursion_of_each_episode(discount: float, decay: float):
    episodes = Episodes()
    reward, value, _ = episodes.tensors()
    advantage = gae(reward, value, episodes.offsets, discount, decay)
    np.testing.assert_allclose(advantage.numpy(), naive_gae(episodes, discount, decay), atol=1e-9)


@pytest.mark.parametrize("limit", [0.7, 1.0, 2.0])
@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_vtrace_is_the_backward_recursion_of_each_episode(discount: float, decay: float, limit: float):
    episodes = Episodes(seed=1)
    reward, value, log_ratio = episodes.tensors()
    advantage, target = vtrace(reward, value, log_ratio, episodes.offsets, discount, decay, limit)
    expected_advantage, expected_target = naive_vtrace(episodes, discount, decay, limit)
    np.testing.assert_allclose(advantage.numpy(), expected_advantage, atol=1e-9)
    np.testing.assert_allclose(target.numpy(), expected_target, atol=1e-9)


@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_on_data_of_the_policy_itself_vtrace_is_the_lambda_return(discount: float, decay: float):
    episodes = Episodes(seed=2)
    reward, value, log_ratio = episodes.tensors()
    _, target = vtrace(reward, value, torch.zeros_like(log_ratio), episodes.offsets, discount, decay, ratio_limit=1.0)
    torch.testing.assert_close(target, value + gae(reward, value, episodes.offsets, discount, decay))


def test_with_lambda_one_the_value_cancels_out():
    episodes = Episodes(seed=3)
    reward, value, _ = episodes.tensors()
    returns = value + gae(reward, value, episodes.offsets, 1.0, 1.0)
    first = torch.from_numpy(episodes.offsets[:-1])
    sums = [reward[start:end].sum() for start, end in zip(episodes.offsets[:-1], episodes.offsets[1:], strict=True)]
    torch.testing.assert_close(returns[first], torch.stack(sums))


def trajectories_of(offsets: Sequence[int] | IntArray, **changes: Any) -> Trajectories:
    """Return episodes that have nothing but results, which are ±1, and the given arrays."""
    count = len(offsets) - 1
    number, flat = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    given: dict[str, Any] = {
        "view": np.zeros((0, 0), dtype=np.float32),
        "mask": np.zeros((0, 0), dtype=np.uint8),
        "action": number,
        "log_prob": flat,
        "value": flat,
        "version": number,
        "tick": number,
        "offsets": np.asarray(offsets),
        "match": number,
        "seat": number,
        "result": np.where(np.arange(count) % 3 == 0, 1.0, -1.0).astype(np.float32),
        "memory_row": number,
        "memory": np.zeros((0, 0), dtype=np.float32),
    }
    return Trajectories(**given | changes)


def floats(*numbers: float) -> FloatArray:
    return np.array(numbers, dtype=np.float32)


def test_the_result_is_paid_at_the_last_decision():
    reward = terminal_rewards(trajectories_of([0, 2, 3, 6], result=floats(1.0, -0.5, 0.25)))
    assert reward.tolist() == [0, 1, -0.5, 0, 0, 0.25]
    assert reward.dtype == np.float32


def test_only_terminated_episodes_pay_their_result():
    terminated = np.array([True, False, True])
    trajectories = trajectories_of([0, 2, 3, 6], result=floats(1.0, -0.5, 0.25), terminated=terminated)
    assert rewards_of(trajectories, 0.5).tolist() == [0, 1, 0, 0, 0, 0.25]


def test_rewards_of_the_game_are_added_to_the_result():
    reward = floats(0.5, -0.25, 0.125, 0.0)
    rewards = rewards_of(trajectories_of([0, 3, 4], result=floats(1.0, -1.0), reward=reward), 0.5)
    assert rewards.tolist() == [0.5, -0.25, 1.125, -1.0]
    assert rewards.dtype == np.float32
    assert reward.tolist() == [0.5, -0.25, 0.125, 0.0]


def test_an_episode_that_goes_on_continues_with_its_bootstrap_value():
    terminated = np.array([False, True])
    trajectories = trajectories_of([0, 2, 4], terminated=terminated, result=floats(0, 1), bootstrap=floats(1.0, 0))
    reward = torch.from_numpy(rewards_of(trajectories, 0.5))
    assert reward.tolist() == [0, 0.5, 0, 1]
    value = torch.tensor([0.5, 0.25, 0.5, 0.25])
    # δ = (0.5 · 0.25 − 0.5, 0.5 · 1 − 0.25), then (0.5 · 0.25 − 0.5, 1 − 0.25); A₀ = δ₀ + 0.5 · 0.5 · δ₁
    assert gae(reward, value, trajectories.offsets, 0.5, 0.5).tolist() == [-0.3125, 0.25, -0.1875, 0.75]
    assert n_step(reward, value, trajectories.offsets, 0.5, 1).tolist() == [0.125, 0.5, 0.125, 1]
    assert n_step(reward, value, trajectories.offsets, 0.5, 3).tolist() == [0.25, 0.5, 0.5, 1]
    _, target = vtrace(reward, value, torch.zeros(4), trajectories.offsets, 0.5, 1.0, ratio_limit=1.0)
    assert target.tolist() == [0.25, 0.5, 0.5, 1]


def test_shaping_goes_on_to_the_final_potential_of_an_episode_that_goes_on():
    trajectories = trajectories_of(
        [0, 2, 3],
        terminated=np.array([False, True]),
        result=floats(0, -1),
        potential=floats(0.25, 0.5, 0.75),
        final_potential=floats(-0.5, 0),
    )
    assert rewards_of(trajectories, 0.5).tolist() == [0.25 - 0.25, -0.25 - 0.5, -1 - 0.75]


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_a_truncated_episode_has_the_advantages_of_the_longer_one_that_it_was_cut_from(
    discount: float, decay: float, shaped: bool
):
    """Where the values after the cut are exact, nothing after it can change an advantage before it."""
    length, cut = 9, 5
    generator = np.random.default_rng(6)
    reward, potential, log_ratio = generator.normal(size=(3, length)).astype(np.float32)
    longer = trajectories_of([0, length], reward=reward, potential=potential if shaped else None)
    rewards = torch.from_numpy(rewards_of(longer, discount)).double()
    value = torch.from_numpy(generator.normal(size=length + 1))
    value[length] = 0.0
    for row in range(length - 1, cut - 1, -1):
        value[row] = rewards[row] + discount * value[row + 1]
    shorter = trajectories_of(
        [0, cut],
        reward=reward[:cut],
        result=floats(0),
        terminated=np.array([False]),
        bootstrap=floats(float(value[cut])),
        potential=potential[:cut] if shaped else None,
        final_potential=potential[cut : cut + 1] if shaped else None,
    )
    ratio = torch.from_numpy(log_ratio).double()

    def estimates(trajectories: Trajectories, rows: int) -> list[torch.Tensor]:
        rewards = torch.from_numpy(rewards_of(trajectories, discount)).double()
        offsets = trajectories.offsets
        return [
            gae(rewards, value[:rows], offsets, discount, decay),
            *vtrace(rewards, value[:rows], ratio[:rows], offsets, discount, decay, ratio_limit=1.0),
            *(n_step(rewards, value[:rows], offsets, discount, steps) for steps in (1, 2, 4, 20)),
        ]

    for short, long in zip(estimates(shorter, cut), estimates(longer, length), strict=True):
        torch.testing.assert_close(short, long[:cut], atol=1e-5, rtol=0)


def test_without_a_potential_only_the_result_is_paid():
    trajectories = trajectories_of(Episodes().offsets)
    expected = terminal_rewards(trajectories)
    np.testing.assert_array_equal(rewards_of(trajectories, 0.9), expected)


def test_shaping_pays_what_a_decision_gained_and_ends_at_zero():
    reward = rewards_of(trajectories_of([0, 3, 4], potential=floats(0.25, 0.5, -0.5, 0.75)), 0.5)
    assert reward.tolist() == [0.25 - 0.25, -0.25 - 0.5, 1 + 0.5, -1 - 0.75]
    assert reward.dtype == np.float32


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_shaping_adds_up_to_the_result_less_the_potential_at_the_start(discount: float):
    episodes = Episodes(seed=4)
    trajectories = trajectories_of(episodes.offsets, potential=episodes.value.astype(np.float32))
    reward = torch.from_numpy(rewards_of(trajectories, discount)).double()
    returns = gae(reward, torch.zeros_like(reward), episodes.offsets, discount, 1.0)
    lengths = np.diff(episodes.offsets)
    left = np.concatenate([np.arange(length)[::-1] for length in lengths])  # decisions until the last
    expected = np.repeat(trajectories.result, lengths) * discount**left - trajectories.potential
    np.testing.assert_allclose(returns.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_with_a_value_that_includes_the_potential_shaping_changes_no_advantage(discount: float, decay: float):
    """The value of a shaped game is that of the game less the potential: which action is better stays as it was."""
    episodes = Episodes(seed=5)
    potential = np.sin(np.arange(episodes.offsets[-1])).astype(np.float32)
    plain, shaped = (
        torch.from_numpy(rewards_of(trajectories_of(episodes.offsets, potential=given), discount)).double()
        for given in (None, potential)
    )
    value = torch.from_numpy(episodes.value)
    expected = gae(plain, value, episodes.offsets, discount, decay)
    advantage = gae(shaped, value - torch.from_numpy(potential), episodes.offsets, discount, decay)
    assert not torch.allclose(plain, shaped)
    torch.testing.assert_close(advantage, expected, atol=1e-5, rtol=0)
