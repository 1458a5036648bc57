"""The collector: plays the matches of one pool (the rollouts) and hands over the episodes of those that learn."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import (
    SIDES,
    CheckedPool,
    Decisions,
    Game,
    IntArray,
    MatchPool,
    OpponentModelGame,
    Results,
    count_reasons,
    is_counted,
    side_of,
)
from nemesis.core.progress import report
from nemesis.core.trajectory import Trajectories
from nemesis.play.assembler import Assembled, Columns, EpisodeAssembler, concatenate_columns
from nemesis.play.experience import Clock, Experience, PlayCounts, as_arrays, as_tensors
from nemesis.play.pairings import MAIN, Outcomes, PlayerSource
from nemesis.play.players import Choices
from nemesis.play.seating import NO_PLAYER, Seating

_STEP_BITS = 20  # more decisions than an episode has
_MAX_VOIDED = 10  # voided matches per slot, with none counted, after which the run fails


class Collector:
    """One pool and its players. The decisions of learning players are collected."""

    def __init__(
        self,
        game: Game,
        pool: MatchPool,
        seating: Seating,
        memory_stride: int | None,
        clock: Clock,
        opponent_model: bool = False,
        segment: int | None = None,
    ) -> None:
        """Store the memory states of learners every `memory_stride` decisions of an episode (None: never).

        For an opponent model, the opponent's simultaneous action is stored with each decision. With `segment`,
        episodes are returned in segments of about that many decisions, before their match has ended.
        """
        spec = game.spec
        self._action_classes = _action_classes(game) if opponent_model else None
        self._scale = spec.utility_scale
        self._seats = spec.seats
        self._pool = pool
        self._seating = seating
        self._stride = memory_stride
        self._segment = _segment_length(segment, memory_stride)
        self._clock = clock
        self._ticks = np.zeros(pool.slots, dtype=np.int64)  # decisions so far in the match
        self._made = np.zeros((pool.slots, spec.seats), dtype=np.int64)  # decisions so far of the seat
        self._taken = np.zeros_like(self._made)  # how many of them were returned in segments
        self._first_version = np.zeros_like(self._made)  # of the policy at the seat's first decision
        self._assembler = EpisodeAssembler(spec.seats, self._segment)
        self._memories: list[Columns] = []
        self._outcomes: list[tuple[Results, IntArray]] = []  # with the players (match, side)
        self.ready = 0  # decisions of the main learner that can be taken
        self.counts = PlayCounts()

    def collect(self, decisions: int) -> Experience:
        """Play until that many decisions of the main learner are ready."""
        while self.ready < decisions:
            going_on = int((self._made - self._taken).sum())
            report("Playing", self.ready, decisions, f"{going_on:,} in matches that go on" if going_on else "")
            self.step()
        return self.take()

    def step(self) -> None:
        """Answer every waiting decision once."""
        started = perf_counter()
        waiting, ended = self._pool.recv()
        simulated = perf_counter()
        self._add_results(ended)
        if not len(waiting):
            self._pool.send(np.zeros(0, dtype=np.int64))
            self._clock.simulate += perf_counter() - started
            return
        player = self._seating.players_of(waiting)
        self._add_memory(waiting, player)
        choices = self._seating.act(waiting, player)
        inferred = perf_counter()
        self._pool.send(choices.action)
        self._add_decisions(waiting, player, choices)
        self._clock.infer += inferred - simulated
        self._clock.simulate += simulated - started + perf_counter() - inferred

    def take(self) -> Experience:
        """Return everything that is complete; matches in flight continue."""
        reasons = np.concatenate([np.zeros(0, dtype=np.int64), *(one.end_reason for one, _ in self._outcomes)])
        counted = is_counted(reasons)
        self.counts.matches += int(counted.sum())
        self.counts.voided += int((~counted).sum())
        self.counts.ended += count_reasons(reasons)
        if isinstance(self._pool, CheckedPool):
            checks = self._pool.take_checks()
            self.counts.checked += checks.checked
            self.counts.different += checks.different
        self.ready = 0
        if self._segment:
            self._taken = np.maximum(self._made - 1, 0) // self._segment * self._segment
        assembled = self._assembler.take()
        episodes: dict[str, Trajectories] = {}
        if assembled is not None:
            memories, self._memories = self._memories_of(assembled)
            players = assembled.rows["player"][assembled.offsets[:-1]]
            for number in np.unique(players):
                own = _select(assembled, np.flatnonzero(players == number)) if (players != number).any() else assembled
                episodes[self._seating.sources[number].name] = self._trajectories(own, memories)
        outcomes = _outcomes(self._outcomes, tuple(self._seating.sources))
        self._outcomes = []
        return Experience(episodes, outcomes)

    def take_counts(self) -> PlayCounts:
        """Return what was played since the last call."""
        counts, self.counts = self.counts, PlayCounts()
        return counts

    def _add_results(self, ended: Results) -> None:
        if not len(ended):
            return
        slot, seating = ended.slot, self._seating
        sides = seating.sides[slot].copy()
        self._assembler.end(ended, None if ended.final is None else seating.value(ended.final))
        self._outcomes.append((ended, sides))
        learned = seating.named(sides, MAIN)[:, side_of(np.arange(self._seats))]  # (match, seat)
        counted = is_counted(ended.end_reason)[:, None]
        made = self._made[slot]
        before = np.maximum(made - 1, 0) // self._segment * self._segment if self._segment else np.zeros_like(made)
        self.ready += int((np.where(counted, made - before, self._taken[slot] - before) * learned).sum())
        self._ticks[slot], self._made[slot], self._taken[slot] = 0, 0, 0
        seating.clear(slot)
        if not self.ready and sum(len(one) for one, _ in self._outcomes) > _MAX_VOIDED * self._pool.slots:
            self._fail_if_all_voided()

    def _fail_if_all_voided(self) -> None:
        reason = np.concatenate([one.end_reason for one, _ in self._outcomes])
        if is_counted(reason).any():
            return
        reasons = ", ".join(f"{count} {name}" for name, count in count_reasons(reason).items())
        raise UserError(
            f"Every match was voided ({reasons}), so there is nothing to learn from. "
            "See run.log, and try another game or fewer collection.slots."
        )

    def _add_memory(self, waiting: Decisions, player: IntArray) -> None:
        """Store the memory state before decisions that start a sequence; episodes start without one."""
        if self._stride is None:
            return
        made = self._made[waiting.slot, waiting.seat]
        keep = np.flatnonzero((made > 0) & (made % self._stride == 0) & self._seating.learns(player))
        if keep.size:
            match, slot, seat = waiting.match[keep], waiting.slot[keep], waiting.seat[keep]
            memory = self._seating.memory(player[keep], slot, seat)
            self._memories.append({"match": match, "seat": seat, "step": made[keep], "memory": memory})

    def _add_decisions(self, waiting: Decisions, player: IntArray, choices: Choices) -> None:
        learns = self._seating.learns(player)
        rows = np.flatnonzero(learns)
        slot, seat = waiting.slot, waiting.seat
        if rows.size:
            version = self._seating.version(player[rows])
            step = self._made[slot[rows], seat[rows]]
            columns = {
                "match": waiting.match[rows],
                "seat": seat[rows],
                "step": step,
                "player": player[rows],
                "tick": self._ticks[slot[rows]],
                "view": waiting.view[rows],
                "mask": waiting.mask[rows],
                "action": choices.action[rows],
                "log_prob": choices.log_prob[rows],
                "value": choices.value[rows],
                "version": version,
            }
            if waiting.reward is not None:
                columns["received"] = waiting.reward[rows]
            if self._segment:
                first = rows[step == 0]
                self._first_version[slot[first], seat[first]] = version[step == 0]
                columns["first_version"] = self._first_version[slot[rows], seat[rows]]
                ready = (step > 0) & (step % self._segment == 0) & self._seating.named(player[rows], MAIN)
                self.ready += self._segment * int(ready.sum())
            self._assembler.add(columns | self._opponent_actions(waiting, choices.action, rows))
        np.add.at(self._ticks, slot, 1)
        self._made[slot, seat] += 1
        self.counts.decisions += len(waiting)

    def _opponent_actions(self, waiting: Decisions, action: IntArray, rows: IntArray) -> Columns:
        """Return the simultaneous opponent actions of some rows, −1 where the opponent does not decide."""
        if self._action_classes is None:
            return {}
        classes = self._action_classes(waiting.view, action)
        row = np.full(self._made.shape, -1)  # (slot, seat) row of each seat's decision, the last if it makes none
        row[waiting.slot, waiting.seat] = np.arange(len(waiting))
        unknown = np.full_like(classes[:1], -1)
        opponent = row[waiting.slot[rows], 1 - waiting.seat[rows]]
        return {"opponent_action": np.concatenate([classes, unknown])[opponent]}

    def _memories_of(self, assembled: Assembled) -> tuple[Columns, list[Columns]]:
        """Return the stored memory states of assembled decisions, and those of decisions in flight."""
        memories = concatenate_columns(self._memories)
        if not memories:
            return memories, []
        key, in_flight = self._key(memories), self._assembler.snapshot()
        taken = np.isin(key, self._key(assembled.rows))
        waiting = np.isin(key, self._key(in_flight)) if in_flight else np.zeros(len(key), dtype=np.bool_)
        return (
            {name: column[taken] for name, column in memories.items()},
            [{name: column[waiting] for name, column in memories.items()}],
        )

    def _key(self, columns: Columns) -> IntArray:
        """Return one number for each decision, ascending by match, seat and step."""
        key: IntArray = ((columns["match"] * self._seats + columns["seat"]) << _STEP_BITS) + columns["step"]
        return key

    def _trajectories(self, assembled: Assembled, memories: Columns) -> Trajectories:
        """Return the episodes of one learner as trajectories."""
        rows, final = assembled.rows, assembled.final
        memory_row, memory = self._memory_rows(assembled, memories)
        unfinished = not assembled.terminated.all()
        return Trajectories(
            view=rows["view"],
            mask=rows["mask"],
            action=rows["action"],
            log_prob=rows["log_prob"],
            value=rows["value"],
            version=rows["version"],
            tick=rows["tick"],
            offsets=assembled.offsets,
            match=assembled.match,
            seat=assembled.seat,
            result=assembled.returns / np.float32(self._scale),
            memory_row=memory_row,
            memory=memory,
            reward=None if assembled.reward is None else assembled.reward / np.float32(self._scale),
            opponent_action=rows.get("opponent_action"),
            terminated=assembled.terminated if unfinished else None,
            bootstrap=final["value"] if unfinished and final is not None else None,
            final_view=final["view"] if unfinished and final is not None else None,
            first_version=rows["first_version"][assembled.offsets[:-1]] if "first_version" in rows else None,
        )

    def _memory_rows(self, assembled: Assembled, memories: Columns) -> tuple[IntArray, np.ndarray[Any, Any]]:
        """Return the rows whose memory state was stored, ascending, and the states (stored, state)."""
        if not memories:
            return np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.float32)
        key, wanted = self._key(assembled.rows), self._key(memories)
        row = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        used = np.flatnonzero(key[row] == wanted)
        order = used[np.argsort(row[used])]
        return row[order], memories["memory"][order]

    def snapshot(self) -> dict[str, Any]:
        """Return everything in flight, as a tree of tensors. Call `take` first."""
        return {
            "pool": {name: torch.from_numpy(np.asarray(array)) for name, array in self._pool.snapshot().items()},
            "seating": self._seating.snapshot(),
            "seats": as_tensors(
                {"made": self._made.copy(), "taken": self._taken.copy(), "first_version": self._first_version.copy()}
            ),
            "ticks": torch.from_numpy(self._ticks.copy()),
            "steps": as_tensors(self._assembler.snapshot()),
            "memories": as_tensors(concatenate_columns(self._memories)),
            "counts": self.counts.state(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._pool.restore({name: tensor.numpy() for name, tensor in snapshot["pool"].items()})
        self._seating.restore(snapshot["seating"])
        seats = as_arrays(snapshot["seats"])
        self._made, self._taken = seats["made"].copy(), seats["taken"].copy()
        self._first_version = seats["first_version"].copy()
        self._ticks = snapshot["ticks"].numpy().copy()
        self._assembler.restore(as_arrays(snapshot["steps"]))
        self._memories = [as_arrays(snapshot["memories"])] if snapshot["memories"] else []
        self._outcomes, self.ready = [], 0
        self.counts = PlayCounts.restored(snapshot["counts"])


def _segment_length(segment: int | None, memory_stride: int | None) -> int | None:
    """Return the length of segments: a multiple of the stride, because a segment starts at a stored memory state."""
    if segment is None or memory_stride is None:
        return segment
    return max(segment // memory_stride, 1) * memory_stride


def _action_classes(game: Game) -> Any:
    if not isinstance(game, OpponentModelGame) or game.spec.seats != SIDES:
        return None
    return game.action_classes


def _select(assembled: Assembled, episodes: IntArray) -> Assembled:
    """Return some of the episodes."""
    lengths = assembled.lengths[episodes]
    offsets = np.append(0, np.cumsum(lengths))
    rows = np.arange(offsets[-1]) + np.repeat(assembled.offsets[episodes] - offsets[:-1], lengths)
    final = assembled.final
    return Assembled(
        rows={name: column[rows] for name, column in assembled.rows.items()},
        offsets=offsets,
        match=assembled.match[episodes],
        seat=assembled.seat[episodes],
        returns=assembled.returns[episodes],
        terminated=assembled.terminated[episodes],
        reward=None if assembled.reward is None else assembled.reward[rows],
        final=None if final is None else {name: column[episodes] for name, column in final.items()},
    )


def _outcomes(ended: list[tuple[Results, IntArray]], sources: tuple[PlayerSource, ...]) -> Outcomes:
    player = np.concatenate([np.zeros((0, SIDES), dtype=np.int64), *(sides for _, sides in ended)])
    returns = np.concatenate([np.zeros((0, SIDES), dtype=np.float32), *(one.returns for one, _ in ended)])
    reason = np.concatenate([np.zeros(0, dtype=np.int64), *(one.end_reason for one, _ in ended)])
    seated = np.flatnonzero(player[:, 0] != NO_PLAYER)  # a match that ended before its first decision has no players
    return Outcomes(players=sources, player=player[seated], returns=returns[seated], end_reason=reason[seated])
