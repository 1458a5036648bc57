"""Features of each id in the dex, as input of a network.

Ids, types and other categorical fields are one-hot encoded. Numeric fields are divided by their root mean square over
the nonzero values of the latest generation, so that all mods have the same columns in the same units. Row 0, the
unknown id, is all zero.
"""

import numpy as np
import numpy.typing as npt

from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views.layout import TERRAINS, WEATHERS

_REFERENCE_MOD = "gen9"
_MAX_VALUE = 4.0
_TYPES = (
    "types", "type", "boosted_types", "boosted_type", "resisted_type", "resisted_types", "immune_type", "becomes_type",
    "z_type",
)  # fmt: skip
_CATEGORICAL = {
    "category": len(dex.CATEGORIES),
    "target": len(dex.TARGETS),
    "weather": len(WEATHERS),
    "speed_weather": len(WEATHERS),
    "terrain": len(TERRAINS),
    "self_switch": 4,
}
# Each applies to so few ids that the learned embedding of the id represents it better.
_EXCLUDED = (
    "base_species", "abilities", "required_item", "forced_tera_type", "volatile", "room", "side_condition", "mega_of",
    "standard",
)  # fmt: skip


def dex_features(mod: str, kind: str) -> npt.NDArray[np.float32]:
    """Return the features of all ids of a kind in a mod: (number, feature)."""
    table: dex.Table = getattr(dex.tables(mod), kind)
    reference: dex.Table = getattr(dex.tables(_REFERENCE_MOD), kind)
    columns = []
    for field in table.block.fields:
        values = table[field.name].reshape(len(table.values), -1)
        if field.name in _EXCLUDED:
            continue
        if field.name in _TYPES or field.name in _CATEGORICAL:
            categories = _CATEGORICAL.get(field.name, 1 + len(dex.vocabulary().types))
            columns.append((values[..., None] == np.arange(1, categories)).any(axis=1))
        else:
            columns.append(np.clip(values / _root_mean_square(reference[field.name]), -_MAX_VALUE, _MAX_VALUE))
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _root_mean_square(values: npt.NDArray[np.int16]) -> float:
    """Return the root mean square of the nonzero values."""
    present = values[values != 0].astype(np.float64)
    return float(np.sqrt(np.mean(present**2))) if len(present) else 1.0
