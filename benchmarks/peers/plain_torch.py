"""The limit that production code is compared to: the same policy and updates, written by hand for one case.

No checks, no metrics, no options: a linear encoder, one LSTM layer, a scalar value, undiscounted returns, one epoch,
everything on the CPU. PPO is its clipped surrogate and an entropy bonus. R-NaD is NeuRD, regularised towards the
uniform policy and towards the averaged weights, which only R-NaD keeps.
"""

import copy
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nemesis.core.game import SIDES, Decisions, FloatArray, IntArray
from nemesis.core.masks import PackedMask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners.config import PPOConfig, RNaDConfig

ILLEGAL = -1e9
LENGTH_GROUPS = 4  # of a minibatch; fewer and more were slower


class PlainPolicy(nn.Module):
    """Linear, LSTM with a residual connection, linear heads. Its parameters have the order of the production policy."""

    def __init__(self, view_size: int, width: int, actions: int) -> None:
        super().__init__()
        self.encoder = nn.Linear(view_size, width)
        self.norm = nn.LayerNorm(width)
        self.lstm = nn.LSTM(width, width)
        self.lstm_weights = self.lstm.all_weights[0]
        self.head_norm = nn.LayerNorm(width)
        self.policy_head = nn.Linear(width, actions)
        self.value_head = nn.Linear(width, 1)

    def legal(self, packed: PackedMask) -> Tensor:
        """Return packed masks (n, byte) as (n, action)."""
        return torch.from_numpy(unpack_mask(packed, self.policy_head.out_features))

    def step(self, view: Tensor, mask: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return log-probabilities (n, action), values (n,), hidden and cell (n, width) of single decisions."""
        x = functional.relu(self.encoder(view))
        hidden, cell = torch.lstm_cell(self.norm(x), (hidden, cell), *self.lstm_weights)
        log_probs, value = self.heads(x + hidden, mask)
        return log_probs, value, hidden, cell

    def sequence(self, view: Tensor, mask: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities (t, b, action) and values (t, b) of padded sequences (t, b, …)."""
        x = functional.relu(self.encoder(view))
        y, _ = self.lstm(self.norm(x), (hidden[None], cell[None]))
        return self.heads(x + y, mask)

    def heads(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        features = self.head_norm(features)
        logits = self.policy_head(features).masked_fill(~mask, ILLEGAL)
        return functional.log_softmax(logits, dim=-1), self.value_head(features).squeeze(-1)


class PlainPlayer:
    """Samples actions and keeps the memory of every seat."""

    def __init__(self, policy: PlainPolicy, slots: int, seed: int) -> None:
        width = policy.lstm.hidden_size
        self.policy = policy
        self.hidden = torch.zeros(slots * SIDES, width)
        self.cell = torch.zeros(slots * SIDES, width)
        self.generator = torch.Generator().manual_seed(seed)

    @torch.inference_mode()
    def act(self, decisions: Decisions) -> tuple[IntArray, FloatArray, FloatArray]:
        place = torch.from_numpy(decisions.slot * SIDES + decisions.seat)
        view, mask = torch.from_numpy(decisions.view), self.policy.legal(decisions.mask)
        hidden, cell = self.hidden.index_select(0, place), self.cell.index_select(0, place)
        log_probs, value, hidden, cell = self.policy.step(view, mask, hidden, cell)
        self.hidden.index_copy_(0, place, hidden)
        self.cell.index_copy_(0, place, cell)
        total = log_probs.softmax(-1).cumsum(-1, dtype=torch.float64)
        draw = torch.rand(len(total), 1, dtype=torch.float64, generator=self.generator)
        action = torch.searchsorted(total, draw * total[:, -1:], right=True)
        return action[:, 0].numpy(), log_probs.gather(-1, action)[:, 0].numpy(), value.numpy()


class PlainLearner:
    """One epoch over a batch, by PPO, or by R-NaD if the config is a `RNaDConfig`."""

    def __init__(self, policy: PlainPolicy, config: PPOConfig, seed: int) -> None:
        self.policy = policy
        self.config = config
        self.entropy_weight = config.entropy_weight.start
        self.optimiser = torch.optim.AdamW(
            policy.parameters(),
            lr=config.learning_rate.start,
            betas=(config.momentum, 0.999),
            eps=1e-5,
            weight_decay=config.weight_decay,
        )
        self.generator = torch.Generator().manual_seed(seed)
        self.average = copy.deepcopy(policy)
        self.updates = 0

    def update(self, trajectories: Trajectories) -> None:
        config = self.config
        batch = _Padded(trajectories, self.policy.legal(trajectories.mask), config.sequence_length)
        advantage = torch.from_numpy(_advantages(trajectories, config.advantage_lambda))
        target = advantage + torch.from_numpy(trajectories.value)
        average = batch.log_probs(self.average) if isinstance(config, RNaDConfig) else None
        order = torch.randperm(len(batch.length), generator=self.generator)
        for minibatch in order.tensor_split(max(1, round(trajectories.decisions / config.minibatch))):
            self.optimiser.zero_grad()
            decisions = int(batch.length[minibatch].sum())
            for sequences in batch.by_length(minibatch):
                loss, count = self._loss(batch, sequences, advantage, target, average)
                (loss * (count / decisions)).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.policy.parameters(), config.gradient_clip)
            self.optimiser.step()
        if average is not None:
            self._update_average()

    def _loss(
        self, batch: "_Padded", sequences: Tensor, advantage: Tensor, target: Tensor, average: Tensor | None
    ) -> tuple[Tensor, int]:
        """Return the mean loss over the decisions of some sequences, and their number."""
        config = self.config
        row, log_probs, value = batch.run(self.policy, sequences)
        action, old_log_prob, gain = batch.action[row, None], batch.log_prob[row], advantage[row]
        if isinstance(config, RNaDConfig) and average is not None:
            played = gain / old_log_prob.exp().clamp(min=config.probability_floor)
            loss = _neurd(config, log_probs, average[row], batch.mask[row], action, played)
        else:
            ratio = (log_probs.gather(-1, action)[:, 0] - old_log_prob).exp()
            loss = -torch.minimum(ratio * gain, ratio.clamp(1 - config.clip, 1 + config.clip) * gain).mean()
        loss = loss + config.value_weight * functional.mse_loss(value, target[row])
        if self.entropy_weight:
            probs = log_probs.softmax(-1)  # exp is many times slower where it underflows
            loss = loss + self.entropy_weight * (probs * log_probs).sum(-1).mean()
        return loss, len(row)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the averaged weights towards those of the policy."""
        self.updates += 1
        step = 1 / max(1.0, self.config.average_span * self.updates)
        torch._foreach_lerp_(list(self.average.parameters()), list(self.policy.parameters()), step)


class _Padded:
    """Trajectories as tensors, cut into sequences."""

    def __init__(self, trajectories: Trajectories, mask: Tensor, limit: int) -> None:
        self.view = torch.from_numpy(trajectories.view)
        self.mask = mask
        self.action = torch.from_numpy(trajectories.action)
        self.log_prob = torch.from_numpy(trajectories.log_prob)
        offsets = trajectories.offsets
        start = np.concatenate([np.arange(first, end, limit) for first, end in pairwise(offsets)])
        end = offsets[np.searchsorted(offsets, start, side="right")]
        memory = np.zeros((len(start), trajectories.memory.shape[1]), dtype=np.float32)
        memory[np.isin(start, trajectories.memory_row)] = trajectories.memory
        self.start = torch.from_numpy(start)
        self.length = torch.from_numpy(np.minimum(limit, end - start))
        self.memory = torch.from_numpy(memory)

    def by_length(self, sequences: Tensor) -> tuple[Tensor, ...]:
        """Split sequences into groups of similar length, to reduce padding."""
        return sequences[torch.argsort(self.length[sequences])].tensor_split(LENGTH_GROUPS)

    def run(self, policy: PlainPolicy, sequences: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the decisions (n,) of some sequences, their log-probabilities (n, action) and values (n,)."""
        length = self.length[sequences]
        time = torch.arange(int(length.max()))[:, None]
        row = self.start[sequences] + torch.minimum(time, length - 1)  # (t, b), padded with the last decision
        valid = time < length
        hidden, cell = self.memory[sequences].chunk(2, dim=1)
        log_probs, value = policy.sequence(self.view[row], self.mask[row], hidden, cell)
        return row[valid], log_probs[valid], value[valid]

    @torch.no_grad()
    def log_probs(self, policy: PlainPolicy) -> Tensor:
        """Return the log-probabilities of a policy for all decisions, (decision, action)."""
        result = torch.empty(self.mask.shape)
        for sequences in self.by_length(torch.arange(len(self.length))):
            row, log_probs, _ = self.run(policy, sequences)
            result[row] = log_probs
        return result


def _neurd(
    config: RNaDConfig, log_probs: Tensor, average: Tensor, mask: Tensor, action: Tensor, played: Tensor
) -> Tensor:
    """Raise each logit by the gain of its action, regularised towards the uniform policy and the averaged weights.

    The uniform policy's log-probability is the same for all legal actions, so centring removes it.
    """
    magnet_weight, average_weight = config.magnet_weight.start, config.average_weight.start
    gain = average_weight * average - (magnet_weight + average_weight) * log_probs.detach()  # (n, action)
    gain = gain.scatter_add_(-1, action, played[:, None]).masked_fill_(~mask, 0.0)
    mean = gain.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
    return -((gain - mean) * mask * log_probs).sum(-1).mean()


def _advantages(trajectories: Trajectories, decay: float) -> FloatArray:
    """Generalised advantage estimation with the result as the only reward, over all episodes at once."""
    start, length = trajectories.offsets[:-1], trajectories.lengths
    advantage = np.empty_like(trajectories.value)
    following = trajectories.result.copy()  # after each decision: the result, or the next value
    running = np.zeros_like(following)
    for step in range(length.max() - 1, -1, -1):
        present = np.flatnonzero(length > step)
        row = start[present] + step
        running[present] = following[present] - trajectories.value[row] + decay * running[present]
        advantage[row] = running[present]
        following[present] = trajectories.value[row]
    return advantage
