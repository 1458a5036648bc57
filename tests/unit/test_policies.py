"""A policy: sizes, masked actions, values, and weights on disk."""

from typing import get_args

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import nn

from nemesis.core.masks import IllegalPositionError, check_mask, pack_mask
from nemesis.games.openspiel.encoder import LinearActionHead, VectorEncoder
from nemesis.policies.config import MemoryKind, PolicyConfig, Size, dimensions
from nemesis.policies.heads import unpack_mask
from nemesis.policies.policy import Policy, parameter_count

torch.set_num_threads(1)

VIEW, ACTIONS = 10, 7
MEMORIES = get_args(MemoryKind)
MILLIONS = {"nano": 0.03, "micro": 0.3, "small": 1, "medium": 5, "large": 20, "huge": 70, "giant": 200}


def build(seed: int = 0, actions: int = ACTIONS, view: int = VIEW, **options: object) -> Policy:
    torch.manual_seed(seed)
    config = PolicyConfig.model_validate({"size": "nano", "context": 4, **options})
    return Policy(lambda width: VectorEncoder(view, width), lambda width: LinearActionHead(width, actions), config)


def strengthen(policy: Policy) -> Policy:
    """Undo the small initial weights of the heads, so that outputs depend on inputs."""
    for head in (policy.heads.action.linear, policy.heads.value):
        nn.init.normal_(head.weight)
    return policy


def random_mask(*shape: int) -> torch.Tensor:
    mask = torch.rand(*shape, ACTIONS) < 0.5
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize("value", ["scalar", "categorical"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_steps_and_sequence_give_the_same_output(memory: str, value: str):
    policy = strengthen(build(memory=memory, value=value))
    view, mask = torch.randn(5, 12, VIEW), random_mask(5, 12)
    state = torch.zeros(5, policy.state_size)
    sequence = policy(view, mask, state)
    for time in range(12):
        output = policy.step(view[:, time], mask[:, time], state)
        torch.testing.assert_close(output.log_probs, sequence.log_probs[:, time], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(output.value, sequence.value[:, time], rtol=1e-4, atol=1e-4)
        state = output.state


class PairEncoder(nn.Module):
    """Gives the memory a projection of the view, and the action head the view and its square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(VIEW, width)

    def forward(self, view: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        return self.linear(view), (view[..., :ACTIONS], view[..., :ACTIONS].square())


class PairHead(nn.Module):
    """Scores every action by its own number, scaled by the features."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def forward(self, features: torch.Tensor, context: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return self.linear(features) * context[0] + context[1]


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_context_of_an_encoder_bypasses_the_memory_to_the_action_head(memory: str):
    torch.manual_seed(0)
    policy = Policy(PairEncoder, PairHead, PolicyConfig(size="nano", context=4, memory=memory))
    view, mask = torch.randn(5, 3, VIEW), torch.ones(5, 3, ACTIONS, dtype=torch.bool)
    state = torch.zeros(5, policy.state_size)
    sequence = policy(view, mask, state)
    order = torch.randperm(ACTIONS)
    for time in range(3):
        output = policy.step(view[:, time], mask[:, time], state)
        torch.testing.assert_close(output.log_probs, sequence.log_probs[:, time], rtol=1e-4, atol=1e-4)
        vector, (first, second) = policy.encoder(view[:, time])
        features = policy.heads.norm(policy.memory.step(vector, state)[0])
        logits = policy.heads.action(features, (first[:, order], second[:, order]))
        torch.testing.assert_close(logits.log_softmax(-1), output.log_probs[:, order], rtol=1e-4, atol=1e-4)
        state = output.state


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_under_autocast_outputs_and_state_stay_float32(memory: str, precision: torch.dtype):
    policy = strengthen(build(memory=memory, value="categorical"))
    view, mask, state = torch.randn(3, 6, VIEW), random_mask(3, 6), torch.zeros(3, policy.state_size)
    exact = policy(view, mask, state)
    with torch.autocast("cpu", dtype=precision):
        sequence = policy(view, mask, state)
        for time in range(6):
            output = policy.step(view[:, time], mask[:, time], state)
            state = output.state
    for tensor in (*output, *(part for part in sequence if part is not None)):
        assert tensor.dtype == torch.float32
    assert torch.all(sequence.log_probs.exp()[~mask] == 0)
    torch.testing.assert_close(sequence.log_probs.exp().sum(-1), torch.ones(3, 6))
    torch.testing.assert_close(sequence.log_probs.exp(), exact.log_probs.exp(), rtol=0, atol=0.15)
    torch.testing.assert_close(output.value, exact.value[:, -1], rtol=0, atol=0.15)


def test_an_illegal_action_has_probability_zero_and_finite_gradients():
    policy = strengthen(build(memory="lstm"))
    view, mask = torch.randn(4, 3, VIEW) * 100, random_mask(4, 3)
    mask[0] = torch.arange(ACTIONS) == 2  # a single legal action
    log_probs = policy(view, mask, torch.zeros(4, policy.state_size)).log_probs
    probs = log_probs.exp()
    assert torch.all(probs[~mask] == 0)
    assert torch.all(probs[0, :, 2] == 1)
    entropy = -(probs * log_probs).sum(-1)
    assert torch.all(entropy[0] == 0)
    (entropy.mean() + log_probs[..., 0].mean()).backward()
    assert all(torch.isfinite(p.grad).all() for p in policy.parameters() if p.grad is not None)


@pytest.mark.parametrize("value", ["scalar", "categorical"])
def test_a_new_policy_is_near_uniform_with_values_near_zero(value: str):
    policy = build(size="micro", value=value)
    mask = random_mask(100)
    output = policy.step(torch.randn(100, VIEW), mask, torch.zeros(100, 0))
    uniform = mask / mask.sum(-1, keepdim=True)
    torch.testing.assert_close(output.log_probs.exp(), uniform, rtol=0.1, atol=0)
    assert output.value.abs().max() < 0.1


def test_a_categorical_value_is_the_mean_of_its_atoms():
    policy = strengthen(build(value="categorical", value_bins=3))
    output = policy(torch.randn(50, 1, VIEW), random_mask(50, 1), torch.zeros(50, 0))
    assert policy.atoms is not None
    assert policy.atoms.tolist() == [-1, 0, 1]
    loss, _, win = output.value_logits.softmax(-1).unbind(-1)
    torch.testing.assert_close(output.value, win - loss)
    assert output.value.abs().max() <= 1
    assert output.value.std() > 0.1


def test_a_scalar_value_has_no_atoms():
    policy = build()
    assert policy.atoms is None
    assert policy(torch.randn(1, 1, VIEW), random_mask(1, 1), torch.zeros(1, 0)).value_logits is None


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("size", get_args(Size))
def test_each_size_gives_the_stated_number_of_parameters(size: str, memory: str):
    with torch.device("meta"):
        count = parameter_count(build(size=size, memory=memory, actions=200, view=128))
    assert 0.8 <= count / 1e6 / MILLIONS[size] <= 1.2


def test_width_and_layers_override_the_size_one_by_one():
    assert dimensions(PolicyConfig(size="large", width=24, layers=7)) == (24, 7)
    assert dimensions(PolicyConfig(size="large", layers=7)) == (dimensions(PolicyConfig(size="large")).width, 7)


@pytest.mark.parametrize("width", [8, 24, 40, 200, 328])
def test_a_transformer_takes_any_width_the_config_allows(width: int):
    policy = build(memory="transformer", width=width)
    output = policy(torch.randn(2, 6, VIEW), random_mask(2, 6), torch.zeros(2, policy.state_size))
    assert output.log_probs.shape == (2, 6, ACTIONS)


@pytest.mark.parametrize("wrong", [{"width": 12}, {"layers": 0}, {"context": 0}, {"value_bins": 1}, {"depth": 3}])
def test_an_invalid_config_is_refused(wrong: dict[str, int]):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        PolicyConfig.model_validate(wrong)


def test_a_position_without_a_legal_action_is_an_error_that_names_the_match():
    mask = np.ones((4, 3), dtype=bool)
    match = np.array([100, 100, 207, 311])
    for given in (mask, pack_mask(mask)):
        check_mask(given, match)
    mask[2] = False
    for given in (mask, pack_mask(mask)):
        with pytest.raises(IllegalPositionError, match=r"^Match 207 waits .* but its mask allows no action\.$"):
            check_mask(given, match)
    mask[:] = False
    with pytest.raises(IllegalPositionError, match=r"^Matches 100, 207, 311 wait "):
        check_mask(mask, match)


@pytest.mark.parametrize("actions", [1, 3, 8, 9, 20, 2115])
def test_packed_masks_are_unpacked_as_numpy_does(actions: int):
    mask = np.random.default_rng(0).random((5, 4, actions)) < 0.5
    packed = torch.from_numpy(pack_mask(mask))
    assert torch.equal(unpack_mask(packed, actions), torch.from_numpy(mask))


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_policy_takes_packed_masks_too(memory: str):
    policy = strengthen(build(memory=memory))
    view, mask, state = torch.randn(4, 3, VIEW), random_mask(4, 3), torch.zeros(4, policy.state_size)
    packed = torch.from_numpy(pack_mask(mask.numpy()))
    assert torch.equal(policy(view, packed, state).log_probs, policy(view, mask, state).log_probs)
    step, expected = (policy.step(view[:, 0], given[:, 0], state) for given in (packed, mask))
    assert torch.equal(step.log_probs, expected.log_probs)
