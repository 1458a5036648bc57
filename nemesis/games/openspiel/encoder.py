"""The encoder and the action head for OpenSpiel games: one linear layer each."""

import torch
from torch import Tensor, nn


class VectorEncoder(nn.Module):
    """Encodes views (…, view), which are OpenSpiel tensors, as vectors (…, width); there is no context for the head."""

    def __init__(self, view_size: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(view_size, width)

    def forward(self, view: Tensor) -> tuple[Tensor, None]:
        return torch.relu(self.linear(view)), None


class LinearActionHead(nn.Module):
    """Maps features (…, width) to logits (…, action), near uniform at first."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, actions)
        nn.init.normal_(self.linear.weight, std=0.01 / width**0.5)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002 (the interface of all action heads)
        logits: Tensor = self.linear(features)
        return logits
