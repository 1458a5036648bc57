"""Shared memory between the processes of a run: weights of learners, and episodes of actors.

Handles are passed once, when a process starts. The memory is freed when the last process that uses it ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

_ALIGNMENT = 64  # bytes


def shared_zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return zeros in shared memory."""
    return torch.zeros(*shape, dtype=dtype).share_memory_()  # type: ignore[no-untyped-call,no-any-return]


class SharedWeights:
    """The newest published weights of one learner.

    There are two copies, written alternately, so that a reader has the time of an update to copy one. A slower reader
    detects that the count has changed and reads again.
    """

    def __init__(self, policy: nn.Module) -> None:
        total = sum(tensor.numel() for tensor in policy.state_dict().values())
        self._copies = shared_zeros(2, total)
        self._versions = shared_zeros(2, dtype=torch.int64)
        self._published = shared_zeros(1, dtype=torch.int64)

    @property
    def published(self) -> int:
        """How often weights have been published."""
        return int(self._published[0])

    def publish(self, policy: nn.Module, version: int) -> None:
        """Publish the weights of a policy; `version` is its number of updates."""
        count = self.published + 1
        flat = torch.cat([tensor.detach().reshape(-1).float() for tensor in policy.state_dict().values()])
        self._copies[count % 2].copy_(flat)
        self._versions[count % 2] = version
        self._published[0] = count

    def read_into(self, policy: nn.Module) -> tuple[int, int]:
        """Copy the newest weights into a policy; returns the number of publications, and their version."""
        while True:
            count = self.published
            version = int(self._versions[count % 2])
            _fill(policy, self._copies[count % 2])
            if self.published == count:
                return count, version


class Follower:
    """Keeps a policy at the newest published weights."""

    def __init__(self, policy: nn.Module, weights: SharedWeights) -> None:
        self._policy = policy
        self._weights = weights
        self._seen = -1
        self._version = 0

    def refresh(self) -> int:
        """Copy the newest weights if they changed; returns their version."""
        if self._weights.published != self._seen:
            self._seen, self._version = self._weights.read_into(self._policy)
        return self._version


def _fill(policy: nn.Module, flat: Tensor) -> None:
    with torch.no_grad():
        place = 0
        for tensor in policy.state_dict().values():
            tensor.copy_(flat[place : place + tensor.numel()].view_as(tensor))
            place += tensor.numel()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True, slots=True)
class _Column:
    """The position of an array in a block."""

    offset: int
    shape: tuple[int, ...]
    dtype: str


ArrayLayout: TypeAlias = Mapping[str, _Column]


class Block:
    """A buffer for arrays. One process writes it, then another reads it, never both at the same time."""

    def __init__(self, size: int) -> None:
        self._bytes = shared_zeros(size, dtype=torch.uint8)

    def fits(self, arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
        """Return whether the arrays fit into the block."""
        return sum(_aligned(array.nbytes) for array in arrays.values()) <= self._bytes.numel()

    def write(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ArrayLayout:
        """Write arrays into the block; returns their positions."""
        buffer, offset, columns = self._bytes.numpy(), 0, {}
        for name, array in arrays.items():
            columns[name] = _Column(offset, array.shape, array.dtype.str)
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            buffer[offset : offset + len(flat)] = flat
            offset += _aligned(len(flat))
        return columns

    def read(self, columns: ArrayLayout) -> dict[str, npt.NDArray[Any]]:
        """Return copies of the arrays."""
        buffer = self._bytes.numpy()
        arrays = {}
        for name, column in columns.items():
            dtype = np.dtype(column.dtype)
            length = int(np.prod(column.shape)) * dtype.itemsize
            arrays[name] = buffer[column.offset : column.offset + length].view(dtype).reshape(column.shape).copy()
        return arrays
