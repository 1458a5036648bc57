"""The step from a loss to new weights: nothing that is not finite ever reaches them, in any precision."""

import copy
import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from learner_setups import (
    ALGORITHMS,
    build_learner,
    learned,
    new_policy,
    stale_data,
    weights,
)
from torch import Tensor, nn

from nemesis.core.trajectory import Trajectories
from nemesis.learners.optimiser import DivergedError, GuardedOptimiser

torch.set_num_threads(1)


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
    assert 0 < (weights(policy) - before).abs().max() < 1
    assert 0 < (weights(learner.average) - before).abs().max() < 1


def test_one_bad_episode_costs_only_the_steps_that_it_is_in():
    policy = new_policy()
    before = weights(policy)
    trajectories = stale_data()
    result = trajectories.result.copy()
    result[0] = np.nan
    metrics = build_learner("ppo", policy, minibatch=50).update(replace(trajectories, result=result), progress=0.0)
    assert 1 <= metrics["skipped_steps"] <= trajectories.lengths[0] < metrics["steps"]
    assert 0 < (weights(policy) - before).abs().max() < 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_too_many_bad_steps_in_a_row_stop_learning_with_the_last_good_weights(algorithm: str):
    policy = new_policy()
    learner = build_learner(algorithm, policy, skip_limit=3)
    learner.update(stale_data(1), progress=0.0)
    for seed in (2, 3):  # a good step in between resets the count
        learner.update(broken(stale_data(seed)), progress=0.0)
    learner.update(stale_data(4), progress=0.0)
    good = weights(policy)
    for seed in (5, 6):
        learner.update(broken(stale_data(seed)), progress=0.0)
    with pytest.raises(DivergedError, match=r"^Training stopped: 3 steps in a row .* not finite\."):
        learner.update(broken(stale_data(7)), progress=0.0)
    assert torch.equal(weights(policy), good)


def gradient(optimiser: GuardedOptimiser, loss: Tensor) -> Tensor:
    """Compute and clip the gradient of a loss; returns its norm before."""
    optimiser.zero_gradients()
    optimiser.backward(loss)
    return optimiser.clip_gradients()


def test_a_gradient_that_is_not_finite_is_skipped_even_if_the_loss_is_finite():
    parameter = nn.Parameter(torch.zeros(2))
    optimiser = guarded([parameter])
    gradient(optimiser, parameter.abs().sqrt().sum())  # finite at zero, its slope is not
    optimiser.step(learning_rate=0.1)
    assert parameter.tolist() == [0, 0]
    assert (optimiser.skipped, optimiser.skipped_in_a_row) == (1, 1)
    gradient(optimiser, (parameter - 1).square().sum())
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


def test_gradients_are_clipped_to_the_norm_and_the_norm_is_returned():
    parameter = nn.Parameter(torch.zeros(2))
    norm = gradient(guarded([parameter]), parameter @ torch.tensor([30.0, 40.0]))
    assert norm.item() == pytest.approx(50)
    torch.testing.assert_close(parameter.grad, torch.tensor([0.6, 0.8]))


def test_scaled_gradients_take_the_same_steps_and_an_overflow_is_skipped():
    """The arithmetic of float16 training, on the CPU's own scaler since there is no GPU."""
    inputs = torch.randn(5, 64, 8)
    trained = []
    for scaled in (False, True):
        torch.manual_seed(0)
        layer = nn.Linear(8, 1)
        optimiser = guarded(list(layer.parameters()))
        if scaled:
            optimiser._scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=2)
        for batch in inputs:
            gradient(optimiser, layer(batch).square().mean())
            optimiser.step(learning_rate=0.01)
        assert optimiser.skipped == 0
        trained.append(weights(layer))
    torch.testing.assert_close(trained[1], trained[0])
    assert optimiser.state()["scaler"]["scale"] == 2.0**14
    gradient(optimiser, layer(inputs[0]).square().mean() * 1e37)
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
def test_if_the_compiler_fails_learning_continues_without_it_and_logs_a_warning(
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
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("nemesis")]
    assert len(warnings) == 1
    assert warnings[0].startswith("torch.compile failed, continuing without it: ")
    assert "\n" not in warnings[0]
    assert torch.equal(weights(policy), learned("ppo", updates=2))
