"""A match pool of battles in several hosts: Node processes, or parts of this one that the native engine plays.

Each host has a share of the slots. `recv` returns the hosts in turn: while a policy decides for one, the others
simulate. The order does not depend on their speed, so that the same seed gives the same battles. A host that dies,
hangs or sends invalid frames is replaced, and its matches are voided.
"""

import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, Arrays, CheckCounts, Decisions, EndReason, IntArray, Results
from nemesis.core.masks import is_legal
from nemesis.core.random import generator_state, restore_generator
from nemesis.games.pokemon.hosts.host_process import Ended, HostError, Setting, Step
from nemesis.games.pokemon.hosts.replay_page import write_replay
from nemesis.games.pokemon.views import layout

_log = logging.getLogger(__name__)

_KEPT_RECORDINGS = 2000  # of the matches that ended last
_MAX_LOSSES = 5  # hosts lost in a row, without a step, before the pool fails


class BattleHost(Protocol):
    """What simulates the battles of a share of the slots; see `Host`."""

    @property
    def pid(self) -> int | None: ...

    def begin_step(self, actions: IntArray, setups: list[dict[str, Any]]) -> None: ...

    def begin_restore(self, matches: list[dict[str, Any]]) -> None: ...

    def end_step(self) -> Step: ...

    def ask(self, question: str, **details: Any) -> Any: ...

    def close(self) -> None: ...


class Hosts(Protocol):
    """Where a pool takes its hosts from, and gives them back to."""

    def take(self, settings: list[Setting]) -> Sequence[BattleHost]: ...

    def give_back(self, host: Any) -> None: ...

    def take_checks(self) -> CheckCounts: ...


class Teams(Protocol):
    """Where the teams of a match come from."""

    def draw(self, generator: np.random.Generator) -> list[str]:
        """Return one string per seat: a packed team, or the seed from which the simulator generates it."""
        ...


class _End(NamedTuple):
    """A match that ended."""

    match: int
    slot: int
    winner: int
    reason: int


class BattlePool:
    """A match pool over battles of Showdown, or of the native engine that plays the same ones."""

    def __init__(
        self, warm_hosts: Hosts, setting: Setting, teams: Teams, hosts: int, seed: int, paired: bool = False
    ) -> None:
        """Play the setting's slots, distributed over `hosts` hosts.

        Matches 2k and 2k + 1 of a paired pool have the same teams in the same seats.
        """
        self._hosts_ready = warm_hosts
        self._setting = setting
        self._teams = teams
        self._generator = np.random.default_rng(seed)
        self._pairs = seed if paired else None
        self._shares = _shares(setting, hosts)
        self._first_slot = np.cumsum([0] + [share.slots for share in self._shares])
        self._match = np.arange(setting.slots)
        self._next_match = setting.slots
        self._free = [list(range(share.slots)) for share in self._shares]  # free slots of each host
        self._in_flight = [False] * len(self._shares)
        self._buffered: list[Step | None] = [None] * len(self._shares)
        self._voided: list[list[_End]] = [[] for _ in self._shares]  # ended because hosts were lost, not returned yet
        self._turn = 0
        self._delivered: Step | None = None
        self._recordings: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._losses = 0
        self._hosts = list(warm_hosts.take(self._shares))
        for number in range(len(self._hosts)):
            self._begin(number, np.zeros(0, dtype=np.int64))

    @property
    def slots(self) -> int:
        return self._setting.slots

    @property
    def host_pids(self) -> list[int]:
        """The processes of the hosts; none if the battles are simulated in this one."""
        return [host.pid for host in self._hosts if host.pid is not None]

    def recv(self) -> tuple[Decisions, Results]:
        """Return the decisions of all matches of the next host, and which of its matches have ended.

        Waits for the host. One that dies or hangs is replaced: its matches are in the results as HOST_LOST, and the
        decisions are those of new ones. Returns are 1 and −1 for winner and loser, 0 for a draw or a voided match.
        """
        if self._delivered is not None:
            raise RuntimeError("The decisions of the last recv have not been answered.")
        number = self._turn
        step = self._receive(number)
        ended = self._voided[number] + [self._end_match(number, one) for one in step.ended]
        self._voided[number] = []
        self._delivered = step
        slot = step.slot + self._first_slot[number]
        table = np.array(ended, dtype=np.int64).reshape(-1, 4)
        winner = table[:, 2]
        returns = np.where(winner[:, None] < 0, 0.0, np.where(winner[:, None] == np.arange(SIDES), 1.0, -1.0))
        return (
            Decisions(match=self._match[slot], slot=slot, seat=step.seat, view=step.view, mask=step.mask),
            Results(table[:, 0], table[:, 1], returns.astype(np.float32), table[:, 3]),
        )

    def send(self, actions: IntArray) -> None:
        """Give one action (n,) per decision of the last `recv` to its host, which simulates while others are asked.

        A choice that the simulator refuses for a reason that the seat could not know is asked again later, with another
        mask. A match whose choices are refused too often is voided as REFUSED.
        """
        step = self._delivered
        if step is None:
            raise RuntimeError("There are no decisions to answer; call recv first.")
        if (illegal := np.flatnonzero(~is_legal(step.mask, actions))).size:
            row = illegal[0]
            match = self._match[step.slot[row] + self._first_slot[self._turn]]
            raise ValueError(f"Action {actions[row]} is not legal in match {match}.")
        self._delivered = None
        replaced = self._in_flight[self._turn] or self._buffered[self._turn] is not None
        if not replaced:  # otherwise the matches of these actions no longer exist
            self._begin(self._turn, actions)
        self._turn = (self._turn + 1) % len(self._hosts)

    def snapshot(self) -> Arrays:
        self._finish_steps()
        hosts = [
            {
                "matches": self._ask(number, "snapshot")["matches"],
                "free": self._free[number],
                "voided": self._voided[number],
                "ended": [asdict(one) for one in step.ended] if (step := self._buffered[number]) else [],
            }
            for number in range(len(self._hosts))
        ]
        return {
            "layout": np.array(int(layout.for_host()["version"], 16), dtype=np.uint64),
            "generator": generator_state(self._generator),
            "match": self._match.copy(),
            "next_match": np.array(self._next_match),
            "turn": np.array(self._turn),
            "hosts": np.frombuffer(json.dumps(hosts).encode(), dtype=np.uint8).copy(),
        }

    def restore(self, snapshot: Arrays) -> None:
        self._finish_steps()
        if int(snapshot["layout"]) != int(layout.for_host()["version"], 16):
            raise UserError("These battles were saved with another view layout, so they cannot be resumed.")
        hosts = json.loads(snapshot["hosts"].tobytes())
        if len(hosts) != len(self._hosts):
            raise UserError(f"The saved battles ran in {len(hosts)} hosts; set pokemon.hosts={len(hosts)}.")
        restore_generator(self._generator, snapshot["generator"])
        self._match = snapshot["match"].copy()
        self._next_match = int(snapshot["next_match"])
        self._turn = int(snapshot["turn"])
        self._delivered = None
        for host, saved in zip(self._hosts, hosts, strict=True):
            host.begin_restore(saved["matches"])
        for number, (host, saved) in enumerate(zip(self._hosts, hosts, strict=True)):
            self._free[number] = saved["free"]
            self._voided[number] = [_End(*one) for one in saved["voided"]]
            waiting = host.end_step()
            ended = [Ended(**one) for one in saved["ended"]]
            self._buffered[number] = Step(waiting.slot, waiting.seat, waiting.view, waiting.mask, ended)
            self._in_flight[number] = False

    def close(self) -> None:
        for number, host in enumerate(self._hosts):
            try:
                if self._in_flight[number]:
                    host.end_step()
            except HostError:
                host.close()
            else:
                self._hosts_ready.give_back(host)
        self._hosts = []

    def save_replay(self, match: int, folder: Path, names: tuple[str, str]) -> Path:
        """Simulate one of the last matches again and write it as a page for a browser."""
        recording = self._recordings.get(match)
        if recording is None:
            raise UserError(
                f"Match {match} is not among the last {_KEPT_RECORDINGS} that ended, so it cannot be saved."
            )
        log = self._ask(0, "reenact", recording=recording)["log"]
        return write_replay(self._setting.format, log, match, folder, names)

    def costs(self) -> list[dict[str, float]]:
        """Return, for each host, the seconds spent in each part of the work, and its decisions."""
        return [self._ask(number, "costs") for number in range(len(self._hosts))]

    def take_checks(self) -> CheckCounts:
        """Return how many matches of the game were replayed on Showdown since the last call, if it is native."""
        return self._hosts_ready.take_checks()

    def _begin(self, number: int, actions: IntArray) -> None:
        """Continue a host, with new matches in its free slots."""
        setups = [self._setup(number, slot) for slot in self._free[number]]
        self._free[number] = []
        self._in_flight[number] = True
        try:
            self._hosts[number].begin_step(actions, setups)
        except HostError as error:
            _log.warning("Pokémon host %s: %s", self._hosts[number].pid, error)  # receiving will replace it

    def _setup(self, number: int, slot: int) -> dict[str, Any]:
        seed = "gen5," + self._generator.bytes(8).hex()
        match = int(self._match[slot + self._first_slot[number]])
        generator = self._generator if self._pairs is None else pair_generator(self._pairs, match // 2)
        return {"slot": slot, "setup": {"seed": seed, "teams": self._teams.draw(generator)}}

    def _receive(self, number: int) -> Step:
        """Return a host's next step; a host that fails is replaced, and its matches are voided."""
        step, self._buffered[number] = self._buffered[number], None
        while step is None:
            try:
                step = self._hosts[number].end_step()
            except HostError as error:
                self._replace(number, error)
        self._in_flight[number] = False
        self._losses = 0
        return step

    def _replace(self, number: int, error: HostError) -> None:
        lost, share = self._hosts[number], self._shares[number]
        _log.warning("Pokémon host %s is replaced and its matches are voided. %s", lost.pid, error)
        lost.close()
        self._losses += 1
        if self._losses > _MAX_LOSSES:
            raise UserError(f"{self._losses} Pokémon hosts in a row were lost. The last one: {error}")
        self._hosts[number] = self._hosts_ready.take([share])[0]
        if (unread := self._buffered[number]) is not None:  # matches that ended before still count
            self._voided[number] += [self._end_match(number, one) for one in unread.ended]
            self._buffered[number] = None
        busy = np.setdiff1d(np.arange(share.slots), self._free[number]) + self._first_slot[number]
        self._voided[number] += [_End(int(self._match[slot]), int(slot), -1, EndReason.HOST_LOST) for slot in busy]
        self._match[busy] = self._next_match + np.arange(len(busy))
        self._next_match += len(busy)
        self._free[number] = list(range(share.slots))
        self._begin(number, np.zeros(0, dtype=np.int64))

    def _end_match(self, number: int, one: Ended) -> "_End":
        """Record a match that ended, and free its slot."""
        slot = one.slot + int(self._first_slot[number])
        match = int(self._match[slot])
        if one.problem:
            _log.warning("Match %d is voided: %s", match, one.problem)
        self._recordings[match] = one.recording
        if len(self._recordings) > _KEPT_RECORDINGS:
            self._recordings.popitem(last=False)
        self._match[slot] = self._next_match
        self._next_match += 1
        self._free[number].append(one.slot)
        return _End(match, slot, one.winner, one.reason)

    def _ask(self, number: int, question: str, **details: Any) -> Any:
        """Send a request to a host between two steps; a host that fails is replaced, and the request repeated."""
        while True:
            self._finish_steps()
            try:
                return self._hosts[number].ask(question, **details)
            except HostError as error:
                self._replace(number, error)

    def _finish_steps(self) -> None:
        """Wait until all hosts have finished their steps."""
        for number, in_flight in enumerate(self._in_flight):
            if in_flight:
                self._buffered[number] = self._receive(number)


def pair_generator(seed: int, pair: int) -> np.random.Generator:
    """Return the generator of the teams of a pair of matches, independent of earlier draws."""
    return np.random.default_rng([seed, pair])


def _shares(setting: Setting, hosts: int) -> list[Setting]:
    hosts = min(hosts, setting.slots)
    return [
        Setting(setting.format, len(part), setting.sheets, setting.turn_limit)
        for part in np.array_split(np.arange(setting.slots), hosts)
    ]
