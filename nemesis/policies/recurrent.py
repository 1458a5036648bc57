"""Recurrent memories, with a residual connection around all layers.

Sequences run through torch's fused layers. A single step runs the cells on the same weights: faster than a fused layer
on a CPU at small batches, and about the same at large ones.
"""

import torch
from torch import Tensor, nn


class LSTMMemory(nn.Module):
    """Long short-term memory (Hochreiter & Schmidhuber 1997). State: hidden vector of each layer, then cell of each."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.width, self.layers = width, layers
        self.state_size = 2 * layers * width
        self.norm = nn.LayerNorm(width)
        self.core = nn.LSTM(width, width, layers)
        for _, _, bias, _ in self.core.all_weights:  # the gates are in the order input, forget, cell, output
            nn.init.ones_(bias[width : 2 * width])  # forget gates start open, so that gradients reach far back

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm(x)
        parts = state.chunk(2 * self.layers, dim=1)
        hidden, cells = [], []
        for layer, weights in enumerate(self.core.all_weights):
            y, cell = torch.lstm_cell(y, (parts[layer], parts[self.layers + layer]), *weights)
            hidden.append(y)
            cells.append(cell)
        return x + y, torch.cat(hidden + cells, dim=1).to(state.dtype)  # autocast computes in a narrower type

    def sequence(self, x: Tensor, state: Tensor) -> Tensor:
        y, _ = self._run(x, state)
        return x + y.transpose(0, 1)

    def advance(self, x: Tensor, state: Tensor) -> Tensor:
        _, parts = self._run(x, state)
        return torch.stack(parts).permute(2, 0, 1, 3).reshape(state.shape).to(state.dtype)

    def _run(self, x: Tensor, state: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        # (b, 2 · layer · width) → hidden and cell, each (layer, b, width)
        hidden, cell = state.view(len(x), 2, self.layers, self.width).permute(1, 2, 0, 3).contiguous()
        y: Tensor
        y, parts = self.core(self.norm(x).transpose(0, 1), (hidden, cell))
        return y, parts


class GRUMemory(nn.Module):
    """Gated recurrent units (Cho et al. 2014). State: the hidden vector of each layer."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.width, self.layers = width, layers
        self.state_size = layers * width
        self.norm = nn.LayerNorm(width)
        self.core = nn.GRU(width, width, layers)

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        y = self.norm(x)
        hidden = []
        for part, weights in zip(state.chunk(self.layers, dim=1), self.core.all_weights, strict=True):
            y = torch.gru_cell(y, part, *weights)
            hidden.append(y)
        return x + y, torch.cat(hidden, dim=1).to(state.dtype)

    def sequence(self, x: Tensor, state: Tensor) -> Tensor:
        y, _ = self._run(x, state)
        return x + y.transpose(0, 1)

    def advance(self, x: Tensor, state: Tensor) -> Tensor:
        _, hidden = self._run(x, state)
        return hidden.transpose(0, 1).reshape(state.shape).to(state.dtype)

    def _run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden = state.view(len(x), self.layers, self.width).transpose(0, 1).contiguous()
        y: Tensor
        y, hidden = self.core(self.norm(x).transpose(0, 1), hidden)
        return y, hidden
