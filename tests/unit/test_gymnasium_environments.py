"""The games as Gymnasium environments, checked by Gymnasium itself, and the vector environment by the single one."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from duel import BREATH, Duel
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from laps import GAMES, KUHN, LAPS, Laps, opened, sample

from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, IntArray
from nemesis.core.masks import unpack_mask
from nemesis.environments import gymnasium_env, gymnasium_vector_env
from nemesis.environments.gymnasium_single import MatchEnv
from nemesis.environments.gymnasium_vector import MatchVectorEnv
from nemesis.play.players import Choices
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy

torch.set_num_threads(1)


class FirstLegal:
    """Plays the first legal action."""

    def act(self, decisions: Decisions) -> Choices:
        action = unpack_mask(decisions.mask, 8 * decisions.mask.shape[1]).argmax(axis=1)
        unknown = np.full(len(decisions), np.nan, dtype=np.float32)
        return Choices(action, unknown, unknown)

    def forget(self, slot: IntArray) -> None:
        pass


@pytest.mark.parametrize("game", [*GAMES, Duel()])
def test_gymnasium_accepts_the_single_environment(game: str | Duel) -> None:
    check_env(gymnasium_env(opened(game), illegal_action="random"))


def test_gymnasium_makes_the_environments_by_their_id() -> None:
    single = gymnasium.make("nemesis/Match-v0", game=KUHN, illegal_action="random")
    check_env(single.unwrapped, skip_render_check=True)
    vector = gymnasium.make_vec("nemesis/Match-v0", num_envs=3, game=KUHN)
    observation, _ = vector.reset(seed=1)
    assert observation in vector.observation_space
    vector.close()


def test_gymnasium_tells_termination_from_truncation() -> None:
    env = gymnasium_env(Laps(), seat=1)
    vector = gymnasium_vector_env(Laps(), 2, seat=1)
    env.reset()
    for _ in range(LAPS):
        observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["end_reason"]) == (1, False, True, "time_limit")
    assert observation.tolist() == [1, LAPS]
    vector.reset()
    for _ in range(LAPS):
        observation, reward, terminated, truncated, info = vector.step(np.zeros(2, dtype=np.int64))
    assert reward.tolist() == [1, -1]
    assert terminated.tolist() == [False, True]
    assert truncated.tolist() == [True, False]
    assert info["final_info"]["end_reason"].tolist() == ["time_limit", "played"]
    assert info["final_obs"].tolist() == [[1, LAPS], [1, LAPS - 1]]
    assert observation.tolist() == [[1, 0], [1, 0]]


def test_a_voided_match_is_truncated_without_reward() -> None:
    env = gymnasium_env(Duel(lost=range(1)))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(1)
    assert (reward, terminated, truncated, info["end_reason"]) == (0, False, True, "host_lost")


def save_policy_that_strikes(path: Path, action: int) -> None:
    """Save a policy that prefers one action by far."""
    config = PolicyConfig(size="nano", memory="gru")
    policy = build_policy(Duel(), config)
    with torch.no_grad():
        policy.heads.action.linear.bias[action] = 100.0
    save_policy(path, policy, config, Duel(), {})


@pytest.mark.parametrize(
    ("opponent", "strikes"), [("random", {0, 1, 2}), ("bold", {2}), ("file", {1}), (FirstLegal(), {0})]
)
def test_opponents_are_named_loaded_or_given(opponent: str | FirstLegal, strikes: set[int], tmp_path: Path) -> None:
    if opponent == "file":
        opponent = tmp_path / "policy.safetensors"
        save_policy_that_strikes(opponent, 1)
    env = gymnasium_env(Duel(), opponent)
    observation, info = env.reset(seed=1)
    generator = np.random.default_rng(0)
    seen = set()
    for _ in range(100):
        before, catches_breath = observation[0], info["action_mask"][BREATH]  # hit points
        observation, _, terminated, truncated, info = env.step(sample(info["action_mask"], generator))
        if terminated or truncated:
            observation, info = env.reset()
        elif not catches_breath:
            seen.add(int(before - observation[0]))
    assert seen == strikes


def test_an_unknown_opponent_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        UserError, match=r"has no opponent called 'brave'. It has random, timid, bold.*no run, checkpoint"
    ):
        gymnasium_env(Duel(), "brave")
    with pytest.raises(UserError, match="has seats 0 to 1, and no seat 2"):
        gymnasium_env(KUHN, seat=2)


def test_seats_are_taken_in_turn() -> None:
    env = gymnasium_env(opened("openspiel:tic_tac_toe"), seat=None)
    stones = []  # on the board at the agent's first decision
    for _ in range(4):
        observation, info = env.reset()
        stones.append(observation.reshape(3, 9)[1:].sum())
        ended = False
        while not ended:
            _, _, ended, _, info = env.step(int(info["action_mask"].argmax()))
    assert stones == [0, 1, 0, 1]


def test_the_same_seed_repeats_the_same_matches() -> None:
    runs = []
    for _ in range(2):
        env = gymnasium_vector_env("openspiel:leduc_poker", 5)
        generator = np.random.default_rng(0)
        observation, info = env.reset(seed=9)
        run = [observation]
        for _ in range(40):
            observation, reward, *_, info = env.step(sample(info["action_mask"], generator))
            run += [observation, reward]
        runs.append(run)
    assert all(np.array_equal(one, other) for one, other in zip(*runs, strict=True))


@pytest.mark.parametrize("seat", [0, 1, None])
@pytest.mark.parametrize("game", [*GAMES, Duel()])
def test_a_vector_of_one_is_the_single_environment(game: str | Duel, seat: int | None) -> None:
    vector = gymnasium_vector_env(opened(game), 1, seat=seat)
    singles = SyncVectorEnv([lambda: gymnasium_env(opened(game), seat=seat)], autoreset_mode=AutoresetMode.SAME_STEP)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert vector.observation_space == singles.observation_space
    assert vector.action_space == singles.action_space
    generator = np.random.default_rng(1)
    (observation, info), (expected, expected_info) = vector.reset(seed=4), singles.reset(seed=4)
    ends = 0
    for _ in range(200):
        assert info["acting"].all()
        assert np.array_equal(observation, expected)
        assert np.array_equal(info["action_mask"], expected_info["action_mask"])
        action = sample(info["action_mask"], generator)
        observation, *outcome, info = vector.step(action)
        expected, *expected_outcome, expected_info = singles.step(action)
        for one, other in zip(outcome, expected_outcome, strict=True):
            assert np.array_equal(one, other)
        assert ("final_obs" in info) == ("final_obs" in expected_info)
        if "final_obs" in info:
            ends += 1
            assert np.array_equal(info["final_obs"][0], expected_info["final_obs"][0])
            assert info["final_info"]["end_reason"] == expected_info["final_info"]["end_reason"]
    assert ends > 5


@dataclass
class Event:
    """A decision of the agent, with the outcome of its last action."""

    view: np.ndarray
    mask: np.ndarray
    reward: float
    ended: bool
    action: int


def play_vector(vector: MatchVectorEnv, steps: int, seed: int) -> list[list[Event]]:
    """Play at random; returns the decisions of each environment, and checks that nothing happens in between."""
    generator = np.random.default_rng(seed)
    events: list[list[Event]] = [[] for _ in range(vector.num_envs)]
    view, info = vector.reset(seed=seed)
    reward, ended = np.zeros(vector.num_envs), np.zeros(vector.num_envs, dtype=np.bool_)
    for _ in range(steps):
        action = sample(info["action_mask"], generator)
        for number in np.flatnonzero(info["acting"]):
            event = Event(view[number], info["action_mask"][number], reward[number], ended[number], action[number])
            events[number].append(event)
        before = view
        view, reward, terminated, truncated, info = vector.step(action)
        ended = terminated | truncated
        idle = ~info["acting"]
        assert np.array_equal(view[idle], before[idle])
        assert not reward[idle].any()
        assert not ended[idle].any()
        assert (info["action_mask"][idle].sum(axis=1) == 1).all()
        assert info["action_mask"][idle, 0].all()
    return events


def check_episode(env: MatchEnv, events: list[Event], seed: int | None = None) -> None:
    """Repeat the first episode of some events with a single environment."""
    view, info = env.reset(seed=seed)
    for event, after in pairwise(events):
        assert np.array_equal(view, event.view)
        assert np.array_equal(info["action_mask"], event.mask)
        view, reward, terminated, truncated, info = env.step(event.action)
        assert (reward, terminated or truncated) == (after.reward, after.ended)
        if after.ended:
            return
    raise AssertionError("The events have no end.")


def test_each_environment_of_a_vector_is_a_single_one_where_the_game_has_no_chance() -> None:
    vector = gymnasium_vector_env(opened("openspiel:tic_tac_toe"), 7, FirstLegal(), seat=1)
    single = gymnasium_env(opened("openspiel:tic_tac_toe"), FirstLegal(), seat=1)
    episodes = 0
    for events in play_vector(vector, steps=120, seed=0):
        ends = [number for number, event in enumerate(events) if event.ended]
        for first, last in pairwise([0, *ends]):
            check_episode(single, events[first : last + 1])
            episodes += 1
    assert episodes > 50


def test_a_match_of_a_vector_is_that_of_the_single_environment_where_it_follows_from_its_number() -> None:
    vector = gymnasium_vector_env(Duel(hosts=3), 8, "bold")
    single = gymnasium_env(Duel(), "bold")
    for number, events in enumerate(play_vector(vector, steps=60, seed=2)):  # slot k begins with match k
        check_episode(single, events, seed=2 if number == 0 else None)


def test_a_vector_with_chance_plays_the_same_distribution_as_the_single_environment() -> None:
    game, matches = "openspiel:leduc_poker", 1500
    generator = np.random.default_rng(0)
    single, vector = gymnasium_env(game, seat=None), gymnasium_vector_env(game, 50, seat=None)
    _, info = single.reset(seed=0)
    expected: Counter[float] = Counter()
    while expected.total() < matches:
        _, reward, terminated, _, info = single.step(sample(info["action_mask"], generator))
        if terminated:
            expected[reward] += 1
            _, info = single.reset()
    _, info = vector.reset(seed=1)
    counts: Counter[float] = Counter()
    while counts.total() < matches:
        _, reward, terminated, _, info = vector.step(sample(info["action_mask"], generator))
        counts.update(reward[terminated].tolist())
    for value in expected.keys() | counts.keys():
        share = (expected[value] + counts[value]) / (expected.total() + counts.total())
        error = np.sqrt(2 * share * (1 - share) / matches)
        assert abs(expected[value] / expected.total() - counts[value] / counts.total()) < 4 * error
