"""The games as PettingZoo environments, checked by PettingZoo itself."""

from collections import Counter

import numpy as np
import pytest
import torch
from duel import BREATH, Duel
from laps import GAMES, KUHN, LAPS, Laps, opened
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from nemesis.environments import aec_env, parallel_env

torch.set_num_threads(1)


@pytest.mark.parametrize("game", GAMES)
def test_aec_environments_pass_the_checks_of_pettingzoo(game: str) -> None:
    api_test(aec_env(opened(game)), num_cycles=50)
    seed_test(lambda: aec_env(opened(game)), num_cycles=50)


@pytest.mark.parametrize("game", GAMES)
def test_parallel_environments_pass_the_checks_of_pettingzoo(game: str) -> None:
    parallel_api_test(parallel_env(opened(game)), num_cycles=50)
    parallel_seed_test(lambda: parallel_env(opened(game), illegal_action="random"), num_cycles=50)


@pytest.mark.parametrize("game", [Duel(), Laps()])
def test_pettingzoo_accepts_games_with_simultaneous_moves_and_teams(game: Duel | Laps) -> None:
    api_test(aec_env(game), num_cycles=20)
    seed_test(lambda: aec_env(game), num_cycles=20)
    parallel_api_test(parallel_env(game), num_cycles=20)


def test_aec_rewards_are_the_returns_of_the_match() -> None:
    env = aec_env(KUHN)
    env.reset(seed=3)
    totals = Counter()
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        assert not truncated
        env.step(None if terminated else int(np.flatnonzero(observation["action_mask"])[-1]))  # always bet
    assert sorted(totals.values()) == [-2, 2]


def test_seats_that_act_at_once_are_selected_one_by_one_and_see_nothing_of_each_other() -> None:
    env = aec_env(Duel())
    seen = []
    for strike in (0, 2):
        env.reset(seed=5)
        assert env.agent_selection == "seat_0"
        env.step(strike)
        assert env.agent_selection == "seat_1"
        seen.append(env.last()[0]["observation"])
    assert np.array_equal(*seen)


@pytest.mark.parametrize("match", range(2))
def test_a_truncated_match_pays_its_rewards_and_shows_its_last_view(match: int) -> None:
    env = parallel_env(Laps())
    for _ in range(match + 1):
        env.reset()
        rewards = []
        while env.agents:
            observation, reward, terminated, truncated, info = env.step(dict.fromkeys(env.agents, 0))
            rewards.append(list(reward.values()))
    odd = match == 1
    last = [3, -1, 3, -1] if odd else [1, 1, 1, 1]  # half of the scale 2, and the return of the seat's side
    assert rewards == [[1, 1, 1, 1], [1, 1, 1, 1], last]
    assert set(terminated.values()) == {odd}
    assert set(truncated.values()) == {not odd}
    assert info["seat_2"]["end_reason"] == ("played" if odd else "time_limit")
    assert observation["seat_2"]["observation"].tolist() == [2, LAPS - 1 if odd else LAPS]


def test_aec_tells_termination_from_truncation() -> None:
    env = aec_env(Laps())
    for ended in ((False, True), (True, False)):
        env.reset()
        for _ in env.agent_iter():
            _, _, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else 1)
        assert (terminated, truncated) == ended


def test_a_parallel_seat_with_nothing_to_decide_has_action_0_and_is_ignored() -> None:
    env = parallel_env(Duel())
    env.reset(seed=0)
    observation, *_, info = env.step({"seat_0": 2, "seat_1": 0})  # seat 1 has to catch breath, alone
    assert {agent: one["acting"] for agent, one in info.items()} == {"seat_0": False, "seat_1": True}
    assert np.flatnonzero(observation["seat_0"]["action_mask"]).tolist() == [0]
    assert np.flatnonzero(observation["seat_1"]["action_mask"]).tolist() == [BREATH]
    *_, info = env.step({"seat_0": 1, "seat_1": BREATH})
    assert all(one["acting"] for one in info.values())
