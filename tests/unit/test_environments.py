"""The games as PettingZoo and Gymnasium environments, checked by the checkers of both and against each other."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import gymnasium
import numpy as np
import pytest
import torch
from duel import BREATH, Duel
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, EndReason, Game, GameSpec, IntArray, Results, Scripted
from nemesis.core.masks import pack_mask, unpack_mask
from nemesis.environments import aec_env, gymnasium_env, gymnasium_vector_env, parallel_env
from nemesis.environments.gymnasium_single import MatchEnv
from nemesis.environments.gymnasium_vector import MatchVectorEnv
from nemesis.games import open_game
from nemesis.play.players import Choices
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy

torch.set_num_threads(1)

GAMES = [
    "openspiel:leduc_poker",
    "openspiel:kuhn_poker",
    "openspiel:tic_tac_toe",
    "openspiel:goofspiel(num_cards=3,points_order=descending)",  # simultaneous
]
KUHN = "openspiel:kuhn_poker"
ROOT = Path(__file__).absolute().parent.parent.parent
LAPS = 3


class Laps:
    """Two sides of two seats, which all act at once, for a reward of 1 each time.

    Even matches are truncated after the last lap, and odd ones are won by side 0.
    """

    spec = GameSpec("laps", view_size=2, actions=3, utility_scale=2.0, view_bytes=4, view_version="1", seats=4)
    scripted: Mapping[str, Scripted] = MappingProxyType({})

    def pool(self, slots: int, seed: int) -> "LapsPool":  # noqa: ARG002
        return LapsPool(slots)


class LapsPool:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._match = np.arange(slots)
        self._lap = np.zeros(slots, dtype=np.int64)

    def recv(self) -> tuple[Decisions, Results]:
        slot = np.flatnonzero(self._lap == LAPS)
        truncated = slot[self._match[slot] % 2 == 0]
        results = Results(
            match=self._match[slot],
            slot=slot,
            returns=np.tile(np.array([2.0, -2.0], dtype=np.float32), (len(slot), 1)),
            end_reason=np.where(self._match[slot] % 2 == 0, EndReason.TIME_LIMIT, EndReason.PLAYED),
            reward=np.full((len(slot), 4), 1.0, dtype=np.float32),
            final=self._decisions(truncated),
        )
        self._match[slot] += self.slots
        self._lap[slot] = 0
        return self._decisions(np.arange(self.slots)), results

    def send(self, actions: IntArray) -> None:
        assert len(actions) == 4 * self.slots
        self._lap += 1

    def close(self) -> None:
        pass

    def _decisions(self, slot: IntArray) -> Decisions:
        slot, seat = np.repeat(slot, 4), np.tile(np.arange(4), len(slot))
        view = np.stack([seat, self._lap[slot]], axis=1).astype(np.float32)
        mask = pack_mask(np.tile(np.array([True, True, False]), (len(slot), 1)))
        reward = np.where(self._lap[slot] > 0, 1.0, 0).astype(np.float32)
        return Decisions(self._match[slot].copy(), slot, seat, view, mask, reward)


class FirstLegal:
    """Plays the first legal action."""

    def act(self, decisions: Decisions) -> Choices:
        action = unpack_mask(decisions.mask, 8 * decisions.mask.shape[1]).argmax(axis=1)
        unknown = np.full(len(decisions), np.nan, dtype=np.float32)
        return Choices(action, unknown, unknown)

    def forget(self, slot: IntArray) -> None:
        pass


@cache
def opened(game: str | Duel) -> Game:
    """Return a game, opened once: large games of OpenSpiel take seconds to open."""
    return open_game(game) if isinstance(game, str) else game


def sample(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return random legal actions under masks (…, action)."""
    return (mask * generator.uniform(0.1, 1, mask.shape)).argmax(axis=-1)


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


def test_a_parallel_seat_with_nothing_to_decide_has_action_0_and_is_ignored() -> None:
    env = parallel_env(Duel())
    env.reset(seed=0)
    observation, *_, info = env.step({"seat_0": 2, "seat_1": 0})  # seat 1 has to catch breath, alone
    assert {agent: one["acting"] for agent, one in info.items()} == {"seat_0": False, "seat_1": True}
    assert np.flatnonzero(observation["seat_0"]["action_mask"]).tolist() == [0]
    assert np.flatnonzero(observation["seat_1"]["action_mask"]).tolist() == [BREATH]
    *_, info = env.step({"seat_0": 1, "seat_1": BREATH})
    assert all(one["acting"] for one in info.values())


def test_a_voided_match_is_truncated_without_reward() -> None:
    env = gymnasium_env(Duel(lost=range(1)))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(1)
    assert (reward, terminated, truncated, info["end_reason"]) == (0, False, True, "host_lost")


def test_an_illegal_action_raises_and_changes_nothing() -> None:
    env = gymnasium_env(Duel())
    env.reset(seed=0)
    for action in (BREATH, -1, 4, 7):
        with pytest.raises(ValueError, match=f"Action {action} of environment 0 is not legal; choose one where"):
            env.step(action)
    env.step(0)
    aec, parallel = aec_env(Duel()), parallel_env(Duel())
    aec.reset()
    parallel.reset()
    with pytest.raises(ValueError, match="Action 3 of seat_0 is not legal"):
        aec.step(3)
    with pytest.raises(ValueError, match="Action None of seat_1 is not legal"):
        parallel.step({"seat_0": 0})
    with pytest.raises(UserError, match="illegal_action is one of raise, random, lose, not 'pass'"):
        gymnasium_env(Duel(), illegal_action="pass")


def test_an_illegal_action_can_be_replaced_by_a_random_one() -> None:
    env = gymnasium_env(Duel(), illegal_action="random")
    env.reset(seed=0)
    assert env.step(BREATH)[-1]["illegal_action"]
    aec = aec_env(Duel(), illegal_action="random")
    aec.reset(seed=0)
    aec.step(BREATH)
    assert aec.infos["seat_0"] == {"illegal_action": True}
    parallel = parallel_env(Duel(), illegal_action="random")
    parallel.reset(seed=0)
    *_, info = parallel.step({"seat_0": 0, "seat_1": BREATH})
    assert "illegal_action" in info["seat_1"]
    assert "illegal_action" not in info["seat_0"]


def test_an_illegal_action_can_lose_the_match() -> None:
    env = gymnasium_env("openspiel:leduc_poker", illegal_action="lose")
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)  # there is nothing to fold to
    assert (reward, terminated, truncated, info["end_reason"]) == (-13, True, False, "forfeit")
    _, info = env.reset()
    assert not env.step(int(info["action_mask"].argmax()))[2]
    aec = aec_env(Duel(), illegal_action="lose")
    aec.reset(seed=0)
    aec.step(0)
    aec.step(BREATH)
    assert aec.terminations == {"seat_0": True, "seat_1": True}
    assert aec.rewards == {"seat_0": 1, "seat_1": -1}
    parallel = parallel_env(Duel(), illegal_action="lose")
    parallel.reset(seed=0)
    _, reward, terminated, *_ = parallel.step({"seat_0": BREATH, "seat_1": 0})
    assert reward == {"seat_0": -1, "seat_1": 1}
    assert all(terminated.values())
    vector = gymnasium_vector_env(Duel(hosts=1), 2, illegal_action="lose")
    vector.reset(seed=0)
    rewards = np.zeros(2)
    for step in range(20):
        action = np.array([0, BREATH if step == 0 else 0])
        _, reward, terminated, _, info = vector.step(np.where(info["acting"], action, 0) if step else action)
        rewards += reward
        if terminated[1]:
            break
        assert not info["acting"][1]  # its match is played to the end without the agent
    assert rewards[1] == -1


@pytest.mark.parametrize("opponent", ["random", "bold", "file", FirstLegal()])
def test_opponents_are_named_loaded_or_given(opponent: str | FirstLegal, tmp_path: Path) -> None:
    game = Duel()
    if opponent == "file":
        opponent = tmp_path / "policy.safetensors"
        config = PolicyConfig(size="nano", memory="gru")
        save_policy(opponent, build_policy(game, config), config, game, {})
    env = gymnasium_env(game, opponent)
    _, info = env.reset(seed=1)
    generator = np.random.default_rng(0)
    ends = 0
    while ends < 3:
        _, _, terminated, truncated, info = env.step(sample(info["action_mask"], generator))
        if terminated or truncated:
            ends += 1
            _, info = env.reset()


def test_an_unknown_opponent_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        UserError, match="There is no opponent 'brave': duel:plain has random, timid, bold, there is no policy"
    ):
        gymnasium_env(Duel(), "brave")
    with pytest.raises(UserError, match="has seats 0 to 1, and no seat 2"):
        gymnasium_env(KUHN, seat=2)


def test_settings_of_the_family_are_checked() -> None:
    with pytest.raises(UserError, match="turn_limit"):
        aec_env("pokemon:gen1randombattle", settings={"turn_limit": 1})
    with pytest.raises(UserError, match="Settings belong to a game that is given by name"):
        aec_env(Duel(), settings={"turn_limit": 100})


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


def test_a_missing_package_is_named_in_a_sentence() -> None:
    code = "import sys; sys.modules['pettingzoo'] = None; import nemesis.environments"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "nemesis.environments needs pettingzoo, which is not installed; run `pip install" in run.stderr


def test_the_example_learns() -> None:
    script = ROOT / "examples" / "kuhn_reinforce.py"
    assert len(script.read_text().splitlines()) <= 60
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=ROOT, check=True)
    nash_conv = [float(value) for value in re.findall(r"NashConv ([\d.]+)", run.stdout)]
    assert len(nash_conv) > 4
    assert nash_conv[-1] < nash_conv[0] / 2
