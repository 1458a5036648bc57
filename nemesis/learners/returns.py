"""Rewards, advantages and value targets over episodes stored flat.

GAE (Schulman et al. 2016): δ_t = r_t + γ V_{t+1} − V_t,  A_t = δ_t + γλ A_{t+1}.
V-trace (Espeholt et al. 2018), for off-policy data of a policy μ: with ρ_t = min(ρ̄, π/μ) and c_t = λ min(c̄, π/μ),
v_t = V_t + ρ_t δ_t + γ c_t (v_{t+1} − V_{t+1}). Its policy advantage r_t + γ v_{t+1} − V_t goes without ρ_t, since the
surrogate loss multiplies by the importance ratio itself.
Shaping (Ng, Harada, Russell 1999) by a potential Φ adds γ Φ_{t+1} − Φ_t, with Φ = 0 after a terminated episode.

An episode that does not terminate continues with its bootstrap value (Pardo et al. 2018, "Time Limits in Reinforcement
Learning"). `rewards_of` adds γ · bootstrap to the last reward of such an episode. All estimators take V = 0 after an
episode's last decision, so each of them continues with the bootstrap value there.
"""

import numpy as np
import torch
from torch import Tensor

from nemesis.core.game import FloatArray, IntArray
from nemesis.core.trajectory import Trajectories


def gae(reward: Tensor, value: Tensor, offsets: IntArray, discount: float, decay: float) -> Tensor:
    """Return the advantage of each decision; `value + advantage` is the matching λ-return."""
    ragged = _Ragged(offsets, reward.device)
    delta = reward + discount * ragged.next_of(value) - value
    return ragged.backward_sum(delta, torch.full_like(delta, discount * decay))


def n_step(reward: Tensor, value: Tensor, offsets: IntArray, discount: float, steps: int) -> Tensor:
    """Return the n-step return of each decision: the discounted rewards of `steps` steps, plus the value after them."""
    ragged = _Ragged(offsets, reward.device)
    total = torch.zeros_like(reward)
    for step in range(steps):
        total = total + discount**step * reward
        reward, value = ragged.next_of(reward), ragged.next_of(value)
    return total + discount**steps * value


def vtrace(
    reward: Tensor,
    value: Tensor,
    log_ratio: Tensor,
    offsets: IntArray,
    discount: float,
    decay: float,
    ratio_limit: float,
) -> tuple[Tensor, Tensor]:
    """Return policy advantages and value targets, corrected for off-policy data."""
    ragged = _Ragged(offsets, reward.device)
    ratio = log_ratio.exp().clamp(max=ratio_limit)
    delta = ratio * (reward + discount * ragged.next_of(value) - value)
    target = value + ragged.backward_sum(delta, discount * decay * ratio)
    return reward + discount * ragged.next_of(target) - value, target


def rewards_of(trajectories: Trajectories, discount: float) -> FloatArray:
    """Return the reward of each decision.

    It is the result at the last decision of a terminated episode, γ · bootstrap at that of any other, the rewards that
    the game paid on the way, and shaping if there are potentials.
    """
    last = trajectories.offsets[1:] - 1
    reward = terminal_rewards(trajectories)
    if trajectories.reward is not None:
        reward += trajectories.reward
    if trajectories.bootstrap is not None:
        reward[last] += np.float32(discount) * trajectories.bootstrap
    if trajectories.potential is None:
        return reward
    following = np.roll(trajectories.potential, -1)
    following[last] = 0.0 if trajectories.final_potential is None else trajectories.final_potential
    return reward + np.float32(discount) * following - trajectories.potential


def terminal_rewards(trajectories: Trajectories) -> FloatArray:
    """Return rewards that pay the result of each terminated episode at its last decision."""
    result = trajectories.result
    if trajectories.terminated is not None:
        result = np.where(trajectories.terminated, result, np.float32(0.0))
    reward = np.zeros(trajectories.offsets[-1], dtype=np.float32)
    reward[trajectories.offsets[1:] - 1] = result
    return reward


class _Ragged:
    """Episodes of different lengths, processed backward in parallel."""

    def __init__(self, offsets: IntArray, device: torch.device) -> None:
        lengths = np.diff(offsets)
        self._shape = int(lengths.max()), len(lengths)
        episode = np.repeat(np.arange(len(lengths)), lengths)
        step = np.arange(offsets[-1]) - offsets[episode]
        self._place = torch.from_numpy(step * len(lengths) + episode).to(device)  # in (step, episode), flat
        last = np.zeros(offsets[-1], dtype=np.bool_)
        last[offsets[1:] - 1] = True
        self._last = torch.from_numpy(last).to(device)

    def next_of(self, value: Tensor) -> Tensor:
        """Return the following decision's entry, zero after an episode's last."""
        return torch.roll(value, -1).masked_fill(self._last, 0.0)

    def backward_sum(self, term: Tensor, factor: Tensor) -> Tensor:
        """Solve x_t = term_t + factor_t · x_{t+1} with x = 0 past each end."""
        terms, factors = (self._padded(part) for part in (term, factor))
        for step in range(len(terms) - 2, -1, -1):
            terms[step].addcmul_(factors[step], terms[step + 1])
        return terms.view(-1)[self._place]

    def _padded(self, values: Tensor) -> Tensor:
        """Return values (decision,) as (step, episode), zero past each end."""
        padded = values.new_zeros(self._shape)
        padded.view(-1)[self._place] = values
        return padded
