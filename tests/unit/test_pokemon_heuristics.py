"""Scripted players: always legal, and right in clear positions."""

import numpy as np
import pytest
from pokemon_views import random_views

from nemesis.games.pokemon.damage.pokemon_batch import estimated_stats
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.scripted import heuristics
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import OPTIONS, Kind, action_space
from nemesis.games.pokemon.views.layout import FOE, GIMMICKS, OWN, PHASES, POKEMON, POSITION, SIDE, STATUSES, cut

IDS = dex.vocabulary()
SWITCH = 8  # the first action of singles that switches


class Position:
    """One record, written from names."""

    def __init__(self, mod, own, foe, slots=1, phase="turn"):
        self.mod, self.slots = mod, slots
        self.tables = dex.tables(mod)
        self.view = np.zeros((1, layout.VIEW_SIZE), np.int16)
        self.parts = cut(self.view)
        self.parts.position[:, POSITION.column("phase")] = PHASES.index(phase)
        for side, team in ((OWN, own), (FOE, foe)):
            self.parts.side[:, side, SIDE.column("brought_size")] = len(team)
            self.parts.side[:, side, SIDE.column("left")] = len(team)
            for member, (species, moves) in enumerate(team):
                self._add(side, member, species, moves, active=member < slots and phase == "turn")

    def _add(self, side, member, species, moves, active):
        number = IDS.number("species", species)
        level = np.array(100)
        stats = estimated_stats(self.tables.species["base_stats"][number], level, self.tables.generation)
        known = {
            "species": number, "level": 100, "max_hp": stats[0] if side == OWN else 100,
            "hp": stats[0] if side == OWN else 100, "types": [*self.tables.species["types"][number], 0],
            "stats": stats[1:] if side == OWN else 0, "active": member + 1 if active else 0,
            "moves": [IDS.number("moves", move) for move in moves] + [0] * (4 - len(moves)), "pp": 8, "max_pp": 8,
        }  # fmt: skip
        self.put(side, member, **known)

    def put(self, side, member, **fields):
        for name, value in fields.items():
            self.parts.pokemon[:, side, member, POKEMON.columns(name)] = value
        return self

    def weaken(self, side, member, fraction):
        max_hp = self.parts.pokemon[0, side, member, POKEMON.column("max_hp")]
        return self.put(side, member, hp=round(float(max_hp) * fraction))

    def choose(self, player, legal, copies=1, seed=0):
        """Return the actions of a player in copies of the position."""
        space = action_space(self.slots)
        mask = np.zeros((copies, space.size), np.bool_)
        mask[:, legal] = True
        play = heuristics.scripted(self.slots, self.mod)[player]
        return play(np.repeat(self.view, copies, axis=0), mask, np.random.default_rng(seed))


def lone(mod, own, foe, bench=()):
    return Position(mod, [own, *bench], [foe])


@pytest.mark.parametrize("mod", ["gen1", "gen4", "gen7", "gen8", "gen9", "champions"])
@pytest.mark.parametrize(("slots", "brought"), [(1, 6), (2, 6), (2, 4)])
def test_any_position_gets_a_legal_action(mod, slots, brought):
    generator = np.random.default_rng(slots)
    view = random_views(64, slots, brought, seed=3)
    space = action_space(slots, brought)
    mask = generator.random((len(view), space.size)) < 0.05
    previewing = view[:, POSITION.column("phase")] == PHASES.index("preview")
    mask[previewing, : space.previews.start] = False
    mask[~previewing, space.previews] = False
    mask[previewing, space.previews.start + generator.integers(6)] = True
    mask[~previewing, generator.integers(space.previews.start)] = True
    with np.errstate(all="raise", under="ignore"):
        for name, play in heuristics.scripted(slots, mod, brought).items():
            chosen = play(view, mask, generator)
            assert mask[np.arange(len(view)), chosen].all(), name


def test_the_same_generator_chooses_the_same():
    view, mask = random_views(32, 1), np.ones((32, 20), np.bool_)
    play = heuristics.scripted(1, "gen9")["greedy"]
    one, other = (play(view, mask, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one, other)


def test_equal_moves_are_chosen_equally_often():
    position = lone("gen9", ("snorlax", ["bodyslam", "bodyslam"]), ("mew", []))
    for player in ("max_power", "greedy"):
        chosen = position.choose(player, [0, 1], copies=400)
        assert 120 < np.count_nonzero(chosen == 0) < 280


def test_max_power_considers_only_power():
    position = lone("gen9", ("starmie", ["surf", "hydropump", "thunderbolt", "recover"]), ("dragonite", []))
    assert position.choose("max_power", [0, 1, 2, 3, 9]) == 1


@pytest.mark.parametrize(
    ("mod", "own", "foe", "best"),
    [
        ("gen9", ("starmie", ["surf", "thunderbolt", "psychic", "icebeam"]), "gyarados", 1),
        ("gen9", ("garchomp", ["earthquake", "dragonclaw", "bodyslam"]), "zapdos", 1),  # immune to Earthquake
        ("gen1", ("tauros", ["bodyslam", "earthquake"]), "gengar", 1),  # a ghost
        ("gen9", ("garchomp", ["earthquake", "dragonclaw"]), "bronzong", 1),  # may levitate
    ],
)
def test_greedy_uses_the_move_with_the_most_damage(mod, own, foe, best):
    position = lone(mod, own, (foe, []))
    if foe == "bronzong":
        position.put(FOE, 0, ability=IDS.number("abilities", "levitate"))
    assert position.choose("greedy", np.arange(len(own[1]))) == best


def test_greedy_prefers_a_sure_knock_out_to_a_strong_move_that_may_miss():
    position = lone("gen9", ("starmie", ["hydropump", "surf"]), ("charizard", [])).weaken(FOE, 0, 0.3)
    assert position.choose("greedy", [0, 1]) == 1


def test_greedy_uses_priority_when_it_would_faint_first():
    foe = ("alakazam", ["psychic"])
    position = lone("gen9", ("lucario", ["closecombat", "bulletpunch", "swordsdance"]), foe)
    position.weaken(OWN, 0, 0.1).weaken(FOE, 0, 0.1)
    assert position.choose("greedy", [0, 1, 2]) == 1


def test_greedy_switches_out_of_a_lost_duel():
    foe = ("rhydon", ["rockslide", "earthquake"])
    bench = [("starmie", ["surf", "icebeam"]), ("jolteon", ["thunderbolt"])]
    position = lone("gen1", ("charizard", ["fireblast", "slash"]), foe, bench)
    assert position.choose("greedy", [0, 1, SWITCH + 1, SWITCH + 2]) == SWITCH + 1


def test_greedy_stays_in_a_won_duel():
    bench = [("charizard", ["fireblast"]), ("jolteon", ["thunderbolt"])]
    position = lone("gen1", ("starmie", ["surf", "icebeam"]), ("rhydon", ["rockslide"]), bench)
    assert position.choose("greedy", [0, 1, SWITCH + 1, SWITCH + 2]) == 0


def test_greedy_sends_in_the_best_pokemon():
    team = [("charizard", ["fireblast"]), ("jolteon", ["thunderbolt"]), ("starmie", ["surf"])]
    position = Position("gen1", team, [("rhydon", ["earthquake"])], phase="forced_switch")
    position.put(FOE, 0, active=1)
    assert position.choose("greedy", [SWITCH, SWITCH + 1, SWITCH + 2]) == SWITCH + 2


def test_greedy_heals_at_low_hp_when_safe():
    position = lone("gen9", ("blissey", ["softboiled", "seismictoss"]), ("vaporeon", ["surf"]))
    assert position.choose("greedy", [0, 1]) == 1
    assert position.weaken(OWN, 0, 0.3).choose("greedy", [0, 1]) == 0


def test_greedy_knows_immunities_to_status_conditions():
    own = ("slowbro", ["spore", "surf"])
    assert lone("gen9", own, ("dragonite", [])).choose("greedy", [0, 1]) == 0
    poisoned = lone("gen9", own, ("dragonite", [])).put(FOE, 0, status=STATUSES.index("psn"))
    assert poisoned.choose("greedy", [0, 1]) == 1
    asleep = Position("gen9", [own], [("dragonite", []), ("mew", [])]).put(FOE, 1, status=STATUSES.index("slp"))
    assert asleep.choose("greedy", [0, 1]) == 1
    assert lone("gen9", own, ("venusaur", [])).choose("greedy", [0, 1]) == 1  # Grass is immune to powder
    assert lone("gen9", ("slowbro", ["thunderwave", "surf"]), ("garchomp", [])).choose("greedy", [0, 1]) == 1


def test_greedy_sets_up_only_when_it_can_afford_it():
    own = ("snorlax", ["swordsdance", "bodyslam"])
    assert lone("gen9", own, ("skarmory", ["bodyslam"])).choose("greedy", [0, 1]) == 0
    assert lone("gen9", own, ("machamp", ["closecombat"])).choose("greedy", [0, 1]) == 1


def test_greedy_lays_hazards_once():
    position = Position(
        "gen9", [("skarmory", ["spikes", "bravebird"])], [("blissey", ["softboiled"])] + [("mew", [])] * 5
    )
    assert position.choose("greedy", [0, 1]) == 0
    position.parts.side[:, FOE, SIDE.columns("layers")][:, layout.SIDE_CONDITIONS.index("spikes")] = 3
    assert position.choose("greedy", [0, 1]) == 1


def test_greedy_terastallizes_only_for_a_knock_out():
    def position(foe, foe_hp):
        lucario = lone("gen9", ("lucario", ["closecombat"]), foe).weaken(FOE, 0, foe_hp)
        lucario.put(OWN, 0, tera_type=IDS.number("types", "fighting"))
        lucario.parts.position[:, POSITION.columns("gimmick")] = GIMMICKS.index("terastallize")
        return lucario

    assert position(("garchomp", ["earthquake"]), 0.9).choose("greedy", [0, 4]) == 4
    assert position(("chansey", ["seismictoss"]), 0.3).choose("greedy", [0, 4]) == 0


def test_preview_prefers_leads_that_beat_the_other_team():
    own = [("charizard", ["flamethrower"]), ("jolteon", ["thunderbolt"]), ("starmie", ["surf"])]
    position = Position("gen9", own, [("rhydon", []), ("golem", []), ("sandslash", [])], phase="preview")
    leads = action_space(1).previews.start + np.arange(3)
    assert np.mean(position.choose("greedy", leads, copies=50) == leads[2]) > 0.8


def pair_of(action):
    """Return (move, target) of both slots."""
    space = action_space(2)
    return [(int(space.move[action, slot]), int(space.target[action, slot])) for slot in range(2)]


def aimed(moves):
    """Return the turns in which both slots use one of their first moves, with any target."""
    space = action_space(2)
    legal = (space.kind[: OPTIONS**2] == Kind.MOVE) & ~space.gimmick[: OPTIONS**2]
    legal &= (space.move[: OPTIONS**2] < moves) & (space.target[: OPTIONS**2] != 0)
    return np.flatnonzero(legal.all(1))


def test_focus_fire_combines_attacks_to_knock_out():
    own = [("snorlax", ["bodyslam"]), ("tauros", ["bodyslam"])]
    position = Position("gen9", own, [("mew", ["psychic"]), ("mew", ["psychic"])], slots=2)
    position.weaken(FOE, 0, 0.5).weaken(FOE, 1, 0.5)
    together = [pair_of(action) for action in position.choose("focus_fire", aimed(1), copies=20)]
    assert all(one == other and one[1] > 0 for one, other in together)


def test_focus_fire_avoids_overkill():
    own = [("snorlax", ["bodyslam"]), ("tauros", ["bodyslam"])]
    position = Position("gen9", own, [("mew", ["psychic"]), ("mew", ["psychic"])], slots=2)
    position.weaken(FOE, 0, 0.1).weaken(FOE, 1, 0.1)
    apart = [pair_of(action) for action in position.choose("focus_fire", aimed(1), copies=20)]
    assert all({one[1], other[1]} == {1, 2} for one, other in apart)


@pytest.mark.parametrize("player", ["max_power", "greedy", "focus_fire"])
def test_no_player_attacks_its_ally_or_a_fainted_foe(player):
    own = [("snorlax", ["bodyslam"]), ("tauros", ["bodyslam"])]
    position = Position("gen9", own, [("mew", ["psychic"]), ("mew", ["psychic"])], slots=2)
    position.put(FOE, 0, hp=0, fainted=1)
    assert pair_of(position.choose(player, aimed(1))[0]) == [(0, 2), (0, 2)]


@pytest.mark.parametrize("player", ["greedy", "focus_fire"])
def test_spread_moves_that_hurt_the_ally_are_avoided(player):
    space = action_space(2)
    quake, claw = 2, 10 + 3  # the first move without a target, the second at the first foe
    legal = [option * OPTIONS + claw for option in (quake, claw)]
    for ally, spared in (("heatran", True), ("zapdos", False)):
        own = [("garchomp", ["earthquake", "dragonclaw"]), (ally, ["protect", "ancientpower"])]
        position = Position("gen9", own, [("metagross", []), ("tyranitar", [])], slots=2)
        assert (space.move[position.choose(player, legal)[0], 0] == 1) == spared
