"""No memory: residual feed-forward layers in which every decision stands alone."""

from torch import Tensor, nn
from torch.nn.functional import relu


class FeedForward(nn.Module):
    """x + W₂ relu(W₁ norm(x)), with dropout where a learner wants it."""

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
    """As deep as a policy with memory, with a state of no numbers."""

    state_size = 0

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(FeedForward(width, 2 * width) for _ in range(layers)))

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return self.layers(x), state

    def sequence(self, x: Tensor, state: Tensor) -> Tensor:  # noqa: ARG002 (the face that all memories share)
        y: Tensor = self.layers(x)
        return y

    def advance(self, x: Tensor, state: Tensor) -> Tensor:  # noqa: ARG002
        return state
