"""Dex features: the same columns and units for every mod."""

import numpy as np
import pytest

from nemesis.games.pokemon.dex.tables import tables, vocabulary
from nemesis.games.pokemon.network.dex_features import dex_features

KINDS = ("species", "moves", "items", "abilities")


@pytest.mark.parametrize("kind", KINDS)
def test_the_unknown_id_is_zero_and_values_are_bounded(kind: str):
    features = dex_features("gen9", kind)
    assert features.shape[0] == 1 + len(getattr(vocabulary(), kind))
    assert not features[0].any()
    assert np.abs(features).max() <= 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mod", ["gen1", "gen4", "champions"])
def test_mods_share_columns_and_units(kind: str, mod: str):
    latest, other = dex_features("gen9", kind), dex_features(mod, kind)
    assert latest.shape == other.shape
    same = (getattr(tables("gen9"), kind).values == getattr(tables(mod), kind).values).all(axis=1)
    assert same.any()
    np.testing.assert_array_equal(latest[same], other[same])


def test_types_are_one_hot_encoded():
    features = dex_features("gen9", "moves")
    fire, water = (
        [vocabulary().number("moves", name) for name in names] for names in (("ember", "willowisp"), ("surf", "soak"))
    )
    shared = (features[fire] == 1).all(axis=0) & (features[water] == 0).all(axis=0)
    typed = tables("gen9").moves["type"] == vocabulary().number("types", "fire")
    assert any(np.array_equal(features[:, column] == 1, typed) for column in np.flatnonzero(shared))
