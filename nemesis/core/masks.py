"""Legal masks, packed: one bit per action, eight actions in a byte, the first action in the highest bit.

Masks stay packed from the simulator to the minibatch, in memory, in shared memory and on disk. They are unpacked where
a network or a scripted player reads them, and where a dataset is augmented. The bit order is the default of
`numpy.packbits`, everywhere.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

PackedMask: TypeAlias = npt.NDArray[np.uint8]

_HIGHEST_BIT = np.uint8(7)


class IllegalPositionError(ValueError):
    """A seat has to decide but has no legal action."""


def packed_size(actions: int) -> int:
    """Return the bytes of one packed mask."""
    return -(-actions // 8)


def pack_mask(mask: npt.NDArray[np.bool_]) -> PackedMask:
    """Pack masks (…, action) into bytes (…, byte)."""
    return np.packbits(mask, axis=-1)


def unpack_mask(packed: PackedMask, actions: int) -> npt.NDArray[np.bool_]:
    """Unpack masks (…, byte) of so many actions: (…, action)."""
    mask: npt.NDArray[np.bool_] = np.unpackbits(packed, axis=-1, count=actions).view(np.bool_)
    return mask


def is_legal(packed: PackedMask, action: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Return which actions (n,) are legal under their masks (n, byte); an index outside the mask is not."""
    inside = (action >= 0) & (action < 8 * packed.shape[1])
    index = np.where(inside, action, 0)
    byte = np.take_along_axis(packed, (index >> 3)[:, None], axis=1)[:, 0]
    bit: npt.NDArray[np.uint8] = byte >> (_HIGHEST_BIT - (index & 7).astype(np.uint8)) & np.uint8(1)
    legal: npt.NDArray[np.bool_] = bit.astype(np.bool_) & inside
    return legal


def check_mask(mask: npt.NDArray[np.bool_] | PackedMask, match: npt.NDArray[np.int64]) -> None:
    """Raise unless every mask (n, action) or (n, byte) has a legal action; the error names the matches (n,)."""
    possible = mask.any(axis=1)
    if possible.all():
        return
    stuck = np.unique(match[~possible]).tolist()
    names = ", ".join(str(name) for name in stuck[:10]) + (f" and {len(stuck) - 10} more" if len(stuck) > 10 else "")
    if len(stuck) == 1:
        raise IllegalPositionError(f"Match {names} waits for a decision but its mask allows no action.")
    raise IllegalPositionError(f"Matches {names} wait for a decision but their masks allow no action.")
