"""The memory of processes, and whether it grows over a long measurement.

The first third of the samples is warm-up. The rest is halved, and the median of the second half is compared to that of
the first half.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.report import MeasurementError

TOLERANCE = 0.10
_WARM_UP = 1 / 3


def resident(pid: int, which: str = "VmRSS") -> float:
    """Return the resident memory of a process in megabytes; with `VmHWM`, its peak."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{which}:"):
            return int(line.split()[1]) / 1024
    raise MeasurementError(f"The memory of process {pid} cannot be read from /proc/{pid}/status.")


def growth(samples: Sequence[float]) -> float:
    """Return the relative growth of samples of one process from the first to the second half after warm-up."""
    settled = samples[round(_WARM_UP * len(samples)) :]
    half = len(settled) // 2
    return median(settled[half:]) / median(settled[:half]) - 1
