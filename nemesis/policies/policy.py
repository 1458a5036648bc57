"""A policy: encoder of the game → memory → heads."""

from collections.abc import Callable
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

    The game gives its encoder and its action head for the width that the config stands for. The encoder maps views
    (…, view) to a vector (…, width), which goes through the memory, and to a context, which goes past it: a tensor or a
    tuple of tensors (…, whatever), or None. The action head scores actions by what came out of the memory and by the
    context. A row whose mask allows nothing is for the caller to refuse (`heads.check_mask`), who knows which match it
    belongs to.
    """

    def __init__(
        self, encoder: Callable[[int], nn.Module], action_head: Callable[[int], nn.Module], config: PolicyConfig
    ) -> None:
        super().__init__()
        width = dimensions(config).width
        self.encoder = encoder(width)
        self.memory = memory_core(config)
        self.heads = Heads(config, width, action_head(width))

    @property
    def state_size(self) -> int:
        return self.memory.state_size

    @property
    def atoms(self) -> Tensor | None:
        """The returns (bin,) that a categorical value puts probability on; None for a scalar value."""
        return self.heads.atoms

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:
        """Decide once for each row: view (n, view), mask (n, action), state (n, state)."""
        vector, context = self.encoder(view)
        features, state = self.memory.step(vector, state)
        output: HeadsOutput = self.heads(features, context, mask)
        return StepOutput(output.log_probs, output.value, state)

    def sequence(self, view: Tensor, mask: Tensor, state: Tensor) -> SequenceOutput:
        """Decide along each row: view (b, t, view), mask (b, t, action), state (b, state) before the first decision."""
        vector, context = self.encoder(view)
        output: HeadsOutput = self.heads(self.memory.sequence(vector, state), context, mask)
        return SequenceOutput(*output)

    forward = sequence  # so that wrappers of a module (compile, data parallel) wrap what learners call


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
