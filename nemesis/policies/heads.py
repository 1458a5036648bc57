"""The ends of a policy: a distribution over the legal actions, and the value of the position."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from nemesis.core.game import BoolArray, IntArray
from nemesis.policies.config import PolicyConfig

# Finite, so that probability · log-probability of an illegal action is 0 and never NaN.
_ILLEGAL = -1e9


class IllegalPositionError(ValueError):
    """A seat has to decide but has no legal action."""


def check_mask(mask: BoolArray, match: IntArray) -> None:
    """Raise unless every row (n, action) has a legal action; the error names the matches (n,) that have none."""
    possible = mask.any(axis=1)
    if possible.all():
        return
    stuck = np.unique(match[~possible]).tolist()
    names = ", ".join(str(name) for name in stuck[:10]) + (f" and {len(stuck) - 10} more" if len(stuck) > 10 else "")
    if len(stuck) == 1:
        raise IllegalPositionError(f"Match {names} waits for a decision but its mask allows no action.")
    raise IllegalPositionError(f"Matches {names} wait for a decision but their masks allow no action.")


class HeadsOutput(NamedTuple):
    """What the heads say, in float32 under any autocast."""

    log_probs: Tensor  # (…, action)
    value: Tensor  # (…)
    value_logits: Tensor | None  # (…, bin) of a categorical value


class CriticOutput(NamedTuple):
    """What only learners ask for, in float32; None where the policy has no head for it."""

    horizons: Tensor | None  # (…, horizon) values by other discounts
    action_values: Tensor | None  # (…, action) what each action earns


class Heads(nn.Module):
    """The game's action head and a linear value on normalised features; the value is near zero at first.

    On request, there are further values, and an action head of its own that tells what every action earns.
    """

    atoms: Tensor | None

    def __init__(self, config: PolicyConfig, width: int, action_head: Callable[[int], nn.Module]) -> None:
        super().__init__()
        categorical = config.value == "categorical"
        self.norm = nn.LayerNorm(width)
        self.action = action_head(width)
        self.value = nn.Linear(width, config.value_bins if categorical else 1)
        self.register_buffer(
            "atoms", torch.linspace(-1, 1, config.value_bins) if categorical else None, persistent=False
        )
        self.horizons = nn.Linear(width, config.horizons) if config.horizons else None
        self.action_values = action_head(width) if config.action_values else None
        for values in (self.value, self.horizons):
            if values is not None:
                nn.init.normal_(values.weight, std=0.01 / width**0.5)
                nn.init.zeros_(values.bias)

    def forward(self, features: Tensor, context: Any, mask: Tensor) -> HeadsOutput:
        features = self.norm(features)
        logits = self.action(features, context).float()
        log_probs = log_softmax(torch.where(mask, logits, _ILLEGAL), dim=-1)
        value = self.value(features).float()
        if self.atoms is None:
            return HeadsOutput(log_probs, value.squeeze(-1), None)
        return HeadsOutput(log_probs, (value.softmax(dim=-1) * self.atoms).sum(dim=-1), value)

    def judge(self, features: Tensor, context: Any) -> CriticOutput:
        """Return what learners alone ask for."""
        features = self.norm(features)
        horizons = None if self.horizons is None else self.horizons(features).float()
        action_values = None if self.action_values is None else self.action_values(features, context).float()
        return CriticOutput(horizons, action_values)
