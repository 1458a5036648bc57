"""Datasets on disk: nothing is lost or half written, and errors say what is wrong."""

import json
import resource
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import SPEC, assert_same, episodes, write

from nemesis.core.errors import UserError
from nemesis.data.dataset import open_dataset, read_card
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.summary import Summary
from nemesis.data.writer import DatasetWriter


def read_all(path: Path) -> Episodes:
    shards = open_dataset(path, SPEC).shards
    return concatenate([shard.read(group) for shard in shards for group in range(len(shard.row_groups))])


def halves(whole: Episodes) -> tuple[Episodes, Episodes]:
    middle = int(whole.match_starts[len(whole.match_starts) // 2])
    return whole.at(np.arange(middle)), whole.at(np.arange(middle, whole.count))


def test_reading_returns_exactly_what_was_written(tmp_path: Path):
    whole = episodes()
    unknown = np.where(np.arange(whole.decisions) % 7 == 0, np.int32(-1), whole.action)
    guessed = np.random.default_rng(0).integers(0, 256, (whole.decisions, -(-SPEC.view_size // 8)), dtype=np.uint8)
    rating = np.where(whole.seat == 0, np.float32(1523.5), np.float32(np.nan))
    group = np.where(whole.seat == 0, whole.source, "another")
    ending = np.where(np.arange(whole.count) % 3 == 0, "timer", whole.ending)
    possible = np.where(np.arange(whole.decisions)[:, None] % 14 == 0, whole.mask, np.uint8(0))
    whole = replace(
        whole, action=unknown, possible=possible, guessed=guessed, rating=rating, group=group, ending=ending
    )
    write(tmp_path, whole)
    assert_same(read_all(tmp_path), whole)


def test_shards_and_row_groups_are_bounded_and_have_whole_battles(tmp_path: Path):
    whole = episodes()
    write(tmp_path, whole, shard=600, row_group=100)
    shards = open_dataset(tmp_path).shards
    assert len(shards) > 3
    seen: set[str] = set()
    for shard in shards:
        assert sum(shard.row_groups) <= 600
        for group, rows in enumerate(shard.row_groups):
            part = shard.read(group)
            assert part.decisions == rows <= 100
            assert (np.unique(part.source, return_counts=True)[1] == 2).all()  # both seats
            assert seen.isdisjoint(part.source)
            seen.update(part.source)
    assert seen == set(whole.source)


def test_columns_can_be_read_without_nemesis(tmp_path: Path):
    whole = episodes()
    write(tmp_path, whole)
    table = pa.concat_tables([pq.read_table(file) for file in sorted(tmp_path.glob("*.parquet"))])
    assert table.column("source").to_pylist() == np.repeat(whole.source, whole.lengths).tolist()
    assert table.column("view").to_pylist()[17] == whole.view[17].tolist()
    first_of_second = int(whole.offsets[1])
    assert table.column("step").to_pylist()[: first_of_second + 1] == [*range(first_of_second), 0]
    reward = np.add.reduceat(np.array(table.column("reward")), whole.offsets[:-1])
    np.testing.assert_array_equal(reward, whole.result)


def test_the_card_counts_what_is_there(tmp_path: Path):
    whole = episodes()
    action = np.where(np.arange(whole.decisions) < 50, np.int32(-1), whole.action)
    rating = np.full(whole.count, np.nan, np.float32)
    rating[:3] = [1000, 1099, 1100]
    possible = np.where(np.arange(whole.decisions)[:, None] < 20, whole.mask, np.uint8(0))
    card = write(tmp_path, replace(whole, action=action, rating=rating, possible=possible))
    assert read_card(tmp_path) == card
    tally = card.summary.formats["leduc_poker"]
    assert tally.matches == len(set(whole.source))
    assert tally.episodes == 2 * tally.matches == tally.wins + tally.draws + tally.losses
    assert tally.wins == (whole.result > 0).sum() > 0
    assert tally.decisions == whole.decisions
    assert tally.known == whole.decisions - 50
    assert tally.possible == 20
    assert card.summary.ratings == {1000: 2, 1100: 1}
    assert f"{whole.decisions:,}" in (tmp_path / "README.md").read_text()


def test_the_hash_is_of_the_content(tmp_path: Path):
    one, same, other = (write(tmp_path / name, part) for name, part in zip("abc", _contents(), strict=True))
    assert one.hash == same.hash != other.hash


def _contents() -> list[Episodes]:
    whole = episodes()
    return [whole, whole, replace(whole, action=np.where(np.arange(whole.decisions) == 9, -1, whole.action))]


def interrupt(path: Path, part: Episodes, error: type[BaseException], **limits: int) -> None:
    """Write, and be interrupted before the end."""

    def write_half() -> None:
        with DatasetWriter(path, SPEC, **limits) as writer:
            writer.append(part)
            raise error

    with pytest.raises(error):
        write_half()


def test_an_interrupted_dataset_can_be_continued(tmp_path: Path):
    first, second = halves(episodes())
    interrupt(tmp_path, first, OSError, shard_decisions=300)
    with pytest.raises(UserError, match="is unfinished"):
        open_dataset(tmp_path)
    with pytest.raises(UserError, match="has an unfinished dataset; continue it with --add"):
        DatasetWriter(tmp_path, SPEC)
    with DatasetWriter(tmp_path, SPEC, add=True) as writer:
        assert 0 < len(writer.sources) < len(set(first.source))  # the open shard is lost
        missing = [number for number in range(first.count) if first.source[number] not in writer.sources]
        writer.append(first.at(np.array(missing)))
        writer.append(second)
        writer.finish()
    assert_same(read_all(tmp_path), episodes())


def test_a_keyboard_interrupt_keeps_every_battle(tmp_path: Path):
    first, _ = halves(episodes())
    interrupt(tmp_path, first, KeyboardInterrupt)
    with DatasetWriter(tmp_path, SPEC, add=True) as writer:
        assert writer.sources == set(first.source)


def test_a_finished_dataset_can_be_read_while_it_grows(tmp_path: Path):
    first, second = halves(episodes())
    card = write(tmp_path, first)
    with pytest.raises(UserError, match="already has a dataset"):
        DatasetWriter(tmp_path, SPEC)
    with DatasetWriter(tmp_path, SPEC, add=True, shard_decisions=200) as writer:
        writer.append(second)
        assert open_dataset(tmp_path).card == card
        assert_same(read_all(tmp_path), first)
        writer.finish()
    assert_same(read_all(tmp_path), episodes())


def test_a_match_cannot_be_written_twice(tmp_path: Path):
    whole = episodes()
    with DatasetWriter(tmp_path, SPEC) as writer:
        writer.append(whole)
        with pytest.raises(UserError, match=r"The match 0-\d+ is already in"):
            writer.append(whole)


def test_an_illegal_action_is_a_defect(tmp_path: Path):
    whole = episodes()
    legal = np.unpackbits(whole.mask, axis=1, count=SPEC.actions)
    row = int(np.flatnonzero((legal == 0).any(axis=1))[0])
    action = whole.action.copy()
    action[row] = int(np.flatnonzero(legal[row] == 0)[0])
    with DatasetWriter(tmp_path, SPEC) as writer, pytest.raises(ValueError, match="not legal"):
        writer.append(replace(whole, action=action))


def test_possible_actions_are_legal_and_not_known(tmp_path: Path):
    whole = episodes()
    with DatasetWriter(tmp_path, SPEC) as writer:
        unknown = np.full_like(whole.action, -1)
        with pytest.raises(ValueError, match="possible action is not legal"):
            writer.append(replace(whole, action=unknown, possible=~whole.mask))
        with pytest.raises(ValueError, match="both a known action and possible ones"):
            writer.append(replace(whole, possible=whole.mask))


def test_an_unknown_ending_is_an_error(tmp_path: Path):
    whole = episodes()
    with DatasetWriter(tmp_path, SPEC) as writer, pytest.raises(ValueError, match="An ending is none of"):
        writer.append(replace(whole, ending=np.full(whole.count, "boredom")))


def test_an_empty_dataset_is_an_error(tmp_path: Path):
    with DatasetWriter(tmp_path, SPEC) as writer, pytest.raises(UserError, match="no episode"):
        writer.finish()
    assert not list(tmp_path.glob("*.parquet"))


def test_only_one_writer_at_a_time(tmp_path: Path):
    with DatasetWriter(tmp_path, SPEC), pytest.raises(UserError, match="another process"):
        DatasetWriter(tmp_path, SPEC)


def test_a_folder_with_other_files_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="not part of a dataset"):
        DatasetWriter(tmp_path, SPEC)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_of_a_dataset_that_failed_before_its_first_shard_nothing_new_remains(tmp_path: Path):
    (tmp_path / "old").mkdir()
    for name in ("old", "old/new", "new/dataset"):
        interrupt(tmp_path / name, episodes(), UserError)
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/dataset", "x" * 300):
        with pytest.raises(UserError, match=rf"{name} cannot be written to \(.*\); name another --out\."):
            DatasetWriter(tmp_path / name, SPEC)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    part = episodes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot be written to .* free or repair the disk, then go on with --add"):
            write(tmp_path, part)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def damage(path: Path, kind: str) -> None:
    shard = path / "shard-00001.parquet"
    content = shard.read_bytes()
    if kind == "cut":
        shard.write_bytes(content[:-100])
    elif kind == "no Parquet":
        shard.write_bytes(bytes(len(content)))
    elif kind == "foreign":
        pq.write_table(pa.table({"a": [1]}), shard)
        card = json.loads((path / "card.json").read_text())
        card["shards"][1]["size"] = shard.stat().st_size
        (path / "card.json").write_text(json.dumps(card))
    elif kind == "missing":
        shard.unlink()
    elif kind == "card":
        (path / "card.json").write_text('{"schema_version": 2}')
    elif kind == "no JSON":
        (path / "card.json").write_text("{")
    elif kind == "elsewhere":
        (path / "card.json").write_text((path / "card.json").read_text().replace("shard-00001", "../shard-00001"))
    elif kind == "newer":
        (path / "card.json").write_text(
            (path / "card.json").read_text().replace('"schema_version": 2', '"schema_version": 9')
        )


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("cut", "bytes, and the card says"),
        ("no Parquet", "is damaged"),
        ("foreign", "not a shard of a dataset"),
        ("missing", "shard-00001.parquet is missing"),
        ("card", "not the card"),
        ("no JSON", "not the card"),
        ("elsewhere", "cannot be a shard"),
        ("newer", "version 9 of the columns"),
    ],
)
def test_damage_is_reported(tmp_path: Path, kind: str, sentence: str):
    write(tmp_path, episodes())
    damage(tmp_path, kind)
    with pytest.raises(UserError, match=sentence):
        open_dataset(tmp_path)


def test_a_flipped_bit_is_found(tmp_path: Path):
    write(tmp_path, episodes())
    shard = tmp_path / "shard-00000.parquet"
    content = bytearray(shard.read_bytes())
    column = pq.read_metadata(shard).row_group(1).column(5)
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 4
    shard.write_bytes(content)
    dataset = open_dataset(tmp_path)
    dataset.shards[0].read(0)
    with pytest.raises(UserError, match=r"shard-00000.parquet is damaged"):
        dataset.shards[0].read(1)
    with pytest.raises(UserError, match="does not have the hash"):
        dataset.verify()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"view_version": "another"}, "views of version information state, and this Nemesis reads another"),
        ({"actions": 9}, "3 actions; openspiel:leduc_poker has 30 and 9"),
        ({"name": "pokemon:gen1ou"}, "is of openspiel:leduc_poker, and the run is of pokemon:gen1ou"),
        ({"name": "openspiel:kuhn_poker"}, "has matches of leduc_poker, and the run plays kuhn_poker"),
    ],
)
def test_a_dataset_of_another_game_is_refused(tmp_path: Path, change: dict[str, object], sentence: str):
    write(tmp_path, episodes())
    other = replace(SPEC, **change)
    with pytest.raises(UserError, match=sentence):
        open_dataset(tmp_path, other)
    if "name" in change and "openspiel" in str(change["name"]):
        assert open_dataset(tmp_path, other, any_format=True).shards
    with pytest.raises(UserError, match="cannot be added to it"):
        DatasetWriter(tmp_path, other, add=True)


def test_shards_with_other_options_are_refused(tmp_path: Path):
    first, second = halves(episodes())
    with DatasetWriter(tmp_path, SPEC, options={"imputation": False}) as writer:
        writer.append(first)
        writer.finish()
    with pytest.raises(UserError, match="was made without imputation; add to it in the same way"):
        DatasetWriter(tmp_path, SPEC, add=True, options={"imputation": True})
    with DatasetWriter(tmp_path, SPEC, add=True, options={"imputation": False}) as writer:
        writer.append(second)
        writer.finish()
    assert_same(read_all(tmp_path), episodes())


def test_a_missing_dataset_is_reported_with_the_command_that_makes_one(tmp_path: Path):
    shutil.rmtree(tmp_path)
    with pytest.raises(UserError, match=r"no dataset in .*; make one with `nemesis collect"):
        open_dataset(tmp_path)


def test_a_card_that_counts_battles_is_read():
    summary = Summary.model_validate({"formats": {"gen1ou": {"battles": 3, "episodes": 6}}})
    assert (summary.total.matches, summary.total.episodes) == (3, 6)
