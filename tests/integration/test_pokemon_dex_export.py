"""The committed dex is the one of the installed simulator."""

import numpy as np

from nemesis.games.pokemon.dex import export as dex_export
from nemesis.games.pokemon.dex import tables as dex


def test_fresh_export_equals_the_committed_files():
    index, arrays = dex_export.export()
    assert index == dex._index()
    committed = dex._arrays()
    assert set(arrays) == set(committed)
    for name, values in arrays.items():
        assert np.array_equal(values, committed[name]), name
