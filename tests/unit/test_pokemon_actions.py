"""The action spaces as tables: the meaning of indices, texts, and permutations of the own team."""

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.games.pokemon.views.actions import OPTIONS, PICKS, TURNS, Kind, action_space

SPACES = [(1, 6), (1, 3), (2, 4), (2, 6)]
SINGLES, VGC, SIX = action_space(1), action_space(2, 4), action_space(2, 6)


@pytest.fixture(params=SPACES)
def space(request):
    return action_space(*request.param)


def test_sizes_are_those_of_the_specification():
    assert (SINGLES.size, VGC.size, SIX.size) == (20, 2115, 2115)
    assert (OPTIONS, TURNS, len(PICKS)) == (45, 2025, 90)


def test_picks_are_lexicographic_and_cover_every_pair_of_leads():
    assert sorted(PICKS) == list(PICKS)
    assert len({frozenset(pick[:2]) for pick in PICKS}) == 15
    assert all(a < b and c < d and len({a, b, c, d}) == 4 for a, b, c, d in PICKS)


@pytest.mark.parametrize(
    ("action", "meaning"),
    [
        (action_space(1), {6: "move 3 with the gimmick", 8: "switch 1", 19: "lead 6"}),
        (
            VGC,
            {
                45 * (10 * 1 + 3 + 5) + 42: "slot 1: move 2 at +1 with the gimmick; slot 2: switch 3",
                45 * (10 * 3 + 0) + 44: "slot 1: move 4 at -2; slot 2: pass",
                45 * 44 + 2: "slot 1: pass; slot 2: move 1",
                2025: "lead 1 and 2, back 3 and 4",
                2114: "lead 5 and 6, back 3 and 4",
            },
        ),
        (SIX, {45 * 40 + 43: "slot 1: switch 3; slot 2: switch 6"}),
    ],
)
def test_actions_are_described_in_words(action, meaning):
    assert {index: action.describe(index) for index in meaning} == meaning


def test_every_action_has_a_unique_choice_that_maps_back(space):
    for gimmick in ("terastallize", "mega", "dynamax"):
        choices = [space.choice(index, gimmick) for index in range(space.size)]
        assert len(set(choices)) == space.size
        assert [space.index(choice) for choice in choices] == list(range(space.size))


def test_choice_of_another_game_is_an_error():
    with pytest.raises(UserError, match=r"'move 5' is not an action of singles; an example of one is 'move 1'\."):
        SINGLES.index("move 5")


def test_tables_are_empty_where_they_do_not_apply(space):
    assert ((space.move >= 0) == (space.kind == Kind.MOVE)).all()
    assert ((space.switch >= 0) == (space.kind == Kind.SWITCH)).all()
    assert ((space.picks >= 0).all(axis=1) == (space.kind == Kind.PREVIEW).all(axis=1)).all()
    assert (space.kind[space.previews] == Kind.PREVIEW).all()
    assert not (space.gimmick & (space.kind != Kind.MOVE)).any()
    assert not space.target[space.kind != Kind.MOVE].any()


def test_revival_with_six_names_the_fainted_in_the_order_of_their_places():
    fainted = np.array([[False, True, False, False, True, True], [False] * 6])
    assert SIX.switch_places(fainted, np.array([True, False])).tolist() == [[1, 4, 5, -1], [2, 3, 4, 5]]
    assert VGC.switch_places(fainted, np.array([True, False])).tolist() == [[0, 1, 2, 3]] * 2
    assert SINGLES.switch_places(fainted, np.array([True, False])).tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def orders(generator, rows, fixed, members=6):
    """Return random permutations within the first `fixed` places, within those up to `members`, and within the rest."""
    group = np.repeat([0, 1, 2], [fixed, members - fixed, 6 - members])
    return np.argsort(np.argsort(group + generator.random((rows, 6)), axis=1), axis=1)


def test_permutations_of_actions_are_bijective_and_compose(space):
    generator = np.random.default_rng(0)
    one, other = orders(generator, 64, 0), orders(generator, 64, 0)
    moved = space.moved(one)
    assert (np.sort(moved, axis=1) == np.arange(space.size)).all()
    assert (space.moved(np.tile(np.arange(6), (1, 1))) == np.arange(space.size)).all()
    previews = np.arange(space.size)[space.previews]
    both = space.moved(np.take_along_axis(other, one, axis=1))
    assert (
        np.take_along_axis(space.moved(other), moved[:, previews].astype(np.int64), axis=1) == both[:, previews]
    ).all()


def meaning(space, index, names):
    """Return the meaning of an action in terms of Pokémon: `names` by place."""
    if space.kind[index, 0] == Kind.PREVIEW:
        picks = [names[place] for place in space.picks[index]]
        return frozenset(picks[: space.slots]), frozenset(picks[space.slots :])
    parts = set()
    for slot in range(space.slots):
        target = int(space.target[index, slot])
        aimed_at = names[-target - 1] if target < 0 else target
        switch = names[space.places[space.switch[index, slot]]] if space.kind[index, slot] == Kind.SWITCH else None
        parts.add((names[slot], int(space.move[index, slot]), bool(space.gimmick[index, slot]), aimed_at, switch))
    return frozenset(parts)


@pytest.mark.parametrize(("slots", "brought", "turn"), [(*shape, turn) for shape in SPACES for turn in (False, True)])
def test_permuted_actions_mean_the_same_pokemon(slots, brought, turn):
    space = action_space(slots, brought)
    generator = np.random.default_rng(1)
    members = brought if turn and slots == 2 else 6
    order = orders(generator, 200, slots if turn else 0, members)
    indices = np.arange(space.size)[slice(0, space.previews.start) if turn else space.previews]
    action = generator.choice(indices, 200)
    mask = np.zeros((200, space.size), np.bool_)
    mask[np.arange(200), action] = True
    permuted, moved = space.permute(order, mask, action)
    assert (np.argmax(permuted, axis=1) == moved).all()
    assert permuted.sum() == 200
    for row in range(200):
        names = "abcdef"
        after = [names[place] for place in np.argsort(order[row])]
        assert meaning(space, moved[row], after) == meaning(space, action[row], names)


def test_revival_labels_follow_the_fainted():
    fainted = np.array([[False, True, False, True, False, True]])
    places = SIX.switch_places(fainted, np.array([True]))
    order = np.array([[0, 1, 5, 4, 3, 2]])  # the bench is reversed
    revive_second = np.array([45 * 41 + 44])  # the Pokémon at place 3, which moves to place 4
    _, action = SIX.permute(order, np.zeros((1, SIX.size), np.bool_), revive_second, places)
    assert action.tolist() == [45 * 42 + 44]  # after those at places 1 and 2
