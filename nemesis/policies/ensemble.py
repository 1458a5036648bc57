"""Several policies that play as one, by the mean of their probabilities; each has its own memory."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from nemesis.policies.policy import Policy, StepOutput


class Ensemble(nn.Module):
    """Its state is the concatenated states of its policies; its value is the mean of theirs."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        super().__init__()
        if not policies:
            raise ValueError("An ensemble needs at least one policy.")
        self.policies = nn.ModuleList(policies)
        self._sizes = [policy.state_size for policy in policies]

    @property
    def state_size(self) -> int:
        return sum(self._sizes)

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:
        """Decide once for each row: view (n, view), mask (n, action) or packed, state (n, state)."""
        states = torch.split(state, self._sizes, dim=1)
        outputs: list[StepOutput] = [
            policy.step(view, mask, part)  # type: ignore[operator]
            for policy, part in zip(self.policies, states, strict=True)
        ]
        log_probs = torch.stack([output.log_probs for output in outputs])  # (policy, n, action)
        return StepOutput(
            log_probs=log_probs.logsumexp(0) - math.log(len(outputs)),
            value=torch.stack([output.value for output in outputs]).mean(0),
            state=torch.cat([output.state for output in outputs], dim=1),
        )
