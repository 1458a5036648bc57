"""The memory of an arena: arrays that Python owns and the library works in, with the structs of arena/arena.h."""

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES, IntArray
from nemesis.core.masks import packed_size
from nemesis.games.pokemon.native.library import LibraryError, load
from nemesis.games.pokemon.native.team_sheets import TEAM_BYTES
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import action_space

ACTIONS = action_space(1, 6).size
MASK_BYTES = packed_size(ACTIONS)
MOST_CHOICES = 4096
SETUP = struct.Struct(f"<QQQiBB{SIDES * TEAM_BYTES}s")  # Setup
SETUP_BYTES = -(-SETUP.size // 8) * 8
RESULT_COLUMNS = 4  # slot, winner, reason, number of choices
_POINTERS = ("matches", "live", "choices", "choice_count", "slot", "seat", "costs")


class _Arena(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in _POINTERS),
        ("slots", ctypes.c_int32),
        ("turn_limit", ctypes.c_int32),
        ("waiting", ctypes.c_int32),
    )


class _Output(ctypes.Structure):
    _fields_ = (("views", ctypes.c_void_p), ("masks", ctypes.c_void_p), ("results", ctypes.c_void_p))


class Arena:
    """Matches in numbered slots, in the memory of this object."""

    def __init__(self, slots: int, turn_limit: int) -> None:
        self._library = checked_library()
        size = match_bytes()
        self.matches = aligned(slots * size).reshape(slots, size)
        self.live = np.zeros(slots, np.uint8)
        self.choices = np.zeros((slots, MOST_CHOICES), np.uint8)
        self.choice_count = np.zeros(slots, np.int32)
        self.slot = np.zeros(SIDES * slots, np.int64)
        self.seat = np.zeros(SIDES * slots, np.int64)
        self.costs = np.zeros(3, np.float64)
        self._results = np.zeros((slots, RESULT_COLUMNS), np.int32)
        pointers = {name: getattr(self, name).ctypes.data for name in _POINTERS}
        self._arena = _Arena(**pointers, slots=slots, turn_limit=turn_limit, waiting=0)
        self._slots = slots

    @property
    def waiting(self) -> int:
        """The number of decisions that wait for an action."""
        return int(self._arena.waiting)

    def step(
        self, actions: IntArray, setups: Sequence[bytes]
    ) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint8], list[list[int]]]:
        """Answer all decisions and start matches; return the next views and masks, and a row for each end."""
        most = SIDES * self._slots
        views = np.empty((most, layout.VIEW_SIZE), np.int16)
        masks = np.empty((most, MASK_BYTES), np.uint8)
        actions = np.ascontiguousarray(actions, np.int64)
        ended = self._library.nemesis_arena_step(
            ctypes.byref(self._arena),
            actions.ctypes.data,
            len(actions),
            b"".join(setups),
            len(setups),
            ctypes.byref(_Output(views.ctypes.data, masks.ctypes.data, self._results.ctypes.data)),
        )
        if ended < 0:
            raise ValueError(f"There are {self.waiting} decisions, but {len(actions)} actions were sent.")
        rows = self.waiting
        return views[:rows], masks[:rows], self._results[:ended].tolist()

    def restore(self, setup: bytes, choices: bytes) -> bool:
        """Replay a recorded match in its slot; return whether the recording fits the battle."""
        return bool(self._library.nemesis_arena_restore(ctypes.byref(self._arena), setup, choices, len(choices)))

    def clear(self) -> None:
        """Remove all matches."""
        self.live[:] = 0
        self._arena.waiting = 0


def aligned(size: int, *, zeroed: bool = True) -> npt.NDArray[np.uint8]:
    """Return memory at an address that structs may have."""
    memory = (np.zeros if zeroed else np.empty)(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


def match_bytes() -> int:
    """Return the size of a match in the library."""
    return int(checked_library().nemesis_match_bytes())


@cache
def checked_library() -> Any:
    """Return the library, after a check that it has the structs and the view layout of this package."""
    library = load()
    library.nemesis_arena_step.argtypes = (
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p,
    )  # fmt: skip
    library.nemesis_arena_restore.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int32)
    library.nemesis_matches_start.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32)
    library.nemesis_matches_step.argtypes = (
        *(ctypes.c_void_p,) * 4, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p,
    )  # fmt: skip
    library.nemesis_layout_version.restype = ctypes.c_char_p
    sizes = (ctypes.c_int32 * 5)()
    library.nemesis_sizes(sizes)
    wanted = (TEAM_BYTES, SETUP_BYTES, layout.VIEW_SIZE, MOST_CHOICES, ctypes.sizeof(_Arena))
    version = library.nemesis_layout_version().decode()
    if tuple(sizes) != wanted or version != layout.for_host()["version"]:
        raise LibraryError(
            "The native library has another view layout; run `python -m nemesis.games.pokemon.native.tracker.export`."
        )
    return library
