"""Every memory gives the same outputs step by step and as a sequence, from any state.

In float64, so that agreement is to nine digits and no difference hides in rounding.
"""

import pytest
import torch
from torch import Tensor

from nemesis.policies.config import PolicyConfig
from nemesis.policies.memory import Memory, memory_core

torch.set_num_threads(1)

MEMORIES = ("none", "lstm", "gru", "transformer")
WIDTH, CONTEXT, LAYERS = 64, 6, 2
TIME = 4 * CONTEXT


@pytest.fixture(params=MEMORIES)
def memory(request: pytest.FixtureRequest) -> Memory:
    return build(request.param)


def build(kind: str) -> Memory:
    torch.manual_seed(0)
    memory = memory_core(PolicyConfig(memory=kind, width=WIDTH, layers=LAYERS, context=CONTEXT))
    with torch.no_grad():
        for parameter in memory.parameters():  # large enough that a missing decision shows
            parameter.mul_(2)
    return memory.double()


def run_steps(memory: Memory, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    outputs = []
    for time in range(x.shape[1]):
        y, state = memory.step(x[:, time], state)
        outputs.append(y)
    return torch.stack(outputs, dim=1), state


def zeros(memory: Memory, rows: int) -> Tensor:
    return torch.zeros(rows, memory.state_size, dtype=torch.float64)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def test_stepping_from_the_start_equals_the_sequence(memory: Memory):
    x = random(3, TIME, WIDTH)
    stepped, state = run_steps(memory, x, zeros(memory, 3))
    torch.testing.assert_close(stepped, memory.sequence(x, zeros(memory, 3)), rtol=1e-9, atol=1e-9)
    assert state.shape == (3, memory.state_size)


@pytest.mark.parametrize("before", [1, CONTEXT - 1, CONTEXT, CONTEXT + 1, 3 * CONTEXT + 2])
def test_a_sequence_from_a_later_state_equals_the_end_of_the_whole(memory: Memory, before: int):
    x = random(3, before + TIME, WIDTH)
    whole = memory.sequence(x, zeros(memory, 3))
    _, state = run_steps(memory, x[:, :before], zeros(memory, 3))
    torch.testing.assert_close(memory.sequence(x[:, before:], state), whole[:, before:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("steps", [1, CONTEXT - 1, CONTEXT, CONTEXT + 1, 3 * CONTEXT + 2])
def test_advancing_leaves_the_state_that_stepping_does(memory: Memory, steps: int):
    before = torch.cat([zeros(memory, 1), run_steps(memory, random(2, CONTEXT + 2, WIDTH), zeros(memory, 2))[1]])
    x = random(3, steps, WIDTH)
    _, state = run_steps(memory, x, before)
    torch.testing.assert_close(memory.advance(x, before), state, rtol=1e-9, atol=1e-9)


def test_rows_of_one_batch_may_be_at_different_decisions(memory: Memory):
    before = [0, 1, CONTEXT, 2 * CONTEXT + 3]
    rows = [random(1, count + TIME, WIDTH) for count in before]
    states = [
        run_steps(memory, x[:, :count], zeros(memory, 1))[1] if count else zeros(memory, 1)
        for x, count in zip(rows, before, strict=True)
    ]
    x = torch.cat([x[:, count:] for x, count in zip(rows, before, strict=True)])
    alone = torch.cat([memory.sequence(x, zeros(memory, 1))[:, count:] for x, count in zip(rows, before, strict=True)])
    torch.testing.assert_close(memory.sequence(x, torch.cat(states)), alone, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(run_steps(memory, x, torch.cat(states))[0], alone, rtol=1e-9, atol=1e-9)


def test_padding_after_the_end_of_a_row_changes_nothing_before_it(memory: Memory):
    lengths = torch.randint(1, TIME, (8,))
    x = random(8, TIME, WIDTH)
    padding = torch.arange(TIME) >= lengths[:, None]
    padded = x.masked_fill(padding[:, :, None], 1e4)
    expected = memory.sequence(x, zeros(memory, 8))[~padding]
    torch.testing.assert_close(memory.sequence(padded, zeros(memory, 8))[~padding], expected)


def test_gradients_of_steps_and_sequence_agree(memory: Memory):
    x = random(2, TIME, WIDTH)
    gradients = [
        torch.autograd.grad(outputs.square().mean(), list(memory.parameters()))
        for outputs in (run_steps(memory, x, zeros(memory, 2))[0], memory.sequence(x, zeros(memory, 2)))
    ]
    for stepped, sequence in zip(*gradients, strict=True):
        torch.testing.assert_close(stepped, sequence, rtol=1e-9, atol=1e-9)


def test_a_zero_state_has_no_history(memory: Memory):
    histories = random(2, TIME, WIDTH)
    x = random(1, WIDTH).expand(2, -1)
    _, state = run_steps(memory, histories, zeros(memory, 2))
    with_history, _ = memory.step(x, state)
    without, _ = memory.step(x, torch.zeros_like(state))
    torch.testing.assert_close(without[0], without[1])
    if memory.state_size:
        assert not torch.allclose(with_history[0], with_history[1], atol=1e-3)


def test_stepping_leaves_the_given_state_alone(memory: Memory):
    _, state = run_steps(memory, random(2, 3, WIDTH), zeros(memory, 2))
    before = state.clone()
    memory.step(random(2, WIDTH), state)
    assert torch.equal(state, before)


@pytest.mark.parametrize(("distance", "seen"), [(LAYERS * CONTEXT, True), (LAYERS * CONTEXT + 1, False)])
def test_each_transformer_layer_sees_its_window_and_no_further(distance: int, seen: bool):
    memory = build("transformer")
    x = random(1, TIME, WIDTH)
    changed = x.clone()
    changed[:, -1 - distance] = random(WIDTH)
    difference = memory.sequence(x, zeros(memory, 1)) - memory.sequence(changed, zeros(memory, 1))
    assert bool(difference[:, -1].abs().max() > 0) == seen


def test_transformer_attention_depends_on_distance_not_on_the_number_of_decisions_before():
    memory = build("transformer")
    x = random(1, LAYERS * CONTEXT + 1, WIDTH)
    late = torch.cat([random(1, 100, WIDTH), x], dim=1)
    torch.testing.assert_close(
        run_steps(memory, late, zeros(memory, 1))[0][:, -1],
        run_steps(memory, x, zeros(memory, 1))[0][:, -1],
        rtol=1e-9,
        atol=1e-9,
    )


def test_transformer_attention_depends_on_the_order_of_decisions():
    memory = build("transformer")
    x = random(1, 4, WIDTH)
    swapped = x[:, [1, 0, 2, 3]]
    last = memory.sequence(x, zeros(memory, 1))[:, -1] - memory.sequence(swapped, zeros(memory, 1))[:, -1]
    assert last.abs().max() > 1e-3
