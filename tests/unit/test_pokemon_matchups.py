"""Estimated matchups of Pokémon against the damage formula by hand."""

import numpy as np
import pytest
import torch

from nemesis.games.pokemon.damage.matchups import MatchupEstimator, Matchups
from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.network.encoder import TeamStateReader
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, ROOMS, SIDE, SIDE_CONDITIONS, STATUSES, cut

GARCHOMP = {"atk": 359, "def": 226, "spa": 176, "spd": 206, "spe": 333}
HEATRAN_HP = 2 * 91 + 52 + 100 + 10
HEATRAN_DEFENCE, HEATRAN_SPECIAL_DEFENCE = 2 * 106 + 52 + 5, 2 * 106 + 52 + 5


def number(kind: str, name: str) -> int:
    return vocabulary().number(kind, name)


class Duel:
    """Garchomp against a Heatran with unknown stats and set, at level 100."""

    def __init__(self, *moves: str, mod: str = "gen9", slots: int = 1) -> None:
        self.mod, self.slots = mod, slots
        self.view = np.zeros((1, layout.VIEW_SIZE), np.int16)
        self.own(species=number("species", "garchomp"), level=100, hp=357, max_hp=357, active=1)
        self.own(types=[number("types", "dragon"), number("types", "ground"), 0], stats=[*GARCHOMP.values()])
        self.own(moves=[number("moves", move) for move in moves] + [0] * (4 - len(moves)))
        self.foe(species=number("species", "heatran"), level=100, hp=100, max_hp=100, active=1)
        self.foe(types=[number("types", "fire"), number("types", "steel"), 0])

    def own(self, **fields: object) -> "Duel":
        return self._write(OWN, fields)

    def foe(self, **fields: object) -> "Duel":
        return self._write(FOE, fields)

    def position(self, **fields: int) -> "Duel":
        for name, value in fields.items():
            cut(self.view).position[0, POSITION.columns(name)] = value
        return self

    def condition(self, side: int, name: str) -> "Duel":
        cut(self.view).side[0, side, SIDE.columns("layers").start + SIDE_CONDITIONS.index(name)] = 1
        return self

    def _write(self, side: int, fields: dict[str, object]) -> "Duel":
        for name, value in fields.items():
            cut(self.view).pokemon[0, side, 0, POKEMON.columns(name)] = value
        return self

    def estimate(self) -> Matchups:
        view = torch.from_numpy(self.view).float()
        return MatchupEstimator(self.slots, self.mod)(view, TeamStateReader(self.slots)(view))

    def damage(self, move: int = 0) -> float:
        """Return the share of Heatran's HP that a move of Garchomp takes."""
        return float(self.estimate().effects[0, OWN, 0, 0, move, 0])


def formula(power: float, attack: float, defence: float, factors: float) -> float:
    return (0.4 * 100 + 2) * power * attack / defence / 50 * factors / HEATRAN_HP


def test_damage_is_that_of_the_formula():
    duel = Duel("dragonclaw", "earthquake", "energyball", "swordsdance")
    assert duel.damage(0) == pytest.approx(formula(80, 359, HEATRAN_DEFENCE, 1.5 * 0.5), rel=1e-3)
    assert duel.damage(1) == pytest.approx(formula(100, 359, HEATRAN_DEFENCE, 1.5 * 4), rel=1e-3)
    assert duel.damage(2) == pytest.approx(formula(90, 176, HEATRAN_SPECIAL_DEFENCE, 0.25), rel=1e-3)
    assert duel.damage(3) == 0


@pytest.mark.parametrize(
    ("move", "power", "attack", "factors"),
    [
        ("bodypress", 80, 226, 2),  # attacks with its own defence
        ("stoneedge", 100, 359, 0.8),  # misses one in five; rock is neutral to fire and steel together
        ("doublekick", 30, 359, 2 * 2),  # twice
        ("lowkick", 60, 359, 2),  # depends on the target's weight; a constant is used
    ],
)
def test_moves_with_special_rules(move: str, power: float, attack: float, factors: float):
    assert Duel(move).damage() == pytest.approx(formula(power, attack, HEATRAN_DEFENCE, factors), rel=1e-3)


def test_some_special_moves_use_physical_defence():
    plain = Duel("psyshock").damage()
    assert Duel("psyshock").foe(boosts=[0, 2, 0, 0, 0, 0, 0]).damage() == pytest.approx(plain / 2, rel=1e-3)
    assert Duel("psyshock").foe(boosts=[0, 0, 0, 2, 0, 0, 0]).damage() == pytest.approx(plain, rel=1e-3)


def test_fixed_damage_ignores_resistance_and_bonus_but_not_immunity():
    assert Duel("seismictoss").damage() == pytest.approx(100 / HEATRAN_HP, rel=1e-3)
    assert Duel("dragonrage").damage() == pytest.approx(40 / HEATRAN_HP, rel=1e-3)
    assert Duel("seismictoss").foe(types=[number("types", "ghost"), 0, 0]).damage() == pytest.approx(0, abs=1e-6)


CHANGES = {
    "boost": (lambda duel: duel.own(boosts=[2, 0, 0, 0, 0, 0, 0]), 2),
    "lowered attack": (lambda duel: duel.own(boosts=[-1, 0, 0, 0, 0, 0, 0]), 2 / 3),
    "lowered defence": (lambda duel: duel.foe(boosts=[0, -1, 0, 0, 0, 0, 0]), 1.5),
    "other boosts": (lambda duel: duel.own(boosts=[0, 6, 6, 6, 6, 6, 6]).foe(boosts=[6, 0, 6, 6, 6, 6, 6]), 1),
    "burn": (lambda duel: duel.own(status=STATUSES.index("brn")), 0.5),
    "choice band": (lambda duel: duel.own(item=number("items", "choiceband")), 1.5),
    "dragon fang": (lambda duel: duel.own(item=number("items", "dragonfang")), 1.2),
    "charcoal": (lambda duel: duel.own(item=number("items", "charcoal")), 1),
    "huge power": (lambda duel: duel.own(ability=number("abilities", "hugepower")), 2),
    "fur coat": (lambda duel: duel.foe(ability=number("abilities", "furcoat")), 0.5),
    "reflect": (lambda duel: duel.condition(FOE, "reflect"), 0.5),
    "aurora veil": (lambda duel: duel.condition(FOE, "auroraveil"), 0.5),
    "own reflect": (lambda duel: duel.condition(OWN, "reflect"), 1),
    "light screen": (lambda duel: duel.condition(FOE, "lightscreen"), 1),
    "misty terrain": (lambda duel: duel.position(terrain=layout.TERRAINS.index("mistyterrain")), 0.5),
    "rain": (lambda duel: duel.position(weather=layout.WEATHERS.index("raindance")), 1),
    "fairy": (lambda duel: duel.foe(types=[number("types", "fairy"), 0, 0]), 0),
    "dragon": (lambda duel: duel.foe(types=[number("types", "dragon"), 0, 0]), 4),
    "no bonus": (lambda duel: duel.own(types=[number("types", "fire"), 0, 0]), 1 / 1.5),
    "terastallized": (lambda duel: duel.own(types=[number("types", "fire"), 0, 0], terastallized=1), 1),
    "paradox": (lambda duel: duel.own(paradox_stat=1 + layout.STATS.index("atk")), 1.3),
    "bold foe": (lambda duel: duel.foe(nature=layout.NATURES.index("bold")), HEATRAN_DEFENCE / (HEATRAN_DEFENCE + 25)),
    "own nature": (lambda duel: duel.own(nature=layout.NATURES.index("bold")), 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_factors_of_the_damage_of_a_dragon_claw(change: str):
    apply, factor = CHANGES[change]
    assert apply(Duel("dragonclaw")).damage() == pytest.approx(factor * Duel("dragonclaw").damage(), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(("ability", "move"), [("levitate", "earthquake"), ("flashfire", "flamethrower")])
def test_some_abilities_give_immunity(ability: str, move: str):
    assert Duel(move).foe(ability=number("abilities", ability)).damage() == pytest.approx(0, abs=1e-6)


def test_spread_moves_are_weaker_in_doubles():
    singles, doubles = (Duel("earthquake", "dragonclaw", slots=slots) for slots in (1, 2))
    assert doubles.damage(0) == pytest.approx(0.75 * singles.damage(0), rel=1e-3)
    assert doubles.damage(1) == pytest.approx(singles.damage(1), rel=1e-3)


def test_a_mod_has_its_own_type_chart_and_stats():
    bite = Duel("bite", mod="gen1").own(
        types=[number("types", "normal"), 0, 0]
    )  # a Normal move in the first generation
    assert Duel("bite", mod="gen9").damage() > 0
    defence, hit_points = 2 * 106 + 93 + 5, 2 * 91 + 93 + 100 + 10
    expected = (0.4 * 100 + 2) * 60 * 359 / defence / 50 * 1.5 / hit_points
    assert bite.foe(types=[number("types", "fire"), 0, 0]).damage() == pytest.approx(expected, rel=0.02)


def test_edges_are_mirrored_and_have_damage_knock_outs_and_speed():
    duel = Duel("earthquake").foe(hp=30)
    edges = duel.estimate().edges[0]
    dealt, guessed_dealt, knock_out, taken, guessed_taken, knocked_out, faster = edges[OWN, 0, 0].tolist()
    assert dealt == pytest.approx(duel.damage(), rel=1e-3)
    assert (knock_out, taken, knocked_out, faster) == (1, 0, 0, 1)
    assert guessed_dealt > 0  # by moves of its types
    assert guessed_taken > 0  # although the foe has revealed none
    torch.testing.assert_close(edges[FOE, 0, 0, [3, 4, 5, 0, 1, 2]], edges[OWN, 0, 0, :6])
    assert edges[FOE, 0, 0, 6] == -1
    slow = Duel("earthquake").own(status=STATUSES.index("par"))
    assert slow.estimate().edges[0, OWN, 0, 0, 6] == -1
    assert slow.condition(OWN, "tailwind").estimate().edges[0, OWN, 0, 0, 6] == 1
    assert slow.own(boosts=[0, 0, 0, 0, -2, 0, 0]).estimate().edges[0, OWN, 0, 0, 6] == -1
    rooms = np.zeros(len(ROOMS), np.int16)
    rooms[ROOMS.index("trickroom")] = 3
    assert Duel("earthquake").position(rooms=rooms).estimate().edges[0, OWN, 0, 0, 6] == -1


def test_an_empty_slot_takes_no_damage():
    assert Duel("earthquake").foe(active=0).damage() == 0
