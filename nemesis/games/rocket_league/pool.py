"""A match pool of Rocket League: simulate, reward, end, see.

All matches decide at the same time, every `tick_skip` ticks. A goal ends a match by the rules; its clock and a long
time without a touch of the ball truncate it. A match follows from the seed of the pool, its number and the actions, so
a snapshot has the actions so far, and a restored pool plays them again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, Arrays, Decisions, EndReason, FloatArray, IntArray, Results
from nemesis.core.masks import PackedMask, pack_mask
from nemesis.core.progress import report
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.arena.simulation import TICKS, Simulation
from nemesis.games.rocket_league.replays.frames import FrameRecorder
from nemesis.games.rocket_league.replays.page import write_page
from nemesis.games.rocket_league.resets import DrawStart
from nemesis.games.rocket_league.rewards import UNSHARED, rewards, shared
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.state import CAR_START, ArenaState, Start
from nemesis.games.rocket_league.views import build_views

_FULL_MASK: PackedMask = pack_mask(np.ones((1, len(ACTIONS)), dtype=np.bool_))  # every action is legal
_GOES_ON = -1
_NONE: IntArray = np.zeros(0, dtype=np.int64)


class Recorder(Protocol):
    """Follows all matches of a pool."""

    def record(self, match: IntArray, state: ArenaState) -> None:
        """Take the numbers (slot,) and the state of all matches after a step, before those that ended are replaced."""
        ...


@dataclass(frozen=True, slots=True)
class Matches:
    """Which matches a pool plays."""

    shares: FloatArray  # (size,) of matches with one, two and three cars a side
    start: DrawStart
    seats: int  # the most that a match uses
    paired: bool = False  # matches 2k and 2k + 1 start alike

    def draw(self, seed: int, match: int) -> Start:
        """Return the start of a match, which follows from its number."""
        generator = np.random.default_rng([seed, match // 2 if self.paired else match])
        return self.start(SIDES * int(1 + generator.choice(len(self.shares), p=self.shares)), generator)


class RocketLeaguePool:
    """A match pool over RocketSim; collision meshes must be in use (`arena.meshes.use_meshes`)."""

    def __init__(self, matches: Matches, settings: RocketLeagueSettings, slots: int, seed: int) -> None:
        self.recorder: Recorder | None = None
        self._matches = matches
        self._settings = settings
        self._seed = seed
        self._simulation = Simulation(slots, matches.seats, settings.tick_skip, settings.action_delay)
        self._match = np.arange(slots)
        self._next_match = slots
        self._start = [matches.draw(seed, match) for match in range(slots)]
        self._history = np.zeros((slots, 64, matches.seats), dtype=np.uint8)  # actions by decision of the match
        self._made = np.zeros(slots, dtype=np.int64)  # decisions so far
        self._touch = np.zeros(slots, dtype=np.int64)  # tick of the last touch
        self._action = np.full((slots, matches.seats), NEUTRAL)  # the last of each seat
        self._simulation.begin(dict(enumerate(self._start)))
        self._state = self._simulation.state
        self._view = build_views(self._state, ACTIONS[self._action])
        self._reward = np.zeros_like(rewards(self._state, self._state))
        self._waiting = np.nonzero(self._state.present)  # slots and seats of the decisions
        self._ended = self._nothing = self._results(_NONE, _NONE)

    @property
    def slots(self) -> int:
        return len(self._match)

    def recv(self) -> tuple[Decisions, Results]:
        """Return the decisions of all cars, and the matches that ended in the last `send`."""
        slot, seat = self._waiting
        everyone = len(slot) == self._action.size  # then the next `send` makes new views, and these need no copy
        decisions = Decisions(
            match=self._match[slot],
            slot=slot.copy(),
            seat=seat.copy(),
            view=self._view.reshape(len(slot), -1) if everyone else self._view[slot, seat],
            mask=np.repeat(_FULL_MASK, len(slot), axis=0),
            reward=self._reward[slot, seat],
        )
        ended, self._ended = self._ended, self._nothing
        return decisions, ended

    def send(self, actions: IntArray) -> None:
        """Play all matches to their next decision; a match in which RocketSim loses a body is voided."""
        slot, seat = self._waiting
        if len(actions) != len(slot):
            raise ValueError(f"{len(slot)} decisions wait, not {len(actions)}.")
        if (illegal := np.flatnonzero((actions < 0) | (actions >= len(ACTIONS)))).size:
            row = illegal[0]
            raise ValueError(f"Action {actions[row]} is not legal in match {self._match[slot[row]]}.")
        self._action = np.full_like(self._action, NEUTRAL)
        self._action[slot, seat] = actions
        self._remember(self._action)
        before = self._state
        self._play(np.arange(self.slots), self._action)
        state, settings = self._state, self._settings
        earned = rewards(before, state)
        self._reward = shared(earned, state.present, settings.team_spirit, zero_sum=settings.zero_sum)
        self._reward[..., UNSHARED] = earned[..., UNSHARED]
        self._view = build_views(state, ACTIONS[self._action])
        if self.recorder is not None:
            self.recorder.record(self._match, state)
        if (reason := self._reasons()) is not None:
            over = np.flatnonzero(reason != _GOES_ON)
            self._ended = self._results(over, reason[over])
            self._replace(over)

    def snapshot(self) -> Arrays:
        """Return the starts of the matches and the actions so far, besides what waits for `recv`."""
        start_car = np.zeros((self.slots, self._matches.seats, CAR_START), dtype=np.float32)
        for row, start in zip(start_car, self._start, strict=True):
            row[: len(start.car)] = start.car
        ended, final = self._ended, self._ended.final or self._final(_NONE)
        return {
            "seed": np.array(self._seed),
            "match": self._match.copy(),
            "next_match": np.array(self._next_match),
            "start_ball": np.array([start.ball for start in self._start]),
            "start_car": start_car,
            "cars": np.array([len(start.car) for start in self._start]),
            "made": self._made.copy(),
            "history": np.concatenate([row[:made] for row, made in zip(self._history, self._made, strict=True)]),
            "reward": self._reward.copy(),
            "ended_match": ended.match,
            "ended_slot": ended.slot,
            "ended_returns": ended.returns,
            "ended_reason": ended.end_reason,
            "ended_reward": self._reward[:0] if ended.reward is None else ended.reward,
            "final_match": final.match,
            "final_slot": final.slot,
            "final_seat": final.seat,
            "final_view": final.view,
        }

    def restore(self, snapshot: Arrays) -> None:
        """Play the actions of a snapshot again, from the starts of its matches."""
        self._seed, self._next_match = int(snapshot["seed"]), int(snapshot["next_match"])
        self._match, self._made = snapshot["match"].copy(), snapshot["made"].copy()
        starts = zip(snapshot["start_ball"], snapshot["start_car"], snapshot["cars"], strict=True)
        self._start = [Start(ball, car[:cars]) for ball, car, cars in starts]
        histories = np.split(snapshot["history"], np.cumsum(self._made)[:-1])
        self._history = np.zeros((self.slots, max(64, 2 * self._made.max()), self._matches.seats), dtype=np.uint8)
        for row, history in zip(self._history, histories, strict=True):
            row[: len(history)] = history
        self._simulation.begin(dict(enumerate(self._start)))
        self._touch[:] = 0
        self._state = self._simulation.state
        for decision in range(self._made.max()):
            report("Playing up to the checkpoint", decision, int(self._made.max()))
            slots = np.flatnonzero(self._made > decision)
            self._play(slots, self._history[slots, decision].astype(np.int64))
        self._action = np.full_like(self._action, NEUTRAL)
        begun = np.flatnonzero(self._made)
        self._action[begun] = self._history[begun, self._made[begun] - 1]
        self._view = build_views(self._state, ACTIONS[self._action])
        self._waiting = np.nonzero(self._state.present)
        self._reward = snapshot["reward"].copy()
        self._ended = _restored_results(snapshot)

    def record_matches(self) -> None:
        """Record all matches from now on, so that they can be saved."""
        self.recorder = FrameRecorder(self.slots, self._matches.seats)

    def save_replay(self, match: int, folder: Path, names: tuple[str, str]) -> Path:
        """Write a match that was recorded lately as a page for a browser."""
        recording = self.recorder.recording(match) if isinstance(self.recorder, FrameRecorder) else None
        if recording is None:
            raise UserError(f"Match {match} was not recorded, or ended too long ago, so it cannot be saved.")
        return write_page(recording, folder, names)

    def close(self) -> None:
        """Release the arenas."""
        del self._simulation

    def _play(self, slots: IntArray, actions: IntArray) -> None:
        """Play the matches of some slots (n,) to their next decision."""
        self._simulation.step(slots, actions)
        self._state = self._simulation.state
        touched = self._state.touched.any(axis=1)
        self._touch = np.where(touched, self._state.tick, self._touch)

    def _remember(self, actions: IntArray) -> None:
        if self._made.max() == self._history.shape[1]:
            self._history = np.concatenate([self._history, np.zeros_like(self._history)], axis=1)
        self._history[np.arange(self.slots), self._made] = actions
        self._made += 1

    def _reasons(self) -> IntArray | None:
        """Return why each match (slot,) has ended, or that it goes on; None if all go on."""
        tick, settings, scored = self._state.tick, self._settings, self._simulation.scored
        late = tick >= settings.match_seconds * TICKS
        late |= tick - self._touch >= settings.touch_seconds * TICKS
        played, failed = scored[:, 0] | scored[:, 1], self._simulation.failed
        if not (late | played | failed).any():
            return None
        reason = np.where(late, EndReason.TIME_LIMIT, _GOES_ON)
        reason = np.where(played, EndReason.PLAYED, reason)
        return np.where(failed, EndReason.SIMULATOR_FAILURE, reason)

    def _results(self, slots: IntArray, reason: IntArray) -> Results:
        """Return the results of the matches in some slots (n,) that have ended."""
        winner = self._simulation.scored[slots].astype(np.float32)
        counted = (reason == EndReason.PLAYED)[:, None]
        cut = slots[reason == EndReason.TIME_LIMIT]
        return Results(
            match=self._match[slots],
            slot=slots,
            returns=np.where(counted, winner - winner[:, ::-1], 0).astype(np.float32),
            end_reason=reason,
            reward=np.where(np.isfinite(self._reward[slots]), self._reward[slots], 0),
            final=self._final(cut) if cut.size else None,
        )

    def _final(self, slots: IntArray) -> Decisions:
        """Return what the seats of the matches in some slots (n,) see now."""
        row, seat = np.nonzero(self._state.present[slots])
        slot = slots[row]
        mask = np.repeat(_FULL_MASK, len(slot), axis=0)
        return Decisions(match=self._match[slot], slot=slot, seat=seat, view=self._view[slot, seat], mask=mask)

    def _replace(self, slots: IntArray) -> None:
        """Start new matches in some slots (n,)."""
        for slot in slots.tolist():
            self._match[slot] = self._next_match
            self._start[slot] = self._matches.draw(self._seed, self._next_match)
            self._next_match += 1
        self._simulation.begin({slot: self._start[slot] for slot in slots.tolist()})
        self._state = self._simulation.state
        self._made[slots], self._touch[slots], self._action[slots], self._reward[slots] = 0, 0, NEUTRAL, 0
        self._view[slots] = build_views(self._state.at(slots), ACTIONS[self._action[slots]])
        self._waiting = np.nonzero(self._state.present)


def _restored_results(snapshot: Arrays) -> Results:
    final = Decisions(
        match=snapshot["final_match"],
        slot=snapshot["final_slot"],
        seat=snapshot["final_seat"],
        view=snapshot["final_view"],
        mask=np.repeat(_FULL_MASK, len(snapshot["final_match"]), axis=0),
    )
    return Results(
        match=snapshot["ended_match"],
        slot=snapshot["ended_slot"],
        returns=snapshot["ended_returns"],
        end_reason=snapshot["ended_reason"],
        reward=snapshot["ended_reward"],
        final=final if len(final) else None,
    )
