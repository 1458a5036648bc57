"""What a learner needs of a policy and what a run needs of a learner."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from torch import Tensor, nn

from nemesis.core.trajectory import Trajectories


class SequenceOutput(Protocol):
    """A policy's answer to padded sequences."""

    @property
    def log_probs(self) -> Tensor: ...  # (batch, time, action), legal actions only

    @property
    def value(self) -> Tensor: ...  # (batch, time)

    @property
    def value_logits(self) -> Tensor | None: ...  # (batch, time, bin)

    @property
    def opponent_model(self) -> Tensor | None: ...  # (batch, time, deed, thought), to `foresee` what the opponent does

    @property
    def horizons(self) -> Tensor | None: ...  # (batch, time, horizon) values by other discounts

    @property
    def action_values(self) -> Tensor | None: ...  # (batch, time, action)


class PolicyModule(Protocol):
    """A torch module that maps sequences of views to action probabilities and values."""

    @property
    def state_size(self) -> int: ...

    @property
    def atoms(self) -> Tensor | None: ...  # (bin,) what the bins of a categorical value stand for

    @property
    def has_opponent_model(self) -> bool: ...

    def __call__(self, view: Tensor, mask: Tensor, state: Tensor) -> SequenceOutput: ...

    def advance(self, view: Tensor, state: Tensor) -> Tensor: ...  # the state after sequences

    def opponent_logits(self, opponent_features: Tensor) -> Tensor: ...  # (n, thought) → (n, class) logits

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def modules(self) -> Iterator[nn.Module]: ...

    def train(self, mode: bool = True) -> Any: ...

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> Any: ...


class Learner(Protocol):
    """Turns trajectories into better weights of the policy that it was given."""

    @property
    def average(self) -> PolicyModule: ...

    def update(self, trajectories: Trajectories, progress: float) -> dict[str, float]:
        """Learn from one batch; `progress` in [0, 1] places schedules. Returns metrics."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything but the policy's weights that an exact continuation needs, as a tree of tensors."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...
