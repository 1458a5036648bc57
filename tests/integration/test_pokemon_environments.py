"""Pokémon battles as PettingZoo and Gymnasium environments, on the real simulator."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from nemesis.core.game import Game
from nemesis.environments import aec_env, gymnasium_env, gymnasium_vector_env, parallel_env
from nemesis.environments.spaces import as_game

FORMAT = "pokemon:gen1randombattle"


@pytest.fixture(scope="module")
def game() -> Game:
    return as_game(FORMAT, {"hosts": 1, "turn_limit": 200})  # one game, so that its host stays warm


def sample(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return random legal actions under masks (…, action)."""
    return (mask * generator.uniform(0.1, 1, mask.shape)).argmax(axis=-1)


def test_battles_pass_the_checks_of_pettingzoo(game: Game) -> None:
    api_test(aec_env(game), num_cycles=100)
    seed_test(lambda: aec_env(game), num_cycles=50)
    parallel_api_test(parallel_env(game), num_cycles=300)
    parallel_seed_test(lambda: parallel_env(game, illegal_action="random"), num_cycles=30)


def test_battles_pass_the_checks_of_gymnasium(game: Game) -> None:
    env = gymnasium_env(game, illegal_action="random")
    check_env(env)
    env.close()


def test_a_battle_is_won_by_one_side_and_lost_by_the_other(game: Game) -> None:
    env = parallel_env(game)
    generator = np.random.default_rng(0)
    observation, info = env.reset(seed=1)
    alone = 0
    while env.agents:
        alone += sum(one["acting"] for one in info.values()) == 1
        actions = {agent: sample(observation[agent]["action_mask"], generator) for agent in env.agents}
        observation, rewards, terminated, truncated, info = env.step(actions)
    env.close()
    assert sorted(rewards.values()) == [-1, 1]
    assert all(terminated.values())
    assert not any(truncated.values())
    assert alone > 5  # replacements of fainted Pokémon


def test_a_vector_of_one_battle_is_the_single_environment(game: Game) -> None:
    vector = gymnasium_vector_env(game, 1, "random", seat=None)
    singles = SyncVectorEnv([lambda: gymnasium_env(game, seat=None)], autoreset_mode=AutoresetMode.SAME_STEP)
    generator = np.random.default_rng(1)
    (observation, info), (expected, expected_info) = vector.reset(seed=4), singles.reset(seed=4)
    ends = 0
    while ends < 3:
        assert np.array_equal(observation, expected)
        assert np.array_equal(info["action_mask"], expected_info["action_mask"])
        action = sample(info["action_mask"], generator)
        observation, reward, terminated, truncated, info = vector.step(action)
        expected, *outcome, expected_info = singles.step(action)
        for one, other in zip((reward, terminated, truncated), outcome, strict=True):
            assert np.array_equal(one, other)
        ends += int(terminated[0] or truncated[0])
    vector.close()
    singles.close()


def test_a_vector_of_battles_has_the_lengths_and_results_of_single_battles(game: Game) -> None:
    """The scripted player wins about as often against random play, after about as many decisions."""
    matches, envs = 60, 20
    generator = np.random.default_rng(0)
    single = gymnasium_env(game, "max_power")
    lengths, wins = np.zeros((2, matches))
    for match in range(matches):
        _, info = single.reset(seed=0 if match == 0 else None)
        ended = False
        while not ended:
            _, reward, terminated, truncated, info = single.step(sample(info["action_mask"], generator))
            ended = terminated or truncated
            lengths[match] += 1
        wins[match] = reward > 0
    single.close()
    vector = gymnasium_vector_env(game, envs, "max_power")
    _, info = vector.reset(seed=1)
    length = np.zeros(envs)
    vector_lengths: list[list[float]] = [[] for _ in range(envs)]
    vector_wins: list[list[bool]] = [[] for _ in range(envs)]
    while min(len(one) for one in vector_lengths) < matches // envs:  # so that long battles count as well
        length += info["acting"]
        _, reward, terminated, truncated, info = vector.step(sample(info["action_mask"], generator))
        for number in np.flatnonzero(terminated | truncated):
            vector_lengths[number].append(length[number])
            vector_wins[number].append(bool(reward[number] > 0))
            length[number] = 0
    vector.close()
    first = np.array([one[: matches // envs] for one in vector_lengths]).ravel()
    won = np.array([one[: matches // envs] for one in vector_wins], dtype=np.float64).ravel()
    for one, other in ((lengths, first), (wins, won)):
        error = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / matches)
        assert abs(one.mean() - other.mean()) < 4 * error + 1e-9
