"""The flat action spaces of battles, as tables.

Singles, 20 actions: 0–3 moves, 4–7 the same with the gimmick, 8–13 switches, 14–19 the lead at team preview; the other
Pokémon keep their order.

Doubles, 45 · 45 + 90 actions. A slot has 45 options: 10 · move + 5 · gimmick + target, where targets are −2, −1 (own
slots), none, +1, +2 (the foe's); 40–43 switches; 44 a pass. A turn is the first slot's option · 45 + the second slot's.
The 90 actions of team preview pick two leads and two others out of six, in lexicographic order.

*Places* are indices of own Pokémon in the request, and also in view records, from 0. Only texts count from 1, as
Showdown does. A switch names a place. In doubles with more than four Pokémon, the four switches name the bench; or the
fainted Pokémon in the order of their places, while one of them is revived. `host/battle/actions.js` implements the
same spaces and computes which actions a request allows.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import BoolArray, IntArray
from nemesis.games.pokemon.views.layout import GIMMICKS, MOVES, TEAM

TARGETS = (-2, -1, 0, 1, 2)
SWITCHES = 4  # of a slot in doubles
SWITCH = 2 * MOVES * len(TARGETS)  # the first option that switches
PASS = SWITCH + SWITCHES
OPTIONS = PASS + 1  # 45
TURNS = OPTIONS * OPTIONS  # 2025
PICKS = tuple(
    (*leads, *others)
    for leads in combinations(range(TEAM), 2)
    for others in combinations(sorted(set(range(TEAM)) - set(leads)), 2)
)  # 90

Table = npt.NDArray[np.int8]


class Kind(IntEnum):
    """The kind of a slot's part of an action."""

    MOVE = 0
    SWITCH = 1
    PASS = 2
    PREVIEW = 3


@dataclass(frozen=True, eq=False)
class ActionSpace:
    """The meaning of every action, as tables. Entries that do not apply are −1, or 0 for a target."""

    slots: int
    brought: int  # Pokémon of a full team that take part
    kind: Table  # (action, slot) values of Kind
    move: Table  # (action, slot) from 0
    gimmick: BoolArray  # (action, slot)
    target: Table  # (action, slot) values of TARGETS, 0 for none
    switch: Table  # (action, slot) number of the switch, from 0; `switch_places` gives the place that it names
    picks: Table  # (action, pick) places at team preview: the lead, or two leads and two others

    @property
    def size(self) -> int:
        return len(self.kind)

    @property
    def previews(self) -> slice:
        """The actions of team preview."""
        return slice(TURNS if self.slots > 1 else 2 * MOVES + TEAM, self.size)

    @cached_property
    def places(self) -> IntArray:
        """The places that the switches name, unless a Pokémon is revived: (switch,)."""
        if self.slots == 1:
            return np.arange(TEAM)
        return np.arange(SWITCHES) + (self.slots if self.brought > SWITCHES else 0)

    def switch_places(self, fainted: BoolArray, reviving: BoolArray) -> IntArray:
        """Return the places that the switches name, −1 for none: (n, switch).

        Args:
            fainted: (n, place) which own Pokémon have fainted.
            reviving: (n,) whether a slot revives one of them.
        """
        usual = np.broadcast_to(self.places, (len(fainted), len(self.places)))
        if self.slots == 1 or self.brought <= SWITCHES:
            return usual
        first = np.argsort(~fainted, axis=1, kind="stable")[:, :SWITCHES]
        revived = np.where(np.arange(SWITCHES) < fainted.sum(axis=1, keepdims=True), first, -1)
        return np.where(reviving[:, None], revived, usual)

    def moved(self, order: IntArray, places: IntArray | None = None) -> npt.NDArray[np.int16]:
        """Return the new index of every action when the own Pokémon are permuted: (n, action).

        At team preview any permutation is valid. Later, active Pokémon must stay in front. If the two active ones of
        doubles are exchanged, their slots are, and so are the targets of moves.

        Args:
            order: (n, place) the new place of the Pokémon at each place.
            places: (n, switch) the result of `switch_places`, needed where a Pokémon may be revived.
        """
        rows = np.arange(len(order))[:, None]
        places = np.broadcast_to(self.places, (len(order), len(self.places))) if places is None else places
        # Switches number the places that they name from front to back, before and after.
        named = np.where(places < 0, TEAM + np.arange(places.shape[1]), order[rows, places])
        switches = np.argsort(np.argsort(named, axis=1), axis=1)
        if self.slots == 1:
            kept = np.broadcast_to(np.arange(2 * MOVES), (len(order), 2 * MOVES))
            return np.concatenate([kept, 2 * MOVES + switches, 2 * MOVES + TEAM + order], axis=1, dtype=np.int16)
        exchanged = order[:, :1] > order[:, 1:2]
        moves = np.where(exchanged, _MIRRORED, np.arange(SWITCH))
        passes = np.full((len(order), 1), PASS)
        option = np.concatenate([moves, SWITCH + switches, passes], axis=1, dtype=np.int16)
        weight = np.where(exchanged, [1, OPTIONS], [OPTIONS, 1]).astype(np.int16)  # (n, slot)
        turn = (option * weight[:, :1])[:, :, None] + (option * weight[:, 1:])[:, None, :]
        one, other, third, fourth = np.moveaxis(order[:, _PICKS], 2, 0)
        preview = TURNS + _PICK_INDEX[one, other, third, fourth]
        return np.concatenate([turn.reshape(len(order), TURNS), preview], axis=1, dtype=np.int16)

    def permute(
        self, order: IntArray, mask: BoolArray, action: IntArray, places: IntArray | None = None
    ) -> tuple[BoolArray, IntArray]:
        """Return masks (n, action) and actions (n,) after the own Pokémon are permuted as in `moved`."""
        index = self.moved(order, places)
        permuted = np.zeros_like(mask)
        permuted[np.arange(len(mask))[:, None], index] = mask
        return permuted, index[np.arange(len(action)), action].astype(np.int64)

    def describe(self, index: int) -> str:
        """Describe an action for people."""
        if self.kind[index, 0] == Kind.PREVIEW:
            places = [str(place + 1) for place in self.picks[index]]
            leads, others = places[: self.slots], places[self.slots :]
            return f"lead {' and '.join(leads)}" + (f", back {' and '.join(others)}" if others else "")
        parts = [self._words(index, slot, " at ", " with the gimmick") for slot in range(self.slots)]
        return "; ".join(f"slot {slot + 1}: {part}" for slot, part in enumerate(parts)) if parts[1:] else parts[0]

    def choice(self, index: int, gimmick: str = GIMMICKS[1]) -> str:
        """Return an action as a Showdown choice, for a full team and while no Pokémon is revived."""
        if self.kind[index, 0] == Kind.PREVIEW:
            order = dict.fromkeys([*self.picks[index].tolist(), *range(TEAM)])
            return "team " + "".join(str(place + 1) for place in [*order][: self.brought])
        return ", ".join(self._words(index, slot, " ", f" {gimmick}") for slot in range(self.slots))

    def index(self, choice: str) -> int:
        """Return the action of a choice in the format of `choice`, with any gimmick."""
        plain = re.sub("|".join(GIMMICKS[1:]), GIMMICKS[1], choice)
        if plain not in self._indices:
            kind = "singles" if self.slots == 1 else "doubles"
            raise UserError(f"'{choice}' is not an action of {kind}; an example of one is '{self.choice(0)}'.")
        return self._indices[plain]

    def _words(self, index: int, slot: int, at: str, gimmick: str) -> str:
        if self.kind[index, slot] == Kind.PASS:
            return "pass"
        if self.kind[index, slot] == Kind.SWITCH:
            return f"switch {self.places[self.switch[index, slot]] + 1}"
        target = f"{at}{self.target[index, slot]:+d}" if self.target[index, slot] else ""
        return f"move {self.move[index, slot] + 1}{target}{gimmick if self.gimmick[index, slot] else ''}"

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {self.choice(index): index for index in range(self.size)}


@cache
def action_space(slots: int, brought: int = TEAM) -> ActionSpace:
    """Return the action space of a format by its active Pokémon per side and the Pokémon that take part."""
    return _singles(brought) if slots == 1 else _doubles(brought)


def _singles(brought: int) -> ActionSpace:
    blocks = ((Kind.MOVE, MOVES), (Kind.MOVE, MOVES), (Kind.SWITCH, TEAM), (Kind.PREVIEW, TEAM))
    kind = np.concatenate([np.full(size, kind, np.int8) for kind, size in blocks])
    number = np.concatenate([np.arange(size, dtype=np.int8) for _, size in blocks])
    gimmick = np.arange(len(kind)) // MOVES == 1
    return ActionSpace(
        slots=1,
        brought=brought,
        kind=kind[:, None],
        move=np.where(kind == Kind.MOVE, number, -1)[:, None],
        gimmick=gimmick[:, None],
        target=np.zeros_like(kind)[:, None],
        switch=np.where(kind == Kind.SWITCH, number, -1)[:, None],
        picks=np.where(kind == Kind.PREVIEW, number, -1)[:, None],
    )


def _doubles(brought: int) -> ActionSpace:
    option = np.arange(OPTIONS)
    moves, switches = option < SWITCH, (option >= SWITCH) & (option < PASS)
    pair = np.stack(np.divmod(np.arange(TURNS), OPTIONS), axis=1)  # (turn, slot)

    def table(of_option: npt.NDArray[np.int64], at_preview: int) -> Table:
        return np.concatenate([of_option[pair], np.full((len(PICKS), 2), at_preview)]).astype(np.int8)

    kind = np.select([moves, switches], [Kind.MOVE, Kind.SWITCH], Kind.PASS)
    target = np.array(TARGETS)[option % len(TARGETS)]
    return ActionSpace(
        slots=2,
        brought=brought,
        kind=table(kind, Kind.PREVIEW),
        move=table(np.where(moves, option // (2 * len(TARGETS)), -1), -1),
        gimmick=table(moves & (option // len(TARGETS) % 2 == 1), 0).astype(np.bool_),
        target=table(np.where(moves, target, 0), 0),
        switch=table(np.where(switches, option - SWITCH, -1), -1),
        picks=np.concatenate([np.full((TURNS, 4), -1), PICKS]).astype(np.int8),
    )


_PICKS = np.array(PICKS)  # (pick, place)
# The index of a pick by its places, for both orders of each pair.
_PICK_INDEX = np.full((TEAM,) * 4, -1, np.int16)
for _pairs in ((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)):
    _PICK_INDEX[tuple(_PICKS[:, _pairs].T)] = np.arange(len(PICKS))
# Options of moves after the own slots are exchanged: targets −2 and −1 are, too.
_MIRRORED = np.arange(SWITCH).reshape(-1, len(TARGETS))[:, [1, 0, 2, 3, 4]].ravel()
