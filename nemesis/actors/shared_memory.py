"""Memory that the processes of a run share: the weights of learners, and the episodes that actors hand over.

Handles of the memory are passed once, when a process starts; from then on nothing but the bytes themselves moves. The
memory is gone when the last process that holds it is.
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
    """Return zeros that every process sees which is given them."""
    return torch.zeros(*shape, dtype=dtype).share_memory_()  # type: ignore[no-untyped-call,no-any-return]


class SharedWeights:
    """The weights of one learner, as it published them last.

    There are two copies, written in turn, so that whoever reads has the length of an update to do it. A reader that was
    slower than that finds the count moved on and reads again.
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
        """Give out the weights of a policy that has so many updates behind it."""
        count = self.published + 1
        flat = torch.cat([tensor.detach().reshape(-1).float() for tensor in policy.state_dict().values()])
        self._copies[count % 2].copy_(flat)
        self._versions[count % 2] = version
        self._published[0] = count

    def read_into(self, policy: nn.Module) -> tuple[int, int]:
        """Copy the newest weights into a policy; returns how often weights had been published, and their version."""
        while True:
            count = self.published
            version = int(self._versions[count % 2])
            _fill(policy, self._copies[count % 2])
            if self.published == count:
                return count, version


class Follower:
    """A policy that has, whenever it is refreshed, the newest weights that were published."""

    def __init__(self, policy: nn.Module, weights: SharedWeights) -> None:
        self._policy = policy
        self._weights = weights
        self._seen = -1
        self._version = 0

    def refresh(self) -> int:
        """Take over the newest weights; returns their version."""
        if self._weights.published != self._seen:
            self._seen, self._version = self._weights.read_into(self._policy)
        return self._version


def _fill(policy: nn.Module, flat: Tensor) -> None:
    with torch.no_grad():
        place = 0
        for tensor in policy.state_dict().values():
            tensor.copy_(flat[place : place + tensor.numel()].view_as(tensor))
            place += tensor.numel()


@dataclass(frozen=True, slots=True)
class _Column:
    """Where an array lies in a block."""

    offset: int
    shape: tuple[int, ...]
    dtype: str


Columns: TypeAlias = Mapping[str, _Column]


class Block:
    """Room for the episodes of one hand-over. One process writes it, then the other reads it, never both at once."""

    def __init__(self, size: int) -> None:
        self._bytes = shared_zeros(size, dtype=torch.uint8)

    def write(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Columns:
        """Put arrays into the block; returns where each is."""
        room, offset, columns = self._bytes.numpy(), 0, {}
        for name, array in arrays.items():
            columns[name] = _Column(offset, array.shape, array.dtype.str)
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            room[offset : offset + len(flat)] = flat
            offset += -(-len(flat) // _ALIGNMENT) * _ALIGNMENT
        return columns

    def read(self, columns: Columns) -> dict[str, npt.NDArray[Any]]:
        """Return copies of what was put there."""
        room = self._bytes.numpy()
        arrays = {}
        for name, column in columns.items():
            dtype = np.dtype(column.dtype)
            length = int(np.prod(column.shape)) * dtype.itemsize
            arrays[name] = room[column.offset : column.offset + length].view(dtype).reshape(column.shape).copy()
        return arrays
