"""Human battles as a learner needs them: public logs become, for each seat, decisions with view, mask and action.

A public log is what a spectator saw. A host reads it with the view code of training (`host/replay/`): first to its
end, to learn what each seat knew of its own team, then again, to stop at each decision and write down what the seat saw
and might do; what happened next tells what it did. An action is given where no other legal one fits what was seen; else
those that fit are, unless all do. What the log never shows of the own team is marked, field by field, be it filled in
or not.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import BoolArray, IntArray
from nemesis.games.pokemon import layout
from nemesis.games.pokemon.actions import ActionSpace, action_space
from nemesis.games.pokemon.bridge import Host, HostError
from nemesis.games.pokemon.dex import vocabulary
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.replay_usage import Counts

_LARGEST_BATCH = 1 << 24  # characters of logs that a host is given at once


class Guessed(IntFlag):
    """What of an own Pokémon the log does not tell."""

    ITEM = 1
    ABILITY = 2
    MOVES = 4  # at least one
    TERA = 8
    STATS = 16  # and with them how many HP it has; what share of them is left is known
    BROUGHT = 32
    SPECIES = 64
    MOVE = 128  # the first of its moves; the next three bits are the others'
    FORME = 2048  # of its species, which the team preview may hide


class Read(IntFlag):
    """Why the choice of a decision is unknown, whatever was seen."""

    REQUEST_UNSURE = 1  # whether a Pokémon goes on with its move, or is trapped, cannot be told: the mask may be wrong
    LATE = 2  # the time was over, so that the server may have chosen


@dataclass(frozen=True, slots=True)
class SeatDecisions:
    """The decisions of one seat, in order."""

    view: npt.NDArray[np.int16]  # (n, view)
    packed: npt.NDArray[np.uint8]  # (n, byte) legal actions, eight in a byte, the highest bit first
    possible: npt.NDArray[np.uint8]  # (n, byte) which of them fit, where that is not all and not one; else none
    actions: int  # of the game
    action: IntArray  # (n,) -1 where it is unknown
    tick: IntArray  # (n,) decisions of either seat that were made before
    read: npt.NDArray[np.uint8]  # (n,) bits of Read
    guessed: npt.NDArray[np.uint16]  # (n, own Pokémon) bits of Guessed, in the order of the view

    @property
    def mask(self) -> BoolArray:
        """Legal actions (n, action)."""
        return np.unpackbits(self.packed, axis=1, count=self.actions).view(np.bool_)


@dataclass(frozen=True, slots=True)
class ReplayBattle:
    """A battle that could be read."""

    id: str
    format: str  # as the log names it
    winner: int  # seat, or -1
    ending: str  # played, forfeit or timer
    rated: bool
    players: tuple[str, str]  # their names in lower case, letters and digits alone
    ratings: tuple[int, int]  # 0 where the log tells none
    seats: tuple[
        SeatDecisions | None, SeatDecisions | None
    ]  # None for a seat that cannot be followed: it had a disguise
    problems: dict[str, int]  # what does not fit together, by cause
    unknown: dict[str, int]  # kinds of lines and effects that nobody expected, with how often they came


@dataclass(frozen=True, slots=True)
class ReplayError:
    """Why a battle could not be read."""

    id: str
    reason: str  # a name to count by
    message: str
    line: int  # from 1, or 0 for the whole
    rated_to_end: bool = False  # whether it was a rated battle of the format that was played to its end

    def __str__(self) -> str:
        where = f", line {self.line}" if self.line else ""
        return f"{self.id}{where}: {self.message}"


# What is drawn, or stays unknown, where the log does not tell it.
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
    """Return which columns of an own Pokémon are guesses, for every value of its bits: (bits, column)."""
    bits = np.arange(2 * Guessed.FORME)[:, None]
    table = np.zeros((len(bits), layout.POKEMON.width), dtype=np.bool_)
    for flag, names in _GUESSED_FIELDS.items():
        for name in names:
            table[:, layout.POKEMON.columns(name)] |= bits & flag > 0
    for name in _MOVE_FIELDS:
        table[:, layout.POKEMON.columns(name)] |= bits & (Guessed.MOVE << np.arange(layout.MOVES)) > 0
    return table


def guessed_numbers(view: npt.NDArray[np.int16], guessed: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """Return which numbers of views (n, view) may be wrong since something was guessed, by bits (n, own Pokémon).

    They are packed (n, byte), the highest bit first.
    """
    numbers = np.zeros((len(guessed), layout.VIEW_SIZE), dtype=np.bool_)
    own, marks = layout.cut(view).pokemon[:, layout.OWN], layout.cut(numbers).pokemon[:, layout.OWN]
    marks[:] = _guessed_columns()[guessed]
    on_field = own[..., layout.POKEMON.column("active")] > 0
    # An item or an ability that nobody saw may hold who is on the field to one move, or forbid it some,
    bound = on_field & (guessed & (Guessed.ITEM | Guessed.ABILITY) > 0)
    marks[..., layout.POKEMON.columns("move_disabled")] |= bound[..., None]
    marks[..., layout.volatile_column("choicelock")] |= on_field & (guessed & Guessed.ITEM > 0)
    # and an ability may have cured who is not.
    ill = own[..., layout.POKEMON.column("status")] > 0
    for name in ("status", "status_turns"):
        marks[..., layout.POKEMON.column(name)] |= ill & ~on_field & (guessed & Guessed.ABILITY > 0)
    # Who stays at home is not crowned.
    royal = np.isin(own[..., layout.POKEMON.column("base_species")], _royals()) & (guessed & Guessed.BROUGHT > 0)
    for name in ("species", "types", *_MOVE_FIELDS):
        marks[..., layout.POKEMON.columns(name)] |= royal[..., None]
    return np.packbits(numbers, axis=1)


@cache
def _royals() -> IntArray:
    return vocabulary().numbers("species", "zacian", "zamazenta")


def without_guesses(view: npt.NDArray[np.int16], guessed: BoolArray) -> npt.NDArray[np.int16]:
    """Return views (n, view) with guesses (n, view) made unknown; of HP, per cent are told in their place."""
    hidden = np.where(guessed, np.int16(0), view)
    own, shown = layout.cut(hidden).pokemon[:, layout.OWN], layout.cut(view).pokemon[:, layout.OWN]
    hp, most = layout.POKEMON.column("hp"), layout.POKEMON.column("max_hp")
    scaled = layout.cut(guessed).pokemon[:, layout.OWN][..., most] & (shown[..., most] > 0)
    parts = np.rint(_SHOWN_HP * (shown[..., hp] / np.maximum(shown[..., most], 1)))
    own[..., hp][scaled] = np.maximum(parts, shown[..., hp] > 0)[scaled]
    own[..., most][scaled] = _SHOWN_HP
    # Of what befell a Pokémon only the lock of a choice item is in doubt, and never told where it is.
    volatiles = layout.POKEMON.columns("volatiles")
    own[..., volatiles] = shown[..., volatiles]
    return hidden


class ReplayReader:
    """Reads public logs of one format."""

    def __init__(self, host: Host, battle_format: Format) -> None:
        """Read with a host that was told the format."""
        self._host = host
        self._space = action_space(battle_format.slots, battle_format.brought)
        codes = {
            kind.__name__.lower(): {name.lower(): flag.value for name, flag in kind.__members__.items()}
            for kind in (Read, Guessed)
        }
        if host.ask("codes") != codes:
            raise HostError("The host marks what it reads by other bits than those that are known here.")

    def read(self, logs: Sequence[tuple[str, str]], *, played: bool = False) -> list[ReplayBattle | ReplayError]:
        """Return what each log (id, text) tells, in order; perhaps only of battles that were played to their end."""
        results: list[ReplayBattle | ReplayError] = []
        for batch in _batches(logs):
            body = self._host.read_logs([text for _, text in batch], played=played)
            results += _unpacked([identity for identity, _ in batch], body, self._space)
        return results

    def usage(self, logs: Sequence[str], *, played: bool = False) -> Counts:
        """Return what the logs tell of teams, for `Usage` to add up."""
        counts: Counts = self._host.ask("usage", logs=list(logs), played=played)
        return counts

    def complete(self, usual: Counts) -> None:
        """From now on, fill in what logs do not tell by drawing from what is usual; it stays marked as guessed."""
        self._host.ask("complete", usual=usual)

    def close(self) -> None:
        self._host.close()


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


def _unpacked(identities: list[str], body: bytearray, space: ActionSpace) -> list[ReplayBattle | ReplayError]:
    rows, told = struct.unpack_from("<ii", body)
    place = 8

    def take(kind: str, width: int) -> npt.NDArray[Any]:
        nonlocal place
        array = np.frombuffer(body, kind, rows * width, place).reshape(rows, width)
        place += array.nbytes
        return array

    view = take("<i2", layout.VIEW_SIZE)
    packed, possible = (take("u1", -(-space.size // 8)) for _ in range(2))
    action, tick = take("<i2", 1)[:, 0], take("<i2", 1)[:, 0]
    read, seat = take("u1", 1)[:, 0], take("u1", 1)[:, 0]
    guessed = take("<u2", layout.TEAM)
    battles = json.loads(body[place : place + told])
    if len(battles) != len(identities) or place + told != len(body):
        raise HostError("The host's answer does not fit the logs that it was given.")
    results: list[ReplayBattle | ReplayError] = []
    end = 0
    for identity, battle in zip(identities, battles, strict=True):
        if battle["reason"]:
            told = (battle[name] for name in ("reason", "message", "line", "rated_to_end"))
            results.append(ReplayError(identity, *told))
            continue
        start, end = end, end + battle["rows"]

        def decisions(number: int, start: int = start, end: int = end) -> SeatDecisions:
            own = start + np.flatnonzero(seat[start:end] == number)
            return SeatDecisions(
                view[own],
                packed[own],
                possible[own],
                space.size,
                action[own].astype(np.int64),
                tick[own].astype(np.int64),
                read[own],
                guessed[own],
            )

        one, other = (decisions(number) if battle["usable"][number] else None for number in range(2))
        results.append(
            ReplayBattle(
                identity,
                battle["format"],
                battle["winner"],
                battle["ending"],
                battle["rated"],
                (battle["players"][0], battle["players"][1]),
                (battle["ratings"][0], battle["ratings"][1]),
                (one, other),
                battle["problems"],
                battle["unknown"],
            )
        )
    return results
