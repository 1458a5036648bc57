"""How a network reads an OpenSpiel view and scores actions: one linear map each."""

import torch
from torch import Tensor, nn


class VectorEncoder(nn.Module):
    """Views (…, view), the tensors that OpenSpiel writes, to vectors (…, width); there is nothing to point at."""

    def __init__(self, view_size: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(view_size, width)

    def forward(self, view: Tensor) -> tuple[Tensor, None]:
        return torch.relu(self.linear(view)), None


class LinearActionHead(nn.Module):
    """Features (…, width) to logits (…, action), at first near uniform."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, actions)
        nn.init.normal_(self.linear.weight, std=0.01 / width**0.5)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002 (the face of all action heads)
        logits: Tensor = self.linear(features)
        return logits
