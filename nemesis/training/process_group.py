"""Data-parallel training of one policy in several processes, started by `torchrun`.

    torchrun --nproc-per-node 4 -m -- nemesis train vgc_bc data.sources=DATASET

The first process owns the run: it writes, evaluates and reports. The others only learn.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from nemesis.core.errors import UserError
from nemesis.training.config import RunConfig

_TIMEOUT = timedelta(hours=2)  # long enough for an evaluation by the first process


@contextmanager
def process_group(config: RunConfig) -> Iterator[None]:
    """Join the process group, if there are several processes."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    import torch  # noqa: PLC0415  slow, and whether this is a secondary process is asked without it
    from torch import distributed  # noqa: PLC0415

    if not config.data.sources:
        raise UserError("Only runs with data.sources learn in several processes; start this one without torchrun.")
    on_gpu = config.device != "cpu" and torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(local_rank())
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=_TIMEOUT)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def is_secondary_process() -> bool:
    """Return whether another process owns the run."""
    return int(os.environ.get("RANK", "0")) > 0


def local_rank() -> int:
    """Return the index of this process on its machine, which is also the index of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))
