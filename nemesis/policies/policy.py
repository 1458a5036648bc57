"""A policy: encoder of the game → memory → heads."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nemesis.core.errors import UserError
from nemesis.core.game import BoolArray, FloatArray, IntArray
from nemesis.core.masks import IllegalPositionError, PackedMask
from nemesis.policies.config import PolicyConfig, dimensions
from nemesis.policies.heads import Heads, PolicyOutput
from nemesis.policies.memory import memory_core
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle


class StepOutput(NamedTuple):
    """What a policy returns for one decision of each row."""

    log_probs: Tensor  # (n, action) float32; the probability of an illegal action is exactly zero
    value: Tensor  # (n,) float32
    state: Tensor  # (n, state) to give with the seat's next decision


class PlayingPolicy(Protocol):
    """What players need of a policy or an ensemble of them."""

    @property
    def state_size(self) -> int: ...

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput: ...


class Policy(nn.Module):
    """Decides for one seat. Its memory is a flat row of numbers, zero at the start of an episode.

    The game provides its encoder and its action head for the width that the config stands for. The encoder maps views
    (…, view) to a vector (…, width), which goes through the memory, and to a context, which bypasses it: a tensor or a
    tuple of tensors (…, any), or None. The action head computes logits from the output of the memory and from the
    context. If the config asks for an opponent model, the game provides its head too (`core.game.OpponentModelGame`);
    only sequences, which learners run, go through it.

    Masks are bool (…, action), or packed as in `core.masks`: uint8 (…, byte). A row whose mask allows nothing is for
    the caller to refuse (`core.masks.check_mask`), who knows which match it belongs to.

    Dropout layers, within the parts and before the memory of sequences, are off until a learner sets their rate.
    """

    style: PlayStyle = DEFAULT_STYLE
    """How `act` samples by default: as a policy file was exported."""

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
            raise UserError("policy.opponent_model needs a game whose seats decide at the same time; set it to false.")
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

    @torch.inference_mode()
    def act(
        self,
        view: npt.NDArray[Any],
        mask: BoolArray | PackedMask,
        state: FloatArray | None = None,
        *,
        style: PlayStyle | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Choose an action for each row, from arrays to arrays, on whatever device the policy is.

        Views are (n, view). Masks are bool (n, action), or packed uint8 (n, byte), as a match pool gives them. The
        state (n, state) is what the last call returned for the same seats; its rows are zero where an episode starts,
        and None starts all of them. Returns the actions (n,), all legal, and the new state (n, state).

        Actions are sampled by the style, else by that of the policy (`Policy.style`), with random numbers of the
        generator, which is on the policy's device, else of torch's global one.
        """
        if mask.dtype not in (np.bool_, np.uint8):
            raise ValueError(
                f"Masks are bool (n, action) or packed uint8 (n, byte), not {mask.dtype}; use astype(bool)."
            )
        if (stuck := np.flatnonzero(~mask.any(axis=1))).size:
            raise IllegalPositionError(f"Row {stuck[0]} has a mask that allows no action.")
        device = next(self.parameters()).device
        memory = torch.zeros(len(view), self.state_size) if state is None else torch.from_numpy(state)
        output = self.step(torch.from_numpy(view).to(device), torch.from_numpy(mask).to(device), memory.to(device))
        action = (style or self.style).sample(output.log_probs, generator)
        return action.cpu().numpy(), output.state.cpu().numpy()

    def step(self, view: Tensor, mask: Tensor, state: Tensor) -> StepOutput:
        """Decide once for each row: view (n, view), mask (n, action) or packed, state (n, state)."""
        vector, context = self.encoder(view)
        features, state = self.memory.step(vector, state)
        output: PolicyOutput = self.heads(features, context, mask)
        return StepOutput(output.log_probs, output.value, state)

    def sequence(self, view: Tensor, mask: Tensor, state: Tensor) -> PolicyOutput:
        """Decide along each row: view (b, t, view), mask (b, t, action) or packed, state (b, state) before the row."""
        vector, context = self.encoder(view)
        features = self.memory.sequence(self.dropout(vector), state)
        output: PolicyOutput = self.heads(features, context, mask)
        if self.opponent_model is not None:
            output = output._replace(opponent_features=self.opponent_model(features, context).float())
        return self.heads.auxiliary(output, features, context)

    def advance(self, view: Tensor, state: Tensor) -> Tensor:
        """Return the state (b, state) after sequences of views (b, t, view) that began with a state (b, state)."""
        vector, _ = self.encoder(view)
        return self.memory.advance(vector, state)

    def opponent_logits(self, opponent_features: Tensor) -> Tensor:
        """Return logits (n, class) of the opponent's action from `PolicyOutput.opponent_features` (n, feature)."""
        if self.opponent_model is None:
            raise RuntimeError("The policy has no opponent model; build it with policy.opponent_model=true.")
        head: Any = self.opponent_model
        logits: Tensor = head.logits(opponent_features)
        return logits

    forward = sequence  # wrappers of a module, such as torch.compile, wrap `forward`


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
