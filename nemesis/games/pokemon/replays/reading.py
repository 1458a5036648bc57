"""Reads public logs of battles: for each seat, its decisions with view, mask and action.

A public log is what a spectator saw. A host reads it twice with the view code that training uses (`host/`). The first
time it learns what each seat knew about its own team. The second time it stops at each decision and writes what the
seat saw and which actions were legal. The lines that follow show what the seat did. The action is known if exactly one
legal action fits them. If several fit, but not all, those are given.

What the log never shows of the own team is guessed (imputed) from usage statistics, or left unknown. It is marked as
guessed in both cases, field by field.
"""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray
from nemesis.core.masks import PackedMask, pack_mask, packed_size, unpack_mask
from nemesis.core.replays import ReplayError, UsageCounts
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.hosts.host_process import Host, HostError
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import ActionSpace, action_space

_LARGEST_BATCH = 1 << 24  # characters of logs that a host is given at once


class Guessed(IntFlag):
    """What the log does not show of an own Pokémon, so that it is guessed (imputed) or unknown."""

    ITEM = 1
    ABILITY = 2
    MOVES = 4  # at least one
    TERA = 8
    STATS = 16  # and with them its maximum of HP; the share that is left is known
    BROUGHT = 32
    SPECIES = 64
    MOVE = 128  # the first of its moves; the next three bits are for the others
    FORME = 2048  # of its species, which team preview may hide


class Read(IntFlag):
    """Why the action of a decision is unknown, whatever the log shows."""

    REQUEST_UNSURE = 1  # whether a Pokémon is locked into a move or trapped is unknown, so the mask may be wrong
    LATE = 2  # the time was over, so the server may have chosen


@dataclass(frozen=True, slots=True)
class SeatDecisions:
    """The decisions of one seat, in order."""

    view: npt.NDArray[np.int16]  # (n, view)
    packed: PackedMask  # (n, byte) legal actions
    possible: PackedMask  # (n, byte) the legal actions that fit the log, if there are several but not all; else 0
    actions: int  # of the game
    action: IntArray  # (n,) −1 where it is unknown
    tick: IntArray  # (n,) number of earlier decisions of the battle, of both seats
    read: npt.NDArray[np.uint8]  # (n,) bits of Read
    guessed: npt.NDArray[np.uint16]  # (n, own Pokémon) bits of Guessed, in the order of the view

    @property
    def mask(self) -> BoolArray:
        """Legal actions, unpacked: (n, action)."""
        return unpack_mask(self.packed, self.actions)


@dataclass(frozen=True, slots=True)
class ReplayBattle:
    """A battle that was read."""

    id: str
    format: str  # as the log names it
    winner: int  # seat, or −1
    ending: str  # played, forfeit or timer
    rated: bool
    players: tuple[str, str]  # their names in lower case, letters and digits only
    ratings: tuple[int, int]  # 0 where the log gives none
    # None for a seat that cannot be followed, because it had a Pokémon in disguise
    seats: tuple[SeatDecisions | None, SeatDecisions | None]
    problems: dict[str, int]  # decisions that contradict the log, by cause
    unknown: dict[str, int]  # kinds of lines and effects that are not supported, with their counts


# The fields that each flag marks as guessed.
_GUESSED_FIELDS = {
    Guessed.ITEM: ("item", "item_state"),
    Guessed.ABILITY: ("ability", "base_ability"),
    Guessed.TERA: ("tera_type",),
    Guessed.STATS: ("stats", "hp", "max_hp"),
    Guessed.BROUGHT: ("brought",),
    Guessed.FORME: ("species", "base_species", "types"),
    Guessed.SPECIES: tuple(field.name for field in layout.POKEMON.fields),
}
_MOVE_FIELDS = ("moves", "pp", "max_pp", "move_disabled", "move_revealed")
_SHOWN_HP = 100


@cache
def _guessed_columns() -> BoolArray:
    """Return which columns of an own Pokémon are guessed, for every value of its bits: (bits, column)."""
    bits = np.arange(2 * Guessed.FORME)[:, None]
    table = np.zeros((len(bits), layout.POKEMON.width), dtype=np.bool_)
    for flag, names in _GUESSED_FIELDS.items():
        for name in names:
            table[:, layout.POKEMON.columns(name)] |= bits & flag > 0
    for name in _MOVE_FIELDS:
        table[:, layout.POKEMON.columns(name)] |= bits & (Guessed.MOVE << np.arange(layout.MOVES)) > 0
    return table


def guessed_numbers(view: npt.NDArray[np.int16], guessed: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """Return which numbers of views (n, view) are guessed, or depend on a guess, by bits of Guessed (n, own Pokémon).

    They are packed like masks: (n, byte).
    """
    numbers = np.zeros((len(guessed), layout.VIEW_SIZE), dtype=np.bool_)
    own, marks = layout.cut(view).pokemon[:, layout.OWN], layout.cut(numbers).pokemon[:, layout.OWN]
    marks[:] = _guessed_columns()[guessed]
    on_field = own[..., layout.POKEMON.column("active")] > 0
    # An unseen item or ability may lock an active Pokémon into a move, or disable some of its moves,
    bound = on_field & (guessed & (Guessed.ITEM | Guessed.ABILITY) > 0)
    marks[..., layout.POKEMON.columns("move_disabled")] |= bound[..., None]
    marks[..., layout.volatile_column("choicelock")] |= on_field & (guessed & Guessed.ITEM > 0)
    # and an unseen ability may have cured a Pokémon on the bench.
    ill = own[..., layout.POKEMON.column("status")] > 0
    for name in ("status", "status_turns"):
        marks[..., layout.POKEMON.column(name)] |= ill & ~on_field & (guessed & Guessed.ABILITY > 0)
    # Zacian and Zamazenta change their forme only if they were brought.
    royal = np.isin(own[..., layout.POKEMON.column("base_species")], _royals()) & (guessed & Guessed.BROUGHT > 0)
    for name in ("species", "types", *_MOVE_FIELDS):
        marks[..., layout.POKEMON.columns(name)] |= royal[..., None]
    return pack_mask(numbers)


@cache
def _royals() -> IntArray:
    return vocabulary().numbers("species", "zacian", "zamazenta")


def without_guesses(view: npt.NDArray[np.int16], guessed: BoolArray) -> npt.NDArray[np.int16]:
    """Return views (n, view) in which guessed numbers (n, view) are unknown; guessed HP become percentages."""
    hidden = np.where(guessed, np.int16(0), view)
    own, shown = layout.cut(hidden).pokemon[:, layout.OWN], layout.cut(view).pokemon[:, layout.OWN]
    hp, most = layout.POKEMON.column("hp"), layout.POKEMON.column("max_hp")
    scaled = layout.cut(guessed).pokemon[:, layout.OWN][..., most] & (shown[..., most] > 0)
    parts = np.rint(_SHOWN_HP * (shown[..., hp] / np.maximum(shown[..., most], 1)))
    own[..., hp][scaled] = np.maximum(parts, shown[..., hp] > 0)[scaled]
    own[..., most][scaled] = _SHOWN_HP
    # Among the volatiles only the lock of a choice item can be guessed, and where it is, it is not set.
    volatiles = layout.POKEMON.columns("volatiles")
    own[..., volatiles] = shown[..., volatiles]
    return hidden


class ReplayReader:
    """Reads public logs of one format."""

    def __init__(self, host: Host, battle_format: Format, give_back: Callable[[Host], None]) -> None:
        """Read with a host that was started for the format, and give it back in the end."""
        self._host = host
        self._give_back = give_back
        self._closed = False
        self._space = action_space(battle_format.slots, battle_format.brought)
        codes = {
            kind.__name__.lower(): {name.lower(): flag.value for name, flag in kind.__members__.items()}
            for kind in (Read, Guessed)
        }
        if host.ask("codes") != codes:
            raise HostError("The host marks what it reads with other bits than this version of Nemesis.")

    def read(self, logs: Sequence[tuple[str, str]], *, played: bool = False) -> list[ReplayBattle | ReplayError]:
        """Read each log (id, text), in order.

        With `played`, a battle that was not played to its end is an error.
        """
        results: list[ReplayBattle | ReplayError] = []
        for batch in _batches(logs):
            body = self._host.read_logs([text for _, text in batch], played=played)
            results += _unpacked([identity for identity, _ in batch], body, self._space)
        return results

    def usage(self, logs: Sequence[str], *, played: bool = False) -> UsageCounts:
        """Return the usage statistics of the teams in the logs, for `total_usage` to add up."""
        counts: UsageCounts = self._host.ask("usage", logs=list(logs), played=played)
        return counts

    def impute(self, usage: UsageCounts) -> None:
        """From now on, sample what logs do not show from these statistics; it is marked as guessed in any case."""
        self._host.ask("complete", usual=usage)

    def close(self) -> None:
        """Give the host back. May be called twice."""
        if not self._closed:
            self._closed = True
            self._give_back(self._host)


def _batches(logs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    batches: list[list[tuple[str, str]]] = []
    room = 0
    for one in logs:
        if not batches or len(one[1]) > room:
            batches.append([])
            room = _LARGEST_BATCH
        batches[-1].append(one)
        room -= len(one[1])
    return batches


@dataclass(frozen=True, slots=True)
class _Rows:
    """The decisions of all battles of an answer, battle by battle, both seats mixed."""

    view: npt.NDArray[np.int16]
    packed: PackedMask
    possible: PackedMask
    action: npt.NDArray[np.int16]
    tick: npt.NDArray[np.int16]
    read: npt.NDArray[np.uint8]
    seat: npt.NDArray[np.uint8]
    guessed: npt.NDArray[np.uint16]

    def of_seat(self, battle: slice, seat: int, actions: int) -> SeatDecisions:
        rows = battle.start + np.flatnonzero(self.seat[battle] == seat)
        return SeatDecisions(
            view=self.view[rows],
            packed=self.packed[rows],
            possible=self.possible[rows],
            actions=actions,
            action=self.action[rows].astype(np.int64),
            tick=self.tick[rows].astype(np.int64),
            read=self.read[rows],
            guessed=self.guessed[rows],
        )


def _unpacked(identities: list[str], body: bytearray, space: ActionSpace) -> list[ReplayBattle | ReplayError]:
    """Return the battles of a host's answer: all rows, column by column, then JSON about each battle."""
    count, json_size = struct.unpack_from("<ii", body)
    place = 8

    def take(kind: str, width: int) -> npt.NDArray[Any]:
        nonlocal place
        array = np.frombuffer(body, kind, count * width, place).reshape(count, width)
        place += array.nbytes
        return array

    rows = _Rows(
        view=take("<i2", layout.VIEW_SIZE),
        packed=take("u1", packed_size(space.size)),
        possible=take("u1", packed_size(space.size)),
        action=take("<i2", 1)[:, 0],
        tick=take("<i2", 1)[:, 0],
        read=take("u1", 1)[:, 0],
        seat=take("u1", 1)[:, 0],
        guessed=take("<u2", layout.TEAM),
    )
    battles = json.loads(body[place : place + json_size])
    if len(battles) != len(identities) or place + json_size != len(body):
        raise HostError("The host's answer does not fit the logs that it was given.")
    results: list[ReplayBattle | ReplayError] = []
    end = 0
    for identity, facts in zip(identities, battles, strict=True):
        if facts["reason"]:
            error = (facts[name] for name in ("reason", "message", "line", "rated_to_end"))
            results.append(ReplayError(identity, *error))
            continue
        start, end = end, end + facts["rows"]
        results.append(_battle(identity, facts, rows, slice(start, end), space.size))
    return results


def _battle(identity: str, facts: dict[str, Any], rows: _Rows, own: slice, actions: int) -> ReplayBattle:
    one, other = (rows.of_seat(own, seat, actions) if facts["usable"][seat] else None for seat in range(2))
    return ReplayBattle(
        id=identity,
        format=facts["format"],
        winner=facts["winner"],
        ending=facts["ending"],
        rated=facts["rated"],
        players=(facts["players"][0], facts["players"][1]),
        ratings=(facts["ratings"][0], facts["ratings"][1]),
        seats=(one, other),
        problems=facts["problems"],
        unknown=facts["unknown"],
    )
