"""A host in this process: the same steps, answers and recordings as those of a Node host, on the native engine."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason, IntArray
from nemesis.games.pokemon.hosts.host_process import Ended, Setting, Step
from nemesis.games.pokemon.native.arena_memory import Arena
from nemesis.games.pokemon.native.recordings import choice_bytes, recording, setup_bytes

Replayer = Callable[[Setting, dict[str, Any]], Any]


class NativeHost:
    """Plays battles as a `Host` does, when it is asked to and not beside the caller."""

    def __init__(self, setting: Setting, replayer: Replayer, ended: Callable[[Setting, Ended], None]) -> None:
        """Play a setting's slots. Showdown replays matches to watch; `ended` is called with each end."""
        self._setting = setting
        self._replayer = replayer
        self._ended = ended
        self._arena = Arena(setting.slots, setting.turn_limit)
        self._setups: list[dict[str, Any]] = [{}] * setting.slots  # of the match in each slot
        self._next: Step | None = None
        self._decisions = 0
        self._transferred = 0.0  # seconds between the library and Python
        self._none: IntArray = np.zeros(0, np.int64)

    @property
    def pid(self) -> None:
        """There is no other process."""
        return

    def begin_step(self, actions: IntArray, setups: list[dict[str, Any]]) -> None:
        """Answer all open decisions and start new matches; `end_step` returns the result."""
        started, before = perf_counter(), float(self._arena.costs.sum())
        for setup in setups:
            self._setups[setup["slot"]] = setup["setup"]
        begun = [setup_bytes(self._setting.format, setup["slot"], setup["setup"]) for setup in setups]
        views, masks, results = self._arena.step(actions, begun)
        rows = len(views)
        self._decisions += rows
        ended = [self._end(*result) for result in results]
        self._next = Step(self._arena.slot[:rows].copy(), self._arena.seat[:rows].copy(), views, masks, ended)
        self._transferred += perf_counter() - started - (float(self._arena.costs.sum()) - before)

    def begin_restore(self, matches: list[dict[str, Any]]) -> None:
        """Restore recorded matches; `end_step` returns their open decisions."""
        self._arena.clear()
        for match in matches:
            slot, saved = match["slot"], match["recording"]
            self._setups[slot] = saved["setup"]
            setup = setup_bytes(self._setting.format, slot, saved["setup"])
            if not self._arena.restore(setup, choice_bytes(saved["choices"])):
                raise UserError("A saved battle cannot be continued on the native engine; set pokemon.engine=showdown.")
        self.begin_step(self._none, [])

    def end_step(self) -> Step:
        """Return the next decisions and results."""
        if self._next is None:
            raise RuntimeError("No step has begun.")
        step, self._next = self._next, None
        return step

    def ask(self, question: str, **details: Any) -> Any:
        """Answer a request as a Node host does."""
        if question == "snapshot":
            slots = np.flatnonzero(self._arena.live).tolist()
            return {"matches": [{"slot": slot, "recording": self._recording(slot)} for slot in slots]}
        if question == "costs":
            simulate, track, encode = self._arena.costs.tolist()
            parts = {"simulate": simulate, "track": track, "encode": encode, "transfer": self._transferred}
            return parts | {"decisions": self._decisions}
        if question == "reenact":
            return self._replayer(self._setting, details["recording"])
        raise ValueError(f"The native engine does not answer {question}.")

    def close(self) -> None:
        """Keep nothing open: the memory of the battles goes with this object."""

    def _recording(self, slot: int) -> dict[str, Any]:
        choices = self._arena.choices[slot, : self._arena.choice_count[slot]].tolist()
        return recording(self._setups[slot], choices)

    def _end(self, slot: int, winner: int, reason: int, _: int) -> Ended:
        problem = "the native engine could not go on" if reason == EndReason.SIMULATOR_FAILURE else ""
        if reason == EndReason.REFUSED:
            problem = "the native engine refused too many choices"
        one = Ended(slot, winner, reason, problem, self._recording(slot))
        self._ended(self._setting, one)
        return one
