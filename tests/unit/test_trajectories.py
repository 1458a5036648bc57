"""Episodes stored flat: split, joined and sent without a decision lost or moved."""

from dataclasses import replace

import numpy as np
import pytest
from episodes import LEDUC, build_collector, build_policy, opened, play

from nemesis.core.trajectory import Trajectories, concatenate


def assert_same(left: Trajectories, right: Trajectories) -> None:
    for name in left.__slots__:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


def recorded(stride: int | None = None, memory: str = "none") -> Trajectories:
    game = opened(LEDUC)
    return play(game, build_policy(game, memory=memory), 400, stride=stride)


def test_portions_hold_complete_episodes_and_join_to_the_same_again():
    trajectories = recorded(stride=2, memory="gru")
    parts = list(trajectories.portions(50))
    assert len(parts) > 5
    assert all(part.decisions <= 50 for part in parts)
    assert_same(concatenate(parts), trajectories)


def test_an_episode_longer_than_the_limit_is_a_portion_of_its_own():
    trajectories = recorded()
    parts = list(trajectories.portions(1))
    assert [part.episodes for part in parts] == [1] * trajectories.episodes
    assert_same(concatenate(parts), trajectories)


def test_arrays_give_the_episodes_back():
    trajectories = recorded(stride=2, memory="gru")
    assert_same(Trajectories.from_arrays(trajectories.arrays()), trajectories)


@pytest.mark.parametrize(("memory", "stride"), [("none", None), ("gru", 2)])
def test_stale_starts_are_dropped_and_the_rest_stays(memory: str, stride: int | None):
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game, memory=memory), slots=200, stride=stride)
    collector.collect(100, version=0)
    mixed = collector.collect(600, version=1)
    fresh = mixed.without_stale(1, recurrent=memory != "none")
    assert 0 < fresh.decisions < mixed.decisions
    assert (fresh.version >= 1).all()
    assert fresh.offsets[0] == 0
    assert fresh.offsets[-1] == fresh.decisions
    place = {key: episode for episode, key in enumerate(zip(mixed.match.tolist(), mixed.seat.tolist(), strict=True))}
    for episode, key in enumerate(zip(fresh.match.tolist(), fresh.seat.tolist(), strict=True)):
        rows = slice(*fresh.offsets[episode : episode + 2])
        first, last = mixed.offsets[place[key] : place[key] + 2]
        length = rows.stop - rows.start
        np.testing.assert_array_equal(fresh.action[rows], mixed.action[last - length : last])
        np.testing.assert_array_equal(fresh.view[rows], mixed.view[last - length : last])
        assert fresh.result[episode] == mixed.result[place[key]]
        begins = last - length
        older = mixed.version[first:begins] < 1
        if memory == "none":
            assert older.all()  # nothing fresh is dropped
        elif begins > first:
            assert begins in mixed.memory_row  # it can only start from a stored memory
            assert rows.start in fresh.memory_row


def test_without_stale_leaves_fresh_episodes_alone():
    trajectories = recorded()
    assert trajectories.without_stale(0, recurrent=False) is trajectories
    assert trajectories.without_stale(1, recurrent=False).decisions == 0


def test_a_recurrent_policy_never_starts_where_no_memory_was_stored():
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game, memory="gru"), slots=200, stride=100)  # no episode is so long
    collector.collect(100, version=0)
    fresh = collector.collect(600, version=1).without_stale(1, recurrent=True)
    first = fresh.tick[fresh.offsets[:-1]]
    assert fresh.episodes > 0
    assert first.max() <= 1  # only whole episodes remain


def test_episodes_that_an_older_version_began_are_dropped_whole():
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game), slots=200)
    collector.collect(100, version=0)
    mixed = collector.collect(600, version=1)
    begun = mixed.begun_since(1)
    old = {
        (match, seat)
        for episode, (match, seat) in enumerate(zip(mixed.match, mixed.seat, strict=True))
        if mixed.version[mixed.offsets[episode]] < 1
    }
    assert old
    assert begun.episodes == mixed.episodes - len(old)
    assert not old & set(zip(begun.match, begun.seat, strict=True))
    assert begun.decisions == begun.offsets[-1] == len(begun.view)


def test_known_goes_with_the_decisions():
    trajectories = recorded()
    known = np.arange(trajectories.decisions) % 3 > 0
    marked = replace(trajectories, known=known)
    assert_same(Trajectories.from_arrays(marked.arrays()), marked)
    assert_same(concatenate(list(marked.portions(50))), marked)
    both = concatenate([marked, trajectories])
    assert both.known is not None
    np.testing.assert_array_equal(both.known, np.append(known, np.ones(trajectories.decisions, np.bool_)))
    assert concatenate([trajectories, trajectories]).known is None


def test_possible_goes_with_the_decisions():
    trajectories = recorded()
    possible = np.where(np.arange(trajectories.decisions)[:, None] % 3 == 0, trajectories.mask, 0).astype(np.uint8)
    marked = replace(trajectories, possible=possible)
    assert_same(Trajectories.from_arrays(marked.arrays()), marked)
    assert_same(concatenate(list(marked.portions(50))), marked)
    both = concatenate([marked, trajectories])
    assert both.possible is not None
    np.testing.assert_array_equal(both.possible, np.concatenate([possible, np.zeros_like(possible)]))
    assert concatenate([trajectories, trajectories]).possible is None


def test_terminated_goes_with_the_episodes():
    trajectories = recorded()
    terminated = np.arange(trajectories.episodes) % 3 > 0
    marked = replace(trajectories, terminated=terminated)
    assert_same(Trajectories.from_arrays(marked.arrays()), marked)
    assert_same(concatenate(list(marked.portions(50))), marked)
    both = concatenate([trajectories, marked])
    assert both.terminated is not None
    np.testing.assert_array_equal(both.terminated, np.append(np.ones(trajectories.episodes, np.bool_), terminated))
    assert concatenate([trajectories, trajectories]).terminated is None


def test_segments_keep_their_bootstrap_and_final_view_on_every_way():
    trajectories = recorded()
    terminated = np.arange(trajectories.episodes) % 3 > 0
    bootstrap = np.where(terminated, 0.0, np.linspace(-1, 1, trajectories.episodes)).astype(np.float32)
    final_view = np.where(terminated[:, None], 0, trajectories.view[trajectories.offsets[:-1]])
    reward = np.linspace(0, 1, trajectories.decisions, dtype=np.float32)
    marked = replace(trajectories, terminated=terminated, bootstrap=bootstrap, final_view=final_view, reward=reward)
    assert_same(Trajectories.from_arrays(marked.arrays()), marked)
    assert_same(concatenate(list(marked.portions(50))), marked)
    both = concatenate([trajectories, marked])
    np.testing.assert_array_equal(both.bootstrap, np.append(np.zeros(trajectories.episodes), bootstrap))
    np.testing.assert_array_equal(both.final_view, np.concatenate([np.zeros_like(final_view), final_view]))
    np.testing.assert_array_equal(both.reward, np.append(np.zeros(trajectories.decisions), reward))
