"""What the dex says about each id, as numbers that a network reads.

Ids, types and other choices become one column per choice. Amounts are divided by their root mean square in the latest
generation, over the ids that have any, so that every mod has the same columns in the same units. Row 0, the unknown id,
is all zero.
"""

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import TERRAINS, WEATHERS

_REFERENCE = "gen9"
_LARGEST = 4.0
_TYPES = (
    "types", "type", "boosted_types", "boosted_type", "resisted_type", "resisted_types", "immune_type", "becomes_type",
    "z_type",
)  # fmt: skip
_CHOICES = {
    "category": len(dex.CATEGORIES),
    "target": len(dex.TARGETS),
    "weather": len(WEATHERS),
    "speed_weather": len(WEATHERS),
    "terrain": len(TERRAINS),
    "self_switch": 4,
}
# Each is true of so few ids that what is learned of the id itself says it better.
_LEFT_OUT = (
    "base_species", "abilities", "required_item", "forced_tera_type", "volatile", "room", "side_condition", "mega_of",
    "standard",
)  # fmt: skip


def dex_features(mod: str, kind: str) -> npt.NDArray[np.float32]:
    """Return what a mod says about all ids of a kind: (number, feature)."""
    table: dex.Table = getattr(dex.tables(mod), kind)
    reference: dex.Table = getattr(dex.tables(_REFERENCE), kind)
    columns = []
    for field in table.block.fields:
        values = table[field.name].reshape(len(table.values), -1)
        if field.name in _LEFT_OUT:
            continue
        if field.name in _TYPES or field.name in _CHOICES:
            choices = _CHOICES.get(field.name, 1 + len(dex.vocabulary().types))
            columns.append((values[..., None] == np.arange(1, choices)).any(axis=1))
        else:
            columns.append(np.clip(values / _typical(reference[field.name]), -_LARGEST, _LARGEST))
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _typical(values: npt.NDArray[np.int16]) -> float:
    """Return the root mean square of what is not zero."""
    present = values[values != 0].astype(np.float64)
    return float(np.sqrt(np.mean(present**2))) if len(present) else 1.0
