"""Rewards by component: they reach the learner as the game paid them, and are weighted and scaled there."""

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from episodes import CPU, build_collector, opened, play
from team_game import COMPONENTS, RatedRelay, RelaySettings
from test_dataset_recorder import record

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories, concatenate
from nemesis.environments import gymnasium_env, parallel_env
from nemesis.learners import return_scale
from nemesis.learners.config import RewardConfig
from nemesis.learners.return_scale import ReturnScale
from nemesis.learners.returns import rewards_of
from nemesis.learners.shaping import RewardShaping, Shaped
from nemesis.play.experience import Clock
from nemesis.play.pairings import MAIN
from nemesis.play.players import RandomPlayer
from nemesis.play.serial import SerialSource
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.population.exploiters import Exploiters
from nemesis.storage.checkpoints import load_checkpoint
from nemesis.training.assembly import play_settings
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

torch.set_num_threads(1)

RIGHT, WRONG, LOW = range(len(COMPONENTS))
DEFAULT = np.float32([component.weight for component in COMPONENTS.values()])
SMALL = {
    "game": "team_game:RatedRelay",
    "collection": {"slots": 12, "decisions": 128, "staleness": 100},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo", "minibatch": 64, "discount": 0.9},
}


def relay(kind: str = "race", rounds: int = 4) -> RatedRelay:
    return RatedRelay(RelaySettings(kind=kind, rounds=rounds))


def played(game: RatedRelay, decisions: int = 300) -> Trajectories:
    policy = build_policy(game, PolicyConfig(width=16, layers=1))
    return play(game, policy, decisions, slots=12)


@pytest.fixture(scope="module")
def episodes() -> Trajectories:
    return played(relay())


def shaped(trajectories: Trajectories, progress: float = 0.0, **settings: Any) -> Shaped:
    return RewardShaping(RewardConfig.model_validate(settings), relay()).shape(trajectories, progress)


def reward(trajectories: Trajectories, progress: float = 0.0, **settings: Any) -> np.ndarray | None:
    return shaped(trajectories, progress, **settings).trajectories.reward


def expected_components(trajectories: Trajectories) -> np.ndarray:
    """Return the components that follow from what was seen and done."""
    right = trajectories.action == (trajectories.view[:, 1] > 0)
    return np.stack([right, -1.0 * ~right, trajectories.action == 0], axis=1)


@pytest.mark.parametrize("kind", ["race", "endless"])
@pytest.mark.parametrize("segment", [None, 2])
def test_every_decision_has_the_components_that_the_game_paid_for_it(tmp_path: Path, kind: str, segment: int | None):
    settings = {**SMALL, "game_settings": {"kind": kind}, "collection": {**SMALL["collection"], "segment": segment}}
    with closing(Run(build_config(RunConfig, settings), tmp_path)) as run:
        for _ in range(3):
            part = run.source.collect(200).episodes[MAIN]
            np.testing.assert_array_equal(part.reward, expected_components(part))
            assert part.reward.dtype == np.float32


def test_an_actor_hands_over_what_a_run_in_one_process_plays(tmp_path: Path):
    settings = {**SMALL, "collection": {**SMALL["collection"], "actors": 1}}
    with closing(Run(build_config(RunConfig, settings), tmp_path)) as run:
        from_actor = run.source.collect(128).episodes[MAIN]
        seed = int(np.random.SeedSequence([run.source._seed, 1]).generate_state(1)[0])  # of the first actor
        serial = SerialSource(
            play_settings(run.config),
            run.game,
            {MAIN: run.policy},
            CPU,
            run.matchmaker.pairings,
            tmp_path,
            seed,
            Clock(),
        )
        with closing(serial):
            here = serial.collect(128).episodes[MAIN]
    for name in ("view", "action", "reward", "result", "offsets", "seat"):
        np.testing.assert_array_equal(getattr(from_actor, name), getattr(here, name), err_msg=name)


def test_batches_can_be_joined_and_cut(episodes: Trajectories):
    joined = concatenate([episodes, episodes.episodes_at(slice(0, 3))])
    np.testing.assert_array_equal(joined.reward, expected_components(joined))


def test_sparse_pays_sparse_components_dense_all_and_hybrid_goes_from_one_to_the_other(episodes: Trajectories):
    components = expected_components(episodes)
    sparse, dense = components[:, RIGHT] * DEFAULT[RIGHT], components @ DEFAULT
    np.testing.assert_allclose(reward(episodes), sparse, atol=1e-6)
    np.testing.assert_allclose(reward(episodes, 0.7, kind="dense"), dense, atol=1e-6)
    np.testing.assert_allclose(reward(episodes, 0.0, kind="hybrid"), dense, atol=1e-6)
    np.testing.assert_allclose(reward(episodes, 0.75, kind="hybrid"), 0.75 * sparse + 0.25 * dense, atol=1e-6)
    np.testing.assert_allclose(reward(episodes, 1.0, kind="hybrid"), sparse, atol=1e-6)
    assert reward(episodes, kind="dense").dtype == np.float32


def test_weights_and_their_schedules_act(episodes: Trajectories):
    components = expected_components(episodes)
    weights = {"right": 0, "low": {"start": 1.0, "end": 3.0}}
    for progress, low in ((0.0, 1.0), (0.5, 2.0), (1.0, 3.0)):
        expected = components @ [0, DEFAULT[WRONG], low]
        np.testing.assert_allclose(reward(episodes, progress, kind="dense", weights=weights), expected, atol=1e-6)


def test_without_a_weight_nothing_is_paid_and_a_categorical_value_fits(episodes: Trajectories, tmp_path: Path):
    assert reward(episodes, weights={"right": 0}) is None
    settings = {**SMALL, "policy": {**SMALL["policy"], "value": "categorical"}}
    with (
        closing(Run(build_config(RunConfig, settings), tmp_path)) as run,
        pytest.raises(UserError, match=r"RatedRelay pays rewards per decision"),
    ):
        run.step()
    with closing(Run(build_config(RunConfig, {**settings, "reward": {"weights": {"right": 0}}}), tmp_path)) as run:
        run.step()


def test_potentials_stand_beside_components_and_have_schedules_too(episodes: Trajectories):
    cue = episodes.view[:, 1]
    both = shaped(episodes, 0.5, kind="hybrid").trajectories
    np.testing.assert_allclose(both.potential, 0.5 * 0.5 * cue)
    np.testing.assert_allclose(both.reward, expected_components(episodes) @ (DEFAULT * [1, 0.5, 0.5]), atol=1e-6)
    growing = {"cue": {"start": 0.0, "end": 2.0}}
    np.testing.assert_allclose(shaped(episodes, 0.25, kind="dense", weights=growing).trajectories.potential, 0.5 * cue)
    assert shaped(episodes).trajectories.potential is None


def test_a_weight_of_nothing_is_refused_whatever_the_kind():
    sentence = r"^reward\.weights\.loww is not a reward of team_game:RatedRelay; it has right, wrong, low, cue, and"
    for kind in ("sparse", "dense"):
        with pytest.raises(UserError, match=sentence):
            RewardShaping(RewardConfig.model_validate({"kind": kind, "weights": {"loww": 1}}), relay())


def test_metrics_are_what_components_contribute_to_a_decision(episodes: Trajectories):
    components = expected_components(episodes)
    weights = {"low": {"start": 0.0, "end": 0.4}}
    metrics = shaped(episodes, 0.5, kind="dense", weights=weights).metrics
    mean, size = components.mean(axis=0), np.abs(components).mean(axis=0)
    frequency = (components != 0).mean(axis=0)
    assert 0 < frequency[WRONG] < 1
    last = episodes.offsets[1:] - 1
    results = np.zeros(len(components))
    results[last] = episodes.result
    assert results.any()
    assert metrics == pytest.approx(
        {
            "reward/result": results.mean(),
            "reward_size/result": np.abs(results).mean(),
            "reward/right": 0.1 * mean[RIGHT],
            "reward/wrong": 0.05 * mean[WRONG],
            "reward/low": 0.2 * mean[LOW],
            "reward_size/right": 0.1 * size[RIGHT],
            "reward_size/wrong": 0.05 * size[WRONG],
            "reward_size/low": 0.2 * size[LOW],
            "reward_frequency/right": frequency[RIGHT],
            "reward_frequency/wrong": frequency[WRONG],
            "reward_frequency/low": frequency[LOW],
        }
    )
    assert metrics["reward/wrong"] < 0 < metrics["reward_size/wrong"]
    paid = {name for name in shaped(episodes).metrics if not name.startswith("reward_frequency/")}
    assert paid == {"reward/right", "reward_size/right", "reward/result", "reward_size/result"}
    assert not shaped(replace(episodes, reward=None), kind="dense").metrics


def test_results_of_episodes_that_were_cut_off_are_paid_to_nobody(episodes: Trajectories):
    result = np.ones_like(episodes.result)
    terminated = np.arange(len(result)) % 2 == 0
    metrics = shaped(replace(episodes, result=result, terminated=terminated)).metrics
    assert metrics["reward/result"] == pytest.approx(terminated.sum() / episodes.decisions)


def discounted(rewards: Sequence[float], discount: float, after: float) -> list[float]:
    """Return the discounted return of each decision of an episode, one by one."""
    returns = []
    for one in reversed(rewards):
        after = one + discount * after
        returns.append(after)
    return returns


def by_hand(batches: Sequence[Trajectories], discount: float) -> float:
    """Return the deviation of returns over batches, whose bootstrap values are in the unit of the batches before."""
    mean = square = 0.0
    deviation = 1.0
    for number, batch in enumerate(batches):
        returns: list[float] = []
        for episode in range(batch.episodes):
            rows = slice(batch.offsets[episode], batch.offsets[episode + 1])
            rewards = batch.reward[rows].tolist()
            over = batch.terminated is None or batch.terminated[episode]
            if over:
                rewards[-1] += batch.result[episode]
            returns += discounted(rewards, discount, 0.0 if over else batch.bootstrap[episode] * deviation)
        step = 1 / min(number + 1, return_scale.SPAN)
        mean += step * (np.mean(returns) - mean)
        square += step * (np.mean(np.square(returns)) - square)
        deviation = math.sqrt(square - mean**2)
    return deviation


@pytest.mark.parametrize("kind", ["race", "endless"])
def test_the_running_scale_is_the_deviation_of_discounted_returns(kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(return_scale, "SPAN", 2)  # so that the third batch counts half
    game = relay(kind)
    collector = build_collector(game, build_policy(game, PolicyConfig(width=16, layers=1)), slots=12)
    raw = RewardShaping(RewardConfig(), game)
    scaling = RewardShaping(RewardConfig(scale="running"), game, discount=0.8)
    unscaled: list[Trajectories] = []
    for update in range(3):
        batch = collector.collect(200, update)
        unscaled.append(raw.shape(batch, 0.0).trajectories)
        found = scaling.shape(batch, 0.0)
        scaling.scale = found.scale
        deviation = by_hand(unscaled, 0.8)
        assert found.metrics["reward_scale"] == pytest.approx(deviation, rel=1e-5)
        np.testing.assert_allclose(found.trajectories.reward, unscaled[-1].reward / deviation, rtol=1e-5)
        np.testing.assert_allclose(found.trajectories.result, unscaled[-1].result / deviation, rtol=1e-5)
    if kind == "endless":
        np.testing.assert_array_equal(found.trajectories.bootstrap, batch.bootstrap)  # the policy's own unit
        assert batch.bootstrap.any()


def test_potentials_are_scaled_too(episodes: Trajectories):
    unscaled = shaped(episodes, kind="dense").trajectories
    scaled = shaped(episodes, kind="dense", scale="running")
    np.testing.assert_allclose(scaled.trajectories.potential, unscaled.potential / scaled.scale.divisor, rtol=1e-5)
    expected = rewards_of(unscaled, 1.0) / scaled.scale.divisor
    np.testing.assert_allclose(rewards_of(scaled.trajectories, 1.0), expected, atol=1e-5)


def test_returns_that_are_all_alike_are_not_blown_up(episodes: Trajectories):
    ends = replace(episodes, result=np.full_like(episodes.result, 5.0), reward=None)
    scale = ReturnScale().including(ends, 1.0, CPU)
    assert scale.divisor == pytest.approx(0.5)  # a tenth of their size
    nothing = replace(ends, result=np.zeros_like(episodes.result))
    assert ReturnScale().including(nothing, 1.0, CPU).divisor == 1


def test_a_categorical_value_has_no_scale():
    with pytest.raises(ConfigError, match=r"^reward.scale=running leads to returns outside the range of a categorical"):
        build_config(RunConfig, SMALL, ["reward.scale=running", "policy.value=categorical"])


def run_config(*overrides: str) -> RunConfig:
    return build_config(RunConfig, SMALL, ["updates=6", "reward.scale=running", "reward.kind=hybrid", *overrides])


@pytest.mark.parametrize("kind", ["race", "endless"])
def test_a_resumed_run_continues_with_the_same_scale_and_figures(tmp_path: Path, kind: str):
    settings = (f"game_settings.kind={kind}", "collection.segment=3", 'reward.weights.low={"start": 0, "end": 1}')
    config = run_config(*settings)
    with closing(Run(config, tmp_path)) as straight:
        for _ in range(3):
            straight.step()
        saved = straight.save(tmp_path / "checkpoints")
        expected = [straight.step() for _ in range(3)]
        weights = {name: tensor.clone() for name, tensor in straight.policy.state_dict().items()}
    with closing(Run(config, tmp_path, new=False)) as resumed:
        resumed.restore(load_checkpoint(saved))
        assert resumed.shaping.scale.updates == 3
        assert [resumed.step() for _ in range(3)] == expected
        assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.policy.state_dict().items())
    assert {"reward/right", "reward/low", "reward_size/wrong", "learner/reward_scale"} < {*expected[0]}
    assert len({figures["learner/reward_scale"] for figures in expected}) == 3


def test_a_batch_counts_once_for_the_scale_even_if_learning_from_it_is_interrupted(tmp_path: Path):
    config = run_config()
    with closing(Run(config, tmp_path)) as straight, closing(Run(config, tmp_path)) as other:
        straight.step()
        update = other.learner.update

        def interrupted(*_: object) -> dict[str, float]:
            raise KeyboardInterrupt

        other.learner.update = interrupted
        with pytest.raises(KeyboardInterrupt):
            other.step()
        other.learner.update = update
        other.step()
        assert other.shaping.scale == straight.shaping.scale
        assert other.shaping.scale.updates == 1


def test_each_exploiter_has_its_own_scale_which_is_saved_and_its_return_is_unscaled(tmp_path: Path):
    config = run_config("exploiter.interval=1", "exploiter.updates=2", "exploiter.decisions=100")
    game = relay()
    exploiters = Exploiters(config, game, tmp_path, seed=0)
    exploiters.begin(build_policy(game, config.policy), 1)
    batch = build_collector(game, exploiters.policy, slots=12).collect(200, exploiters.version)
    metrics = exploiters.learn(batch)
    assert metrics["exploiter/return"] == pytest.approx(batch.result.mean())
    assert metrics["exploiter/reward_scale"] != 1
    state = exploiters.state()
    assert state["reward"]["updates"] == 1
    other = Exploiters(config, game, tmp_path, seed=0)
    other.restore(state)
    assert other.state()["reward"] == state["reward"]
    other.begin(build_policy(game, config.policy), 2)
    assert other.state()["reward"]["updates"] == 0


def test_datasets_have_the_sum_with_default_weights(tmp_path: Path):
    _, recorded = record(relay(), tmp_path, RandomPlayer(0), RandomPlayer(1))
    stored = recorded.trajectories()
    np.testing.assert_allclose(stored.reward, expected_components(stored) @ DEFAULT, atol=1e-6)
    np.testing.assert_array_equal(reward(stored, kind="dense"), stored.reward)
    with pytest.raises(UserError, match=r"default weights; leave out reward\.weights\.low\."):
        reward(stored, weights={"low": 1})


def test_environments_pay_the_sum_with_default_weights():
    parallel = parallel_env(relay())
    views, _ = parallel.reset(seed=0)
    for last in (False, False, False, True):  # seats 0 and 1 take part, and the first is always right
        right = {agent: int(view["observation"][1] > 0) for agent, view in views.items()}
        actions = right | {"seat_1": 1 - right["seat_1"]}
        views, rewards, terminations, _, _ = parallel.step(actions)
        assert rewards["seat_0"] == pytest.approx(0.1 + 0.02 * (actions["seat_0"] == 0) + last)
        assert rewards["seat_1"] == pytest.approx(-0.05 + 0.02 * (actions["seat_1"] == 0) - last)
    assert all(terminations.values())
    single = gymnasium_env(relay(), opponent="random", seat=0)
    view, _ = single.reset(seed=0)
    for _ in range(3):
        action = int(view[1] > 0)
        view, paid, _, _, _ = single.step(action)
        assert paid == pytest.approx(0.1 + 0.02 * (action == 0))


def test_games_without_components_are_as_before():
    assert RewardShaping(RewardConfig(), opened("kuhn_poker")).state() is None
    batch = played(relay())
    plain = replace(batch, reward=batch.reward[:, 0])
    kuhn = RewardShaping(RewardConfig(), opened("kuhn_poker"))
    assert kuhn.shape(plain, 0.0).trajectories is plain
