"""Trajectories on the learner's device, cut into sequences.

Per-decision data stays flat, (decision, …). A *sequence* is a stretch of one episode, at most `sequence_length` long,
with the memory state that the actor had before its first decision: truncated backpropagation through time. A policy
without memory gets sequences of one decision, so that nothing is padded. Sequences never span two episodes, hence
no gradient can cross an episode's boundary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from nemesis.core.trajectory import Trajectories
from nemesis.learners.learner import PolicyModule

_LENGTH_GROUPS = 4  # sequences are run in at least this many groups of similar length, to save padding
_ROWS_AT_ONCE = 4096  # decisions in one pass without gradient; more would leave a CPU's cache


@dataclass(frozen=True, slots=True)
class Output:
    """What the policy says about some decisions, padding already left out."""

    row: Tensor  # (n,) the decisions
    log_probs: Tensor  # (n, action)
    value: Tensor  # (n,)
    value_logits: Tensor | None  # (n, bin)
    opponent_model: Tensor | None = None  # (n, deed, thought)
    horizons: Tensor | None = None  # (n, horizon)
    action_values: Tensor | None = None  # (n, action)

    def at(self, rows: Tensor) -> "Output":
        """Return what is said about some of the decisions: rows (k,)."""
        return Output(*(None if part is None else part[rows] for part in self._parts()))  # type: ignore[arg-type]

    def _parts(self) -> "list[Tensor | None]":
        return [getattr(self, field.name) for field in fields(self)]

    @staticmethod
    def concatenate(outputs: "Sequence[Output]") -> "Output":
        """Return what several outputs say, in the order of the rows."""
        order = torch.argsort(torch.cat([output.row for output in outputs]))
        parts = zip(*(output._parts() for output in outputs), strict=True)
        return Output(*(None if part[0] is None else torch.cat(part)[order] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Batch:
    """One update's data."""

    view: Tensor  # (decision, view)
    mask: Tensor  # (decision, action)
    action: Tensor  # (decision,)
    log_prob: Tensor  # (decision,)
    start: Tensor  # (sequence,) first row
    length: Tensor  # (sequence,)
    piece: Tensor  # (sequence,) its number within the episode
    state: Tensor  # (sequence, state)
    opponent_action: Tensor | None = None  # (decision, deed) what the opponent did at that moment, −1 if unknown
    known: Tensor | None = None  # (decision,) whether the action is known; None if all are
    possible: Tensor | None = None  # (decision, action) what an unknown action may have been, if anything tells

    @property
    def decisions(self) -> int:
        return len(self.action)

    def run(self, forward: PolicyModule, sequences: Tensor) -> Output:
        """Run the policy over some sequences."""
        start, length = self.start[sequences], self.length[sequences]
        steps = torch.arange(int(length.max()), device=start.device)
        # Padding repeats the row's last decision: a legal input whose output is dropped.
        row = start[:, None] + torch.minimum(steps, length[:, None] - 1)  # (sequence, time)
        output = forward(self.view[row], self.mask[row], self.state[sequences])
        # All are valid where there is but one step, and a view of them is cheaper than a copy.
        valid = (slice(None), 0) if len(steps) == 1 else steps < length[:, None]
        return Output(
            row=row[valid],
            log_probs=output.log_probs[valid],
            value=output.value[valid],
            value_logits=None if output.value_logits is None else output.value_logits[valid],
            opponent_model=None if output.opponent_model is None else output.opponent_model[valid],
            horizons=None if output.horizons is None else output.horizons[valid],
            action_values=None if output.action_values is None else output.action_values[valid],
        )

    def run_all(self, forward: PolicyModule) -> Output:
        """Run the policy over everything, without gradient, in the order of the rows."""
        with torch.no_grad():
            parts = [self.run(forward, sequences) for sequences in self.groups(_ROWS_AT_ONCE)]
        return Output.concatenate([replace(part, value_logits=None, opponent_model=None) for part in parts])

    def minibatches(self, size: int, generator: torch.Generator) -> Iterator[list[Tensor]]:
        """Yield random sets of sequences of about `size` decisions, each in groups of similar length."""
        count = max(1, round(self.decisions / size))
        order = torch.randperm(len(self.start), generator=generator)
        for sequences in order.tensor_split(count):
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

    def with_states_of(self, policy: PolicyModule) -> "Batch":
        """Return the batch with the memory that the policy itself would have before each sequence.

        Whoever played need not have been this policy, nor a policy at all. Sequences of an episode follow each other.
        """
        if not policy.state_size or not self.piece.any():
            return self
        state = torch.zeros_like(self.state)
        steps = torch.arange(int(self.length.max()), device=state.device)
        with torch.no_grad():
            for number in range(1, int(self.piece.max()) + 1):  # the sequences before these are done, and full
                followers = (self.piece == number).nonzero()[:, 0]
                for own in followers.tensor_split(-(-len(followers) * len(steps) // _ROWS_AT_ONCE)):
                    view = self.view[self.start[own - 1][:, None] + steps]
                    state[own] = policy.advance(view, state[own - 1])
        return replace(self, state=state)


def to_batch(trajectories: Trajectories, sequence_length: int, policy: PolicyModule, device: torch.device) -> Batch:
    """Move trajectories to the device, cut into sequences for this policy."""
    limit = sequence_length if policy.state_size else 1
    start, length, piece = _cut(trajectories.offsets, limit)
    return Batch(
        view=_move(trajectories.view, device),
        mask=_move(trajectories.mask, device),
        action=_move(trajectories.action, device),
        log_prob=_move(trajectories.log_prob, device),
        start=_move(start, device),
        length=_move(length, device),
        piece=_move(piece, device),
        state=_move(_starting_states(trajectories, start, policy.state_size), device),
        opponent_action=None if trajectories.opponent_action is None else _move(trajectories.opponent_action, device),
        known=None if trajectories.known is None else _move(trajectories.known, device),
        possible=None if trajectories.possible is None else _move(trajectories.possible, device),
    )


def _cut(offsets: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut episodes into stretches of at most `limit` decisions: first rows, lengths, numbers within the episodes."""
    lengths = np.diff(offsets)
    pieces = -(-lengths // limit)
    piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = np.repeat(offsets[:-1], pieces) + piece * limit
    return start, np.minimum(limit, np.repeat(offsets[1:], pieces) - start), piece


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
