"""Action classes and the opponent model, on random records."""

import numpy as np
import pytest
import torch
from pokemon_views import MOD, random_views

from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.network.encoder import PokemonEncoder
from nemesis.games.pokemon.network.opponent_model import PokemonOpponentModel, action_classes, class_names
from nemesis.games.pokemon.network.pointer_head import PokemonActionHead
from nemesis.games.pokemon.views.actions import OPTIONS, PASS, SWITCH, TURNS, action_space
from nemesis.games.pokemon.views.layout import OWN, POKEMON, POSITION, cut
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy, parameter_count

torch.set_num_threads(1)

COUNT = 40
NAMES = class_names(MOD)


def classes_of(view: np.ndarray, slots: int, action: int, brought: int = 6) -> np.ndarray:
    return action_classes(view, np.full(len(view), action), action_space(slots, brought), NAMES)


def own(view: np.ndarray, place: int, field: str) -> np.ndarray:
    return cut(view).pokemon[:, OWN, place, POKEMON.columns(field)]


def set_only_move(view: np.ndarray, number: int) -> np.ndarray:
    cut(view).position[:, POSITION.columns("only_move")] = number
    return view


def test_the_class_of_a_move_is_its_id_with_or_without_the_gimmick():
    view = random_views(COUNT, 1)
    for move in range(4):
        expected = NAMES.of_move[own(view, 0, "moves")[:, move]]
        np.testing.assert_array_equal(classes_of(view, 1, move)[:, 0], expected)
        np.testing.assert_array_equal(classes_of(view, 1, 4 + move)[:, 0], expected)


def test_the_class_of_a_switch_or_lead_is_the_species():
    view = random_views(COUNT, 1)
    for place in range(6):
        expected = NAMES.of_species[own(view, place, "base_species")[:, 0]]
        np.testing.assert_array_equal(classes_of(view, 1, 8 + place)[:, 0], expected)
        np.testing.assert_array_equal(classes_of(view, 1, 14 + place)[:, 0], expected)


def test_both_slots_of_doubles_have_classes_and_a_pass_has_none():
    view = random_views(COUNT, 2, 4)
    move_2_at_a_foe, switch_1 = 10 + 3, SWITCH
    first, second = classes_of(view, 2, move_2_at_a_foe * OPTIONS + switch_1, 4).T
    np.testing.assert_array_equal(first, NAMES.of_move[own(view, 0, "moves")[:, 1]])
    np.testing.assert_array_equal(second, NAMES.of_species[own(view, 0, "base_species")[:, 0]])
    first, second = classes_of(view, 2, PASS * OPTIONS + move_2_at_a_foe, 4).T
    assert (first == -1).all()
    np.testing.assert_array_equal(second, NAMES.of_move[own(view, 1, "moves")[:, 1]])


def test_the_leads_of_doubles_have_classes():
    view = random_views(COUNT, 2, 4)
    for pick, leads in ((0, (0, 1)), (89, (4, 5))):
        expected = np.stack([NAMES.of_species[own(view, place, "base_species")[:, 0]] for place in leads], axis=1)
        np.testing.assert_array_equal(classes_of(view, 2, TURNS + pick, 4), expected)


def test_all_formes_of_a_pokemon_have_one_class():
    one, other = (NAMES.of_species[vocabulary().number("species", name)] for name in ("zacian", "zaciancrowned"))
    assert one == other > 0


def test_an_only_move_of_the_request_gives_the_class():
    number = vocabulary().number("moves", "struggle")
    view = set_only_move(random_views(COUNT, 1), number)
    assert (classes_of(view, 1, 0) == NAMES.of_move[number]).all()


def test_moves_and_species_of_a_mod_have_distinct_classes():
    for mod, moves, species in (("gen1", 164, 151), ("gen9", 600, 400)):
        names = class_names(mod)
        assert len(np.unique(names.of_move)) - 1 >= moves
        assert len(np.unique(names.of_species)) - 1 >= species
        assert not np.isin(names.of_move[names.of_move > 0], names.of_species).any()
        assert names.count == max(names.of_species) + 1
        assert names.of_move[0] == names.of_species[0] == 0


@pytest.mark.parametrize(("slots", "brought"), [(1, 6), (2, 4)])
def test_the_head_is_small_and_has_outputs_for_each_slot(slots: int, brought: int):
    torch.manual_seed(0)
    policies = [
        Policy(
            lambda width: PokemonEncoder(width, slots, MOD, brought),
            lambda width: PokemonActionHead(width, slots),
            PolicyConfig(opponent_model=opponent_model),
            lambda width: PokemonOpponentModel(width, NAMES.count),
        )
        for opponent_model in (False, True)
    ]
    without, with_head = map(parameter_count, policies)
    assert 1 < with_head / without < 1.12
    view = torch.from_numpy(random_views(COUNT, slots, brought))[:, None]
    mask = torch.ones(COUNT, 1, action_space(slots, brought).size, dtype=torch.bool)
    opponent_features = policies[1](view, mask, torch.zeros(COUNT, 0)).opponent_features
    assert opponent_features.shape[:3] == (COUNT, 1, slots)
    logits = policies[1].opponent_logits(opponent_features.flatten(0, 2))
    assert logits.shape == (COUNT * slots, NAMES.count)
    if slots > 1:
        assert (opponent_features[:, 0, 0] - opponent_features[:, 0, 1]).abs().max() > 0.01
