"""Reports the progress of a run: rates over the last updates, and the evaluations so far."""

import math
from collections import deque
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from nemesis.play.experience import Clock
from nemesis.storage.metrics import read_metrics
from nemesis.training.display import Display, Progress

_SPEED_WINDOW = 50  # updates over which rates are averaged
_EVALUATION = "evaluation/"


class Reporter:
    """Shows the progress of a run and keeps its evaluations."""

    def __init__(self, display: Display, clock: Clock, total: int, update: int, decisions: int, metrics: Path) -> None:
        """Start at an update out of `total`; earlier evaluations are read from the metrics file."""
        self._display = display
        self._clock = clock
        self._total = total
        self.history = _past_evaluations(metrics)  # by update
        self._marks = deque([(perf_counter(), update, decisions)], maxlen=_SPEED_WINDOW)

    def evaluated(self, update: int, values: dict[str, float]) -> dict[str, float]:
        """Add an evaluation, unless it was interrupted, and return it as metrics."""
        if values:
            self.history.append((update, values))
        return {_EVALUATION + name: value for name, value in values.items()}

    def report(self, update: int, decisions: int, values: dict[str, float]) -> dict[str, float]:
        """Show the latest update and its metrics, and return its rates as further metrics."""
        now, (then, first_update, first_decisions) = perf_counter(), self._marks[0]
        self._marks.append((now, update, decisions))
        speed = (decisions - first_decisions) / (now - then)
        parts = {part: seconds for part, seconds in asdict(self._clock).items() if seconds}
        split = {name: seconds / sum(parts.values()) for name, seconds in parts.items()}
        self._display.update(
            Progress(
                update=update,
                total=self._total,
                decisions=decisions,
                decisions_per_second=speed,
                updates_per_second=(update - first_update) / (now - then),
                time_split=split,
                losses={
                    name.removeprefix("learner/"): value
                    for name, value in values.items()
                    if name.startswith("learner/") and name != "learner/skipped_steps"
                },
                evaluation=self.history,
                skipped_steps=int(values["learner/skipped_steps"]),
            )
        )
        return {"speed/decisions_per_second": speed} | {f"time/{name}": share for name, share in split.items()}


def _past_evaluations(path: Path) -> list[tuple[int, dict[str, float]]]:
    """Read the earlier evaluations of a run."""
    history = []
    for line in read_metrics(path):
        found = {
            name.removeprefix(_EVALUATION): math.nan if value is None else value
            for name, value in line.items()
            if name.startswith(_EVALUATION)
        }
        if found:
            history.append((line["update"], found))
    return history
