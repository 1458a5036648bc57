"""Action sampling: what temperature and top-p change, and several policies that play as one."""

import math

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened
from torch import Tensor

from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, GameSpec
from nemesis.core.masks import is_legal, pack_mask
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.ensemble import Ensemble
from nemesis.policies.play_style import BrokenPolicyError, PlayStyle
from nemesis.policies.policy import Policy, StepOutput

torch.set_num_threads(1)

PROBABILITIES = torch.tensor([0.5, 0.0, 0.3, 0.2])
LEGAL = PROBABILITIES > 0
SPEC = GameSpec("fixed", view_size=1, actions=4, utility_scale=1.0, view_bytes=8, view_version="1")
ROWS = 4000


class Fixed:
    """Gives the same probabilities in every position."""

    state_size = 0

    def __init__(self, probabilities: Tensor = PROBABILITIES) -> None:
        self.log_probs = torch.where(LEGAL, probabilities.log(), -1e9)

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:  # noqa: ARG002
        return StepOutput(self.log_probs.expand(len(view), -1), torch.zeros(len(view)), state)


def decisions(count: int = ROWS) -> Decisions:
    numbers = np.arange(count)
    return Decisions(numbers, numbers, 0 * numbers, np.zeros((count, 1)), np.tile(pack_mask(LEGAL.numpy()), (count, 1)))


def shares(style: PlayStyle) -> np.ndarray:
    """Return how often each action is played."""
    player = PolicyPlayer(Fixed(), SPEC, ROWS, CPU, seed=0, style=style)
    return np.bincount(player.act(decisions()).action, minlength=4) / ROWS


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (PlayStyle(), [0.5, 0, 0.3, 0.2]),
        (PlayStyle(temperature=0.5), [25 / 38, 0, 9 / 38, 4 / 38]),
        (PlayStyle(temperature=2), np.sqrt([0.5, 0, 0.3, 0.2]) / np.sqrt([0.5, 0.3, 0.2]).sum()),
        (PlayStyle(temperature=1e-40), [1, 0, 0, 0]),
        (PlayStyle(temperature=0), [1, 0, 0, 0]),
        (PlayStyle(top_p=0.81), [0.5, 0, 0.3, 0.2]),
        (PlayStyle(top_p=0.79), [5 / 8, 0, 3 / 8, 0]),
        (PlayStyle(top_p=0.49), [1, 0, 0, 0]),
        (PlayStyle(temperature=0.5, top_p=0.7), [25 / 34, 0, 9 / 34, 0]),
    ],
)
def test_actions_are_drawn_as_the_style_says(style: PlayStyle, expected: list[float]):
    np.testing.assert_allclose(shares(style), expected, atol=0.025)


@pytest.mark.parametrize("style", [PlayStyle(temperature=0), PlayStyle(0.3, 0.6)])
def test_log_probabilities_stay_those_of_the_policy(style: PlayStyle):
    choices = PolicyPlayer(Fixed(), SPEC, ROWS, CPU, seed=0, style=style).act(decisions())
    np.testing.assert_allclose(choices.log_prob, np.log(PROBABILITIES.numpy()[choices.action]), rtol=1e-6)


@pytest.mark.parametrize("style", [PlayStyle(temperature=0), PlayStyle(0.5), PlayStyle(top_p=0.5)])
def test_a_policy_with_nan_outputs_is_refused_in_every_style(style: PlayStyle):
    with pytest.raises(BrokenPolicyError):
        PolicyPlayer(Fixed(PROBABILITIES * math.nan), SPEC, 3, CPU, seed=0, style=style).act(decisions(3))


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"temperature": math.nan}, {"top_p": 0}, {"top_p": 1.5}])
def test_values_out_of_range_are_refused(wrong: dict[str, float]):
    with pytest.raises(UserError, match=next(iter(wrong))):
        PlayStyle(**wrong)


def leduc_policies(*memories: str) -> list[Policy]:
    return [build_policy(opened(LEDUC), seed, memory=memory) for seed, memory in enumerate(memories)]


def test_an_ensemble_plays_the_mean_of_its_policies_each_with_a_memory_of_its_own():
    policies = leduc_policies("gru", "none", "lstm")
    ensemble = Ensemble(policies)
    view_size, actions = policies[0].encoder.linear.in_features, policies[0].heads.action.linear.out_features
    state = torch.zeros(5, ensemble.state_size)
    states = [torch.zeros(5, policy.state_size) for policy in policies]
    for _ in range(3):
        view, mask = torch.randn(5, view_size), torch.rand(5, actions) < 0.7
        mask[:, 0] = True
        output = ensemble.step(view, mask, state)
        parts = [policy.step(view, mask, part) for policy, part in zip(policies, states, strict=True)]
        probabilities = torch.stack([part.log_probs.exp() for part in parts]).mean(0)
        torch.testing.assert_close(output.log_probs.exp(), probabilities)
        torch.testing.assert_close(output.value, torch.stack([part.value for part in parts]).mean(0))
        assert torch.all(output.log_probs.exp()[~mask] == 0)
        state, states = output.state, [part.state for part in parts]


def test_an_player_plays_an_ensemble_as_it_plays_a_policy():
    game = opened(LEDUC)
    pool = game.pool(16, seed=0)
    player = PolicyPlayer(Ensemble(leduc_policies("gru", "lstm")), game.spec, 16, CPU, seed=0)
    ended = 0
    while ended < 20:
        waiting, results = pool.recv()
        player.forget(results.slot)
        choices = player.act(waiting)
        assert is_legal(waiting.mask, choices.action).all()
        pool.send(choices.action)
        ended += len(results)
