"""Advantages and value targets, against loops over one episode at a time."""

import numpy as np
import pytest
import torch

from nemesis.core.game import FloatArray, IntArray
from nemesis.core.trajectory import Trajectories
from nemesis.learners.returns import gae, rewards_of, terminal_rewards, vtrace

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


def test_the_result_is_paid_at_the_last_decision():
    reward = terminal_rewards(np.array([1.0, -0.5, 0.25], dtype=np.float32), np.array([0, 2, 3, 6]))
    assert reward.tolist() == [0, 1, -0.5, 0, 0, 0.25]
    assert reward.dtype == np.float32


def judged(episodes: Episodes, potential: FloatArray | None) -> Trajectories:
    """Return episodes of which only results and potentials are known; results are ±1."""
    count = len(episodes.offsets) - 1
    number, flat = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    result = np.where(np.arange(count) % 3 == 0, 1.0, -1.0).astype(np.float32)
    empty = np.zeros((0, 0), dtype=np.float32)
    return Trajectories(
        view=empty,
        mask=empty.astype(np.bool_),
        action=number,
        log_prob=flat,
        value=flat,
        version=number,
        tick=number,
        offsets=episodes.offsets,
        match=number,
        seat=number,
        result=result,
        memory_row=number,
        memory=empty,
        potential=potential,
    )


def test_without_a_potential_only_the_result_is_paid():
    trajectories = judged(Episodes(), None)
    expected = terminal_rewards(trajectories.result, trajectories.offsets)
    np.testing.assert_array_equal(rewards_of(trajectories, 0.9), expected)


def test_shaping_pays_what_a_decision_gained_and_ends_at_zero():
    episodes = Episodes()
    episodes.offsets = np.array([0, 3, 4])
    reward = rewards_of(judged(episodes, np.array([0.25, 0.5, -0.5, 0.75], dtype=np.float32)), 0.5)
    assert reward.tolist() == [0.25 - 0.25, -0.25 - 0.5, 1 + 0.5, -1 - 0.75]
    assert reward.dtype == np.float32


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_shaping_adds_up_to_the_result_less_the_potential_at_the_start(discount: float):
    episodes = Episodes(seed=4)
    trajectories = judged(episodes, episodes.value.astype(np.float32))
    reward = torch.from_numpy(rewards_of(trajectories, discount)).double()
    returns = gae(
        reward, torch.zeros_like(reward), episodes.offsets, discount, 1.0
    )  # of every decision, not only first
    lengths = np.diff(episodes.offsets)
    left = np.concatenate([np.arange(length)[::-1] for length in lengths])  # decisions until the last
    expected = np.repeat(trajectories.result, lengths) * discount**left - trajectories.potential
    np.testing.assert_allclose(returns.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(("discount", "decay"), SETTINGS)
def test_with_a_value_that_knows_the_potential_shaping_changes_no_advantage(discount: float, decay: float):
    """The value of a shaped game is that of the game less the potential: which action is better stays as it was."""
    episodes = Episodes(seed=5)
    potential = np.sin(np.arange(episodes.offsets[-1])).astype(np.float32)
    plain, shaped = (
        torch.from_numpy(rewards_of(judged(episodes, given), discount)).double() for given in (None, potential)
    )
    value = torch.from_numpy(episodes.value)
    expected = gae(plain, value, episodes.offsets, discount, decay)
    advantage = gae(shaped, value - torch.from_numpy(potential), episodes.offsets, discount, decay)
    assert not torch.allclose(plain, shaped)
    torch.testing.assert_close(advantage, expected, atol=1e-5, rtol=0)
