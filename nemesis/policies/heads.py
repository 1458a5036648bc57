"""The heads of a policy, and the one type that carries what they return.

To add a head, give `PolicyOutput` a field for it and compute it in `Heads.auxiliary`. Learners pick decisions from all
heads at once (`PolicyOutput.map`), so nothing else has to know of it but the loss that trains it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from nemesis.core import masks
from nemesis.core.masks import packed_size
from nemesis.policies.config import PolicyConfig

# Finite, so that probability · log-probability of an illegal action is 0 and never NaN.
ILLEGAL = -1e9


def _unpacked_bytes() -> Tensor:
    """Return, for each byte (256,), its eight bits as eight bytes, read as one int64."""
    bits = masks.unpack_mask(np.arange(256, dtype=np.uint8)[:, None], 8)
    return torch.from_numpy(bits.view(np.int64)[:, 0])


_UNPACKED_BYTES = _unpacked_bytes()


def unpack_mask(packed: Tensor, actions: int) -> Tensor:
    """Unpack masks (…, byte) on their device: (…, action)."""
    # One lookup of eight bits at a time is several times faster on a CPU than shifting each bit.
    return _UNPACKED_BYTES.to(packed.device)[packed.int()].view(torch.bool)[..., :actions]


class PolicyOutput(NamedTuple):
    """What a policy returns for decisions (…), in float32 under any autocast; None for a head that it lacks."""

    log_probs: Tensor  # (…, action) the probability of an illegal action is exactly zero
    value: Tensor  # (…)
    value_logits: Tensor | None = None  # (…, bin) over the policy's atoms, of a categorical value
    opponent_features: Tensor | None = None  # (…, part, feature) that `Policy.opponent_logits` reads
    horizons: Tensor | None = None  # (…, horizon) values by other discounts
    action_values: Tensor | None = None  # (…, action) expected return of each action

    def map(self, function: Callable[[Tensor], Tensor]) -> "PolicyOutput":
        """Apply a function to every head that is there."""
        return PolicyOutput(*(None if head is None else function(head) for head in self))  # type: ignore[arg-type]

    @staticmethod
    def concatenate(outputs: "Sequence[PolicyOutput]") -> "PolicyOutput":
        """Join outputs for different decisions (n, …)."""
        heads = zip(*outputs, strict=True)
        return PolicyOutput(*(None if parts[0] is None else torch.cat(parts) for parts in heads))  # type: ignore[arg-type]


class Heads(nn.Module):
    """The game's action head and a linear value head on normalised features; the value is near zero at first.

    The config may ask for auxiliary heads: values by further discounts, and a value for each action.
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

    def forward(self, features: Tensor, context: Any, mask: Tensor) -> PolicyOutput:
        """Return action and value for features (…, width) and masks: bool (…, action), or packed uint8 (…, byte)."""
        features = self.norm(features)
        logits = self.action(features, context).float()
        actions, packed = logits.shape[-1], mask.dtype == torch.uint8
        if mask.shape[-1] != (width := packed_size(actions) if packed else actions):
            kind = "packed mask" if packed else "mask"
            raise ValueError(f"A {kind} of {actions} actions has {width} columns, not {mask.shape[-1]}.")
        legal = unpack_mask(mask, actions) if packed else mask
        log_probs = log_softmax(torch.where(legal, logits, ILLEGAL), dim=-1)
        value = self.value(features).float()
        if self.atoms is None:
            return PolicyOutput(log_probs, value.squeeze(-1))
        return PolicyOutput(log_probs, (value.softmax(dim=-1) * self.atoms).sum(dim=-1), value_logits=value)

    def auxiliary(self, output: PolicyOutput, features: Tensor, context: Any) -> PolicyOutput:
        """Add the heads that only learners read."""
        features = self.norm(features)
        return output._replace(
            horizons=None if self.horizons is None else self.horizons(features).float(),
            action_values=None if self.action_values is None else self.action_values(features, context).float(),
        )
