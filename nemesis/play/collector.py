"""Plays matches and hands over the episodes of those that learn, once they are finished.

Decisions are appended as they come, a few arrays per `recv`, and sorted into episodes only when an update asks for
them. Decisions of matches still in flight wait for a later batch.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nemesis.core.errors import UserError
from nemesis.core.game import (
    SIDES,
    BoolArray,
    Decisions,
    FloatArray,
    Game,
    IntArray,
    MatchPool,
    OpponentModelGame,
    Results,
    is_counted,
    count_reasons,
)
from nemesis.core.trajectory import Trajectories
from nemesis.play.pairings import MAIN, Outcomes, PlayerSource
from nemesis.play.players import Choices
from nemesis.play.seating import NOBODY, Seating

_Columns = dict[str, npt.NDArray[Any]]
_HOPELESS = 10  # matches per slot that may be voided in a row, with none played, before the run gives up


@dataclass(slots=True)
class Clock:
    """Seconds spent on each part of a run."""

    wait: float = 0.0  # for actors in other processes
    simulate: float = 0.0
    infer: float = 0.0
    learn: float = 0.0
    other: float = 0.0


@dataclass(slots=True)
class PlayCounts:
    """What has been played so far."""

    decisions: int = 0
    matches: int = 0  # ended by play
    voided: int = 0
    restarts: int = 0  # of actors
    ended: Counter[str] = field(default_factory=Counter)  # matches by why they ended

    def add(self, other: "PlayCounts") -> None:
        self.decisions += other.decisions
        self.matches += other.matches
        self.voided += other.voided
        self.restarts += other.restarts
        self.ended += other.ended

    def state(self) -> dict[str, Any]:
        return asdict(self) | {"ended": dict(self.ended)}

    @staticmethod
    def restored(state: Mapping[str, Any]) -> "PlayCounts":
        return PlayCounts(**{**state, "ended": Counter(state["ended"])})


@dataclass(frozen=True, slots=True)
class Experience:
    """What was played to its end."""

    episodes: Mapping[str, Trajectories]  # by learner, of every learner that has any
    outcomes: Outcomes

    def state(self) -> dict[str, Any]:
        """Return all of it as a tree of tensors."""
        outcomes = self.outcomes
        arrays: _Columns = {"player": outcomes.player, "returns": outcomes.returns, "end_reason": outcomes.end_reason}
        return {
            "episodes": {name: _as_tensors(episodes.arrays()) for name, episodes in self.episodes.items()},
            "players": [[source.kind, source.name] for source in outcomes.players],
            "outcomes": _as_tensors(arrays),
        }

    @staticmethod
    def restored(state: Mapping[str, Any], actions: int) -> "Experience":
        players = tuple(PlayerSource(kind, name) for kind, name in state["players"])
        return Experience(
            {name: Trajectories.from_arrays(_as_arrays(part), actions) for name, part in state["episodes"].items()},
            Outcomes(players, **_as_arrays(state["outcomes"])),
        )


class Collector:
    """One pool, and the players that meet in it. The decisions of those that learn are kept."""

    def __init__(
        self,
        game: Game,
        pool: MatchPool,
        cast: Seating,
        memory_stride: int | None,
        clock: Clock,
        opponent_model: bool = False,
    ) -> None:
        """Keep the memories of learners every `memory_stride` decisions of an episode (None: not at all).

        For `foresight`, what the opponent did at the same moment is kept beside each decision.
        """
        self._action_classes = game.action_classes if opponent_model and isinstance(game, OpponentModelGame) else None
        self._scale = game.spec.utility_scale
        self._actions = game.spec.actions
        self._pool = pool
        self._seating = cast
        self._stride = memory_stride
        self._clock = clock
        self._ticks = np.zeros(pool.slots, dtype=np.int64)  # decisions so far in the match
        self._made = np.zeros((pool.slots, SIDES), dtype=np.int64)  # decisions so far of the seat
        self._steps: list[_Columns] = []
        self._memories: list[_Columns] = []
        self._ended: list[_Ended] = []
        self.ready = 0  # decisions of the main learner that wait to be harvested
        self.counts = PlayCounts()

    def collect(self, decisions: int) -> Experience:
        """Play until so many decisions of the main learner are there whose matches have ended."""
        while self.ready < decisions:
            self.step()
        return self.experience()

    def step(self) -> None:
        """Answer every waiting decision once."""
        started = perf_counter()
        waiting, ended = self._pool.recv()
        simulated = perf_counter()
        self._note_results(ended)
        if not len(waiting):
            self._pool.send(np.zeros(0, dtype=np.int64))
            self._clock.simulate += perf_counter() - started
            return
        self._seat(waiting)
        player = self._seating.seats[waiting.slot, waiting.seat]
        self._note_memory(waiting, player)
        choices = self._seating.act(waiting, player)
        inferred = perf_counter()
        self._pool.send(choices.action)
        self._note_decisions(waiting, player, choices)
        self._clock.infer += inferred - simulated
        self._clock.simulate += simulated - started + perf_counter() - inferred

    def experience(self) -> Experience:
        """Hand over the episodes of matches that have ended; the others wait."""
        ended = _Ended.concatenate(self._ended)
        played = is_counted(ended.results.end_reason)
        self.counts.matches += int(played.sum())
        self.counts.voided += int((~played).sum())
        self.counts.ended += count_reasons(ended.results.end_reason)
        self._ended, self.ready = [], 0
        by_match = np.argsort(ended.results.match)
        match, returns = ended.results.match[by_match], ended.results.returns[by_match]

        # Rows came in the order of play, so a stable sort keeps each episode's.
        steps = _concatenate(self._steps)
        order = np.argsort(steps["match"] * SIDES + steps["seat"], kind="stable") if steps else slice(None)
        steps, self._steps = _split(steps, order, match, played[by_match])
        memories, self._memories = _split(_concatenate(self._memories), slice(None), match, played[by_match])
        episodes = {}
        players = np.unique(steps["player"]) if steps else ()
        for number in players:
            own = steps["player"] == number if len(players) > 1 else slice(None)
            rows = {column: values[own] for column, values in steps.items()}
            episodes[self._seating.sources[number].name] = self._trajectories(rows, memories, match, returns)
        return Experience(episodes, ended.outcomes(tuple(self._seating.sources)))

    def take_counts(self) -> PlayCounts:
        """Return what was played since this was asked last."""
        counts, self.counts = self.counts, PlayCounts()
        return counts

    def _note_results(self, ended: Results) -> None:
        if not len(ended):
            return
        slot = ended.slot
        player = self._seating.seats[slot]
        self._ended.append(_Ended(ended, player))
        learned = self._seating.named(player, MAIN) & is_counted(ended.end_reason)[:, None]
        self.ready += int(self._made[slot][learned].sum())
        self._ticks[slot] = 0
        self._made[slot] = 0
        self._seating.clear(slot)
        if not self.ready and sum(len(one.results) for one in self._ended) > _HOPELESS * self._pool.slots:
            self._refuse_if_hopeless()

    def _refuse_if_hopeless(self) -> None:
        reason = np.concatenate([one.results.end_reason for one in self._ended])
        if is_counted(reason).any():
            return
        reasons = ", ".join(f"{count} {name}" for name, count in count_reasons(reason).items())
        raise UserError(
            f"Every match was voided ({reasons}), so there is nothing to learn from. "
            "See run.log, and try another game or fewer collection.slots."
        )

    def _seat(self, waiting: Decisions) -> None:
        """Let matches begin that make their first decision."""
        new = np.flatnonzero(self._seating.seats[waiting.slot, 0] == NOBODY)
        if new.size:
            slot, first = np.unique(waiting.slot[new], return_index=True)
            self._seating.seat(slot, waiting.match[new[first]])

    def _note_memory(self, waiting: Decisions, player: IntArray) -> None:
        """Keep the memory before decisions that will begin a sequence; an episode begins with none."""
        if self._stride is None:
            return
        made = self._made[waiting.slot, waiting.seat]
        keep = np.flatnonzero((made > 0) & (made % self._stride == 0) & self._seating.learns(player))
        if keep.size:
            match, slot, seat = waiting.match[keep], waiting.slot[keep], waiting.seat[keep]
            memory = self._seating.memory(player[keep], slot, seat)
            self._memories.append({"match": match, "seat": seat, "made": made[keep], "memory": memory})

    def _note_decisions(self, waiting: Decisions, player: IntArray, choices: Choices) -> None:
        rows = np.flatnonzero(self._seating.learns(player))
        if rows.size:
            self._steps.append(
                self._opponent_actions(waiting, choices.action, rows)
                | {
                    "match": waiting.match[rows],
                    "seat": waiting.seat[rows],
                    "player": player[rows],
                    "tick": self._ticks[waiting.slot[rows]],
                    "view": waiting.view[rows],
                    # bits, since thousands of actions would outweigh the views
                    "mask": np.packbits(waiting.mask[rows], axis=1),
                    "action": choices.action[rows],
                    "log_prob": choices.log_prob[rows],
                    "value": choices.value[rows],
                    "version": self._seating.version(player[rows]),
                }
            )
        np.add.at(self._ticks, waiting.slot, 1)
        self._made[waiting.slot, waiting.seat] += 1
        self.counts.decisions += len(waiting)

    def _opponent_actions(self, waiting: Decisions, action: IntArray, rows: IntArray) -> _Columns:
        """Return what the opponents at some rows do in this very moment, −1 where they do not decide."""
        if self._action_classes is None:
            return {}
        action_classes = self._action_classes(waiting.view, action)
        row = np.full(self._made.shape, -1)  # (slot, seat) where a seat's decision stands, the last if it makes none
        row[waiting.slot, waiting.seat] = np.arange(len(waiting))
        unknown = np.full_like(action_classes[:1], -1)
        return {
            "opponent_action": np.concatenate([action_classes, unknown])[
                row[waiting.slot[rows], 1 - waiting.seat[rows]]
            ]
        }

    def _trajectories(self, steps: _Columns, memories: _Columns, match: IntArray, returns: FloatArray) -> Trajectories:
        """Put the decisions of one learner, sorted by episode, and the results of matches together."""
        episode = steps["match"] * SIDES + steps["seat"]
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
            opponent_action=steps.get("opponent_action"),
        )

    def snapshot(self) -> dict[str, Any]:
        """Return everything in flight, as a tree of tensors; what has ended is to be harvested first."""
        return {
            "pool": {name: torch.from_numpy(np.asarray(array)) for name, array in self._pool.snapshot().items()},
            "cast": self._seating.snapshot(),
            "ticks": torch.from_numpy(self._ticks.copy()),
            "made": torch.from_numpy(self._made.copy()),
            "steps": _as_tensors(_concatenate(self._steps)),
            "memories": _as_tensors(_concatenate(self._memories)),
            "counts": self.counts.state(),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._pool.restore({name: tensor.numpy() for name, tensor in snapshot["pool"].items()})
        self._seating.restore(snapshot["cast"])
        self._ticks = snapshot["ticks"].numpy().copy()
        self._made = snapshot["made"].numpy().copy()
        self._steps = [_as_arrays(snapshot["steps"])] if snapshot["steps"] else []
        self._memories = [_as_arrays(snapshot["memories"])] if snapshot["memories"] else []
        self._ended, self.ready = [], 0
        self.counts = PlayCounts.restored(snapshot["counts"])


@dataclass(frozen=True, slots=True)
class _Ended:
    """Matches that ended, with what the collector knew of them."""

    results: Results
    player: IntArray  # (m, seat)

    @staticmethod
    def concatenate(parts: "list[_Ended]") -> "_Ended":
        results = [part.results for part in parts]
        return _Ended(
            Results(
                match=np.concatenate([part.match for part in results]),
                slot=np.concatenate([part.slot for part in results]),
                returns=np.concatenate([part.returns for part in results]),
                end_reason=np.concatenate([part.end_reason for part in results]),
            ),
            np.concatenate([part.player for part in parts]),
        )

    def outcomes(self, sources: tuple[PlayerSource, ...]) -> Outcomes:
        seated = np.flatnonzero(self.player[:, 0] != NOBODY)  # a match that was lost before its first decision was not
        return Outcomes(
            players=sources,
            player=self.player[seated],
            returns=self.results.returns[seated],
            end_reason=self.results.end_reason[seated],
        )


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
    key = memories["match"] * SIDES + memories["seat"]
    place = np.minimum(np.searchsorted(episode, key), len(episode) - 1)
    used = episode[place] == key
    row = starts[place[used]] + memories["made"][used]
    order = np.argsort(row)
    return row[order], memories["memory"][used][order]


def _as_tensors(columns: _Columns) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in columns.items()}


def _as_arrays(tensors: dict[str, torch.Tensor]) -> _Columns:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
