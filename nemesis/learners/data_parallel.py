"""Data-parallel training: several processes train the same policy, each on its part of every batch.

Losses are sums over a process's own decisions, divided by the counts of all processes. So gradients add up to those of
one process with the whole batch, and all processes take the same step. With one process, nothing is communicated.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, distributed, nn


def processes() -> int:
    """Return the number of processes."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the number of this process."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def add_up(values: Tensor) -> Tensor:
    """Return the sum over all processes."""
    if processes() > 1:
        values = values.clone()
        distributed.all_reduce(values)
    return values


def add_up_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Give every process the sum of all gradients."""
    if processes() == 1:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = add_up(torch.cat([gradient.flatten() for gradient in gradients]))
    first = 0
    for gradient in gradients:
        gradient.copy_(flat[first : first + gradient.numel()].view_as(gradient))
        first += gradient.numel()


def any_of(flag: bool, device: torch.device) -> bool:
    """Return whether the flag is set in any process."""
    return flag if processes() == 1 else bool(add_up(torch.tensor(float(flag), device=device)))
