"""Plays battles on a Showdown server: challenges and accepts, many battles at once, their decisions in batches.

`showdown_connection` sends and receives messages, `battle_room` tracks the state of a battle, and `decider` chooses
actions. The client connects them: one task reads messages, one decides, and one starts battles as slots become free. A
battle without progress, or whose opponent has left, is forfeited and voided. If no battle starts, or the connection is
lost, the client raises an error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeAlias

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason
from nemesis.core.progress import report
from nemesis.deploy.pokemon.battle_room import MAX_REFUSALS, BattleRoom
from nemesis.deploy.pokemon.decider import BattleDecider, PendingDecision
from nemesis.deploy.pokemon.showdown_connection import Connection, identity
from nemesis.games.pokemon.hosts.observer import SeatUpdate


@dataclass(frozen=True, slots=True)
class Limits:
    """Timeouts in seconds, and the turn limit after which a battle is a draw."""

    opening: float = 300.0  # until a challenge leads to a battle
    silence: float = 300.0  # without a message in a battle
    absence: float = 5.0  # after the opponent has left a battle
    sheets: float = 30.0  # until the opponent accepts or rejects open team sheets
    turns: int = 1000


@dataclass(frozen=True, slots=True)
class ScheduledBattle:
    """A battle to be played."""

    match: int
    team: str | None  # packed; None if the server generates it
    challenges: bool  # the challenger has the first seat


@dataclass(frozen=True, slots=True)
class FinishedBattle:
    """A battle that has ended, or was abandoned."""

    scheduled: ScheduledBattle
    earned: int
    end_reason: EndReason
    decisions: int
    turns: int
    log: list[str]


Invite: TypeAlias = Callable[[ScheduledBattle], Awaitable[None]]
"""Asks the opponent for the next battle: to accept a challenge, or to challenge us."""

OnFinished: TypeAlias = Callable[[FinishedBattle], None]
"""Gets every battle as it ends."""


@dataclass(slots=True)
class _Battle:
    scheduled: ScheduledBattle
    slot: int
    room: BattleRoom
    touched: float  # time of the last message
    left: float | None = None  # time at which the opponent left


@dataclass(slots=True)
class _Opening:
    """A battle that is being started."""

    scheduled: ScheduledBattle
    started: asyncio.Event = field(default_factory=asyncio.Event)
    problem: str = ""


class NoBattleError(UserError):
    """A battle did not start in time."""


class ShowdownClient:
    """One user's battles of one format against one opponent."""

    def __init__(
        self,
        connection: Connection,
        decider: BattleDecider,
        battle_format: str,
        opponent: str,
        *,
        sheets: bool,
        limits: Limits,
    ) -> None:
        """Play against the user `opponent`; with `sheets`, accept open team sheets if the format offers them."""
        self._connection = connection
        self._decider = decider
        self._format = battle_format
        self._opponent = opponent
        self._sheets = sheets
        self._limits = limits
        self._battles: dict[str, _Battle] = {}  # by room name
        self._opening: _Opening | None = None
        self._scheduled = 0
        self._ended: list[FinishedBattle] = []
        self.on_finished: OnFinished | None = None
        self._closed: list[tuple[str, int]] = []  # rooms and slots of battles whose state is not cleared yet
        self._challenged = asyncio.Event()
        self._due = asyncio.Event()

    async def play(self, battles: Sequence[ScheduledBattle], invite: Invite, slots: int) -> list[FinishedBattle]:
        """Play all battles, at most `slots` at the same time, and return them in the order in which they ended."""
        self._free = list(range(slots))
        self._scheduled = len(battles)
        self._place = asyncio.Semaphore(slots)
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read())
                deciding = tasks.create_task(self._decide())
                watching = tasks.create_task(self._watch())
                for scheduled in battles:
                    await self._place.acquire()
                    await self._open(scheduled, invite)
                for _ in range(slots):
                    await self._place.acquire()
                for task in (reading, deciding, watching):
                    task.cancel()
        except ExceptionGroup as errors:
            raise _sentence(errors) from None
        return self._ended

    async def _open(self, scheduled: ScheduledBattle, invite: Invite) -> None:
        """Start a battle and wait until we have joined it."""
        self._opening = opening = _Opening(scheduled)
        await self._connection.send("", f"/utm {scheduled.team or 'null'}")
        await invite(scheduled)
        try:
            async with asyncio.timeout(self._limits.opening):
                if scheduled.challenges:
                    await self._connection.send("", f"/challenge {self._opponent}, {self._format}")
                else:
                    await self._challenged.wait()
                    self._challenged.clear()
                    await self._connection.send("", f"/accept {self._opponent}")
                await opening.started.wait()
        except TimeoutError:
            raise NoBattleError(
                f"No battle against {self._opponent} started within {self._limits.opening:.0f} s."
            ) from None
        finally:
            self._opening = None
        if opening.problem:
            raise UserError(f"The Showdown server does not let {self._connection.name} battle: {opening.problem}")

    async def _read(self) -> None:
        while True:
            message = await self._connection.receive()
            if not message.room:
                self._read_notice(message.lines)
            elif message.room.startswith("battle-"):
                await self._read_battle(message.room, message.lines)

    def _read_notice(self, lines: list[str]) -> None:
        """Read messages outside of rooms: challenges, and why one was refused."""
        for number, line in enumerate(lines):
            _, kind, *parts = [*line.split("|"), "", "", ""]
            if kind == "popup" and self._opening:
                self._opening.problem = " ".join(" ".join([line[7:], *lines[number + 1 :]]).replace("||", " ").split())
                self._opening.started.set()
                return
            # A challenge without a format withdraws an earlier one.
            if kind == "pm" and parts[2].startswith("/challenge ") and identity(parts[0]) == identity(self._opponent):
                self._challenged.set()

    async def _read_battle(self, name: str, lines: list[str]) -> None:
        battle = self._battles.get(name)
        if battle is None:
            if not self._opening or not lines[0].startswith("|init|"):
                return  # an abandoned battle
            battle = await self._enter(name, self._opening)
        battle.touched = monotonic()
        battle.room.read(lines)
        if battle.room.refusals >= MAX_REFUSALS:
            await self._abandon(battle, EndReason.REFUSED)
        elif battle.room.ended:
            await self._leave(battle)
        elif battle.room.turn > self._limits.turns:
            await self._abandon(battle, EndReason.TURN_LIMIT)
        elif battle.room.request:
            self._due.set()

    async def _enter(self, name: str, opening: _Opening) -> _Battle:
        room = BattleRoom(name, self._connection.name)
        battle = self._battles[name] = _Battle(opening.scheduled, self._free.pop(), room, monotonic())
        if self._sheets:
            await self._connection.send(name, "/acceptopenteamsheets")
        opening.started.set()
        return battle

    async def _decide(self) -> None:
        """Answer all open requests in batches; requests that arrive during a batch form the next one."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._forget()
            asked = [battle for battle in self._battles.values() if self._is_due(battle)]
            if not asked:
                continue
            requests = [battle.room.request for battle in asked]
            pending = [_pending_decision(battle) for battle in asked]
            choices = await asyncio.to_thread(self._decider.decide, pending)
            for battle, request, choice in zip(asked, requests, choices, strict=True):
                if battle.room.request is request:  # the battle has not ended in the meantime
                    await self._connection.send(battle.room.name, battle.room.answer(choice))

    def _is_due(self, battle: _Battle) -> bool:
        room = battle.room
        if not room.request:
            return False
        waits_for_sheets = (
            self._sheets and "teamPreview" in room.request and not room.sheets_rejected and room.sheets < 2
        )
        return not waits_for_sheets or monotonic() - battle.touched > self._limits.sheets

    async def _forget(self) -> None:
        if self._closed:
            closed, self._closed = self._closed, []
            rooms, slots = zip(*closed, strict=True)
            await asyncio.to_thread(self._decider.forget, rooms, slots)
            self._free += slots
            for _ in slots:
                self._place.release()

    async def _watch(self) -> None:
        """Abandon battles without progress."""
        while True:
            await asyncio.sleep(min(self._limits.absence, self._limits.sheets) / 4)
            now = monotonic()
            for battle in list(self._battles.values()):
                battle.left = (battle.left or now) if battle.room.opponent_left else None
                gone = battle.left is not None and now - battle.left > self._limits.absence
                if gone or now - battle.touched > self._limits.silence:
                    await self._abandon(battle, EndReason.FORFEIT)
                elif battle.room.request:
                    self._due.set()  # it may have been waiting for team sheets

    async def _abandon(self, battle: _Battle, reason: EndReason) -> None:
        battle.room.void(reason)
        await self._connection.send(battle.room.name, "/forfeit")
        await self._leave(battle)

    async def _leave(self, battle: _Battle) -> None:
        room = battle.room
        assert room.end_reason is not None  # noqa: S101
        await self._connection.send("", f"/leave {room.name}")
        del self._battles[room.name]
        self._ended.append(
            FinishedBattle(battle.scheduled, room.earned, room.end_reason, room.decisions, room.turn, room.log)
        )
        if self.on_finished is not None:
            self.on_finished(self._ended[-1])
        report(f"Playing against {self._opponent} on a server", len(self._ended), self._scheduled)
        self._closed.append((room.name, battle.slot))
        self._due.set()


def _pending_decision(battle: _Battle) -> PendingDecision:
    room = battle.room
    assert room.request is not None  # noqa: S101
    update = SeatUpdate(room.name, room.seat, room.take_unread(), room.request, room.refusals)
    return PendingDecision(battle.scheduled.match, battle.slot, update)


def _sentence(errors: ExceptionGroup[Exception]) -> Exception:
    """Return one error of a group, a `UserError` if there is one."""
    error: Exception = errors.subgroup(UserError) or errors
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
