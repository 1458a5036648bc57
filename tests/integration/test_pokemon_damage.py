"""The damage estimate against the simulator's own formula, on attacks from random battles."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nemesis.games.pokemon.damage.formula import Estimator
from nemesis.games.pokemon.damage.pokemon_batch import Battlefield, read_side
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, SIDE, cut

CASES = Path(__file__).with_name("damage_cases.mjs")
BATTLES = 5
IDS = {kind: {name: number for number, name in enumerate(getattr(dex.vocabulary(), kind), 1)} for kind in dex.KINDS}
# The simulator's formula alone does not include when these fail, or the damage that they return.
OUTSIDE = {"poltergeist", "fakeout", "firstimpression", "dreameater", "steelroller", "counter", "mirrorcoat", "bide"}


def cases_of(battle_format):
    node = find_node("bundled")
    command = [node.node, CASES, installed_host(node), battle_format, str(BATTLES)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [case for case in map(json.loads, lines) if case["move"] not in OUTSIDE]


def views_of(cases):
    """Write the cases into records without hidden information, the attacker as the first own Pokémon."""
    view = np.zeros((len(cases), layout.VIEW_SIZE), np.int16)
    parts = cut(view)
    for row, case in enumerate(cases):
        parts.position[row, POSITION.column("weather")] = layout.WEATHERS.index(case["weather"])
        parts.position[row, POSITION.column("terrain")] = layout.TERRAINS.index(case["terrain"])
        for side, pokemon in ((OWN, case["attacker"]), (FOE, case["defender"])):
            write(parts.pokemon[row, side, 0], pokemon)
            layers = parts.side[row, side, SIDE.columns("layers")]
            for place, name in enumerate(layout.SIDE_CONDITIONS):
                layers[place] = pokemon["conditions"].get(name, 0)
        parts.pokemon[row, OWN, 0, POKEMON.columns("moves").start] = IDS["moves"][case["move"]]
    return parts


def write(record, pokemon):
    words = np.zeros(POKEMON.columns("volatiles").stop - POKEMON.columns("volatiles").start, np.uint16)
    for name in set(pokemon["volatiles"]) & set(layout.VOLATILES):
        place = layout.VOLATILES.index(name)
        words[place // 16] |= 1 << (place % 16)
    types = [IDS["types"].get(name, 0) for name in pokemon["types"]]
    fields = {name: pokemon[name] for name in ("level", "hp", "max_hp", "terastallized", "stats", "boosts")} | {
        "species": IDS["species"][pokemon["species"]],
        "status": layout.STATUSES.index(pokemon["status"]),
        "types": [*types, 0, 0, 0][:3],
        "tera_type": IDS["types"].get(pokemon["tera_type"], 0),
        "item": IDS["items"].get(pokemon["item"], 0),
        "item_state": layout.ITEM_STATES.index("held" if pokemon["item"] else "none"),
        "ability": IDS["abilities"].get(pokemon["ability"], 0),
        "paradox_stat": 1 + layout.STATS.index(pokemon["paradox_stat"]) if pokemon["paradox_stat"] else 0,
        "volatiles": words.view(np.int16),
    }
    for name, value in fields.items():
        record[POKEMON.columns(name)] = value


@pytest.mark.parametrize(("battle_format", "mod"), [("gen1randombattle", "gen1"), ("gen9randombattle", "gen9")])
def test_estimate_agrees_with_the_simulator(battle_format, mod):
    cases = cases_of(battle_format)
    parts = views_of(cases)
    estimator = Estimator(mod)
    field = Battlefield.read(parts, 1)
    attackers = read_side(parts, OWN, estimator.tables, field).select(slice(0, 1))
    defenders = read_side(parts, FOE, estimator.tables, field).select(slice(0, 1))
    damage = estimator.estimate(attackers, estimator.moves.read(attackers["moves"][..., :1]), defenders)

    hp = np.array([case["defender"]["max_hp"] for case in cases])
    hits = estimator.tables.moves["hits"][[IDS["moves"][case["move"]] for case in cases]]
    once = hits[:, 1] == 1  # the simulator was asked for one hit
    estimated, exact = (damage.fraction[:, 0, 0, 0] * hp)[once], np.array([case["damage"] for case in cases])[once]
    assert len(exact) > 300
    assert np.mean((estimated > 0) == (exact > 0)) > 0.985
    both = (estimated > 0) & (exact > 0)
    ratio = estimated[both] / exact[both]
    assert np.median(ratio) == pytest.approx(1, abs=0.03)
    assert np.mean(np.abs(ratio - 1) < 0.1) > 0.9
    assert np.mean(np.abs(ratio - 1) < 0.25) > 0.97
