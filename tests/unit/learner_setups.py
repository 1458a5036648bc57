"""Learners of small policies on Leduc poker, and data for them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from episodes import CPU, LEDUC, build_policy, opened, play
from torch import Tensor, nn

from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import to_batch
from nemesis.learners.behaviour_cloning import BehaviourCloning
from nemesis.learners.config import BehaviourCloningConfig, OfflineConfig, PortfolioConfig, PPOConfig, RNaDConfig
from nemesis.learners.learner import Learner
from nemesis.learners.offline import Offline
from nemesis.learners.portfolio import Portfolio
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

FORMS = ("reference", "reward", "magnet")
ALGORITHMS = ("ppo", *FORMS, "portfolio")
# One gradient step per batch, without a clipped gradient, so that a change of any weight shows.
BASE: dict[str, Any] = {"learning_rate": 0.01, "minibatch": 100_000, "gradient_clip": 100.0}
SCHEDULE = {"start": 0.5, "end": 0.0}


def no_ratings(policies: Sequence[Policy]) -> list[float]:
    raise AssertionError(f"No test asked for a rating of {len(policies)} policies.")


def build_learner(
    algorithm: str,
    policy: Policy,
    rate: Callable[[Sequence[Policy]], list[float]] = no_ratings,
    **settings: Any,
) -> Learner:
    """Return a learner by its algorithm, or by the form of R-NaD."""
    settings = BASE | settings
    if algorithm == "ppo":
        return PPO(policy, PPOConfig.model_validate(settings), CPU, seed=0)
    if algorithm in ("bc", "offline"):
        settings = {name: value for name, value in settings.items() if name != "minibatch"}
        if algorithm == "bc":
            return BehaviourCloning(policy, BehaviourCloningConfig.model_validate(settings), CPU, seed=0)
        return Offline(policy, OfflineConfig.model_validate(settings), CPU, seed=0)
    if algorithm == "portfolio":
        return Portfolio(policy, PortfolioConfig.model_validate(settings), CPU, seed=0, rate=rate)
    return RNaD(policy, RNaDConfig.model_validate(settings | {"form": algorithm}), CPU, seed=0)


def new_policy(seed: int = 0, **settings: Any) -> Policy:
    return build_policy(opened(LEDUC), seed, **settings)


@cache
def stale_data(seed: int = 1, memory: str = "none") -> Trajectories:
    """Return off-policy episodes, so that importance ratios differ from 1; nobody changes their arrays."""
    return play(opened(LEDUC), new_policy(seed, memory=memory), 400, stride=2)


def own_data(policy: Policy, seed: int = 0) -> Trajectories:
    return play(opened(LEDUC), policy, 400, seed=seed, stride=2)


def weights(policy: nn.Module) -> Tensor:
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


def log_probs_on(policy: Policy, trajectories: Trajectories) -> Tensor:
    return to_batch(trajectories, 64, policy, CPU).run_all(policy).log_probs
