"""The running spread of returns, by which rewards are divided so that values keep about the same size.

    G_t = r_t + γ G_{t+1},   σ² = E[G²] − E[G]²

Expectations are over the decisions of the last updates: m ← m + (batch − m) / min(updates, SPAN). Results, rewards and
potentials are divided by σ. The values that a policy has predicted are in this unit already. So an episode that does
not terminate continues in G with its bootstrap value times the σ of before. Engstrom et al. 2020, "Implementation
Matters in Deep Policy Gradients", sum rewards from the start of an episode instead, which a segment does not have.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from nemesis.core.trajectory import Trajectories
from nemesis.learners.data_parallel import add_up
from nemesis.learners.returns import gae, rewards_of

SPAN = 100  # updates
_LEAST_SHARE = 0.1  # of the root mean square: returns that are all alike must not be divided by almost nothing


@dataclass(frozen=True, slots=True)
class ReturnScale:
    """Moments of returns after some updates."""

    updates: int = 0
    mean: float = 0.0
    square: float = 0.0

    @property
    def divisor(self) -> float:
        """σ, or 1 if there is nothing to divide."""
        spread = math.sqrt(max(self.square - self.mean**2, _LEAST_SHARE**2 * self.square))
        return spread or 1.0

    def including(self, trajectories: Trajectories, discount: float, device: torch.device) -> "ReturnScale":
        """Return the moments after one more batch with its rewards as they are paid, added up over all processes.

        The processes communicate tensors on their device.
        """
        if trajectories.bootstrap is not None:
            trajectories = replace(trajectories, bootstrap=trajectories.bootstrap * np.float32(self.divisor))
        reward = torch.from_numpy(rewards_of(trajectories, discount))
        returns = gae(reward, torch.zeros_like(reward), trajectories.offsets, discount, 1.0).double()
        sums = torch.stack([returns.sum(), returns.square().sum(), torch.tensor(float(len(returns)))])
        total, square, decisions = add_up(sums.to(device)).tolist()
        updates = self.updates + 1
        step = 1 / min(updates, SPAN)
        return ReturnScale(
            updates,
            self.mean + step * (total / decisions - self.mean),
            self.square + step * (square / decisions - self.square),
        )

    def apply(self, trajectories: Trajectories) -> Trajectories:
        """Return episodes with their results, rewards and potentials divided by σ."""
        divisor = np.float32(self.divisor)
        names = ("result", "reward", "potential", "final_potential")
        scaled = {name: array / divisor for name in names if (array := getattr(trajectories, name)) is not None}
        return replace(trajectories, **scaled)
