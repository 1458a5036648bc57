"""Potentials for reward shaping: zero in even positions, and the loss of each team counts by its size."""

import numpy as np
import pytest

from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views import potentials as rewards
from nemesis.games.pokemon.views.layout import FOE, OWN, PHASES, POKEMON, POSITION, SIDE, STATUSES, cut


def even_position(phase="turn", brought=6):
    """Return a record in which both sides have full HP, with two foes seen."""
    view = np.zeros((1, layout.VIEW_SIZE), np.int16)
    parts = cut(view)
    parts.position[:, POSITION.column("phase")] = PHASES.index(phase)
    parts.side[..., SIDE.column("brought_size")] = brought
    parts.pokemon[:, OWN, :brought, POKEMON.column("hp")] = 250
    parts.pokemon[:, OWN, :brought, POKEMON.column("max_hp")] = 250
    parts.pokemon[:, FOE, :2, POKEMON.column("hp")] = 100
    parts.pokemon[:, FOE, :2, POKEMON.column("max_hp")] = 100
    return view


def put(view, side, member, **fields):
    for name, value in fields.items():
        cut(view).pokemon[:, side, member, POKEMON.column(name)] = value


def potential(view):
    return dict(zip(rewards.POTENTIALS, rewards.potentials(view)[0].tolist(), strict=True))


def test_potential_of_an_even_position_is_zero():
    assert potential(even_position()) == {"hp": 0, "faint": 0, "status": 0}


def test_lost_hp_counts_as_a_fraction_of_the_team():
    view = even_position()
    put(view, FOE, 0, hp=40)
    assert potential(view)["hp"] == pytest.approx(0.6 / 6)
    put(view, OWN, 3, hp=50)
    assert potential(view)["hp"] == pytest.approx((0.6 - 0.8) / 6)


def test_fainted_pokemon_has_no_status_condition():
    view = even_position()
    put(view, FOE, 1, hp=50, status=STATUSES.index("slp"))
    assert potential(view) == pytest.approx({"hp": 0.5 / 6, "faint": 0, "status": 1 / 6})
    put(view, FOE, 1, hp=0, fainted=1)
    assert potential(view) == pytest.approx({"hp": 1 / 6, "faint": 1 / 6, "status": 0})


def test_only_pokemon_that_take_part_count():
    view = even_position(brought=4)
    put(view, OWN, 0, hp=0, fainted=1)
    assert potential(view)["faint"] == pytest.approx(-1 / 4)


def test_everything_lost_is_minus_one():
    view = even_position()
    for member in range(6):
        put(view, OWN, member, hp=0, fainted=1)
    assert potential(view) == pytest.approx({"hp": -1, "faint": -1, "status": 0})


def test_potential_of_team_preview_is_zero():
    view = even_position(phase="preview")
    put(view, OWN, 0, hp=10)
    assert not rewards.potentials(view).any()


def test_worse_status_conditions_cost_more():
    potential_of = {}
    for status in STATUSES[1:]:
        view = even_position()
        put(view, FOE, 0, status=STATUSES.index(status))
        potential_of[status] = potential(view)["status"]
    assert potential_of["slp"] > potential_of["tox"] > potential_of["psn"] > 0
    assert potential_of["brn"] > potential_of["psn"]
