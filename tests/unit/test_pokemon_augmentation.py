"""Data augmentation: permuted Pokémon and exchanged slots give equivalent decisions."""

import numpy as np
import pytest
from pokemon_views import View, random_views
from test_pokemon_encoder import COUNT, FORMATS, assert_same, evaluate, strong

from nemesis.core.game import AugmentedGame, BoolArray, IntArray
from nemesis.games.pokemon.game import open_game
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import action_space
from nemesis.games.pokemon.views.augmentation import AUGMENTATIONS, augment
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, SIDE, TEAM, cut

PREVIEW = layout.PHASES.index("preview")


@pytest.fixture(params=FORMATS)
def battle(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def decisions(battle: str, count: int = COUNT, seed: int = 0) -> tuple[View, BoolArray, IntArray]:
    """Return views with random masks and legal actions."""
    slots, brought = FORMATS[battle]
    space = action_space(slots, brought)
    view = random_views(count, slots, brought, seed)
    parts = cut(view)
    parts.position[:, POSITION.columns("reviving")] = 0
    preview = parts.position[:, POSITION.column("phase")] == PREVIEW
    parts.pokemon[preview, :, :, POKEMON.column("active")] = 0
    generator = np.random.default_rng(seed)
    mask = generator.random((count, space.size)) < 0.3
    at_preview = np.zeros(space.size, np.bool_)
    at_preview[space.previews] = True
    mask &= preview[:, None] == at_preview
    mask[np.arange(count), np.where(preview, space.previews.start, 0)] = True
    return view, mask, np.array([generator.choice(np.flatnonzero(row)) for row in mask])


def augmented(
    battle: str, names: tuple[str, ...], view: View, mask: BoolArray, action: IntArray, seed: int = 0
) -> tuple[View, BoolArray, IntArray]:
    space = action_space(*FORMATS[battle])
    generator = np.random.default_rng(seed)
    return augment(space, names, view, mask, action, np.arange(len(view)), generator)


@pytest.mark.parametrize("names", [("order",), ("slots",), AUGMENTATIONS])
def test_an_equivariant_network_scores_every_legal_action_as_before(battle: str, names: tuple[str, ...]):
    view, mask, action = decisions(battle)
    new_view, new_mask, new_action = augmented(battle, names, view, mask, action)
    (logits, value), (new_logits, new_value) = (evaluate(strong(battle), one) for one in (view, new_view))
    assert_same(new_value, value)
    rows = np.arange(len(action))
    assert_same(new_logits[rows, new_action], logits[rows, action])
    for row in rows:  # all legal actions, whatever their new index
        assert_same(np.sort(new_logits[row, new_mask[row]]), np.sort(logits[row, mask[row]]))
    if names != ("slots",) or FORMATS[battle][0] > 1:
        assert (new_view != view).any(axis=1).mean() > 0.5


@pytest.mark.parametrize("names", [("order",), ("slots",), AUGMENTATIONS])
def test_chosen_actions_stay_legal_and_unknown_actions_unknown(battle: str, names: tuple[str, ...]):
    view, mask, action = decisions(battle, 200)
    unknown = np.arange(200) % 5 == 0
    _, new_mask, new_action = augmented(battle, names, view, mask, np.where(unknown, -1, action))
    assert (new_action[unknown] == -1).all()
    known = np.flatnonzero(~unknown)
    assert new_mask[known, new_action[known]].all()
    np.testing.assert_array_equal(new_mask.sum(axis=1), mask.sum(axis=1))
    if names != ("slots",) or FORMATS[battle][0] > 1:
        assert (new_action != action)[known].mean() > 0.2


def test_several_masks_are_transformed_alike(battle: str):
    view, mask, action = decisions(battle, 200)
    possible = np.arange(mask.shape[1]) == action[:, None]
    _, new_mask, new_action = augmented(battle, AUGMENTATIONS, view, mask, action)
    _, both, _ = augmented(battle, AUGMENTATIONS, view, np.stack([mask, possible], axis=1), action)
    np.testing.assert_array_equal(both[:, 0], new_mask)
    np.testing.assert_array_equal(both[:, 1], np.arange(mask.shape[1]) == new_action[:, None])


def test_nothing_changes_without_augmentations(battle: str):
    before = decisions(battle)
    for old, new in zip(before, augmented(battle, (), *before), strict=True):
        np.testing.assert_array_equal(new, old)


def test_each_episode_has_its_own_transformation(battle: str):
    view, mask, action = (np.repeat(array[:1], 60, axis=0) for array in decisions(battle))
    cut(view).position[:, POSITION.column("phase")] = layout.PHASES.index("turn")
    episode = np.repeat(np.arange(6), 10)
    generator = np.random.default_rng(0)
    new_view, _, _ = augment(action_space(*FORMATS[battle]), AUGMENTATIONS, view, mask, action, episode, generator)
    by_episode = new_view.reshape(6, 10, -1)
    assert (by_episode == by_episode[:, :1]).all()
    assert len(np.unique(by_episode[:, 0], axis=0)) > 3


def test_active_pokemon_stay_in_front_and_unbrought_ones_at_the_end(battle: str):
    slots, brought = FORMATS[battle]
    view, mask, action = decisions(battle, 300)
    parts = cut(view)
    parts.pokemon[:, OWN, :, POKEMON.column("level")] = np.arange(TEAM) + 1  # marks the old place
    new_view, _, _ = augmented(battle, AUGMENTATIONS, view, mask, action)
    turns = parts.position[:, POSITION.column("phase")] != PREVIEW
    place = cut(new_view).pokemon[:, OWN, :, POKEMON.column("level")] - 1
    assert (place[turns, :slots] < slots).all()
    assert (place[turns, brought:] >= brought).all()
    assert len(np.unique(place[turns], axis=0)) > 1
    firsts = np.bincount(place[~turns, 0], minlength=TEAM)
    assert (firsts > 0).all()  # at the preview any Pokémon may come first
    active = cut(new_view).pokemon[turns, OWN, :, POKEMON.column("active")]
    np.testing.assert_array_equal(active[:, :slots], np.tile(np.arange(slots) + 1, (int(turns.sum()), 1)))


def test_a_small_team_keeps_its_empty_places_at_the_end():
    view, mask, action = decisions("doubles of six", 200)
    parts = cut(view)
    parts.side[..., SIDE.columns("team_size")] = parts.side[..., SIDE.columns("brought_size")] = 3
    parts.pokemon[:, :, 3:] = 0
    mask &= np.arange(mask.shape[1]) == action[:, None]
    new_view, _, _ = augmented("doubles of six", AUGMENTATIONS, view, mask, action)
    assert not cut(new_view).pokemon[:, OWN, 3:].any()
    known = cut(view).pokemon[:, FOE].any(axis=2).sum(axis=1)
    for row in range(200):
        assert not cut(new_view).pokemon[row, FOE, known[row] :].any()


def test_a_single_pokemon_keeps_its_slot():
    view, mask, action = decisions("doubles of six", 100)
    parts = cut(view)
    parts.side[:, OWN, SIDE.column("team_size")] = parts.side[:, OWN, SIDE.column("brought_size")] = 1
    parts.position[:, POSITION.columns("trapped")] = [1, 0]
    new_view, _, _ = augmented("doubles of six", ("slots",), view, mask, action)
    np.testing.assert_array_equal(cut(new_view).position, parts.position)


def test_the_game_offers_augmentation():
    game = open_game("gen9vgc2025regi")
    assert isinstance(game, AugmentedGame)
    view, mask, action = decisions("vgc")
    mask_after = game.augment(("order",), view, mask, action, np.arange(COUNT), np.random.default_rng(0))[1]
    assert (mask_after != mask).any()
