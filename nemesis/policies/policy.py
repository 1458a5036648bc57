"""A policy: encoder of the game → memory → heads."""

from typing import NamedTuple

from torch import Tensor, nn

from nemesis.policies.config import PolicyConfig, dimensions
from nemesis.policies.heads import Heads, HeadsOutput
from nemesis.policies.memory import memory_core


class StepOutput(NamedTuple):
    """What a policy says about one decision of each row."""

    log_probs: Tensor  # (n, action) float32; the probability of an illegal action is exactly zero
    value: Tensor  # (n,) float32
    state: Tensor  # (n, state) to give with the seat's next decision


class SequenceOutput(NamedTuple):
    """What a policy says about each decision of a sequence."""

    log_probs: Tensor  # (b, t, action) float32
    value: Tensor  # (b, t) float32
    value_logits: Tensor | None  # (b, t, bin) float32 over the policy's atoms, of a categorical value


class Policy(nn.Module):
    """Plays one seat. Its memory is a flat row of numbers, zero at the start of an episode.

    The encoder maps views (…, view) to vectors (…, width), with the width that `dimensions(config)` gives. A row whose
    mask allows nothing is for the caller to refuse (`heads.check_mask`), who knows which match it belongs to.
    """

    def __init__(self, encoder: nn.Module, config: PolicyConfig, actions: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.memory = memory_core(config)
        self.heads = Heads(config, dimensions(config).width, actions)

    @property
    def state_size(self) -> int:
        return self.memory.state_size

    @property
    def atoms(self) -> Tensor | None:
        """The returns (bin,) that a categorical value puts probability on; None for a scalar value."""
        return self.heads.atoms

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:
        """Decide once for each row: view (n, view), mask (n, action), state (n, state)."""
        features, state = self.memory.step(self.encoder(view), state)
        output: HeadsOutput = self.heads(features, mask)
        return StepOutput(output.log_probs, output.value, state)

    def sequence(self, view: Tensor, mask: Tensor, state: Tensor) -> SequenceOutput:
        """Decide along each row: view (b, t, view), mask (b, t, action), state (b, state) before the first decision."""
        output: HeadsOutput = self.heads(self.memory.sequence(self.encoder(view), state), mask)
        return SequenceOutput(*output)

    forward = sequence  # so that wrappers of a module (compile, data parallel) wrap what learners call


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
