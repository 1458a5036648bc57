"""The vocabulary and the tables: one number per id, and data that differ between games."""

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.games.pokemon import formats
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.views import layout

IDS = dex.vocabulary()


def fact(mod, kind, name, field):
    return getattr(dex.tables(mod), kind)[field][IDS.number(kind, name)].tolist()


def test_numbers_are_unique_and_start_at_one():
    for kind in dex.KINDS:
        ids = getattr(IDS, kind)
        assert len(set(ids)) == len(ids)
        assert IDS.number(kind, ids[0]) == 1
        assert IDS.number(kind, ids[-1]) == len(ids)
    with pytest.raises(KeyError, match="pikachuu"):
        IDS.number("species", "pikachuu")


def test_ids_of_requests_and_cosmetic_formes_exist():
    assert {"recharge", "fight", "struggle", "hiddenpowerfire"} <= set(IDS.moves)
    assert {"alcremierubycream", "gastrodoneast", "unownquestion"} <= set(IDS.species)
    assert {"stellar", "???"} <= set(IDS.types)


def test_every_format_has_tables():
    for mod in {entry["mod"] for entry in formats._facts().values()}:
        tables = dex.tables(mod)
        for kind, block in dex.BLOCKS.items():
            values = getattr(tables, kind).values
            assert values.shape == (len(getattr(IDS, kind)) + 1, block.width)
            assert not values[0].any()
            assert not values.flags.writeable
        assert tables.chart.shape == (len(IDS.types) + 1,) * 2


def test_unknown_mod_is_an_error():
    with pytest.raises(UserError, match="gen10"):
        dex.tables("gen10")


def test_files_stay_small():
    assert sum(path.stat().st_size for path in dex.FOLDER.iterdir()) < 500_000


@pytest.mark.parametrize(
    ("mod", "kind", "name", "field", "value"),
    [
        ("gen1", "moves", "thunderbolt", "power", 95),
        ("gen9", "moves", "thunderbolt", "power", 90),
        ("gen9", "moves", "thunderbolt", "status_chances", [0, 10, 0, 0, 0, 0]),
        ("gen1", "moves", "bite", "type", IDS.number("types", "normal")),
        ("gen3", "moves", "crunch", "category", dex.CATEGORIES.index("special")),
        ("gen9", "moves", "crunch", "category", dex.CATEGORIES.index("physical")),
        ("gen9", "moves", "swift", "accuracy", 101),
        ("gen9", "moves", "closecombat", "self_boosts", [0, -1, 0, -1, 0, 0, 0]),
        ("gen9", "moves", "swordsdance", "self_boosts", [2, 0, 0, 0, 0, 0, 0]),
        ("gen9", "moves", "charm", "target_boosts", [-2, 0, 0, 0, 0, 0, 0]),
        ("gen9", "moves", "moonblast", "secondary_target_boosts", [0, 0, -30, 0, 0, 0, 0]),
        ("gen9", "moves", "seismictoss", "fixed_damage", dex.BY_LEVEL),
        ("gen1", "moves", "superfang", "fixed_damage", dex.HALF_OF_TARGET),
        ("gen2", "moves", "growl", "pp", 61),
        ("gen9", "moves", "growl", "pp", 64),
        ("gen9", "moves", "bulletseed", "hits", [2, 5]),
        ("gen1", "moves", "recover", "heal", 50),
        ("gen9", "moves", "stealthrock", "side_condition", 1 + layout.SIDE_CONDITIONS.index("stealthrock")),
        ("gen9", "moves", "kingsshield", "volatile", 1 + layout.VOLATILES.index("protect")),
        ("gen9", "moves", "raindance", "weather", layout.WEATHERS.index("raindance")),
        ("gen9", "species", "pikachu", "base_stats", [35, 55, 40, 50, 50, 90]),
        ("gen1", "species", "chansey", "base_stats", [250, 5, 5, 105, 105, 50]),
        ("gen1", "species", "magnemite", "types", [IDS.number("types", "electric"), 0]),
        ("gen9", "species", "charizardmegax", "base_species", IDS.number("species", "charizard")),
        ("gen9", "species", "charizardmegax", "required_item", IDS.number("items", "charizarditex")),
        ("gen9", "items", "choicespecs", "special_power", 150),
        ("gen9", "items", "choicespecs", "choice", 1),
        ("gen9", "items", "assaultvest", "special_defence", 150),
        ("gen3", "items", "charcoal", "type_power", 110),
        ("gen4", "items", "charcoal", "type_power", 120),
        ("gen9", "items", "adamantorb", "boosted_types", IDS.numbers("types", "steel", "dragon").tolist()),
        ("gen9", "items", "occaberry", "resisted_type", IDS.number("types", "fire")),
        ("gen9", "items", "charizarditex", "removable", 0),
        ("gen7", "items", "firiumz", "z_type", IDS.number("types", "fire")),
        ("gen4", "abilities", "lightningrod", "immune_type", 0),
        ("gen5", "abilities", "lightningrod", "immune_type", IDS.number("types", "electric")),
        ("gen8", "abilities", "transistor", "type_power", 150),
        ("gen9", "abilities", "transistor", "type_power", 130),
        ("champions", "moves", "fakeout", "standard", 1),
    ],
)
def test_facts(mod, kind, name, field, value):
    assert fact(mod, kind, name, field) == value


@pytest.mark.parametrize(
    ("mod", "attacking", "defending", "multiplier"),
    [
        ("gen1", "ghost", "psychic", 0),
        ("gen2", "ghost", "psychic", 2),
        ("gen5", "dark", "steel", 0.5),
        ("gen6", "dark", "steel", 1),
        ("gen9", "dragon", "fairy", 0),
        ("gen9", "water", "fire", 2),
    ],
)
def test_type_chart(mod, attacking, defending, multiplier):
    chart = dex.tables(mod).chart
    assert chart[IDS.number("types", attacking), IDS.number("types", defending)] == multiplier
    assert np.all(chart[0] == 1)
    assert np.all(chart[:, 0] == 1)
