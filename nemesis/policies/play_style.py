"""How actions are sampled from a policy's probabilities: temperature and nucleus (top-p) sampling."""

# ruff: noqa: PLC0415 (torch is slow to import, and commands check a style before they need it)

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nemesis.core.errors import UserError

if TYPE_CHECKING:
    import torch

_BELOW_ONE = 1 - 2.0**-30  # so that a draw times the sum never rounds up to the sum


class BrokenPolicyError(UserError):
    """A policy whose outputs are not finite, so that it cannot play."""


def check_finite(numbers: "torch.Tensor") -> None:
    """Raise unless all numbers that follow from a policy's outputs are finite."""
    if not math.isfinite(numbers.sum()):  # one NaN makes the sum a NaN, which is cheaper than checking each
        raise BrokenPolicyError(
            "The policy's probabilities are not finite: its weights have grown too large. "
            "Train again with a lower learner.learning_rate or learner.gradient_clip."
        )


@dataclass(frozen=True, slots=True)
class PlayStyle:
    """Settings of action sampling; the default samples from the policy's own probabilities.

    A temperature below 1 makes likely actions likelier; at 0 the likeliest is played. Then only the likeliest actions
    that together have the probability `top_p` are kept (Holtzman et al. 2020, nucleus sampling).
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise UserError(f"The temperature must be a number of at least 0, not {self.temperature}.")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p must be a number above 0 and at most 1, not {self.top_p}.")

    @staticmethod
    def from_options(temperature: float | None, top_p: float | None) -> "PlayStyle | None":
        """Return the style that options ask for; None if neither is given."""
        if temperature is None and top_p is None:
            return None
        return PlayStyle(1.0 if temperature is None else temperature, 1.0 if top_p is None else top_p)

    def weigh(self, log_probs: "torch.Tensor") -> "torch.Tensor":
        """Return unnormalised sampling weights (n, action); a NaN stays a NaN."""
        import torch

        if self.temperature == 0:
            return log_probs.softmax(-1) * (log_probs == log_probs.amax(-1, keepdim=True))
        if self.temperature != 1:  # the largest is subtracted first, so that nothing overflows
            log_probs = (log_probs - log_probs.amax(-1, keepdim=True)) / self.temperature
        weights = log_probs.softmax(-1)
        if self.top_p == 1:
            return weights
        ordered = weights.sort(-1, descending=True).values
        likelier = ordered.cumsum(-1, dtype=torch.float64) - ordered  # total weight of all likelier actions
        kept = (likelier < self.top_p).sum(-1, keepdim=True).clamp(min=1)
        return weights * (weights >= ordered.gather(-1, kept - 1))

    def sample(self, log_probs: "torch.Tensor", generator: "torch.Generator | None" = None) -> "torch.Tensor":
        """Sample an action (n,) from each row of log-probabilities (n, action); an illegal action is never drawn."""
        import torch

        # One random number per row, not one per action. Illegal actions add nothing to the sum.
        total = self.weigh(log_probs).cumsum(-1, dtype=torch.float64)
        check_finite(total[:, -1])
        draw = torch.rand(len(total), 1, dtype=total.dtype, device=total.device, generator=generator)
        return torch.searchsorted(total, draw * _BELOW_ONE * total[:, -1:], right=True)[:, 0]


DEFAULT_STYLE = PlayStyle()
