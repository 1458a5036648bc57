"""Learners: every term and setting acts on the weights, and nothing that is not finite ever reaches them."""

import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened, play
from torch import Tensor, nn

from nemesis.core.game import FloatArray
from nemesis.core.trajectory import Trajectories
from nemesis.learners import losses
from nemesis.learners.batch import to_batch
from nemesis.learners.interface import Learner, PolicyModule
from nemesis.learners.optimiser import DivergedError, GuardedOptimiser
from nemesis.learners.portfolio import Portfolio, PortfolioConfig, least_diverse
from nemesis.learners.ppo import PPO, PPOConfig, Targets
from nemesis.learners.returns import gae, terminal_rewards
from nemesis.learners.rnad import Anchor, RNaD, RNaDConfig, gains, transformation
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

FORMS = ("reference", "reward", "magnet")
ALGORITHMS = ("ppo", *FORMS, "portfolio")
# One gradient step a batch, plain enough that a change of any weight shows.
BASE: dict[str, Any] = {"learning_rate": 0.01, "minibatch": 100_000, "gradient_clip": 100.0}
SCHEDULE = {"start": 0.5, "end": 0.0}


def no_ratings(policies: Sequence[PolicyModule]) -> list[float]:
    raise AssertionError(f"Nobody asked for a rating of {len(policies)} policies.")


def build_learner(
    algorithm: str,
    policy: Policy,
    rate: Callable[[Sequence[PolicyModule]], list[float]] = no_ratings,
    **settings: Any,
) -> Learner:
    """Return a learner by its algorithm, or by the form of R-NaD."""
    settings = BASE | settings
    if algorithm == "ppo":
        return PPO(policy, PPOConfig.model_validate(settings), CPU, seed=0)
    if algorithm == "portfolio":
        return Portfolio(policy, PortfolioConfig.model_validate(settings), CPU, seed=0, rate=rate)
    return RNaD(policy, RNaDConfig.model_validate(settings | {"form": algorithm}), CPU, seed=0)


def new_policy(seed: int = 0, **settings: Any) -> Policy:
    return build_policy(opened(LEDUC), seed, **settings)


def stale_data(seed: int = 1, memory: str = "none") -> Trajectories:
    """Return episodes of another policy than the one that learns, so that ratios differ from 1."""
    return play(opened(LEDUC), new_policy(seed, memory=memory), 400, stride=2)


def own_data(policy: Policy, seed: int = 0) -> Trajectories:
    return play(opened(LEDUC), policy, 400, seed=seed, stride=2)


def weights(policy: nn.Module | PolicyModule) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in policy.parameters()]).clone()


def flat(state_dict: dict[str, Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in state_dict.values()]).clone()


def learned(
    algorithm: str,
    *,
    updates: int = 1,
    progress: float = 0.0,
    memory: str = "none",
    value: str = "scalar",
    **settings: Any,
) -> Tensor:
    """Return the weights after some updates from the same start on the same data."""
    policy = new_policy(memory=memory, value=value)
    learner = build_learner(algorithm, policy, **settings)
    for seed in range(1, updates + 1):
        learner.update(stale_data(seed, memory), progress)
    return weights(policy)


def log_probs_on(policy: PolicyModule, trajectories: Trajectories) -> Tensor:
    return to_batch(trajectories, 64, policy, CPU).run_all(policy).log_probs


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
def test_a_form_of_rnad_listens_to_its_own_weights_alone(form: str, foreign: dict[str, Any]):
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
    return losses.kl(now, losses.uniform_log_probs(torch.from_numpy(trajectories.mask)))


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
        won = trajectories.action[last] == trajectories.mask[last].argmax(axis=1)
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
def test_averaged_weights_reach_back_over_a_share_of_the_updates(span: float):
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


def broken(trajectories: Trajectories, value: float = float("nan")) -> Trajectories:
    return replace(trajectories, result=np.full_like(trajectories.result, value))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_step_that_is_not_finite_is_skipped_and_counted(algorithm: str, value: float):
    policy = new_policy()
    learner = build_learner(algorithm, policy, minibatch=100)
    learner.update(stale_data(1), progress=0.0)
    before, momentum = weights(policy), copy.deepcopy(learner.state()["optimiser"]["adam"])
    metrics = learner.update(broken(stale_data(2), value), progress=0.0)
    assert metrics["skipped_steps"] == metrics["steps"] > 1
    assert torch.equal(weights(policy), before)
    for key, slots in learner.state()["optimiser"]["adam"]["state"].items():
        for name, tensor in slots.items():
            assert torch.equal(tensor, momentum["state"][key][name])
    metrics = learner.update(stale_data(3), progress=0.0)
    assert metrics["skipped_steps"] > 1  # counted over the run
    assert not torch.equal(weights(policy), before)
    assert torch.isfinite(weights(policy)).all()
    assert torch.isfinite(weights(learner.average)).all()


def test_one_bad_episode_costs_only_the_steps_that_it_is_in():
    policy = new_policy()
    before = weights(policy)
    trajectories = stale_data()
    result = trajectories.result.copy()
    result[0] = np.nan
    metrics = build_learner("ppo", policy, minibatch=50).update(replace(trajectories, result=result), progress=0.0)
    assert 1 <= metrics["skipped_steps"] <= trajectories.lengths[0] < metrics["steps"]
    assert not torch.equal(weights(policy), before)
    assert torch.isfinite(weights(policy)).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_too_many_bad_steps_in_a_row_stop_learning_with_the_last_good_weights(algorithm: str):
    policy = new_policy()
    learner = build_learner(algorithm, policy, skip_limit=3)
    learner.update(stale_data(1), progress=0.0)
    for seed in (2, 3):  # a good step in between starts the count anew
        learner.update(broken(stale_data(seed)), progress=0.0)
    learner.update(stale_data(4), progress=0.0)
    good = weights(policy)
    for seed in (5, 6):
        learner.update(broken(stale_data(seed)), progress=0.0)
    with pytest.raises(DivergedError, match=r"^Training stopped: 3 steps in a row .* not finite\."):
        learner.update(broken(stale_data(7)), progress=0.0)
    assert torch.equal(weights(policy), good)


def test_a_gradient_that_is_not_finite_is_skipped_even_if_the_loss_is_finite():
    parameter = nn.Parameter(torch.zeros(2))
    optimiser = guarded([parameter])
    optimiser.gradient([parameter.abs().sqrt().sum()])  # finite at zero, its slope is not
    optimiser.step(learning_rate=0.1)
    assert parameter.tolist() == [0, 0]
    assert (optimiser.skipped, optimiser.skipped_in_a_row) == (1, 1)
    optimiser.gradient([(parameter - 1).square().sum()])
    optimiser.step(learning_rate=0.1)
    assert torch.all(parameter > 0)
    assert (optimiser.skipped, optimiser.skipped_in_a_row) == (1, 0)


def guarded(parameters: list[nn.Parameter], device: str = "cpu", precision: str = "float32") -> GuardedOptimiser:
    return GuardedOptimiser(
        parameters,
        torch.device(device),
        weight_decay=0.0,
        momentum=0.9,
        gradient_clip=1.0,
        precision=precision,
        skip_limit=100,
    )


def test_gradients_are_clipped_to_the_norm_and_the_norm_is_told():
    parameter = nn.Parameter(torch.zeros(2))
    norm = guarded([parameter]).gradient([parameter @ torch.tensor([30.0, 40.0])])
    assert norm.item() == pytest.approx(50)
    torch.testing.assert_close(parameter.grad, torch.tensor([0.6, 0.8]))


def test_scaled_gradients_take_the_same_steps_and_an_overflow_is_skipped():
    """The arithmetic of float16 training, on the CPU's own scaler since there is no GPU to ask."""
    inputs = torch.randn(5, 64, 8)
    trained = []
    for scaled in (False, True):
        torch.manual_seed(0)
        layer = nn.Linear(8, 1)
        optimiser = guarded(list(layer.parameters()))
        if scaled:
            optimiser._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2)
        for batch in inputs:
            optimiser.gradient([layer(batch).square().mean()])
            optimiser.step(learning_rate=0.01)
        assert optimiser.skipped == 0
        trained.append(weights(layer))
    torch.testing.assert_close(trained[1], trained[0])
    assert optimiser.state()["scaler"]["scale"] == 2.0**14
    optimiser.gradient([layer(inputs[0]).square().mean() * 1e37])
    optimiser.step(learning_rate=0.01)
    assert optimiser.skipped == 1
    assert optimiser.state()["scaler"]["scale"] == 2.0**13
    assert torch.equal(weights(layer), trained[1])


@pytest.mark.filterwarnings("ignore:torch.cuda.amp.GradScaler:UserWarning", "ignore:.*CUDA is not available.*")
def test_float16_scales_gradients_on_cuda_alone():
    assert guarded([nn.Parameter(torch.zeros(1))], "cpu", "float16").state()["scaler"] == {}
    on_cuda = guarded([nn.Parameter(torch.zeros(1))], "cuda", "float16").state()["scaler"]
    assert bool(on_cuda) == torch.cuda.is_available()  # torch switches it off by itself where there is no GPU


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_mixed_precision_learns_nearly_the_same(precision: str, memory: str):
    start = weights(new_policy(memory=memory))
    exact = learned("magnet", updates=4, memory=memory) - start
    mixed = learned("magnet", updates=4, memory=memory, precision=precision) - start
    assert not torch.equal(mixed, exact)
    assert torch.isfinite(mixed).all()
    assert torch.cosine_similarity(mixed, exact, dim=0) > 0.9


@pytest.mark.filterwarnings("ignore")  # torch's own, about its compiler
def test_where_the_compiler_fails_learning_goes_on_without_it_and_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    inductor = pytest.importorskip("torch._inductor.config")
    monkeypatch.setattr(inductor.cpp, "cxx", ("no-such-compiler",))
    monkeypatch.setattr(inductor, "force_disable_caches", True)
    torch._dynamo.reset()
    policy = new_policy()
    learner = build_learner("ppo", policy, compile=True)
    with caplog.at_level(logging.WARNING, logger="nemesis"):
        for seed in (1, 2):
            learner.update(stale_data(seed), progress=0.0)
    told = [record.getMessage() for record in caplog.records if record.name.startswith("nemesis")]
    assert len(told) == 1
    assert told[0].startswith("torch.compile failed, going on without it: ")
    assert "\n" not in told[0]
    assert torch.equal(weights(policy), learned("ppo", updates=2))


def with_references(learner: Learner, references: Sequence[Policy]) -> None:
    state = copy.deepcopy(learner.state())
    learner.restore(state | {"references": [reference.state_dict() for reference in references], "updates": 1})


def references_of(learner: Learner) -> list[Tensor]:
    return [flat(reference) for reference in learner.state()["references"]]


@pytest.mark.parametrize("closest", [0, 1, 2])
def test_the_portfolio_pulls_to_the_closest_reference(closest: int):
    policy = new_policy()
    references = [new_policy(seed) for seed in (11, 12, 13)]
    references[closest].load_state_dict(policy.state_dict())
    with torch.no_grad():
        references[closest].heads.action.linear.weight.add_(0.05)
        references[closest].heads.action.linear.bias.add_(torch.tensor([0.1, 0.0, -0.1]))
    trajectories = stale_data()
    now = log_probs_on(policy, trajectories)
    distances = [float(losses.kl(now, log_probs_on(reference, trajectories))) for reference in references]
    assert int(np.argmin(distances)) == closest
    learner = build_learner("portfolio", policy)
    with_references(learner, references)
    metrics = learner.update(trajectories, progress=0.0)
    assert metrics["closest_reference"] == closest
    assert metrics["references"] == 3
    assert metrics["kl_reference"] == pytest.approx(distances[closest], rel=1e-4)
    assert metrics["kl_furthest"] == pytest.approx(max(distances), rel=1e-4)


def test_a_snapshot_joins_the_portfolio_every_interval():
    policy = new_policy()
    learner = build_learner("portfolio", policy, add_interval=2, references=8)
    joined = []
    for update in range(5):
        if update % 2 == 0:
            joined.append(flat(policy.state_dict()))
        metrics = learner.update(stale_data(update + 1), progress=0.0)
        assert metrics["references"] == len(joined)
    for reference, expected in zip(references_of(learner), joined, strict=True):
        assert torch.equal(reference, expected)


def test_recent_keeps_the_newest_references():
    policy = new_policy()
    learner = build_learner("portfolio", policy, add_interval=1, references=2, keep="recent")
    joined = []
    for update in range(5):
        joined.append(flat(policy.state_dict()))
        learner.update(stale_data(update + 1), progress=0.0)
    assert len(references_of(learner)) == 2
    for reference, expected in zip(references_of(learner), joined[-2:], strict=True):
        assert torch.equal(reference, expected)


def test_best_drops_the_reference_that_is_rated_lowest():
    rated = []

    def rate(policies: Sequence[PolicyModule]) -> list[float]:
        rated.append([flat(policy.state_dict()) for policy in policies])
        return [0.5, -0.7, 0.1, 0.2]

    policy = new_policy()
    learner = build_learner("portfolio", policy, rate, add_interval=1, references=3, keep="best")
    for update in range(3):
        learner.update(stale_data(update + 1), progress=0.0)
    assert rated == []
    candidates = [*references_of(learner), flat(policy.state_dict())]
    learner.update(stale_data(4), progress=0.0)
    assert len(rated) == 1
    for seen, expected in zip(rated[0], candidates, strict=True):
        assert torch.equal(seen, expected)
    for kept, number in zip(references_of(learner), (0, 2, 3), strict=True):
        assert torch.equal(kept, candidates[number])


def spread(opinions: Sequence[Tensor]) -> float:
    """Return the sum of pairwise KL in both directions, pair by pair."""
    return sum(float(losses.kl(one, other) + losses.kl(other, one)) for one, other in combinations(opinions, 2))


@pytest.mark.parametrize("seed", range(10))
def test_diverse_keeps_the_set_that_is_furthest_apart(seed: int):
    generator = torch.Generator().manual_seed(seed)
    opinions = [(torch.randn(20, 4, generator=generator) * scale).log_softmax(-1) for scale in (0.5, 1, 1, 2, 1.5)]
    dropped = least_diverse(opinions)
    kept = [opinion for number, opinion in enumerate(opinions) if number != dropped]
    best = max(spread(each) for each in combinations(opinions, len(opinions) - 1))
    assert spread(kept) == pytest.approx(best, rel=1e-5)


def test_a_portfolio_keeps_those_that_are_furthest_apart_on_the_batch():
    policy, trajectories = new_policy(), stale_data()
    candidates = [*(new_policy(seed) for seed in (11, 12, 13)), copy.deepcopy(policy)]
    opinions = [log_probs_on(candidate, trajectories) for candidate in candidates]
    best = max(combinations(range(4), 3), key=lambda kept: spread([opinions[number] for number in kept]))
    learner = build_learner("portfolio", policy, add_interval=1, references=3, keep="diverse")
    with_references(learner, candidates[:3])  # the policy joins as the fourth
    learner.update(trajectories, progress=0.0)
    for kept, number in zip(references_of(learner), best, strict=True):
        assert torch.equal(kept, flat(candidates[number].state_dict()))


def naive_transformation(trajectories: Trajectories, log_ratio: FloatArray) -> FloatArray:
    """Walk through each match: a decision costs its seat, and pays the opponent's latest decision before it."""
    episode = np.repeat(np.arange(trajectories.episodes), trajectories.lengths)
    earned = np.zeros(trajectories.decisions)
    for match in np.unique(trajectories.match):
        rows = np.flatnonzero(trajectories.match[episode] == match)
        latest: dict[int, int] = {}
        for row in sorted(rows, key=lambda row: trajectories.tick[row]):
            seat = int(trajectories.seat[episode[row]])
            earned[row] -= log_ratio[row]
            latest[seat] = row
            if 1 - seat in latest:
                earned[latest[1 - seat]] += log_ratio[row]
    return earned


def test_the_transformed_reward_is_that_of_a_walk_through_each_match():
    trajectories = stale_data()
    log_ratio = np.random.default_rng(0).normal(size=trajectories.decisions).astype(np.float32)
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
    reference = losses.chosen(log_probs_on(policy, trajectories), torch.from_numpy(trajectories.action)).numpy()
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
    output = batch.run_all(policy)
    advantage = torch.randn(batch.decisions)
    anchors = [
        Anchor("one", 0.3, log_probs_on(new_policy(3), trajectories)),
        Anchor("other", 0.2, losses.uniform_log_probs(batch.mask)),
    ]
    gain = gains(output, batch, Targets(advantage, torch.zeros_like(advantage)), anchors, probability_floor=0.2)
    for row in range(0, batch.decisions, 7):
        for action in np.flatnonzero(trajectories.mask[row]):
            expected = -sum(
                anchor.weight * float(output.log_probs[row, action] - anchor.log_probs[row, action])
                for anchor in anchors
            )
            if action == trajectories.action[row]:
                expected += float(advantage[row]) / max(0.2, float(np.exp(trajectories.log_prob[row])))
            assert gain[row, action].item() == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_the_policy_learns_from_the_largest_advantages_alone_and_the_value_from_all(memory: str):
    policy = new_policy(memory=memory)
    trajectories = own_data(policy)
    noise = np.random.default_rng(0).normal(scale=0.1, size=trajectories.decisions)  # no two advantages are alike
    trajectories = replace(trajectories, value=(trajectories.value + noise).astype(np.float32))
    value = torch.from_numpy(trajectories.value)
    reward = torch.from_numpy(terminal_rewards(trajectories.result, trajectories.offsets))
    advantage = gae(reward, value, trajectories.offsets, discount=1.0, decay=0.95)
    count = round(0.3 * len(advantage))
    least = advantage.abs().sort(descending=True).values[count - 1]
    told = {}
    for share in (1.0, 0.3):
        learner = build_learner("ppo", copy.deepcopy(policy), advantage_share=share, sequence_length=2)
        told[share] = learner.update(trajectories, progress=0.0)
    assert told[1.0]["policy_loss"] == pytest.approx(-float(advantage.mean()), abs=1e-5)
    # The policy is the one that played, so that every ratio is 1.
    expected = -float(advantage[advantage.abs() >= least].mean())
    assert told[0.3]["policy_loss"] == pytest.approx(expected, abs=1e-4)
    assert told[0.3]["value_loss"] == pytest.approx(told[1.0]["value_loss"], rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_minibatch_without_any_large_advantage_teaches_the_value_alone(algorithm: str):
    policy = new_policy()
    learner = build_learner(algorithm, policy, advantage_share=1e-6, minibatch=20, epochs=2)
    metrics = learner.update(stale_data(), progress=0.0)
    assert metrics["skipped_steps"] == 0
    assert torch.isfinite(weights(policy)).all()
    assert not torch.equal(weights(policy), weights(new_policy()))
