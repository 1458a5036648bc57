"""A policy: encoder of the game → memory → heads."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from nemesis.core.errors import UserError
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
    opponent_model: Tensor | None  # (b, t, deed, thought) float32, from which `foresee` tells what the opponent does
    horizons: Tensor | None  # (b, t, horizon) float32 values by other discounts
    action_values: Tensor | None  # (b, t, action) float32


class PlayingPolicy(Protocol):
    """Whatever decides for seats as a policy does."""

    @property
    def state_size(self) -> int: ...

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput: ...


class Policy(nn.Module):
    """Plays one seat. Its memory is a flat row of numbers, zero at the start of an episode.

    The game gives its encoder and its action head for the width that the config stands for. The encoder maps views
    (…, view) to a vector (…, width), which goes through the memory, and to a context, which goes past it: a tensor or a
    tuple of tensors (…, whatever), or None. The action head scores actions by what came out of the memory and by the
    context. A row whose mask allows nothing is for the caller to refuse (`heads.check_mask`), who knows which match it
    belongs to. If the config wants foresight, the game gives a head for that too (`core.game.ForesightGame`); only
    sequences, which learners see, go through it.

    Dropout layers, within the parts and before the memory of sequences, let everything pass until a learner says how
    much they silence.
    """

    def __init__(
        self,
        encoder: Callable[[int], nn.Module],
        action_head: Callable[[int], nn.Module],
        config: PolicyConfig,
        opponent_model_head: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        width = dimensions(config).width
        self.encoder = encoder(width)
        self.dropout = nn.Dropout(0.0)
        self.memory = memory_core(config)
        self.heads = Heads(config, width, action_head)
        if config.opponent_model and opponent_model_head is None:
            raise UserError("policy.opponent_model needs a game whose seats decide at once; leave it out here.")
        self.opponent_model = (
            opponent_model_head(width) if config.opponent_model and opponent_model_head is not None else None
        )

    @property
    def state_size(self) -> int:
        return self.memory.state_size

    @property
    def atoms(self) -> Tensor | None:
        """The returns (bin,) that a categorical value puts probability on; None for a scalar value."""
        return self.heads.atoms

    @property
    def has_opponent_model(self) -> bool:
        return self.opponent_model is not None

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:
        """Decide once for each row: view (n, view), mask (n, action), state (n, state)."""
        vector, context = self.encoder(view)
        features, state = self.memory.step(vector, state)
        output: HeadsOutput = self.heads(features, context, mask)
        return StepOutput(output.log_probs, output.value, state)

    def sequence(self, view: Tensor, mask: Tensor, state: Tensor) -> SequenceOutput:
        """Decide along each row: view (b, t, view), mask (b, t, action), state (b, state) before the first decision."""
        vector, context = self.encoder(view)
        features = self.memory.sequence(self.dropout(vector), state)
        output: HeadsOutput = self.heads(features, context, mask)
        opponent_model = None if self.opponent_model is None else self.opponent_model(features, context).float()
        return SequenceOutput(*output, opponent_model, *self.heads.judge(features, context))

    def advance(self, view: Tensor, state: Tensor) -> Tensor:
        """Return the state (b, state) after sequences of views (b, t, view) that began with a state (b, state)."""
        vector, _ = self.encoder(view)
        return self.memory.advance(vector, state)

    def opponent_logits(self, opponent_features: Tensor) -> Tensor:
        """Return what thoughts (n, thought) of a sequence say of the opponent, as logits (n, class)."""
        if self.opponent_model is None:
            raise RuntimeError("The policy was built without foresight.")
        head: Any = self.opponent_model
        logits: Tensor = head.logits(opponent_features)
        return logits

    forward = sequence  # so that wrappers of a module (compile, data parallel) wrap what learners call


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
