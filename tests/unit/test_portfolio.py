"""The portfolio: it pulls to the closest of its references, and keeps those that its rule selects."""

import copy
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
import torch
from learner_setups import (
    build_learner,
    flat,
    log_probs_on,
    new_policy,
    stale_data,
)
from torch import Tensor

from nemesis.learners import losses
from nemesis.learners.learner import Learner
from nemesis.learners.portfolio import least_diverse
from nemesis.policies.policy import Policy

torch.set_num_threads(1)


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


def test_a_snapshot_is_added_to_the_portfolio_every_interval():
    policy = new_policy()
    learner = build_learner("portfolio", policy, add_interval=2, references=8)
    snapshots = []
    for update in range(5):
        if update % 2 == 0:
            snapshots.append(flat(policy.state_dict()))
        metrics = learner.update(stale_data(update + 1), progress=0.0)
        assert metrics["references"] == len(snapshots)
    for reference, expected in zip(references_of(learner), snapshots, strict=True):
        assert torch.equal(reference, expected)


def test_recent_keeps_the_newest_references():
    policy = new_policy()
    learner = build_learner("portfolio", policy, add_interval=1, references=2, keep="recent")
    snapshots = []
    for update in range(5):
        snapshots.append(flat(policy.state_dict()))
        learner.update(stale_data(update + 1), progress=0.0)
    assert len(references_of(learner)) == 2
    for reference, expected in zip(references_of(learner), snapshots[-2:], strict=True):
        assert torch.equal(reference, expected)


def test_best_drops_the_reference_that_is_rated_lowest():
    rated = []

    def rate(policies: Sequence[Policy]) -> list[float]:
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


def spread(reference_log_probs: Sequence[Tensor]) -> float:
    """Return the sum of pairwise KL in both directions, pair by pair."""
    return sum(
        float(losses.kl(one, other) + losses.kl(other, one)) for one, other in combinations(reference_log_probs, 2)
    )


@pytest.mark.parametrize("seed", range(10))
def test_diverse_keeps_the_set_that_is_furthest_apart(seed: int):
    generator = torch.Generator().manual_seed(seed)
    reference_log_probs = [
        (torch.randn(20, 4, generator=generator) * scale).log_softmax(-1) for scale in (0.5, 1, 1, 2, 1.5)
    ]
    dropped = least_diverse(reference_log_probs)
    kept = [log_probs for number, log_probs in enumerate(reference_log_probs) if number != dropped]
    best = max(spread(each) for each in combinations(reference_log_probs, len(reference_log_probs) - 1))
    assert spread(kept) == pytest.approx(best, rel=1e-5)


def test_a_portfolio_keeps_those_that_are_furthest_apart_on_the_batch():
    policy, trajectories = new_policy(), stale_data()
    candidates = [*(new_policy(seed) for seed in (11, 12, 13)), copy.deepcopy(policy)]
    reference_log_probs = [log_probs_on(candidate, trajectories) for candidate in candidates]
    best = max(combinations(range(4), 3), key=lambda kept: spread([reference_log_probs[number] for number in kept]))
    learner = build_learner("portfolio", policy, add_interval=1, references=3, keep="diverse")
    with_references(learner, candidates[:3])  # the policy is added as the fourth
    learner.update(trajectories, progress=0.0)
    for kept, number in zip(references_of(learner), best, strict=True):
        assert torch.equal(kept, flat(candidates[number].state_dict()))
