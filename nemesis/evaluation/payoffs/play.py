"""Plays matches among several players: keeps all pools busy with what the schedule wants, within a budget."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

import numpy as np

from nemesis.core.interrupts import Stop, never
from nemesis.core.progress import report
from nemesis.evaluation.payoffs.counts import LOST, results_of
from nemesis.evaluation.payoffs.playing import Playing
from nemesis.evaluation.payoffs.schedule import Schedule
from nemesis.play.match_stream import FinishedMatches

OnPlayed: TypeAlias = Callable[[int, FinishedMatches], None]
"""Gets the number of a pool and matches that it has finished."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When to begin no more matches; those that have begun are played to their end."""

    matches: int | None = None
    seconds: float | None = None


def play_schedule(
    playing: Playing,
    schedule: Schedule,
    on_played: OnPlayed,
    *,
    slots: int,
    budget: Budget = Budget(),  # noqa: B008 (frozen)
    stop: Stop = never,
    activity: str = "Playing matches",
) -> int:
    """Play until the schedule or the budget is used up; returns the number of matches that ended.

    Each pool is given work for twice its slots, so that it never waits.
    """
    started, done, given = monotonic(), 0, 0
    total = schedule.left if budget.matches is None else min(schedule.left, budget.matches)
    dropped = False
    while True:
        late = budget.seconds is not None and monotonic() - started > budget.seconds
        if (late or stop()) and not dropped:
            playing.drop_queue()
            dropped = True
        if not dropped:
            for pool, left in enumerate(playing.left):
                if left < 2 * slots and given < total:
                    pairs = schedule.next(min(slots, total - given))
                    given += 2 * len(pairs)
                    playing.add(pool, pairs)
        if not any(playing.left):
            return done
        detail = _time_left(budget, started)
        report("Playing the last matches" if dropped else activity, done, None if dropped else total, detail)
        for pool, finished in playing.step():
            done += len(finished)
            result = results_of(finished.returns, finished.end_reason)
            schedule.add(finished.first, finished.second, np.where(result < 0, np.nan, (LOST - result) / 2))
            on_played(pool, finished)


def _time_left(budget: Budget, started: float) -> str:
    if budget.seconds is None:
        return ""
    return f"at most {max(budget.seconds - (monotonic() - started), 0) / 60:.0f} min"
