"""Battles of the native engine as arrays: copies go their own way and give the rows of the match pool."""

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason
from nemesis.core.masks import unpack_mask
from nemesis.games import open_game
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.native.battles import ONGOING, NativeBattles
from nemesis.games.pokemon.native.engine import library_problem
from nemesis.games.pokemon.settings import PokemonSettings

pytestmark = pytest.mark.skipif(bool(library_problem()), reason=library_problem() or "there is a library")

FORMAT = find_format("gen1randombattle")


def battles(count, seed=0, **details):
    generator = np.random.default_rng(seed)
    seeds = [[f"gen5,{generator.bytes(8).hex()}" for _ in range(3)] for _ in range(count)]
    setups = [{"seed": seed, "teams": teams} for seed, *teams in seeds]
    return NativeBattles.start(FORMAT, setups, **details)


def choose(state, generator):
    mask = unpack_mask(state.mask, 20)
    return np.argmax(mask * generator.random(mask.shape), axis=2).astype(np.int8)


def test_rows_are_those_of_the_match_pool():
    """From the set-ups and choices that the pool recorded."""
    game = open_game(f"pokemon:{FORMAT.id}", {"pokemon": PokemonSettings(engine="native", hosts=1)})
    pool, generator = game.pool(slots=1, seed=3), np.random.default_rng(0)
    seen, results = [], []
    while not results:
        decisions, results = pool.recv()
        actions = np.argmax(unpack_mask(decisions.mask, 20) * generator.random((len(decisions), 20)), axis=1)
        seen.append((decisions, actions))
        pool.send(actions)
    played = NativeBattles.start(FORMAT, [pool._recordings[0]["setup"]])
    for decisions, actions in seen[:-1]:
        state, answers = played.state, np.zeros((1, 2), np.int8)
        np.testing.assert_array_equal(np.flatnonzero(state.waits[0]), decisions.seat)
        np.testing.assert_array_equal(state.view[0, decisions.seat], decisions.view)
        np.testing.assert_array_equal(state.mask[0, decisions.seat], decisions.mask)
        answers[0, decisions.seat] = actions
        played.step(answers)
    assert not played.state.waits.any()
    assert played.state.reason[0] == results.end_reason[0]
    assert np.sign(results.returns[0, 0]) == (1 if played.state.winner[0] == 0 else -1)
    pool.close()


def test_copies_leave_what_they_are_copied_from_and_go_on_alike():
    origin, generator = battles(6), np.random.default_rng(1)
    for _ in range(12):
        origin.step(choose(origin.state, generator))
    before = origin.memory.copy()
    source = np.repeat(np.arange(6), 4)
    actions = np.concatenate([choose(origin.state, generator) for _ in range(4)]).reshape(4, 6, 2).swapaxes(0, 1)
    branches = origin.branch(source, actions.reshape(-1, 2))
    np.testing.assert_array_equal(origin.memory, before)
    for number in range(4):
        single = origin.branch(np.arange(6), actions[:, number])
        np.testing.assert_array_equal(single.state.view, branches.state.view.reshape(6, 4, 2, -1)[:, number])
        np.testing.assert_array_equal(single.state.mask, branches.state.mask.reshape(6, 4, 2, -1)[:, number])


@pytest.mark.parametrize("seat", [0, 1])
def test_views_of_one_seat_are_those_of_both(seat):
    both, one, none = (battles(5) for _ in range(3))
    generator = np.random.default_rng(2)
    for _ in range(40):
        actions = choose(both.state, generator)
        for played, views in ((both, "both"), (one, str(seat)), (none, "none")):
            played.step(actions, views)
        np.testing.assert_array_equal(both.state.view[:, seat], one.state.view)
        assert none.state.view.shape == (5, 0)
    again = none.branch(np.arange(5), choose(none.state, generator))
    np.testing.assert_array_equal(again.state.waits.any(axis=1), again.state.reason == ONGOING)
    rows = both.branch(np.arange(5), choose(none.state, np.random.default_rng(9)))
    same = none.branch(np.arange(5), choose(none.state, np.random.default_rng(9)))
    np.testing.assert_array_equal(rows.state.view, same.state.view)  # what was not written was remembered


def test_battles_end_and_stay_ended():
    played, generator = battles(20, turn_limit=30), np.random.default_rng(3)
    for _ in range(200):
        played.step(choose(played.state, generator), views="never")
    state = played.state
    assert set(state.reason.tolist()) <= {EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT}
    np.testing.assert_array_equal(state.winner >= 0, state.reason == EndReason.PLAYED)
    assert not state.waits.any()
    assert not state.mask.any()


def test_an_action_outside_of_the_mask_is_refused_and_asked_again():
    played = battles(3)
    for action in (-1, 19, 127):
        state = played.branch(np.arange(3), np.full((3, 2), action, np.int8)).state
        assert state.waits.all()
        assert (state.reason == ONGOING).all()
    for _ in range(3):
        played.step(np.full((3, 2), -1, np.int8))
    assert (played.state.reason == EndReason.REFUSED).all()


def test_mistakes_are_named():
    played = battles(2)
    with pytest.raises(IndexError, match="There are 2 battles"):
        played.branch(np.array([2]), np.zeros((1, 2), np.int8))
    with pytest.raises(ValueError, match=r"shape \(2,\) instead of \(2, 2\)"):
        played.step(np.zeros(2, np.int8))
    fast = played.branch(np.arange(2), choose(played.state, np.random.default_rng(0)), views="never")
    with pytest.raises(ValueError, match="do not remember"):
        fast.step(choose(fast.state, np.random.default_rng(0)))
    with pytest.raises(UserError, match="does not play gen9ou"):
        NativeBattles.start(find_format("gen9ou"), [])
