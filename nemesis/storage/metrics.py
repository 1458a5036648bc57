"""The metrics of a run.

`metrics.jsonl` has one JSON object per line, with `update`, `seconds` (time spent training, over all
resumptions) and `time` (the wall clock, UTC) before the values. The same values go to TensorBoard and to Weights &
Biases, if enabled.
"""

import importlib.util
import json
import logging
import math
import os
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from nemesis.core.files import replace_file
from nemesis.core.progress import report
from nemesis.storage.config import TrackingConfig
from nemesis.storage.run_directory import RunDirectory, RunError

_RESERVED_KEYS = ("update", "seconds", "time")
_WANDB_TIMEOUT = 20.0  # seconds, unless the environment says otherwise
_log = logging.getLogger(__name__)


def check_tracking(tracking: TrackingConfig) -> None:
    """Raise if a configured tracker is not installed. Call this before a run directory is created."""
    if tracking.wandb and importlib.util.find_spec("wandb") is None:
        raise RunError(
            "tracking.wandb=true needs a package that is not installed; install it with pip install -e '.[wandb]'."
        )


class Metrics:
    """Writes the metrics of one run. Resuming from update U drops all lines after U."""

    def __init__(self, run: RunDirectory, tracking: TrackingConfig, resumed_update: int | None = None) -> None:
        check_tracking(tracking)
        seconds = 0.0 if resumed_update is None else _drop_after(resumed_update, run.metrics_path)
        self._start = time.monotonic() - seconds
        self._wandb = _open_wandb(run.path, tracking.project) if tracking.wandb else None
        self._tensorboard = _open_tensorboard(run.tensorboard_path, resumed_update) if tracking.tensorboard else None
        # Line-buffered, so that readers see complete lines and a kill loses none.
        self._file = run.metrics_path.open("a", encoding="utf-8", buffering=1)

    def write(self, update: int, values: Mapping[str, float]) -> None:
        """Write values by name. Values that are not finite become null."""
        for key in _RESERVED_KEYS:
            if key in values:
                raise ValueError(f"A metric cannot be called {key}: every line has this key already.")
        numbers = {name: float(value) for name, value in values.items()}
        line = {
            "update": update,
            "seconds": round(time.monotonic() - self._start, 3),
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **{name: number if math.isfinite(number) else None for name, number in numbers.items()},
        }
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        if self._tensorboard is not None:
            for name, number in numbers.items():
                self._tensorboard.add_scalar(name, number, update)
        if self._wandb is not None:
            self._wandb.log(numbers, step=update)

    def flush(self) -> None:
        """Wait until all lines are on disk. Call this before a checkpoint is written."""
        os.fsync(self._file.fileno())
        if self._tensorboard is not None:
            self._tensorboard.flush()

    def close(self) -> None:
        self._file.close()
        if self._tensorboard is not None:
            self._tensorboard.close()
        if self._wandb is not None:
            report("Waiting for Weights & Biases")
            self._wandb.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a metrics.jsonl, also while a run writes it. A missing file has none."""
    return [values for _, values in _lines(path)]


def _lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return each valid line with its content. An incomplete last line is ignored; other damaged lines are logged."""
    if not path.exists():
        return []
    *complete, _partial = path.read_text(encoding="utf-8", errors="replace").split("\n")
    lines = []
    for number, line in enumerate(complete, start=1):
        try:
            values = json.loads(line)
            int(values["update"]), float(values["seconds"])
        except (ValueError, LookupError, TypeError):
            _log.warning("Line %d of %s is damaged and was skipped.", number, path)
        else:
            lines.append((line, values))
    return lines


def _drop_after(update: int, path: Path) -> float:
    """Drop the lines after an update, and return the training time up to it in seconds."""
    kept = [(line, values) for line, values in _lines(path) if values["update"] <= update]
    text = "".join(f"{line}\n" for line, _ in kept)
    if path.exists() and path.read_bytes() != text.encode():
        replace_file(path, text)
    return float(kept[-1][1]["seconds"]) if kept else 0.0


def _open_tensorboard(path: Path, resumed_update: int | None) -> Any:
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  takes a second to import

    purge_step = None if resumed_update is None else resumed_update + 1
    return SummaryWriter(str(path), purge_step=purge_step, flush_secs=30)


def _open_wandb(path: Path, project: str) -> Any:
    """Open a run of Weights & Biases; without a connection, one that is recorded on disk and uploaded later."""
    import wandb  # noqa: PLC0415  an extra

    identifier = path / "wandb-run.txt"  # so that a resumed run continues the same W&B run
    if not identifier.exists():
        replace_file(identifier, secrets.token_hex(8) + "\n")
    waiting = {} if "WANDB_INIT_TIMEOUT" in os.environ else {"init_timeout": _WANDB_TIMEOUT}

    def init(mode: Literal["offline"] | None = None) -> Any:
        wandb.setup(wandb.Settings(silent=True))  # only the display writes to the terminal
        return wandb.init(
            project=project,
            name=path.absolute().name,
            id=identifier.read_text(encoding="utf-8").strip(),
            resume="allow",
            dir=path,
            config=RunDirectory.config_of(path),
            settings=wandb.Settings(silent=True, console="off", **waiting),
            mode=mode,
        )

    report("Connecting to Weights & Biases")
    try:
        return init()
    except (wandb.Error, TimeoutError) as error:
        reason = " ".join(str(error).split())
        unreachable = isinstance(error, wandb.errors.CommError | TimeoutError)
        if not unreachable or isinstance(error, wandb.errors.AuthenticationError):
            raise RunError(
                f"Weights & Biases did not start ({reason}); log in with `wandb login` or set WANDB_MODE=offline."
            ) from error
    wandb.teardown()  # its process still has the run that did not start
    offline = init("offline")
    _log.warning(
        "Weights & Biases cannot be reached (%s), so the run is recorded on disk; upload it later with "
        "`wandb sync %s`.",
        reason,
        Path(offline.dir).parent,
    )
    return offline
