"""Collecting: only complete episodes, each as it was played, and nothing lost across a snapshot."""

import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pyspiel
import pytest
import torch
from duel import BREATH, Duel, Match
from episodes import CPU, KUHN, LEDUC, SelfPlay, build_collector, build_policy, opened, play

from nemesis.core.errors import UserError
from nemesis.core.game import Arrays, Decisions, EndReason, IntArray, MatchPool, Results
from nemesis.core.masks import IllegalPositionError, is_legal, pack_mask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.learners.batch import to_batch
from nemesis.play.players import Choices, RandomPlayer
from nemesis.storage.state_tree import flatten_state, unflatten_state

torch.set_num_threads(1)

MEMORIES = ("none", "lstm", "gru", "transformer")


def rows_of(trajectories: Trajectories, match: int) -> list[int]:
    """Return the rows of both seats of a match, as they were played."""
    episodes = np.flatnonzero(trajectories.match == match)
    rows = [row for episode in episodes for row in range(*trajectories.offsets[episode : episode + 2])]
    return sorted(rows, key=lambda row: trajectories.tick[row])


def seat_of_row(trajectories: Trajectories) -> IntArray:
    return np.repeat(trajectories.seat, trajectories.lengths)


def fields(trajectories: Trajectories) -> dict[str, np.ndarray]:
    return {name: getattr(trajectories, name) for name in trajectories.__slots__}


def assert_same(left: Trajectories, right: Trajectories) -> None:
    for name, array in fields(left).items():
        np.testing.assert_array_equal(array, fields(right)[name], err_msg=name)


class TroubledPool:
    """A simulator that spoils some of the matches of a real pool."""

    def __init__(self, pool: MatchPool, fails: range = range(0), stuck: range = range(0)) -> None:
        self._pool = pool
        self._fails = fails  # matches that end by a failure
        self._stuck = stuck  # matches that forget which actions are legal

    @property
    def slots(self) -> int:
        return self._pool.slots

    def recv(self) -> tuple[Decisions, Results]:
        waiting, ended = self._pool.recv()
        failed = np.isin(ended.match, self._fails)
        waiting.mask[np.isin(waiting.match, self._stuck)] = 0
        returns = np.where(failed[:, None], np.nan, ended.returns).astype(np.float32)
        reason = np.where(failed, EndReason.SIMULATOR_FAILURE, ended.end_reason)
        return waiting, Results(ended.match, ended.slot, returns, reason)

    def send(self, actions: IntArray) -> None:
        self._pool.send(actions)

    def snapshot(self) -> Arrays:
        return self._pool.snapshot()

    def restore(self, snapshot: Arrays) -> None:
        self._pool.restore(snapshot)

    def close(self) -> None:
        self._pool.close()


def test_every_match_can_be_replayed_in_openspiel_from_what_was_collected():
    game = opened(KUHN)
    trajectories = play(game, build_policy(game), 500)
    seat = seat_of_row(trajectories)
    reference = pyspiel.load_game(KUHN)
    for match in np.unique(trajectories.match):
        rows = rows_of(trajectories, match)
        state = reference.new_initial_state()
        for row in rows[:2]:  # each seat's first view shows its card
            state.apply_action(int(trajectories.view[row, 2:5].argmax()))
        for row in rows:
            assert state.current_player() == seat[row]
            np.testing.assert_array_equal(state.information_state_tensor(), trajectories.view[row])
            np.testing.assert_array_equal(state.legal_actions_mask(), unpack_mask(trajectories.mask[row], 2))
            state.apply_action(int(trajectories.action[row]))
        assert state.is_terminal()
        first, second = trajectories.result[trajectories.match == match]
        assert [first, second] == [value / game.spec.utility_scale for value in state.returns()]


def test_episodes_are_complete_and_in_order_with_both_seats_of_every_match():
    game = opened(LEDUC)
    trajectories = play(game, build_policy(game), 800)
    assert trajectories.decisions >= 800
    assert trajectories.offsets[0] == 0
    assert trajectories.offsets[-1] == trajectories.decisions == len(trajectories.view)
    assert trajectories.lengths.min() >= 1
    assert set(Counter(trajectories.match.tolist()).values()) == {2}
    np.testing.assert_array_equal(trajectories.seat, np.arange(trajectories.episodes) % 2)
    np.testing.assert_allclose(trajectories.result[::2], -trajectories.result[1::2])
    assert 0 < np.abs(trajectories.result).max() <= 1
    for match in np.unique(trajectories.match):
        ticks = trajectories.tick[rows_of(trajectories, match)]
        np.testing.assert_array_equal(ticks, np.arange(len(ticks)))
    for first, end in pairwise(trajectories.offsets):
        assert np.all(np.diff(trajectories.tick[first:end]) > 0)


def test_matches_in_flight_wait_for_a_later_batch_and_none_is_lost():
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game), slots=50)
    batches = [collector.collect(100, version) for version in range(12)]
    matches = np.concatenate([np.unique(batch.match) for batch in batches])
    assert len(np.unique(matches)) == len(matches) == collector.counts.matches
    in_flight = collector.counts.decisions - sum(batch.decisions for batch in batches)
    assert 0 < in_flight < 50 * 8
    assert len(np.setdiff1d(np.arange(matches.max()), matches)) < 50  # only those that still play are missing


def test_a_decision_is_marked_with_the_version_of_the_policy_that_made_it():
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game), slots=50)
    batches, played = [], []
    for version in range(8):
        before = collector.counts.decisions
        batches.append(collector.collect(100, version))
        played.append(collector.counts.decisions - before)
    made = np.concatenate([batch.version for batch in batches])
    assert np.bincount(made)[:5].tolist() == played[:5]  # those have all ended since
    assert max(len(set(batch.version.tolist())) for batch in batches) > 1
    for batch in batches:
        for match in np.unique(batch.match):
            assert np.all(np.diff(batch.version[rows_of(batch, match)]) >= 0)


@pytest.mark.parametrize("memory", MEMORIES)
def test_log_probabilities_and_values_are_those_of_the_policy(memory: str):
    game = opened(LEDUC)
    policy = build_policy(game, memory=memory)
    trajectories = play(game, policy, 300, stride=2)
    batch = to_batch(trajectories, 2, policy, CPU)
    output = batch.run_all(policy)
    log_prob = output.log_probs.gather(1, batch.action[:, None])[:, 0]
    np.testing.assert_allclose(trajectories.log_prob, log_prob.numpy(), atol=1e-5)
    np.testing.assert_allclose(trajectories.value, output.value.numpy(), atol=1e-5)
    assert trajectories.log_prob.std() > 0.1
    assert is_legal(trajectories.mask, trajectories.action).all()


def test_actions_are_sampled_with_the_probabilities_of_the_policy():
    game = opened(KUHN)
    policy = build_policy(game)
    trajectories = play(game, policy, 20_000, slots=1000)
    for view in np.unique(trajectories.view, axis=0):
        rows = np.flatnonzero((trajectories.view == view).all(axis=1))
        bets = trajectories.action[rows] == 1
        chance = np.exp(trajectories.log_prob[rows[bets]][0])
        assert abs(bets.mean() - chance) < 4.5 * np.sqrt(chance * (1 - chance) / len(rows))


@pytest.mark.parametrize("memory", MEMORIES[1:])
def test_kept_memories_are_the_states_of_the_policy_there(memory: str):
    game = opened(LEDUC)
    policy = build_policy(game, memory=memory)
    trajectories = play(game, policy, 400, stride=2)
    made = np.arange(trajectories.decisions) - np.repeat(trajectories.offsets[:-1], trajectories.lengths)
    np.testing.assert_array_equal(trajectories.memory_row, np.flatnonzero((made > 0) & (made % 2 == 0)))
    assert trajectories.memory.shape == (len(trajectories.memory_row), policy.state_size)
    assert len(trajectories.memory_row) > 20
    for row, kept in zip(trajectories.memory_row, trajectories.memory, strict=True):
        state = torch.zeros(1, policy.state_size)
        for earlier in range(row - made[row], row):
            view, mask = (torch.from_numpy(array[[earlier]]) for array in (trajectories.view, trajectories.mask))
            with torch.no_grad():
                state = policy.step(view, mask, state).state
        np.testing.assert_allclose(kept, state[0].numpy(), atol=1e-5)


def test_without_a_stride_no_memory_is_kept():
    game = opened(LEDUC)
    trajectories = play(game, build_policy(game), 100)
    assert len(trajectories.memory_row) == len(trajectories.memory) == 0


def test_matches_that_the_simulator_failed_are_dropped_and_counted():
    game = opened(LEDUC)
    policy = build_policy(game, memory="gru")
    pool = TroubledPool(game.pool(40, seed=0), fails=range(0, 100_000, 3))
    collector = SelfPlay(game, pool, policy, stride=2)
    batches = [collector.collect(300, version) for version in range(3)]
    ended = np.concatenate([batch.match for batch in batches])
    assert not np.any(ended % 3 == 0)
    assert collector.counts.matches == len(np.unique(ended))
    assert abs(collector.counts.voided - collector.counts.matches / 2) < 0.2 * collector.counts.matches
    assert collector.counts.ended == {"played": collector.counts.matches, "simulator_failure": collector.counts.voided}
    for batch in batches:
        assert set(np.unique(batch.result)) <= set(np.linspace(-1, 1, 27).astype(np.float32))  # chips, as a share of 13
        assert batch.decisions >= 300  # a match without a result is no data
        assert len(batch.memory_row) == len(batch.memory) > 0


def test_a_position_without_a_legal_action_is_an_error_that_names_the_match():
    game = opened(LEDUC)
    pool = TroubledPool(game.pool(8, seed=0), stuck=range(11, 12))
    collector = SelfPlay(game, pool, build_policy(game))
    with pytest.raises(IllegalPositionError, match=r"^Match 11 waits for a decision but its mask allows no action\.$"):
        collector.collect(1000, version=0)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("node_limit", [100_000, 1])
def test_a_restored_collector_continues_identically(memory: str, node_limit: int):
    game = opened(LEDUC, node_limit=node_limit)
    policy = build_policy(game, memory=memory)
    stride = 2 if policy.state_size else None
    collector = build_collector(game, policy, slots=40, stride=stride)
    for version in range(3):
        collector.collect(100, version)
    snapshot = collector.snapshot()
    expected = [collector.collect(100, version) for version in (3, 4)]
    for _ in range(2):  # a snapshot can be used again
        other = build_collector(game, policy, slots=40, seed=1, stride=stride)
        other.collect(70, version=0)
        other.restore(snapshot)
        for version, batch in zip((3, 4), expected, strict=True):
            assert_same(other.collect(100, version), batch)
        assert (other.counts.decisions, other.counts.matches) == (collector.counts.decisions, collector.counts.matches)
        assert other.counts.ended == collector.counts.ended


def test_matches_of_hosts_that_answer_in_turn_are_put_together_again():
    """Batches of some matches, of one seat, or of none; wide masks and views of small integers."""
    game = Duel(actions=2115)
    collector = build_collector(game, build_policy(game, memory="gru"), slots=20, stride=2)
    batches = [collector.collect(200, version) for version in range(3)]
    for batch in batches:
        assert batch.view.dtype == np.int16
        seat = seat_of_row(batch)
        for number in np.unique(batch.match):
            rows = rows_of(batch, number)
            first = {int(seat[row]): row for row in reversed(rows)}
            match = Match(number, [int(batch.view[first[0], 0]), int(batch.view[first[1], 0])])
            while match.end() is None:
                asked = match.waiting()
                together, rows = rows[: len(asked)], rows[len(asked) :]
                assert [seat[row] for row in together] == asked
                assert len({batch.tick[row] for row in together}) == 1
                for row in together:
                    np.testing.assert_array_equal(batch.view[row], match.view(seat[row]))
                    np.testing.assert_array_equal(unpack_mask(batch.mask[row], 2115), match.mask(seat[row], 2115))
                match.choose({int(seat[row]): int(batch.action[row]) for row in together})
            assert rows == []
            assert batch.result[batch.match == number].tolist() == match.end()[0]
    assert any((batch.action == BREATH).any() for batch in batches)  # decisions of one seat alone
    assert collector.counts.ended["tie"] > 0  # which counts, as a win does
    assert sum(collector.counts.ended.values()) == collector.counts.matches


def test_hosts_that_answer_in_turn_continue_exactly_from_a_snapshot():
    game = Duel(lost=range(0, 100_000, 7))
    policy = build_policy(game, memory="gru")
    collector = build_collector(game, policy, slots=20, stride=2)
    collector.collect(150, version=0)
    snapshot = unflatten_state(*flatten_state(collector.snapshot()))
    assert snapshot["steps"]["view"].dtype == torch.int16
    expected = collector.collect(150, version=1)
    other = build_collector(game, policy, slots=20, seed=1, stride=2)
    other.restore(snapshot)
    assert_same(other.collect(150, version=1), expected)
    assert other.counts.ended == collector.counts.ended
    assert other.counts.ended["host_lost"] == other.counts.voided > 0


def test_when_every_match_is_voided_the_run_ends_with_the_reasons():
    game = Duel(lost=range(100_000))
    with pytest.raises(
        UserError, match=r"Every match was voided \(\d+ host_lost\), so there is nothing to learn from\."
    ):
        build_collector(game, build_policy(game), slots=10).collect(100, version=0)


def test_random_play_takes_every_legal_action_equally_often_and_no_other():
    generator = np.random.default_rng(0)
    mask = np.repeat(generator.random((3, 2115)) < [[0.002], [0.01], [0.5]], 4000, axis=0)
    rows = np.arange(len(mask))
    decisions = Decisions(rows, rows, rows % 2, np.zeros((len(mask), 1), dtype=np.int16), pack_mask(mask))
    choices = RandomPlayer(seed=0).act(decisions)
    assert mask[rows, choices.action].all()
    np.testing.assert_allclose(np.exp(choices.log_prob), 1 / mask.sum(axis=1), rtol=1e-5)
    for first in (0, 4000):
        legal = np.flatnonzero(mask[first])
        counts = np.bincount(choices.action[first : first + 4000], minlength=2115)[legal]
        assert np.abs(counts - 4000 / len(legal)).max() < 4.5 * np.sqrt(4000 / len(legal))


def test_the_clock_separates_simulation_from_inference():
    game = opened(LEDUC)
    collector = build_collector(game, build_policy(game), slots=64)
    act, asked = collector.player.act, 0

    def slowly(decisions: Decisions) -> Choices:
        nonlocal asked
        asked += 1
        time.sleep(0.01)
        return act(decisions)

    collector.player.act = slowly
    started = time.perf_counter()
    collector.collect(500, version=0)
    clock, elapsed = collector.clock, time.perf_counter() - started
    assert clock.infer >= 0.01 * asked > 0
    assert 0 < clock.simulate <= elapsed - 0.01 * asked
    assert clock.learn == 0
