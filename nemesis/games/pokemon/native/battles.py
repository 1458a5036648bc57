"""Gen 1 battles as arrays, to copy and to step: what search stands on.

    battles = NativeBattles.start(find_format("gen1ou"), setups)    # {"seed": "gen5,…", "teams": [packed, packed]}
    branches = battles.branch(np.repeat(np.arange(len(battles)), 9), actions)    # copies that go their own way
    branches.state.view    # (match, seat, view)

A copy has the whole state of its battle, with what is hidden and with the generator of numbers. A player that may not
know them must not search in copies of the battle that it plays, but in battles that it made up from what it knows.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, IntArray
from nemesis.core.masks import PackedMask
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.native.arena_memory import MASK_BYTES, aligned, checked_library, match_bytes
from nemesis.games.pokemon.native.formats import is_native
from nemesis.games.pokemon.native.recordings import setup_bytes
from nemesis.games.pokemon.views import layout

Views: TypeAlias = Literal["0", "1", "both", "none", "never"]
_SHAPES: Mapping[Views, tuple[int, ...]] = {  # of the views of a match, in the order of `Branches.seats`
    "0": (layout.VIEW_SIZE,),
    "1": (layout.VIEW_SIZE,),
    "both": (SIDES, layout.VIEW_SIZE),
    "none": (0,),
    "never": (0,),
}
ONGOING = -1  # the reason of a match that has not ended


class _Branches(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("waits", "reason", "winner", "masks", "views")),
        ("seats", ctypes.c_int32),
    )


@dataclass(frozen=True, slots=True)
class BattleStates:
    """What is known of matches: who has to decide, what they see, and how those ended that did."""

    waits: npt.NDArray[np.bool_]  # (match, seat) whether the seat has to answer
    reason: npt.NDArray[np.int8]  # (match,) an EndReason, or ONGOING
    winner: npt.NDArray[np.int8]  # (match,) seat, or −1
    mask: PackedMask  # (match, seat, byte), 0 for a seat that does not have to answer
    view: npt.NDArray[np.int16]  # (match, seat, view), or (match, view) of one seat; 0 likewise


class NativeBattles:
    """Battles in one array of structs."""

    def __init__(
        self, matches: npt.NDArray[np.uint8], turn_limit: int, state: BattleStates, *, remembers: bool = True
    ) -> None:
        """Take structs (match, byte); `start` and `branch` make them."""
        self._matches = matches
        self._remembers = remembers
        self._turn_limit = turn_limit
        self.state = state

    def __len__(self) -> int:
        return len(self._matches)

    @staticmethod
    def start(
        battle_format: Format, setups: Sequence[Mapping[str, Any]], turn_limit: int = 1000, views: Views = "both"
    ) -> "NativeBattles":
        """Start battles from set-ups, as recordings have them."""
        if not is_native(battle_format):
            raise UserError(f"The native engine does not play {battle_format.id}.")
        library = checked_library()
        matches = _memory(len(setups))
        packed = b"".join(setup_bytes(battle_format, 0, setup) for setup in setups)
        library.nemesis_matches_start(matches.ctypes.data, packed, len(setups))
        state = _step(matches, None, None, None, turn_limit, views)
        return NativeBattles(matches, turn_limit, state, remembers=views != "never")

    def branch(self, source: IntArray, actions: npt.NDArray[np.int8], views: Views = "both") -> "NativeBattles":
        """Copy the battles at `source` (n,) and answer them with actions (n, seat), which leaves these as they are.

        An action of a seat that does not have to answer is ignored, and one that its mask does not allow is refused:
        the seat is asked again. `views` says whose views are written: `both`, `0`, `1` or `none`. Copies with `never`
        do not even remember what the seats saw, which is faster; neither they nor their copies have views any more.
        """
        if not self._remembers and views != "never":
            raise ValueError('These battles do not remember what their seats saw, because of views="never".')
        if len(source) and (source.min() < 0 or source.max() >= len(self)):
            raise IndexError(f"There are {len(self)} battles to copy, numbered from 0.")
        copies = _memory(len(source))
        state = _step(copies, self, source, actions, self._turn_limit, views)
        return NativeBattles(copies, self._turn_limit, state, remembers=views != "never")

    def step(self, actions: npt.NDArray[np.int8], views: Views = "both") -> BattleStates:
        """Answer these battles with actions (match, seat), in place, as `branch` answers copies."""
        if not self._remembers and views != "never":
            raise ValueError('These battles do not remember what their seats saw, because of views="never".')
        self._remembers = views != "never"
        self.state = _step(self._matches, None, None, actions, self._turn_limit, views)
        return self.state

    @property
    def memory(self) -> npt.NDArray[np.uint8]:
        """The structs (match, byte)."""
        return self._matches


def _memory(count: int) -> npt.NDArray[np.uint8]:
    size = match_bytes()
    return aligned(count * size, zeroed=False).reshape(count, size)


def _step(
    matches: npt.NDArray[np.uint8],
    origin: NativeBattles | None,
    source: IntArray | None,
    actions: npt.NDArray[np.int8] | None,
    turn_limit: int,
    views: Views,
) -> BattleStates:
    count = len(matches)
    state = BattleStates(
        waits=np.empty((count, SIDES), np.bool_),
        reason=np.empty(count, np.int8),
        winner=np.empty(count, np.int8),
        mask=np.empty((count, SIDES, MASK_BYTES), np.uint8),
        view=np.empty((count, *_SHAPES[views]), np.int16),
    )
    if actions is not None:
        actions = np.ascontiguousarray(actions, np.int8)
        if actions.shape != (count, SIDES):
            raise ValueError(f"The actions have the shape {actions.shape} instead of {(count, SIDES)}.")
    if source is not None:
        source = np.ascontiguousarray(source, np.int64)
    branches = _Branches(
        *(array.ctypes.data for array in (state.waits, state.reason, state.winner, state.mask)),
        state.view.ctypes.data if state.view.size else None,
        list(_SHAPES).index(views),
    )
    checked_library().nemesis_matches_step(
        matches.ctypes.data,
        None if origin is None else origin.memory.ctypes.data,
        None if source is None else source.ctypes.data,
        None if actions is None else actions.ctypes.data,
        count,
        turn_limit,
        ctypes.byref(branches),
    )
    return state
