"""Reports the progress of a run: rates over the last updates, the time left, and the evaluations so far.

The time left is that of the remaining updates, evaluations and checkpoints, each at its own recent pace.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from nemesis.learners.shaping import REWARD, REWARD_SIZE
from nemesis.play.experience import Clock
from nemesis.storage.metrics import read_metrics
from nemesis.training.config import RunConfig
from nemesis.training.display import Display, Progress

_SPEED_WINDOW = 50  # updates over which rates are averaged
_EVALUATION = "evaluation/"
_SECONDS = "speed/evaluation_seconds"
_SAVE_SECONDS = "speed/save_seconds"
_MATCHES = "matches_against_"
_LATER_EVALUATIONS = 0.6  # of the seconds of a run's first matches: simulators start, and untrained play lasts longer
_LEARNER, _SKIPPED = "learner/", "skipped_steps"


@dataclass(frozen=True, slots=True)
class _Mark:
    """The state of a run at a moment."""

    seconds: float
    update: int
    decisions: int
    apart: float  # seconds of evaluations and checkpoints so far


class Reporter:
    """Shows the progress of a run and keeps its evaluations."""

    def __init__(
        self,
        display: Display,
        clock: Clock,
        config: RunConfig,
        update: int,
        decisions: int,
        metrics: Path,
        since: int = -1,
    ) -> None:
        """Start at an update; earlier evaluations, those after the update `since`, are read from the metrics file."""
        self._display = display
        self._clock = clock
        self._config = config
        self.history = _past_evaluations(metrics, since)  # by update
        self._marks = deque([self._mark(update, decisions)], maxlen=_SPEED_WINDOW)
        self._evaluated = 0.0  # seconds of all evaluations since the start or the resumption
        self._evaluation_seconds = _last(_SECONDS, metrics)
        self._save_seconds = _last(_SAVE_SECONDS, metrics)
        self._first_update = update

    def enter_stage(self, config: RunConfig) -> None:
        """Begin another stage of the curriculum; evaluations of different stages are not compared."""
        self._config = config
        self.history = []

    def evaluated(self, update: int, values: dict[str, float]) -> dict[str, float]:
        """Add an evaluation, unless it was interrupted, and return it as metrics."""
        seconds, self._evaluated = self._clock.evaluate - self._evaluated, self._clock.evaluate
        by_matches = any(name.startswith(_MATCHES) for name in values)
        self._evaluation_seconds = seconds * _LATER_EVALUATIONS if by_matches and not self.history else seconds
        if not values:
            return {}
        self.history.append((update, values))
        return {_EVALUATION + name: value for name, value in values.items()} | {_SECONDS: seconds}

    def report(
        self, update: int, decisions: int, values: dict[str, float], saves: int, stage: str = ""
    ) -> dict[str, float]:
        """Show the latest update, its metrics and the stage, and return its rates as further metrics.

        `saves` is the number of checkpoints so far that the clock has timed.
        """
        if saves:
            self._save_seconds = self._clock.save / saves
        if len(self._marks) > 1 and self._marks[0].update == self._first_update:
            self._marks.popleft()  # the first update also waits for simulators that start and code that is compiled
        then, now = self._marks[0], self._mark(update, decisions)
        self._marks.append(now)
        seconds = now.seconds - then.seconds
        speed = (decisions - then.decisions) / seconds
        parts = {part: seconds for part, seconds in asdict(self._clock).items() if seconds}
        split = {name: seconds / sum(parts.values()) for name, seconds in parts.items()}
        self._display.update(
            Progress(
                update=update,
                total=self._config.updates,
                decisions=decisions,
                decisions_per_second=speed,
                updates_per_second=(update - then.update) / seconds,
                seconds_left=self._seconds_left(then, now),
                time_split=split,
                losses={name: value for name, value in _below(_LEARNER, values).items() if name != _SKIPPED},
                rewards={name: (values[REWARD + name], value) for name, value in _below(REWARD_SIZE, values).items()},
                evaluation=self.history,
                skipped_steps=int(values[_LEARNER + _SKIPPED]),
                stage=stage,
            )
        )
        rates = {"speed/decisions_per_second": speed, _SAVE_SECONDS: self._save_seconds}
        return rates | {f"time/{name}": share for name, share in split.items()}

    def _mark(self, update: int, decisions: int) -> _Mark:
        return _Mark(perf_counter(), update, decisions, self._clock.evaluate + self._clock.save)

    def _seconds_left(self, then: _Mark, now: _Mark) -> float:
        config, update = self._config, now.update
        per_update = (now.seconds - then.seconds - (now.apart - then.apart)) / (update - then.update)
        if update == config.updates:
            return 0.0
        evaluations = _times_left(update, config.evaluation.interval, config.updates)
        seconds = (config.updates - update) * per_update + evaluations * self._evaluation_seconds
        # The checkpoint of an update is saved after its report. Each one also resets the minutes.
        by_updates = _times_left(update - 1, config.checkpoints.interval, config.updates)
        minutes = config.checkpoints.minutes
        by_time = 0 if minutes is None else math.floor(seconds / (60 * minutes))
        return seconds + max(by_updates, by_time) * self._save_seconds


def _times_left(update: int, interval: int, total: int) -> int:
    """Return how many updates after this one are multiples of an interval, or the last of the run."""
    return total // interval - update // interval + (total % interval > 0)


def _last(name: str, path: Path) -> float:
    """Return the last value of a metric in an earlier part of the run; 0 if there is none."""
    return next((line[name] for line in reversed(read_metrics(path)) if name in line), 0.0)


def _below(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _past_evaluations(path: Path, since: int) -> list[tuple[int, dict[str, float]]]:
    """Read the earlier evaluations of a run, those after an update."""
    history = []
    for line in (line for line in read_metrics(path) if line["update"] > since):
        found = {
            name.removeprefix(_EVALUATION): math.nan if value is None else value
            for name, value in line.items()
            if name.startswith(_EVALUATION)
        }
        if found:
            history.append((line["update"], found))
    return history
