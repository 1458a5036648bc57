"""Columns of view records as a module: one gather for any set of columns."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nemesis.games.pokemon.views import layout

PLACES = layout.cut(np.arange(layout.VIEW_SIZE))
"""The index of every number of a record, by block."""


class Columns(nn.Module):
    """Records (n, view) → some of their columns, (n, …) in the shape of the given places."""

    index: Tensor

    def __init__(self, places: npt.NDArray[np.int64]) -> None:
        super().__init__()
        self.shape = places.shape
        self.register_buffer("index", torch.from_numpy(places.astype(np.int64).ravel()), persistent=False)

    def forward(self, view: Tensor) -> Tensor:
        return view.index_select(1, self.index).view(-1, *self.shape)
