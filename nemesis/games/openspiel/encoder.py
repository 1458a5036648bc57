"""How a network reads an OpenSpiel view: the tensor that OpenSpiel writes, through one linear map."""

import torch
from torch import nn


class VectorEncoder(nn.Module):
    """Views (…, view) to vectors (…, width)."""

    def __init__(self, view_size: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(view_size, width)

    def forward(self, view: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(view))
