"""Loss terms that several learners share. All take flat decisions (n, …) and return means."""

import torch
from torch import Tensor
from torch.nn import functional

# As far down as a policy puts what is illegal, so that the difference of two log-probabilities stays small there.
_ILLEGAL = -1e9


def clipped_surrogate(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's pessimistic policy loss: −min(r A, clip(r, 1 − ε, 1 + ε) A)."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def neurd(log_probs: Tensor, mask: Tensor, gain: Tensor) -> Tensor:
    """Raise each legal action's logit in proportion to its gain (n, action), however rarely the action is played.

    The gradient of Σ c log π by the logits is c wherever Σ c = 0, hence the centring.
    """
    legal = mask.sum(-1, keepdim=True)
    mean = (gain * mask).sum(-1, keepdim=True) / legal
    return -(((gain - mean) * mask).detach() * log_probs).sum(-1).mean()


def value_loss(value: Tensor, logits: Tensor | None, atoms: Tensor | None, target: Tensor) -> Tensor:
    """Squared error of a scalar value, or cross-entropy of a categorical one with its target split over two atoms."""
    return value_loss_each(value, logits, atoms, target).mean()


def value_loss_each(value: Tensor, logits: Tensor | None, atoms: Tensor | None, target: Tensor) -> Tensor:
    """Return the value loss of each decision: (n,)."""
    if logits is None or atoms is None:
        return functional.mse_loss(value, target, reduction="none")
    return -(two_hot(target, atoms) * functional.log_softmax(logits.float(), dim=-1)).sum(-1)


def imitation_each(log_probs: Tensor, mask: Tensor, action: Tensor, smoothing: float) -> Tensor:
    """Return the cross-entropy of each action (n,), a share of it spread evenly over what is legal: (n,)."""
    return _smoothed(-chosen(log_probs, action), log_probs, mask, smoothing)


def partial_imitation_each(log_probs: Tensor, mask: Tensor, possible: Tensor, smoothing: float) -> Tensor:
    """Return the cross-entropy of it having been one of the possible actions (n, action): (n,)."""
    loss = -torch.logsumexp(torch.where(possible, log_probs, _ILLEGAL), dim=-1)
    return _smoothed(loss, log_probs, mask, smoothing)


def _smoothed(loss: Tensor, log_probs: Tensor, mask: Tensor, smoothing: float) -> Tensor:
    if not smoothing:
        return loss
    spread = -(log_probs * mask).sum(-1) / mask.sum(-1)
    return (1 - smoothing) * loss + smoothing * spread


def two_hot(target: Tensor, atoms: Tensor) -> Tensor:
    """Return weights on the two nearest of evenly spaced atoms whose mean is the target: (n, bin)."""
    spacing = atoms[1] - atoms[0]
    position = ((target - atoms[0]) / spacing).clamp(0, len(atoms) - 1)
    low = position.floor().long().clamp(max=len(atoms) - 2)
    high_weight = (position - low)[:, None]
    weights = torch.zeros(len(target), len(atoms), dtype=target.dtype, device=target.device)
    return weights.scatter_(1, low[:, None], 1 - high_weight).scatter_(1, low[:, None] + 1, high_weight)


def opponent_model_loss(logits: Tensor, label: Tensor, decisions: int) -> Tensor:
    """Cross-entropy of the classes (k,) that are known among so many decisions, summed, for each decision."""
    return functional.cross_entropy(logits.float(), label, reduction="sum") / decisions


def probabilities(log_probs: Tensor) -> Tensor:
    """Return what exp would: it takes a CPU ten times as long as softmax wherever the result is nought."""
    return log_probs.softmax(-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Return the mean entropy."""
    return -(probabilities(log_probs) * log_probs).sum(-1).mean()


def kl(log_probs: Tensor, other: Tensor) -> Tensor:
    """Return the mean of KL(π ‖ other); actions that are illegal have probability zero in both."""
    return kl_each(log_probs, other).mean()


def kl_each(log_probs: Tensor, other: Tensor) -> Tensor:
    """Return KL(π ‖ other) of each decision: (n,)."""
    return (probabilities(log_probs) * (log_probs - other)).sum(-1)


def uniform_log_probs(mask: Tensor) -> Tensor:
    """Return the log-probabilities of the uniform policy over legal actions, finite where illegal."""
    uniform = -mask.sum(-1, keepdim=True).float().log()
    return torch.where(mask, uniform, _ILLEGAL)


def chosen(log_probs: Tensor, action: Tensor) -> Tensor:
    """Return the log-probability of the action taken: (n,)."""
    return log_probs.gather(-1, action[:, None])[:, 0]
