"""The assembler: decisions of many matches, in the order of play, become episodes and segments of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from duel import Duel, DuelPool
from episodes import CPU, LEDUC, build_policy, opened

from nemesis.core.game import SIDES, Arrays, Decisions, EndReason, Game, IntArray, MatchPool, Results
from nemesis.core.trajectory import Trajectories, concatenate
from nemesis.play.assembler import Assembled, Columns, EpisodeAssembler
from nemesis.play.collector import Collector
from nemesis.play.experience import Clock
from nemesis.play.pairings import MAIN, SELF_PLAY
from nemesis.play.policy_players import PolicyPlayer
from nemesis.play.seating import Seating
from nemesis.policies.policy import Policy

torch.set_num_threads(1)

SEGMENT = 3
FINAL = 99  # stands for the step after the last one in the view of a truncated match


def view_of(match: int, seat: int, step: int) -> list[float]:
    return [match, seat, step]


def value_of(match: int, seat: int, step: int) -> float:
    return match + seat / 2 + step / 1024


def decided(match: int, step: int, seats: Sequence[int] = (0, 1)) -> Columns:
    """Return one decision of each of the seats; each received 10 for every step before it."""
    return {
        "match": np.full(len(seats), match),
        "seat": np.array(seats),
        "step": np.full(len(seats), step),
        "view": np.array([view_of(match, seat, step) for seat in seats], dtype=np.float32),
        "value": np.array([value_of(match, seat, step) for seat in seats], dtype=np.float32),
        "received": np.full(len(seats), 10 * step, dtype=np.float32),
    }


def ended(match: int, reason: EndReason = EndReason.PLAYED) -> Results:
    """Return the result of a match that side 0 won; both seats received 7 after their last decision."""
    one = np.array([match])
    final = None
    if reason == EndReason.TIME_LIMIT:
        view = np.array([view_of(match, seat, FINAL) for seat in (1, 0)], dtype=np.float32)
        final = Decisions(np.repeat(one, 2), np.zeros(2, int), np.array([1, 0]), view, np.zeros((2, 1), np.uint8))
    returns = np.array([[1.0, -1.0]], dtype=np.float32)
    if reason == EndReason.HOST_LOST:
        returns[:] = np.nan
    return Results(one, np.zeros(1, int), returns, np.array([reason]), np.full((1, 2), 7, np.float32), final)


def end(assembler: EpisodeAssembler, match: int, reason: EndReason = EndReason.PLAYED) -> None:
    results, final_value = ended(match, reason), None
    if results.final is not None:
        final_value = np.array([value_of(match, seat, FINAL) for seat in results.final.seat], dtype=np.float32)
    assembler.end(results, final_value)


@dataclass
class Episode:
    """All that was handed over of one seat's part in a match, in the order in which it was taken."""

    steps: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    pieces: list[tuple[int, bool, float]] = field(default_factory=list)  # length, terminated, return
    finals: list[tuple[list[float], float] | None] = field(default_factory=list)  # view and value after each piece


def episodes_of(parts: Sequence[Assembled | None]) -> Mapping[tuple[int, int], Episode]:
    episodes: dict[tuple[int, int], Episode] = {}
    for part in parts:
        if part is None:
            continue
        assert part.reward is not None
        assert "received" not in part.rows
        for number, (first, last) in enumerate(zip(part.offsets[:-1], part.offsets[1:], strict=True)):
            match, seat = int(part.match[number]), int(part.seat[number])
            rows = {name: column[first:last] for name, column in part.rows.items()}
            assert set(rows["match"].tolist()) == {match}
            assert set(rows["seat"].tolist()) == {seat}
            np.testing.assert_array_equal(rows["view"][:, 2], rows["step"])
            one = episodes.setdefault((match, seat), Episode())
            one.steps += rows["step"].tolist()
            one.rewards += part.reward[first:last].tolist()
            one.pieces.append((last - first, bool(part.terminated[number]), float(part.returns[number])))
            final = part.final
            one.finals.append(final and (final["view"][number].tolist(), float(final["value"][number])))
    return episodes


def test_decisions_of_concurrent_matches_become_episodes_in_order():
    assembler = EpisodeAssembler(SIDES)
    for step in range(4):
        assembler.add(decided(5, step))
        assembler.add(decided(3, step, seats=(1, 0)))
    assert assembler.take() is None
    end(assembler, 5)
    assembler.add(decided(3, 4, seats=(0,)))
    first = assembler.take()
    end(assembler, 3)
    second = assembler.take()
    assert assembler.take() is None
    assert first is not None
    assert first.final is None
    episodes = episodes_of([first, second])
    assert {key: one.steps for key, one in episodes.items()} == {
        (5, 0): [0, 1, 2, 3],
        (5, 1): [0, 1, 2, 3],
        (3, 0): [0, 1, 2, 3, 4],
        (3, 1): [0, 1, 2, 3],
    }
    assert [episodes[key].pieces for key in ((5, 0), (5, 1))] == [[(4, True, 1.0)], [(4, True, -1.0)]]


def test_a_reward_belongs_to_the_decision_before_it():
    assembler = EpisodeAssembler(SIDES)
    for step in range(3):
        assembler.add(decided(2, step))
    end(assembler, 2)
    episodes = episodes_of([assembler.take()])
    assert episodes[2, 0].rewards == episodes[2, 1].rewards == [10.0, 20.0, 7.0]


@pytest.mark.parametrize("takes", [(0, 1, 2, 3, 4, 5, 6, 7, 8), (4, 8), (7,), ()])
def test_segments_hand_over_everything_exactly_once(takes: tuple[int, ...]):
    assembler = EpisodeAssembler(SIDES, SEGMENT)
    parts = []
    for step in range(9):
        assembler.add(decided(4, step))
        if step in takes:
            parts.append(assembler.take())
    end(assembler, 4)
    parts.append(assembler.take())
    for seat, earned in ((0, 1.0), (1, -1.0)):
        one = episodes_of(parts)[4, seat]
        assert one.steps == list(range(9))
        assert one.rewards == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 7.0]
        assert one.pieces == [(3, False, 0.0), (3, False, 0.0), (3, True, earned)]
        for piece, step in enumerate((3, 6)):
            assert one.finals[piece] == (view_of(4, seat, step), pytest.approx(value_of(4, seat, step)))
        assert one.finals[2] in (None, ([0.0, 0.0, 0.0], 0.0))


def test_a_segment_is_handed_over_once_the_next_decision_is_there():
    assembler = EpisodeAssembler(SIDES, SEGMENT)
    for step in range(SEGMENT):
        assembler.add(decided(4, step))
    assert assembler.take() is None
    assembler.add(decided(4, SEGMENT, seats=(1,)))
    episodes = episodes_of([assembler.take()])
    assert {key: one.pieces for key, one in episodes.items()} == {(4, 1): [(3, False, 0.0)]}
    assert sorted(zip(assembler.snapshot()["seat"], assembler.snapshot()["step"], strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 3),
    ]


@pytest.mark.parametrize("segment", [None, SEGMENT])
def test_truncated_matches_get_the_value_of_their_final_view(segment: int | None):
    assembler = EpisodeAssembler(SIDES, segment)
    for step in range(4):
        for match in (6, 8, 9):
            assembler.add(decided(match, step))
    for match in (9, 6):
        end(assembler, match, EndReason.TIME_LIMIT)
    end(assembler, 8)
    episodes = episodes_of([assembler.take()])
    for seat, earned in ((0, 1.0), (1, -1.0)):
        for match in (6, 9):
            one = episodes[match, seat]
            assert one.steps == [0, 1, 2, 3]
            assert one.rewards[-1] == 7.0
            assert one.pieces[-1][1:] == (False, 0.0)
            assert one.finals[-1] == (view_of(match, seat, FINAL), pytest.approx(value_of(match, seat, FINAL)))
        assert episodes[8, seat].pieces[-1][1:] == (True, earned)
        assert episodes[8, seat].finals[-1] == ([0.0, 0.0, 0.0], 0.0)


def test_a_truncated_match_without_its_final_view_is_a_defect_of_the_game():
    assembler = EpisodeAssembler(SIDES)
    assembler.add(decided(6, 0))
    assembler.end(replace(ended(6, EndReason.TIME_LIMIT), final=None))
    with pytest.raises(ValueError, match=r"Match 6 was truncated, but Results\.final has no row for its seat 0"):
        assembler.take()


@pytest.mark.parametrize("segment", [None, SEGMENT])
def test_voided_matches_are_dropped(segment: int | None):
    assembler = EpisodeAssembler(SIDES, segment)
    for step in range(8):
        assembler.add(decided(1, step))
        assembler.add(decided(2, step))
    end(assembler, 1, EndReason.HOST_LOST)
    end(assembler, 2)
    episodes = episodes_of([assembler.take()])
    assert episodes.keys() == {(2, 0), (2, 1)}
    assert episodes[2, 0].steps == list(range(8))
    assert not len(assembler.snapshot()["match"])


def test_of_a_voided_match_only_segments_that_were_taken_before_remain():
    assembler = EpisodeAssembler(SIDES, SEGMENT)
    for step in range(4):
        assembler.add(decided(1, step))
    parts = [assembler.take()]
    assembler.add(decided(1, 4))
    end(assembler, 1, EndReason.HOST_LOST)
    parts.append(assembler.take())
    assert {key: one.steps for key, one in episodes_of(parts).items()} == {(1, 0): [0, 1, 2], (1, 1): [0, 1, 2]}


def test_a_restored_assembler_hands_over_the_rest():
    assembler, other = EpisodeAssembler(SIDES, SEGMENT), EpisodeAssembler(SIDES, SEGMENT)
    for step in range(5):
        assembler.add(decided(1, step))
    parts = [assembler.take()]
    other.restore({name: column.copy() for name, column in assembler.snapshot().items()})
    other.add(decided(1, 5))
    end(other, 1)
    parts.append(other.take())
    one = episodes_of(parts)[1, 0]
    assert one.steps == list(range(6))
    assert one.pieces == [(3, False, 0.0), (3, True, 1.0)]


class PayingDuel(Duel):
    """A duel that pays each seat the number of the round, and whose round limit truncates."""

    def pool(self, slots: int, seed: int) -> MatchPool:  # type: ignore[override]
        return PayingPool(super().pool(slots, seed))


class PayingPool:
    def __init__(self, pool: DuelPool) -> None:
        self._pool = pool
        self.final: dict[tuple[int, int], list[int]] = {}  # by match and seat, the last view of truncated matches

    @property
    def slots(self) -> int:
        return self._pool.slots

    def recv(self) -> tuple[Decisions, Results]:
        waiting, ended = self._pool.recv()
        reward = waiting.view[:, 2].astype(np.float32)
        limited = ended.end_reason == EndReason.TURN_LIMIT
        match, slot = np.repeat(ended.match[limited], SIDES), np.repeat(ended.slot[limited], SIDES)
        seat = np.tile(np.arange(SIDES), int(limited.sum()))
        for one, side in zip(match.tolist(), seat.tolist(), strict=True):
            self.final[one, side] = self._pool._played[one].view(side)
        view = np.array([self.final[key] for key in zip(match.tolist(), seat.tolist(), strict=True)], dtype=np.int16)
        final = Decisions(match, slot, seat, view.reshape(-1, 4), np.full((len(match), 1), 0xF0, np.uint8))
        reason = np.where(limited, EndReason.TIME_LIMIT, ended.end_reason)
        paid = np.tile(np.array([100.0, 101.0], dtype=np.float32), (len(ended), 1))
        results = Results(ended.match, ended.slot, ended.returns, reason, paid, final if len(match) else None)
        return Decisions(waiting.match, waiting.slot, waiting.seat, waiting.view, waiting.mask, reward), results

    def send(self, actions: IntArray) -> None:
        self._pool.send(actions)

    def snapshot(self) -> Arrays:
        return self._pool.snapshot()

    def restore(self, snapshot: Arrays) -> None:
        self._pool.restore(snapshot)

    def close(self) -> None:
        self._pool.close()


def collector(
    game: Game, policy: Policy, segment: int | None, stride: int | None = None, slots: int = 24
) -> tuple[Collector, MatchPool]:
    pool = game.pool(slots, 0)
    player = PolicyPlayer(policy, game.spec, slots, CPU, 0)
    seating = Seating(slots, SELF_PLAY, lambda *_: player, 0)
    return Collector(game, pool, seating, stride, Clock(), segment=segment), pool


def played(one: Collector, decisions: int, steps: int = 5) -> Trajectories:
    """Play until so many decisions were made, and take what is complete every few steps."""
    parts = []
    while one.counts.decisions < decisions:
        for _ in range(steps):
            one.step()
        ready = one.ready
        episodes = one.take().episodes.get(MAIN)
        assert ready == (episodes.decisions if episodes else 0)  # what was announced is handed over
        if episodes:
            parts.append(episodes)
    return concatenate(parts)


def by_seat(trajectories: Trajectories) -> dict[tuple[int, int], IntArray]:
    """Return the rows of each seat of each match, in the order in which they were handed over."""
    rows: dict[tuple[int, int], list[int]] = {}
    for number, key in enumerate(zip(trajectories.match.tolist(), trajectories.seat.tolist(), strict=True)):
        rows.setdefault(key, []).extend(range(*trajectories.offsets[number : number + 2]))
    return {key: np.array(one) for key, one in rows.items()}


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_segments_of_played_matches_are_the_same_episodes_with_the_memories_that_they_begin_with(memory: str):
    game = PayingDuel(lost=range(0, 100_000, 9))
    policy = build_policy(game, memory=memory)
    stride = None if memory == "none" else 2
    whole, cut = (played(collector(game, policy, segment, stride)[0], 4000) for segment in (None, 2))
    assert cut.lengths.max() == 2
    expected, got = by_seat(whole), by_seat(cut)
    assert expected.keys() <= got.keys()  # and the segments of matches that were voided or have not ended
    for key, rows in expected.items():
        for name in ("view", "mask", "action", "log_prob", "value", "tick", "reward"):
            np.testing.assert_array_equal(getattr(cut, name)[got[key]], getattr(whole, name)[rows], err_msg=name)
    if stride is None:
        return
    memory_of = dict(zip(whole.memory_row.tolist(), whole.memory, strict=True))
    cut_memory_of = dict(zip(cut.memory_row.tolist(), cut.memory, strict=True))
    first_rows = set(cut.offsets[:-1].tolist())
    compared = 0
    for key, rows in expected.items():
        for step, (row, cut_row) in enumerate(zip(rows.tolist(), got[key].tolist(), strict=True)):
            assert (cut_row in cut_memory_of) == (row in memory_of) == (step > 0 and step % 2 == 0)
            if row in memory_of:
                assert cut_row in first_rows
                np.testing.assert_array_equal(cut_memory_of[cut_row], memory_of[row])
                compared += 1
    assert compared > 100


def test_rewards_of_played_matches_are_on_the_decision_before_and_the_last_one_gets_the_rest():
    game = PayingDuel()
    trajectories = played(collector(game, build_policy(game), None)[0], 2000)
    assert trajectories.reward is not None
    for number, (first, last) in enumerate(zip(trajectories.offsets[:-1], trajectories.offsets[1:], strict=True)):
        expected = [*trajectories.view[first + 1 : last, 2], 100 + trajectories.seat[number]]
        assert trajectories.reward[first:last].tolist() == expected


@pytest.mark.parametrize("segment", [None, 2])
def test_a_truncated_match_is_bootstrapped_from_what_its_seats_see_last(segment: int | None):
    game = PayingDuel()
    policy = build_policy(game)
    one, pool = collector(game, policy, segment)
    trajectories = played(one, 2000)
    assert isinstance(pool, PayingPool)
    assert trajectories.terminated is not None
    assert trajectories.bootstrap is not None
    assert trajectories.final_view is not None
    assert (trajectories.bootstrap[trajectories.terminated] == 0).all()
    assert (trajectories.final_view[trajectories.terminated] == 0).all()
    assert (trajectories.result[~trajectories.terminated] == 0).all()
    last = {key: trajectories.offsets.tolist().index(rows[-1] + 1) - 1 for key, rows in by_seat(trajectories).items()}
    truncated = [(last[key], view) for key, view in pool.final.items() if key in last]
    assert len(truncated) > 20
    for number, view in truncated:
        assert not trajectories.terminated[number]
        assert trajectories.final_view[number].tolist() == view
    numbers = [number for number, _ in truncated]
    with torch.no_grad():
        views = torch.from_numpy(trajectories.final_view[numbers])
        value = policy.step(views, torch.ones(len(views), 4, dtype=torch.bool), torch.zeros(len(views), 0)).value
    np.testing.assert_allclose(trajectories.bootstrap[numbers], value.numpy(), atol=1e-6)


def test_segments_of_matches_in_flight_can_be_taken_before_any_match_has_ended():
    game = opened(LEDUC)
    one, _ = collector(game, build_policy(game), segment=1)
    one.step()
    one.step()
    assert one.ready == 0
    while not one.ready:
        one.step()
    episodes = one.take().episodes[MAIN]
    assert (episodes.lengths == 1).all()
    assert episodes.first_version is not None
