"""Feeding a learner: every episode once per epoch, whole, in a seeded order, from mixtures, with exact resume."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import SPEC, episodes, write
from episodes import LEDUC, opened

from nemesis.core.errors import UserError
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import DataConfig, Shares
from nemesis.data.dataset import open_dataset
from nemesis.data.episodes import Episodes
from nemesis.data.feed import Feed
from nemesis.data.split import belonging
from nemesis.data.stream import Stream, StreamPosition
from nemesis.data.validation_data import read_split

BATCH = 120


def numbered(seed: int = 0, decisions: int = 2000) -> Episodes:
    """Return episodes whose values are their numbers."""
    whole = episodes(decisions, seed)
    number = np.repeat(np.arange(whole.count, dtype=np.float32), whole.lengths)
    return replace(whole, value=number)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "one", numbered())
    return tmp_path


def feed(path: Path, seed: int = 0, **settings: Any) -> Feed:
    return Feed(configured(path, **settings), opened(LEDUC), BATCH, seed)


def configured(path: Path, **settings: Any) -> DataConfig:
    return DataConfig.model_validate({"sources": [str(path / "one")], "validation": 0.0, "buffer": 400} | settings)


def taken(source: Feed, batches: int) -> list[Trajectories]:
    with closing(source):
        return [source.take() for _ in range(batches)]


def order(batches: list[Trajectories]) -> list[int]:
    return [int(number) for batch in batches for number in batch.value[batch.offsets[:-1]]]


def test_batches_are_large_enough_and_hold_whole_episodes_as_they_were_played(folder: Path):
    whole = numbered()
    for batch in taken(feed(folder), 8):
        assert BATCH <= batch.decisions < BATCH + whole.lengths.max()
        for number in range(batch.episodes):
            rows = slice(int(batch.offsets[number]), int(batch.offsets[number + 1]))
            episode = int(batch.value[rows.start])
            old = slice(int(whole.offsets[episode]), int(whole.offsets[episode + 1]))
            np.testing.assert_array_equal(batch.view[rows], whole.view[old])
            np.testing.assert_array_equal(batch.mask[rows], whole.mask[old])
            np.testing.assert_array_equal(batch.action[rows], whole.action[old])
            np.testing.assert_array_equal(batch.log_prob[rows], whole.log_prob[old])
            np.testing.assert_array_equal(batch.tick[rows], whole.tick[old])
            assert batch.result[number] == whole.result[episode]
            assert batch.seat[number] == whole.seat[episode]
        assert batch.known is None


def test_episodes_that_were_not_played_to_their_end_are_marked(folder: Path):
    whole = numbered()
    ending = np.where(np.arange(whole.count) % 4 == 0, "forfeit", "played")
    write(folder / "ended", replace(whole, ending=ending))
    (batch,) = taken(feed(folder, sources=[str(folder / "ended")]), 1)
    assert batch.terminated is not None
    np.testing.assert_array_equal(batch.terminated, ending[order([batch])] == "played")
    (other,) = taken(feed(folder), 1)
    assert other.terminated is None


def test_possible_actions_are_fed(folder: Path):
    whole = numbered()
    unknown = np.arange(whole.decisions) % 5 == 0
    action = np.where(unknown, np.int32(-1), whole.action)
    write(folder / "part", replace(whole, action=action, possible=np.where(unknown[:, None], whole.mask, np.uint8(0))))
    (batch,) = taken(feed(folder, sources=[str(folder / "part")]), 1)
    assert batch.known is not None
    assert batch.possible is not None
    np.testing.assert_array_equal(batch.possible, np.where(batch.known[:, None], 0, batch.mask))


def test_an_epoch_has_every_episode_once_and_its_own_order(folder: Path):
    whole = numbered()
    given = order(taken(feed(folder), 40))
    first, second = given[: whole.count], given[whole.count : 2 * whole.count]
    assert sorted(first) == sorted(second) == list(range(whole.count))
    assert first != second
    assert sum(a == b for a, b in zip(first, second, strict=True)) < whole.count / 20


def test_the_order_is_shuffled_beyond_row_groups(folder: Path):
    whole = numbered()
    first = np.array(order(taken(feed(folder, buffer=100_000), 40))[: whole.count])
    jumps = np.abs(np.diff(first))
    assert np.median(jumps) > whole.count / 6  # of a random order, about 0.29 of all
    assert np.abs(np.corrcoef(first, np.arange(whole.count))[0, 1]) < 0.2


def test_the_order_follows_from_the_seed(folder: Path):
    assert order(taken(feed(folder, seed=1), 9)) == order(taken(feed(folder, seed=1), 9))
    assert order(taken(feed(folder, seed=1), 9)) != order(taken(feed(folder, seed=2), 9))


@pytest.mark.parametrize("at", [1, 7, 16, 17, 18, 33])
def test_a_resumed_feed_gives_the_same_batches(folder: Path, at: int):
    write(folder / "two", numbered(seed=1, decisions=700))
    sources = {"sources": {str(folder / "one"): 2, str(folder / "two"): 1}}
    straight = taken(feed(folder, **sources), 45)
    before = feed(folder, **sources)
    first = taken(before, at)
    state = before.state()
    after = feed(folder, **sources)
    after.restore(state)
    assert after.epochs == before.epochs
    resumed = first + taken(after, 45 - at)
    for one, other in zip(straight, resumed, strict=True):
        for name in one.__slots__:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_closed_feed_continues_when_asked(folder: Path):
    source = feed(folder)
    assert order(taken(source, 3)) + order(taken(source, 3)) == order(taken(feed(folder), 6))


def test_a_feed_is_not_resumed_with_a_changed_dataset(folder: Path):
    state = feed(folder).state()
    write(folder / "new", numbered(seed=5))
    other = feed(folder, sources=[str(folder / "new")])
    with pytest.raises(UserError, match="has changed since the run was saved"):
        other.restore(state)


def test_sources_give_their_shares(folder: Path):
    write(folder / "two", replace(numbered(seed=1, decisions=500), value=np.full(_decisions(1, 500), -1, np.float32)))
    mixed = feed(folder, sources=[{"path": str(folder / "one"), "weight": 3}, {"path": str(folder / "two")}])
    batches = taken(mixed, 30)
    share = [(batch.value < 0).mean() for batch in batches]
    assert all(0.15 < one < 0.35 for one in share)
    of_all = np.concatenate([batch.value for batch in batches])
    assert abs((of_all < 0).mean() - 0.25) < 0.01
    one, two = mixed.epochs.values()
    assert two >= 1 > one - 1  # the small one is repeated


def _decisions(seed: int, decisions: int) -> int:
    return episodes(decisions, seed).decisions


def test_epochs_are_counted(folder: Path):
    whole = numbered()
    source = feed(folder)
    with closing(source):
        given = 0
        while given < whole.decisions:
            assert list(source.epochs.values()) == [0]
            given += source.take().decisions
        assert list(source.epochs.values()) == [int(given > whole.decisions)]


def test_the_validation_split_has_whole_battles_that_are_never_fed(folder: Path):
    whole = numbered()
    kept = order(taken(feed(folder, validation=0.3), 30))
    out = order(read_split(configured(folder, validation=0.3), opened(LEDUC)))
    assert set(kept).isdisjoint(out)
    assert set(kept) | set(out) == set(range(whole.count))
    assert set(whole.source[kept]).isdisjoint(whole.source[out])
    assert 0.2 < len(set(out)) / whole.count < 0.4


def test_a_group_of_battles_is_in_one_split(folder: Path):
    whole = numbered()
    series = np.array([f"series {int(source.split('-')[1]) // 3}" for source in whole.source.tolist()])
    write(folder / "series", replace(whole, group=series))
    sources = {"sources": [str(folder / "series")], "validation": 0.3}
    kept = order(taken(feed(folder, **sources), 30))
    out = order(read_split(configured(folder, **sources), opened(LEDUC)))
    assert set(kept) | set(out) == set(range(whole.count))
    assert set(series[kept]).isdisjoint(series[out])


def test_the_split_of_a_group_follows_from_its_id():
    names = np.array([f"group-{number}" for number in range(4000)])
    out = belonging(names, "validation", Shares(0.1))
    assert 0.08 < out.mean() < 0.12
    np.testing.assert_array_equal(belonging(names[::-1], "validation", Shares(0.1)), out[::-1])
    assert belonging(names, "validation", Shares(0.2))[out].all()  # a larger share only adds
    assert not belonging(names, "validation", Shares(0.0)).any()
    splits = [belonging(names, split, Shares(0.1, 0.2)) for split in ("train", "validation", "test")]
    assert (np.sum(splits, axis=0) == 1).all()
    assert [round(float(own.mean()), 1) for own in splits] == [0.7, 0.1, 0.2]


def test_a_split_without_battles_is_an_error(folder: Path):
    with pytest.raises(UserError, match=r"No match of data\.sources is in the validation split"):
        read_split(configured(folder), opened(LEDUC))
    with closing(feed(folder, validation=0.999999)) as source:
        for _ in range(2):
            with pytest.raises(UserError, match=r"All matches of .* are in the validation or test split"):
                source.take()


def test_the_validation_data_is_limited(folder: Path):
    some = read_split(configured(folder, validation=0.5, validation_decisions=100), opened(LEDUC))
    every = read_split(configured(folder, validation=0.5), opened(LEDUC))
    assert 100 <= sum(part.decisions for part in some) < sum(part.decisions for part in every)


def test_processes_share_every_batch(folder: Path):
    whole = taken(feed(folder), 5)
    parts = [taken(Feed(configured(folder), opened(LEDUC), BATCH, 0, (rank, 3)), 5) for rank in range(3)]
    for number, batch in enumerate(whole):
        shares = [order([part[number]]) for part in parts]
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        assert sorted(chain.from_iterable(shares)) == sorted(order([batch]))


def test_unknown_actions_are_marked(tmp_path: Path):
    whole = numbered()
    action = np.where(np.arange(whole.decisions) % 3 == 0, np.int32(-1), whole.action)
    write(tmp_path / "one", replace(whole, action=action))
    (batch,) = taken(feed(tmp_path), 1)
    assert batch.known is not None
    assert 0.5 < batch.known.mean() < 0.8
    np.testing.assert_array_equal(batch.known, batch.action >= 0)


def test_guesses_are_hidden_if_asked(tmp_path: Path):
    whole = numbered()
    flags = np.zeros((whole.decisions, SPEC.view_size), np.bool_)
    flags[:, 4:9] = True
    full = np.full_like(whole.view, 0.5)
    write(tmp_path / "one", replace(whole, view=full, guessed=np.packbits(flags, axis=1)))
    (kept,), (hidden,) = taken(feed(tmp_path), 1), taken(feed(tmp_path, hide_guesses=True), 1)
    assert (kept.view == 0.5).all()
    assert (hidden.view[:, 4:9] == 0).all()
    assert (np.delete(hidden.view, range(4, 9), axis=1) == 0.5).all()
    assert hidden.view.dtype == kept.view.dtype


def test_prefetching_is_bounded(folder: Path):
    dataset = open_dataset(folder / "one")
    limit = 300
    stream = Stream(dataset, Shares(0.0), limit, (0,))
    largest = 0
    for _ in range(60):
        stream.take(40)
        held = [stream._window, *stream._prefetched]
        largest = max(largest, sum(part.decisions for part in held if part is not None))
    assert limit < largest <= 2 * limit


def test_a_stream_can_be_restored_anywhere(folder: Path):
    def given(stream: Stream) -> Iterator[int]:
        for part in stream.take(50):
            yield from part.value[part.offsets[:-1]].astype(int).tolist()

    dataset = open_dataset(folder / "one")
    stream, other = (Stream(dataset, Shares(0.2), 300, (0,)) for _ in range(2))
    for _ in range(70):
        position = StreamPosition(**stream.position.state())
        expected = list(given(stream))
        other.restore(position)
        assert list(given(other)) == expected


def test_damage_found_while_prefetching_is_raised_by_take(folder: Path):
    for shard in (folder / "one").glob("*.parquet"):
        content = bytearray(shard.read_bytes())
        content[200 : len(content) // 2] = bytes(len(content) // 2 - 200)
        shard.write_bytes(content)
    with closing(feed(folder)) as source, pytest.raises(UserError, match="is damaged"):
        source.take()


def test_a_game_without_augmentations_is_not_augmented(folder: Path):
    with pytest.raises(UserError, match="has no augmentations"):
        feed(folder, augment="order")


def test_a_shuffle_buffer_smaller_than_a_row_group_gives_every_episode_once(folder: Path):
    whole = numbered()
    given = order(taken(feed(folder, buffer=1), 20))[: whole.count]
    assert sorted(given) == list(range(whole.count))
