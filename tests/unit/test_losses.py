"""Loss terms, against values computed by hand."""

import math

import pytest
import torch
from torch import Tensor

from nemesis.learners import losses
from nemesis.learners.ppo import clipped_surrogate
from nemesis.learners.rnad import neurd

torch.set_num_threads(1)

MASK = torch.tensor([[True, True, False], [True, True, True], [False, True, False]])
PROBABILITIES = torch.tensor([[0.25, 0.75, 0.0], [0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])


def masked_log(probabilities: Tensor) -> Tensor:
    """Return log-probabilities as a policy's heads do: finite and very low where illegal."""
    return torch.where(MASK, probabilities.clamp(min=1e-30).log(), -1e9)


def entropy_by_hand(probabilities: Tensor) -> list[float]:
    return [-sum(p * math.log(p) for p in row if p > 0) for row in probabilities.tolist()]


def test_entropy_counts_legal_actions_alone():
    expected = sum(entropy_by_hand(PROBABILITIES)) / 3
    assert float(losses.entropy(masked_log(PROBABILITIES))) == pytest.approx(expected, rel=1e-6)


def test_kl_counts_legal_actions_alone():
    other = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8], [0.0, 1.0, 0.0]])
    expected = [
        0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5),
        0.5 * math.log(0.5 / 0.1) + 0.3 * math.log(0.3 / 0.1) + 0.2 * math.log(0.2 / 0.8),
        0.0,
    ]
    each = losses.kl_each(masked_log(PROBABILITIES), masked_log(other))
    torch.testing.assert_close(each, torch.tensor(expected))
    assert float(losses.kl(masked_log(PROBABILITIES), masked_log(other))) == pytest.approx(sum(expected) / 3, rel=1e-6)


def test_kl_of_a_policy_with_itself_is_zero():
    log_probs = masked_log(PROBABILITIES)
    assert torch.equal(losses.kl_each(log_probs, log_probs), torch.zeros(3))


def test_kl_to_the_uniform_policy_is_what_entropy_lacks_to_its_maximum():
    uniform = losses.uniform_log_probs(MASK)
    torch.testing.assert_close(uniform.exp(), MASK / MASK.sum(-1, keepdim=True))
    most = MASK.sum(-1).log()
    expected = most - torch.tensor(entropy_by_hand(PROBABILITIES))
    torch.testing.assert_close(losses.kl_each(masked_log(PROBABILITIES), uniform), expected)


def test_illegal_actions_leave_gradients_finite():
    logits = torch.randn(3, 3, requires_grad=True)
    log_probs = torch.where(MASK, logits, -1e9).log_softmax(-1)
    (losses.kl(log_probs, losses.uniform_log_probs(MASK)) - losses.entropy(log_probs)).backward()
    assert torch.isfinite(logits.grad).all()
    assert torch.all(logits.grad[~MASK] == 0)
    assert torch.all(logits.grad[:2][MASK[:2]] != 0)


def test_of_action_is_the_log_probability_of_the_action():
    log_probs = PROBABILITIES.clamp(min=1e-30).log()
    torch.testing.assert_close(
        losses.of_action(log_probs, torch.tensor([1, 2, 1])).exp(), torch.tensor([0.75, 0.2, 1.0])
    )


def test_log_probabilities_of_illegal_actions_cancel_out():
    difference = masked_log(PROBABILITIES) - losses.uniform_log_probs(MASK)
    assert difference[~MASK].abs().max() < 100


def test_neurd_moves_each_legal_logit_by_its_gain_less_their_mean():
    logits = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    gain = torch.tensor([[1.0, 3.0, 50.0], [0.0, 0.0, 6.0], [7.0, 4.0, 9.0]], dtype=torch.float64)
    log_probs = logits.masked_fill(~MASK, -1e9).log_softmax(-1)
    neurd(log_probs, MASK, gain).backward()
    expected = torch.tensor([[-1.0, 1.0, 0.0], [-2.0, -2.0, 4.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(-3 * logits.grad, expected)  # the loss is a mean of three decisions


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.1, 2.0, -2.2, -2.2),  # within the clip the gradient in log π is −r A
        (1.5, 2.0, -2.4, 0.0),  # already likelier than the clip wants
        (0.5, -2.0, 1.6, 0.0),  # already unlikelier
        (1.5, -2.0, 3.0, 3.0),  # on the wrong side nothing is clipped
        (0.5, 2.0, -1.0, -1.0),
    ],
)
def test_the_surrogate_has_no_gradient_where_it_is_clipped(
    ratio: float, advantage: float, loss: float, gradient: float
):
    log_prob = torch.tensor([math.log(0.3 * ratio)], dtype=torch.float64, requires_grad=True)
    old = torch.tensor([math.log(0.3)], dtype=torch.float64)
    value = clipped_surrogate(log_prob, old, torch.tensor([advantage], dtype=torch.float64), clip=0.2)
    value.backward()
    assert value.item() == pytest.approx(loss)
    assert log_prob.grad.item() == pytest.approx(gradient)


@pytest.mark.parametrize("bins", [2, 3, 51])
def test_two_hot_puts_weight_on_the_two_nearest_atoms_with_the_target_as_mean(bins: int):
    atoms = torch.linspace(-1, 1, bins, dtype=torch.float64)
    target = torch.cat([torch.rand(200, dtype=torch.float64) * 2 - 1, atoms])
    weights = losses.two_hot(target, atoms)
    assert weights.shape == (len(target), bins)
    assert torch.all(weights >= 0)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(target))
    torch.testing.assert_close(weights @ atoms, target)
    spacing = 2 / (bins - 1)
    assert torch.all((atoms - target[:, None]).abs()[weights > 0] <= spacing + 1e-9)


def test_two_hot_takes_the_outermost_atom_for_what_lies_beyond():
    atoms = torch.tensor([-1.0, 0.0, 1.0])
    assert losses.two_hot(torch.tensor([-3.0, 1.5]), atoms).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_a_scalar_value_is_fitted_by_squared_error():
    loss = losses.value_loss(torch.tensor([0.5, -1.0]), None, None, torch.tensor([1.0, 1.0]))
    assert loss.item() == pytest.approx((0.25 + 4) / 2)


def test_a_categorical_value_is_fitted_until_its_mean_is_the_target():
    atoms = torch.linspace(-1, 1, 5)
    target = torch.tensor([-0.9, 0.1, 0.6])
    logits = torch.zeros(3, 5, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=0.3)
    for _ in range(300):
        optimiser.zero_grad()
        losses.value_loss(torch.zeros(3), logits, atoms, target).backward()
        optimiser.step()
    torch.testing.assert_close(logits.softmax(-1) @ atoms, target, rtol=0, atol=0.01)
