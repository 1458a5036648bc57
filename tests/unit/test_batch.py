"""Sequences: what flows through time, what must not, and that padding is never seen."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from episodes import CPU, LEDUC, build_policy, opened, play
from torch import Tensor

from nemesis.core.masks import pack_mask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import Batch, DecisionOutput, to_batch
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

RECURRENT = ("lstm", "gru", "transformer")
LENGTHS = (9, 1, 4, 7, 12, 5)
SEQUENCE = 4


def random_episodes(policy: Policy, stride: int, lengths: tuple[int, ...] = LENGTHS) -> Trajectories:
    """Return long episodes of random views, with the memory that the policy has every `stride` decisions."""
    generator = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    count, view_size, actions = offsets[-1], policy.encoder.linear.in_features, policy.heads.action.linear.out_features
    view = generator.normal(size=(count, view_size)).astype(np.float32)
    mask = generator.random((count, actions)) < 0.6
    mask[:, 0] = True
    rows, memories = [], []
    for first, end in pairwise(offsets):
        state = torch.zeros(1, policy.state_size)
        for row in range(first, end):
            if row > first and (row - first) % stride == 0:
                rows.append(row)
                memories.append(state[0].numpy())
            with torch.no_grad():
                state = policy.step(torch.from_numpy(view[row : row + 1]), torch.from_numpy(mask[[row]]), state).state
    return Trajectories(
        view=view,
        mask=pack_mask(mask),
        action=np.argmax(mask * generator.random(mask.shape), axis=1),
        log_prob=np.zeros(count, dtype=np.float32),
        value=np.zeros(count, dtype=np.float32),
        version=np.zeros(count, dtype=np.int64),
        tick=np.arange(count),
        offsets=offsets,
        match=np.arange(len(lengths)),
        seat=np.zeros(len(lengths), dtype=np.int64),
        result=np.zeros(len(lengths), dtype=np.float32),
        memory_row=np.array(rows, dtype=np.int64),
        memory=np.array(memories, dtype=np.float32).reshape(len(rows), policy.state_size),
    )


def recurrent_policy(memory: str, seed: int = 0) -> Policy:
    return build_policy(opened(LEDUC), seed, memory=memory)


def exact(policy: Policy, batch: Batch) -> tuple[Policy, Batch]:
    """Return both in float64, in which nothing hides in rounding."""
    return policy.double(), replace(batch, view=batch.view.double(), state=batch.state.double())


def everything(batch: Batch) -> Tensor:
    return torch.arange(len(batch.start))


def each_decision(output: DecisionOutput, batch: Batch) -> Tensor:
    """Return one number per decision that depends on the whole output for it, in the order of rows."""
    number = output.heads.log_probs.gather(1, batch.action[output.row][:, None])[:, 0] + output.heads.value
    return torch.zeros(batch.decisions, dtype=number.dtype).index_put((output.row,), number)


def gradient_in_views(policy: Policy, batch: Batch, rows: list[int]) -> Tensor:
    """Return how much each decision's view changes the output at some rows: (decision,)."""
    batch = replace(batch, view=batch.view.clone().requires_grad_())
    total = each_decision(batch.run(policy, everything(batch)), batch)[rows].sum()
    return torch.autograd.grad(total, batch.view)[0].abs().sum(1)


@pytest.mark.parametrize("memory", RECURRENT)
def test_no_gradient_crosses_an_episode_boundary(memory: str):
    policy = recurrent_policy(memory)
    batch = to_batch(random_episodes(policy, stride=100), 100, policy, CPU)
    second = list(range(LENGTHS[0] + LENGTHS[1], sum(LENGTHS[:3])))
    gradient = gradient_in_views(policy, batch, second)
    assert torch.all(gradient[second] > 0)
    gradient[second] = 0
    assert torch.all(gradient == 0)


@pytest.mark.parametrize("memory", RECURRENT)
def test_no_gradient_crosses_from_one_match_to_the_next_in_the_same_seat(memory: str):
    policy = recurrent_policy(memory)
    trajectories = play(opened(LEDUC), policy, 200, stride=2)
    batch = to_batch(trajectories, 2, policy, CPU)
    for episode in range(20):
        rows = list(range(*trajectories.offsets[episode : episode + 2]))
        gradient = gradient_in_views(policy, batch, rows)
        assert torch.all(gradient[rows] > 0)
        assert gradient.count_nonzero() == len(rows)


@pytest.mark.parametrize("memory", RECURRENT)
def test_gradients_flow_within_a_sequence_and_stop_at_its_start(memory: str):
    policy = recurrent_policy(memory)
    batch = to_batch(random_episodes(policy, SEQUENCE), SEQUENCE, policy, CPU)
    last_of_second_sequence = 2 * SEQUENCE - 1
    gradient = gradient_in_views(policy, batch, [last_of_second_sequence])
    seen = list(range(SEQUENCE, 2 * SEQUENCE))  # the transformer's context of 3 reaches exactly as far
    assert torch.all(gradient[seen] > 0)
    assert gradient.count_nonzero() == SEQUENCE


def test_episodes_are_cut_into_sequences_that_cover_every_decision_once():
    policy = recurrent_policy("lstm")
    trajectories = random_episodes(policy, SEQUENCE)
    batch = to_batch(trajectories, SEQUENCE, policy, CPU)
    covered = [
        row for start, length in zip(batch.start, batch.length, strict=True) for row in range(start, start + length)
    ]
    assert covered == list(range(sum(LENGTHS)))
    assert batch.length.tolist() == [4, 4, 1, 1, 4, 4, 3, 4, 4, 4, 4, 1]
    episode = np.searchsorted(trajectories.offsets, batch.start.numpy(), side="right")
    last = np.searchsorted(trajectories.offsets, (batch.start + batch.length - 1).numpy(), side="right")
    np.testing.assert_array_equal(episode, last)


@pytest.mark.parametrize("memory", RECURRENT)
def test_a_sequence_starts_from_the_stored_memory_and_an_episode_from_none(memory: str):
    policy = recurrent_policy(memory)
    trajectories = random_episodes(policy, SEQUENCE)
    batch = to_batch(trajectories, SEQUENCE, policy, CPU)
    stored = dict(zip(trajectories.memory_row.tolist(), trajectories.memory, strict=True))
    first_rows = set(trajectories.offsets[:-1].tolist())
    assert len(stored) == 6
    for start, state in zip(batch.start.tolist(), batch.state, strict=True):
        if start in first_rows:
            assert torch.all(state == 0)
        else:
            assert torch.any(state != 0)
            assert torch.equal(state, torch.from_numpy(stored.pop(start)))
    assert not stored


@pytest.mark.parametrize("memory", RECURRENT)
def test_chunks_with_stored_memory_give_the_output_of_the_whole_episode(memory: str):
    policy = recurrent_policy(memory)
    trajectories = random_episodes(policy, SEQUENCE)
    whole = to_batch(trajectories, 100, policy, CPU)
    chunks = to_batch(trajectories, SEQUENCE, policy, CPU)
    assert len(whole.start) == len(LENGTHS) < len(chunks.start)
    output, expected = chunks.run_all(policy), whole.run_all(policy)
    torch.testing.assert_close(output.log_probs, expected.log_probs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.value, expected.value, rtol=1e-4, atol=1e-5)
    without_memory = replace(chunks, state=torch.zeros_like(chunks.state)).run_all(policy)
    assert (without_memory.value - expected.value).abs().max() > 1e-3


@pytest.mark.parametrize("memory", RECURRENT)
def test_padding_changes_neither_loss_nor_gradients(memory: str):
    policy = recurrent_policy(memory)
    policy, batch = exact(policy, to_batch(random_episodes(policy, SEQUENCE), SEQUENCE, policy, CPU))
    parameters = list(policy.parameters())

    def loss_and_gradients(groups: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        outputs = sum(each_decision(batch.run(policy, group), batch) for group in groups)
        loss = outputs.square().mean()
        return loss, torch.autograd.grad(loss, parameters)

    alone, gradients_alone = loss_and_gradients(list(everything(batch).split(1)))
    for groups in ([everything(batch)], [torch.tensor([0, 3, 6]), torch.tensor([11, 1, 2, 4, 5, 7, 8, 9, 10])]):
        loss, gradients = loss_and_gradients(groups)
        torch.testing.assert_close(loss, alone, rtol=1e-9, atol=0)
        for got, expected in zip(gradients, gradients_alone, strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-12)


def test_without_memory_every_decision_stands_alone_and_nothing_is_padded():
    policy = build_policy(opened(LEDUC))
    batch = to_batch(random_episodes(policy, stride=100), 64, policy, CPU)
    assert batch.start.tolist() == list(range(sum(LENGTHS)))
    assert batch.length.tolist() == [1] * sum(LENGTHS)
    output = batch.run(policy, everything(batch))
    expected = policy.step(batch.view, batch.mask, torch.zeros(batch.decisions, 0))
    torch.testing.assert_close(output.heads.log_probs, expected.log_probs)
    torch.testing.assert_close(output.heads.value, expected.value)


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("value", ["scalar", "categorical"])
def test_running_everything_gives_each_row_its_own_output(memory: str, value: str):
    policy = build_policy(opened(LEDUC), memory=memory, value=value)
    trajectories = play(opened(LEDUC), policy, 17_000, slots=1024, stride=2)  # too many for one pass
    batch = to_batch(trajectories, 2, policy, CPU)
    output = batch.run_all(policy)
    assert not output.value.requires_grad
    assert len(output.value) == len(output.log_probs) == batch.decisions
    sequences = torch.tensor([0, 1, 700, len(batch.start) - 1])
    part = batch.run(policy, sequences)
    torch.testing.assert_close(output.log_probs[part.row], part.heads.log_probs.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.value[part.row], part.heads.value.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_minibatches_take_every_sequence_once_in_an_order_that_the_generator_decides(memory: str):
    policy = build_policy(opened(LEDUC), memory=memory)
    batch = to_batch(random_episodes(policy, SEQUENCE, LENGTHS * 20), SEQUENCE, policy, CPU)

    def draw(seed: int) -> list[list[Tensor]]:
        return list(batch.minibatches(100, torch.Generator().manual_seed(seed)))

    minibatches = draw(0)
    sizes = [sum(int(batch.length[group].sum()) for group in groups) for groups in minibatches]
    assert len(sizes) == round(batch.decisions / 100)
    assert 80 <= min(sizes) <= max(sizes) <= 120
    order = torch.cat([group for groups in minibatches for group in groups])
    assert sorted(order.tolist()) == list(range(len(batch.start)))
    assert torch.equal(order, torch.cat([group for groups in draw(0) for group in groups]))
    assert not torch.equal(order, torch.cat([group for groups in draw(1) for group in groups]))


def test_the_output_of_a_batch_keeps_the_legal_actions_of_its_packed_masks():
    policy = recurrent_policy("gru")
    trajectories = random_episodes(policy, SEQUENCE)
    batch = to_batch(trajectories, SEQUENCE, policy, CPU)
    assert batch.mask.dtype == torch.uint8
    output = batch.run(policy, torch.tensor([11, 0, 4]))
    legal = torch.from_numpy(unpack_mask(trajectories.mask, output.heads.log_probs.shape[1]))[output.row]
    assert torch.equal(batch.legal(output), legal)
    assert torch.equal(output.heads.log_probs.exp() > 0, legal)


def test_every_head_is_carried_to_the_decisions_of_a_batch():
    policy = build_policy(opened(LEDUC), memory="gru", value="categorical", horizons=2, action_values=True)
    batch = to_batch(random_episodes(policy, SEQUENCE), SEQUENCE, policy, CPU)
    output = batch.run(policy, torch.tensor([11, 0, 4]))
    rows = torch.tensor([4, 1])
    picked = output.at(rows)
    whole = batch.run_all(policy)
    assert torch.equal(picked.row, output.row[rows])
    for name in ("log_probs", "value", "horizons", "action_values"):
        torch.testing.assert_close(getattr(picked.heads, name), getattr(whole, name)[picked.row])
    assert picked.heads.value_logits.shape == (2, 51)
    assert output.heads.opponent_features is picked.heads.opponent_features is None
