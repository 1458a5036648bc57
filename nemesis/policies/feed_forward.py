"""No memory: residual feed-forward layers that process each decision independently."""

from torch import Tensor, nn
from torch.nn.functional import relu


class FeedForward(nn.Module):
    """x + W₂ relu(W₁ norm(x)), with dropout if a learner sets its rate."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(0.0)
        self.outer = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.outer(self.dropout(relu(self.inner(self.norm(x)))))
        return x + y


class NoMemory(nn.Module):
    """As deep as a policy with memory, with an empty state."""

    state_size = 0

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(FeedForward(width, 2 * width) for _ in range(layers)))

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.layers(x), state

    def sequence(self, x: Tensor, state: Tensor) -> Tensor:  # noqa: ARG002 (the interface of all memories)
        y: Tensor = self.layers(x)
        return y

    def advance(self, x: Tensor, state: Tensor) -> Tensor:  # noqa: ARG002
        return state
