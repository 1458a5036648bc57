"""Trajectories on the learner's device, cut into sequences, and the forward pass over them.

Per-decision data stays flat, (decision, …). A *sequence* is a part of one episode, at most `sequence_length` long, with
the memory state that the actor had before its first decision: truncated backpropagation through time. A policy without
memory gets sequences of one decision, so that nothing is padded. Sequences never span two episodes, hence no gradient
crosses an episode boundary.

Masks stay packed (`core.masks`). The policy unpacks those of the decisions that it runs, and `Batch.legal` those that a
loss needs.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from nemesis.core.trajectory import Trajectories
from nemesis.policies.heads import PolicyOutput, unpack_mask
from nemesis.policies.policy import Policy

_LENGTH_GROUPS = 4  # sequences are run in at least this many groups of similar length, to save padding
_ROWS_AT_ONCE = 4096  # decisions in one pass without gradient; more would exceed a CPU's cache
_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Forward:
    """A policy's forward pass under the configured precision, compiled if that works."""

    def __init__(self, policy: Policy, device: torch.device, *, precision: str, compiled: bool) -> None:
        self.policy = policy
        self.state_size = policy.state_size
        self._device = device.type
        self._dtype = _DTYPES.get(precision)
        self._call: Callable[..., PolicyOutput] = policy
        self._to_compile = compiled

    def __call__(self, view: Tensor, mask: Tensor, state: Tensor) -> PolicyOutput:
        with torch.autocast(self._device, self._dtype, enabled=self._dtype is not None):
            if self._to_compile:
                self._compile(view, mask, state)
            try:
                return self._call(view, mask, state)
            except Exception as error:  # a new shape may need a new compilation
                if self._call is self.policy:
                    raise
                self._give_up_compiling(error)
                return self._call(view, mask, state)

    def advance(self, view: Tensor, state: Tensor) -> Tensor:
        """Return the memory state after sequences, as `Policy.advance` does."""
        with torch.autocast(self._device, self._dtype, enabled=self._dtype is not None):
            return self.policy.advance(view, state)

    def _compile(self, view: Tensor, mask: Tensor, state: Tensor) -> None:
        """Compile forward and backward pass on a first batch; on any error, continue with the eager policy."""
        self._to_compile = False
        compiled: Callable[..., PolicyOutput] = torch.compile(self.policy, dynamic=True)
        try:
            with torch.enable_grad():
                output = compiled(view, mask, state)
                scalar = output.log_probs.sum() + output.value.sum()
                torch.autograd.grad(scalar, list(self.policy.parameters()), allow_unused=True)
        except Exception as error:  # a compiler may fail in any way
            self._give_up_compiling(error)
        else:
            self._call = compiled

    def _give_up_compiling(self, error: Exception) -> None:
        self._call = self.policy
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        logging.getLogger(__name__).warning("torch.compile failed, continuing without it: %s", reason)


@dataclass(frozen=True, slots=True)
class DecisionOutput:
    """The policy's output for some decisions of a batch, without padding."""

    row: Tensor  # (n,) the decisions
    heads: PolicyOutput  # (n, …)

    def at(self, rows: Tensor) -> "DecisionOutput":
        """Return the output for some of these decisions: rows (k,)."""
        return DecisionOutput(self.row[rows], self.heads.map(lambda head: head[rows]))


@dataclass(frozen=True, slots=True)
class Batch:
    """One update's data."""

    view: Tensor  # (decision, view)
    mask: Tensor  # (decision, byte) packed
    action: Tensor  # (decision,)
    log_prob: Tensor  # (decision,)
    start: Tensor  # (sequence,) first row
    length: Tensor  # (sequence,)
    number: Tensor  # (sequence,) its place among the sequences of its episode, from 0
    state: Tensor  # (sequence, state)
    opponent_action: Tensor | None = None  # (decision, part) classes of the opponent's action, −1 where there is none
    known: Tensor | None = None  # (decision,) whether the action is known; None if all are
    possible: Tensor | None = None  # (decision, byte) packed: what an unknown action may have been, 0 if unknown

    @property
    def decisions(self) -> int:
        return len(self.action)

    def run(self, forward: Forward | Policy, sequences: Tensor) -> DecisionOutput:
        """Run the policy over some sequences."""
        start, length = self.start[sequences], self.length[sequences]
        steps = torch.arange(int(length.max()), device=start.device)
        # Padding repeats the row's last decision: a legal input whose output is dropped.
        row = start[:, None] + torch.minimum(steps, length[:, None] - 1)  # (sequence, time)
        output: PolicyOutput = forward(self.view[row], self.mask[row], self.state[sequences])
        # With only one step all are valid, and a view of them is cheaper than a copy.
        valid = (slice(None), 0) if len(steps) == 1 else steps < length[:, None]
        return DecisionOutput(row[valid], output.map(lambda head: head[valid]))

    def run_all(self, forward: Forward | Policy) -> PolicyOutput:
        """Run the policy over all decisions, without gradient, and drop heads that only losses read: (decision, …)."""
        with torch.no_grad():
            outputs = [self.run(forward, sequences) for sequences in self.groups(_ROWS_AT_ONCE)]
        order = torch.argsort(torch.cat([output.row for output in outputs]))
        heads = [output.heads._replace(value_logits=None, opponent_features=None) for output in outputs]
        return PolicyOutput.concatenate(heads).map(lambda head: head[order])

    def legal(self, output: DecisionOutput) -> Tensor:
        """Return the masks of the decisions of an output, unpacked: (n, action)."""
        return unpack_mask(self.mask[output.row], output.heads.log_probs.shape[-1])

    def minibatch_count(self, size: int) -> int:
        """Return the number of minibatches of about `size` decisions."""
        return max(1, round(self.decisions / size))

    def minibatches(self, size: int, generator: torch.Generator) -> Iterator[list[Tensor]]:
        """Yield random sets of sequences of about `size` decisions, each in groups of similar length."""
        order = torch.randperm(len(self.start), generator=generator)
        for sequences in order.tensor_split(self.minibatch_count(size)):
            if int(self.length.max()) == 1:
                yield [sequences]
            else:
                by_length = sequences[torch.argsort(self.length[sequences].cpu(), stable=True)]
                yield [group for group in by_length.tensor_split(_LENGTH_GROUPS) if len(group)]

    def groups(self, size: int) -> list[Tensor]:
        """Return all sequences in groups of similar length and about `size` decisions at most."""
        length = self.length.cpu()
        sequences = torch.arange(len(length))
        groups = -(-self.decisions // size)
        if int(length.max()) > 1:
            sequences = torch.argsort(length, stable=True)
            groups = max(groups, _LENGTH_GROUPS)
        return [group for group in sequences.tensor_split(groups) if len(group)]

    def with_states_of(self, policy: Forward | Policy) -> "Batch":
        """Return the batch with the memory that this policy itself would have before each sequence.

        The data may come from another policy, or from none. Sequences of an episode follow each other.
        """
        if not policy.state_size or not self.number.any():
            return self
        state = torch.zeros_like(self.state)
        steps = torch.arange(int(self.length.max()), device=state.device)
        with torch.no_grad():
            for number in range(1, int(self.number.max()) + 1):  # the sequences before these are done, and full
                following = (self.number == number).nonzero()[:, 0]
                for own in following.tensor_split(-(-len(following) * len(steps) // _ROWS_AT_ONCE)):
                    view = self.view[self.start[own - 1][:, None] + steps]
                    state[own] = policy.advance(view, state[own - 1])
        return replace(self, state=state)


_COPIED = ("view", "mask", "action", "log_prob", "opponent_action", "known", "possible")


def to_batch(trajectories: Trajectories, sequence_length: int, policy: Forward | Policy, device: torch.device) -> Batch:
    """Move trajectories to the device, cut into sequences for this policy."""
    start, length, number = _cut(trajectories.offsets, sequence_length if policy.state_size else 1)
    copied = {name: array for name in _COPIED if (array := getattr(trajectories, name)) is not None}
    return Batch(
        **{name: _move(array, device) for name, array in copied.items()},
        start=_move(start, device),
        length=_move(length, device),
        number=_move(number, device),
        state=_move(_starting_states(trajectories, start, policy.state_size), device),
    )


def _cut(offsets: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut episodes into sequences of at most `limit` decisions: first rows, lengths, numbers within the episodes."""
    lengths = np.diff(offsets)
    counts = -(-lengths // limit)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    start = np.repeat(offsets[:-1], counts) + number * limit
    return start, np.minimum(limit, np.repeat(offsets[1:], counts) - start), number


def _starting_states(trajectories: Trajectories, start: np.ndarray, state_size: int) -> np.ndarray:
    """Return the stored memory before each sequence; zeros at the start of an episode."""
    state = np.zeros((len(start), state_size), dtype=np.float32)
    if state_size and len(trajectories.memory_row):
        place = np.searchsorted(trajectories.memory_row, start)
        place = np.minimum(place, len(trajectories.memory_row) - 1)
        stored = trajectories.memory_row[place] == start
        state[stored] = trajectories.memory[place[stored]]
    return state


def _move(array: np.ndarray, device: torch.device) -> Tensor:
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
