"""Sorts decisions into episodes, for learning and for datasets.

Decisions are appended in the order of play, a few arrays per `recv`. They are sorted only when episodes are taken. An
episode is complete when its match has ended. With a segment length, longer episodes are also cut into segments of that
many decisions. A segment can be taken before the match has ended, as soon as the seat has made its next decision.
Voided matches are dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, FloatArray, IntArray, Results, is_counted, is_terminated, side_of

Columns = dict[str, npt.NDArray[Any]]
_NO_RESULTS = Results(
    match=np.zeros(0, dtype=np.int64),
    slot=np.zeros(0, dtype=np.int64),
    returns=np.zeros((0, 2), dtype=np.float32),
    end_reason=np.zeros(0, dtype=np.int64),
)


@dataclass(frozen=True, slots=True)
class Assembled:
    """Episodes, their decisions in order."""

    rows: Columns  # (decision, …) every column that was added
    offsets: IntArray  # (episode + 1,)
    match: IntArray  # (episode,)
    seat: IntArray  # (episode,)
    returns: FloatArray  # (episode,) of the seat's side; 0 where the episode is not terminated
    terminated: BoolArray  # (episode,)
    reward: FloatArray | None  # (decision,) or (decision, component) paid until the seat's next decision
    final: Mapping[str, npt.NDArray[Any]] | None  # (episode, …) `view` and `value` after the last decision, where known

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)


class EpisodeAssembler:
    """Collects the decisions of matches in flight, and returns complete episodes."""

    def __init__(self, seats: int, segment: int | None = None, *, bootstraps: bool = True) -> None:
        """Without `bootstraps`, the value after episodes that are not terminated is left out."""
        self._seats = seats
        self._bootstraps = bootstraps
        self._segment = segment
        self._steps: list[Columns] = []
        self._ended: list[Results] = []
        self._finals: list[Columns] = []

    def add(self, columns: Columns) -> None:
        """Append decisions made at the same time, at most one of each seat.

        Required columns are `match`, `seat`, `step` (index of the decision in its episode) and `view`; with rewards
        also `received`, the reward of the seat since its last decision; for segments also `value`.
        """
        self._steps.append(columns)

    def end(self, results: Results, final_value: FloatArray | None = None) -> None:
        """Add matches that ended, with the values (n,) of the final decisions of truncated ones."""
        self._ended.append(results)
        if results.final is not None and final_value is not None:
            final = results.final
            self._finals.append({"match": final.match, "seat": final.seat, "view": final.view, "value": final_value})

    @property
    def ended(self) -> Results:
        """The matches that ended since the last `take`."""
        return _concatenate_results(self._ended)

    def take(self) -> Assembled | None:
        """Return the complete episodes and segments, or None if there are none."""
        ended, finals = self.ended, concatenate_columns(self._finals)
        self._ended, self._finals = [], []
        steps = concatenate_columns(self._steps)
        if not steps:
            return None
        order = _Order(steps, ended, self._seats, self._segment)
        self._steps = [{name: column[order.rest] for name, column in steps.items()}]
        if not len(order.row):
            return None
        reward = self._reward(steps, order, ended)
        rows = {name: column[order.row] for name, column in steps.items() if name != "received"}
        returns = np.zeros(len(order.match), dtype=np.float32)
        over = np.flatnonzero(order.terminated)
        returns[over] = ended.returns[order.result[over], side_of(order.seat[over])]
        final = self._final(steps, order, finals)
        return Assembled(
            rows=rows,
            offsets=order.offsets,
            match=order.match,
            seat=order.seat,
            returns=returns,
            terminated=order.terminated,
            reward=reward,
            final=final,
        )

    def snapshot(self) -> Columns:
        """Return the decisions in flight. Call `take` first."""
        return concatenate_columns(self._steps)

    def restore(self, snapshot: Columns) -> None:
        self._steps = [snapshot] if snapshot else []
        self._ended, self._finals = [], []

    def _reward(self, steps: Columns, order: "_Order", ended: Results) -> FloatArray | None:
        """Return the reward of each decision: what its seat received until its next decision, or until the end."""
        if "received" not in steps:
            return None
        received = steps["received"]
        reward = np.zeros((len(order.row), *received.shape[1:]), dtype=np.float32)
        followed = order.next_row >= 0
        reward[followed] = received[order.next_row[followed]]
        if ended.reward is not None and not followed.all():
            last = ~followed
            result, seat = np.repeat(order.result, order.lengths)[last], np.repeat(order.seat, order.lengths)[last]
            reward[last] = ended.reward[result, seat]
        return reward

    def _final(self, steps: Columns, order: "_Order", finals: Columns) -> Columns | None:
        """Return the view and the value after the last decision of episodes that are not terminated."""
        unfinished = np.flatnonzero(~order.terminated)
        if not unfinished.size or not self._bootstraps:
            return None
        view = np.zeros((len(order.match), steps["view"].shape[1]), dtype=steps["view"].dtype)
        value = np.zeros(len(order.match), dtype=np.float32)
        next_row = order.next_row[order.offsets[1:] - 1]
        segments = np.flatnonzero(next_row >= 0)
        view[segments], value[segments] = steps["view"][next_row[segments]], steps["value"][next_row[segments]]
        truncated = unfinished[next_row[unfinished] < 0]
        if truncated.size:
            wanted = order.match[truncated] * self._seats + order.seat[truncated]
            key = finals["match"] * self._seats + finals["seat"] if finals else np.zeros(0, dtype=np.int64)
            place = _find(key, np.argsort(key), wanted)
            if (missing := np.flatnonzero(place < 0)).size:
                match, seat = order.match[truncated[missing[0]]], order.seat[truncated[missing[0]]]
                raise ValueError(f"Match {match} was truncated, but Results.final has no row for its seat {seat}.")
            view[truncated], value[truncated] = finals["view"][place], finals["value"][place]
        return {"view": view, "value": value}


class _Order:
    """The assignment of rows to episodes."""

    def __init__(self, steps: Columns, ended: Results, seats: int, segment: int | None) -> None:
        by_match = np.argsort(ended.match)
        key = steps["match"] * seats + steps["seat"]
        order = np.argsort(key, kind="stable")  # rows are in the order of play, which a stable sort keeps
        key = key[order]
        start = np.diff(key, prepend=-1) != 0
        first = np.flatnonzero(start)
        lengths = np.diff(first, append=len(key))
        within = np.arange(len(key)) - np.repeat(first, lengths)
        result = _find(ended.match, by_match, steps["match"][order[first]])  # (episode,) row of the result, or −1
        over = result >= 0
        counted = over & is_counted(ended.end_reason)[result] if len(ended) else over
        limit = lengths if segment is None else (lengths - 1) // segment * segment  # of episodes in flight
        taken = within < np.repeat(
            np.where(counted, lengths, np.where(over, 0, limit * (segment is not None))), lengths
        )
        piece = start if segment is None else start | (within % segment == 0)

        self.row = order[taken]  # (decision,)
        follows = np.append(~start[1:], False)  # whether the next row is of the same episode
        self.next_row = np.where(follows, np.append(order[1:], -1), -1)[taken]  # (decision,) of the same seat, or −1
        starts = np.flatnonzero(piece[taken])
        self.offsets: IntArray = np.append(starts, len(self.row))
        self.match: IntArray = steps["match"][self.row[starts]]
        self.seat: IntArray = steps["seat"][self.row[starts]]
        self.result: IntArray = np.repeat(result, lengths)[taken][starts]
        by_rules = is_terminated(ended.end_reason)[self.result] if len(ended) else np.zeros(len(starts), dtype=np.bool_)
        self.terminated: BoolArray = (self.next_row[self.offsets[1:] - 1] < 0) & by_rules
        rest = np.zeros(len(key), dtype=np.bool_)
        rest[order] = ~taken & ~np.repeat(over, lengths)
        self.rest = rest  # (row,) not taken yet

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)


def concatenate_columns(parts: Sequence[Columns]) -> Columns:
    """Return the rows of several parts with the same columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _concatenate_results(parts: Sequence[Results]) -> Results:
    if not parts:
        return _NO_RESULTS
    rewards = [part.reward for part in parts]
    return Results(
        match=np.concatenate([part.match for part in parts]),
        slot=np.concatenate([part.slot for part in parts]),
        returns=np.concatenate([part.returns for part in parts]),
        end_reason=np.concatenate([part.end_reason for part in parts]),
        reward=np.concatenate(rewards) if all(reward is not None for reward in rewards) else None,  # type: ignore[arg-type]
    )


def _find(values: IntArray, by_value: IntArray, wanted: IntArray) -> IntArray:
    """Return the index of each wanted number among the values, or −1."""
    if not len(values):
        return np.full(len(wanted), -1)
    place = by_value[np.minimum(np.searchsorted(values, wanted, sorter=by_value), len(values) - 1)]
    found: IntArray = np.where(values[place] == wanted, place, -1)
    return found
