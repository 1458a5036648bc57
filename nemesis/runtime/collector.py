"""Plays matches and hands over the episodes that are finished.

Decisions are appended as they come, a few arrays per `recv`, and sorted into episodes only when an update asks for
them. Decisions of matches still in flight wait for a later batch.
"""

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import SEATS, BoolArray, Game, IntArray, MatchPool, Results, by_play, tally
from nemesis.core.trajectory import Trajectories
from nemesis.runtime.actor import Actor

_Columns = dict[str, npt.NDArray[Any]]
_HOPELESS = 10  # matches per slot that may be voided in a row, with none played, before the run gives up


@dataclass(slots=True)
class Clock:
    """Seconds spent on each part of a run."""

    simulate: float = 0.0
    infer: float = 0.0
    learn: float = 0.0
    other: float = 0.0


class Collector:
    """One pool, one policy in both seats: self-play."""

    def __init__(self, game: Game, pool: MatchPool, actor: Actor, memory_stride: int | None, clock: Clock) -> None:
        """Keep the actor's memory every `memory_stride` decisions of an episode (None: not at all)."""
        self._scale = game.spec.utility_scale
        self._actions = game.spec.actions
        self._pool = pool
        self._actor = actor
        self._stride = memory_stride
        self._clock = clock
        self._ticks = np.zeros(pool.slots, dtype=np.int64)  # decisions so far in the match
        self._made = np.zeros((pool.slots, SEATS), dtype=np.int64)  # decisions so far of the seat
        self._steps: list[_Columns] = []
        self._memories: list[_Columns] = []
        self._results: list[Results] = []
        self.decisions = 0
        self.matches = 0
        self.voided = 0
        self.ended: Counter[str] = Counter()  # matches by why they ended

    def collect(self, decisions: int, version: int) -> Trajectories:
        """Play until so many decisions of finished matches are there; `version` is the policy's number of updates."""
        ready = 0
        while ready < decisions:
            ready += self._step(version)
            if not ready and sum(map(len, self._results)) > _HOPELESS * self._pool.slots:
                reasons = tally(np.concatenate([ended.end_reason for ended in self._results]))
                raise UserError(
                    f"Every match was voided ({', '.join(f'{count} {reason}' for reason, count in reasons.items())}), "
                    "so there is nothing to learn from. See run.log, and try another game or fewer collection.slots."
                )
        return self._finished_episodes()

    def _step(self, version: int) -> int:
        """Answer every waiting decision once; returns how many decisions the matches that ended by play had."""
        started = perf_counter()
        waiting, ended = self._pool.recv()
        simulated = perf_counter()
        finished = self._note_results(ended)
        if not len(waiting):
            self._pool.send(np.zeros(0, dtype=np.int64))
            self._clock.simulate += perf_counter() - started
            return finished
        self._note_memory(waiting.match, waiting.slot, waiting.seat)
        choices = self._actor.act(waiting)
        inferred = perf_counter()
        self._pool.send(choices.action)
        self._steps.append(
            {
                "match": waiting.match,
                "seat": waiting.seat,
                "tick": self._ticks[waiting.slot],
                "view": waiting.view,
                "mask": np.packbits(waiting.mask, axis=1),  # bits, since thousands of actions would outweigh the views
                "action": choices.action,
                "log_prob": choices.log_prob,
                "value": choices.value,
                "version": np.full(len(waiting), version),
            }
        )
        np.add.at(self._ticks, waiting.slot, 1)
        self._made[waiting.slot, waiting.seat] += 1
        self.decisions += len(waiting)
        self._clock.infer += inferred - simulated
        self._clock.simulate += simulated - started + perf_counter() - inferred
        return finished

    def _note_results(self, ended: Results) -> int:
        if not len(ended):
            return 0
        self._results.append(ended)
        finished = int(self._ticks[ended.slot[by_play(ended.end_reason)]].sum())
        self._ticks[ended.slot] = 0
        self._made[ended.slot] = 0
        self._actor.forget(ended.slot)
        return finished

    def _note_memory(self, match: IntArray, slot: IntArray, seat: IntArray) -> None:
        """Keep the memory before decisions that will begin a sequence; an episode begins with none."""
        if self._stride is None:
            return
        made = self._made[slot, seat]
        keep = np.flatnonzero((made > 0) & (made % self._stride == 0))
        if keep.size:
            memory = self._actor.memory(slot[keep], seat[keep])
            self._memories.append({"match": match[keep], "seat": seat[keep], "made": made[keep], "memory": memory})

    def _finished_episodes(self) -> Trajectories:
        steps, memories, results = _concatenate(self._steps), _concatenate(self._memories), self._results
        match = np.concatenate([ended.match for ended in results])
        returns = np.concatenate([ended.returns for ended in results])
        reason = np.concatenate([ended.end_reason for ended in results])
        played = by_play(reason)
        self.matches += int(played.sum())
        self.voided += int((~played).sum())
        self.ended += tally(reason)
        self._results = []
        by_match = np.argsort(match)
        match, returns, played = match[by_match], returns[by_match], played[by_match]

        # Rows came in the order of play, so a stable sort keeps each episode's.
        order = np.argsort(steps["match"] * SEATS + steps["seat"], kind="stable")
        steps, self._steps = _split(steps, order, match, played)
        memories, self._memories = _split(memories, slice(None), match, played)

        episode = steps["match"] * SEATS + steps["seat"]
        starts = np.flatnonzero(np.diff(episode, prepend=-1))
        first_match, first_seat = steps["match"][starts], steps["seat"][starts]
        memory_row, memory = _memory_rows(memories, episode[starts], starts)
        result = returns[np.searchsorted(match, first_match), first_seat] / self._scale
        return Trajectories(
            view=steps["view"],
            mask=np.unpackbits(steps["mask"], axis=1, count=self._actions).view(np.bool_),
            action=steps["action"],
            log_prob=steps["log_prob"],
            value=steps["value"],
            version=steps["version"],
            tick=steps["tick"],
            offsets=np.append(starts, len(episode)),
            match=first_match,
            seat=first_seat,
            result=result.astype(np.float32),
            memory_row=memory_row,
            memory=memory,
        )

    def snapshot(self) -> dict[str, Any]:
        """Return everything in flight, as a tree of tensors."""
        return {
            "pool": {name: torch.from_numpy(np.asarray(array)) for name, array in self._pool.snapshot().items()},
            "actor": self._actor.snapshot(),
            "ticks": torch.from_numpy(self._ticks.copy()),
            "made": torch.from_numpy(self._made.copy()),
            "steps": _as_tensors(_concatenate(self._steps)),
            "memories": _as_tensors(_concatenate(self._memories)),
            "decisions": self.decisions,
            "matches": self.matches,
            "voided": self.voided,
            "ended": dict(self.ended),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._pool.restore({name: tensor.numpy() for name, tensor in snapshot["pool"].items()})
        self._actor.restore(snapshot["actor"])
        self._ticks = snapshot["ticks"].numpy().copy()
        self._made = snapshot["made"].numpy().copy()
        self._steps = [_as_arrays(snapshot["steps"])] if snapshot["steps"] else []
        self._memories = [_as_arrays(snapshot["memories"])] if snapshot["memories"] else []
        self.decisions = snapshot["decisions"]
        self.matches = snapshot["matches"]
        self.voided = snapshot["voided"]
        self.ended = Counter(snapshot["ended"])


def _concatenate(parts: list[_Columns]) -> _Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _split(
    columns: _Columns, order: IntArray | slice, ended: IntArray, played: BoolArray
) -> tuple[_Columns, list[_Columns]]:
    """Return the rows of matches that ended by play in the given order, and those still in flight as they are."""
    if not columns:
        return columns, []
    place = np.minimum(np.searchsorted(ended, columns["match"]), len(ended) - 1)
    over = ended[place] == columns["match"]
    rest = {name: column[~over] for name, column in columns.items()}
    rows = np.arange(len(over))[order]
    rows = rows[(over & played[place])[rows]]
    return {name: column[rows] for name, column in columns.items()}, [rest]


def _memory_rows(memories: _Columns, episode: IntArray, starts: IntArray) -> tuple[IntArray, npt.NDArray[np.float32]]:
    """Place kept memories at the rows of their decisions; `episode` are ascending keys, `starts` their first rows."""
    if not memories:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.float32)
    key = memories["match"] * SEATS + memories["seat"]
    place = np.minimum(np.searchsorted(episode, key), len(episode) - 1)
    used = episode[place] == key
    row = starts[place[used]] + memories["made"][used]
    order = np.argsort(row)
    return row[order], memories["memory"][used][order]


def _as_tensors(columns: _Columns) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in columns.items()}


def _as_arrays(tensors: dict[str, torch.Tensor]) -> _Columns:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
