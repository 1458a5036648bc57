"""Replays on disk: every kind of file gives the same log, and a bad file is an error and nothing worse."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.core.replays import ReplayError, ReplayLog
from nemesis.games.pokemon.replays import sources as replay_sources
from nemesis.games.pokemon.replays.sources import ReplaySources, format_of

LOG = "|player|p1|Zoë</b>|1|1500\n|tier|[Gen 9] VGC 2025 Reg I (Bo3)\n|turn|1\n|win|Zoë</b>"
ID = "gen9vgc2025regibo3-2353297164"
REPLAY = {"id": ID, "format": "[Gen 9] VGC 2025 Reg I (Bo3)", "log": LOG, "rating": 1500}


def page(log: str, identity: str) -> str:
    escaped = log.replace("</", "<\\/")
    return (
        f'<!DOCTYPE html>\n<title>x</title><input type="hidden" name="replayid" value="{identity}">\n'
        f'<script type="text/plain" class="battle-log-data">{escaped}</script><script src="x"></script>'
    )


WRITTEN: dict[str, str] = {
    "one.json": json.dumps(REPLAY),
    "pretty.json": json.dumps(REPLAY, indent=2),
    "list.json": json.dumps([REPLAY]),
    "lines.jsonl": json.dumps(REPLAY) + "\n\n",
    "byte-order-mark.jsonl": "\ufeff" + json.dumps(REPLAY, ensure_ascii=False),
    "page.html": page(LOG, ID),
    f"{ID}.log": LOG,
}


def read(*paths: Path) -> list[ReplayLog | ReplayError]:
    return list(ReplaySources(paths))


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("name", WRITTEN)
def test_every_kind_of_file_gives_the_same_log(name: str, ending: str, tmp_path: Path):
    (found,) = read(write(tmp_path / (name + ending), WRITTEN[name]))
    assert isinstance(found, ReplayLog), found
    assert (found.id, found.text) == (ID, LOG)


def test_folders_are_searched_and_always_in_the_same_order(tmp_path: Path):
    for name in ("b/2.json", "a/1.json", "c.jsonl.gz", "notes.txt"):
        write(tmp_path / name, json.dumps({"id": f"gen1ou-{ord(name[0])}", "log": "x"}))
    sources = ReplaySources([tmp_path])
    expected = ["gen1ou-97", "gen1ou-98", "gen1ou-99"]
    for _ in range(2):
        assert [found.id for found in sources] == expected
        assert sources.done == sources.size


def test_a_list_longer_than_any_limit_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_sources, "LARGEST_PART", 3000)
    monkeypatch.setattr(replay_sources, "_CHUNK", 100)
    replays = [{"id": f"gen1ou-{number}", "log": "é" * 500} for number in range(50)]
    found = read(write(tmp_path / "list.json", json.dumps(replays, ensure_ascii=False, indent=1)))
    assert [one.id for one in found] == [replay["id"] for replay in replays]
    assert isinstance(found[-1], ReplayLog)
    assert found[-1].location.endswith(f":{2 + 49 * 4}")


def test_one_bad_line_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_sources, "LARGEST_PART", 2000)
    good = json.dumps(REPLAY).encode()
    bad = [b"{", b"[" * 1500, b"\xff\xfe", b'{"log": 3}', b"7", b'{"id": "x"}', b"x" * 5000, b"1" * 1999]
    found = read(write(tmp_path / "x.jsonl", b"\n".join([good, *bad, good])))
    assert [isinstance(one, ReplayLog) for one in found] == [True, *[False] * len(bad), True]
    for number, error in enumerate(found[1:-1], start=2):
        assert isinstance(error, ReplayError)
        assert (error.reason, error.line) == ("unreadable part", number)
        assert str(error).startswith(f"{tmp_path / 'x.jsonl'}, line {number}: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", "[" * 100_000),
        ("x.json", '{"a":' * 100_000),
        ("x.json", json.dumps(REPLAY)[:-5]),
        ("x.json", b'{"log": "\xff"}'),
        ("x.json", '{"id": "x", "log": ' + "9" * 5000 + "}"),
        ("x.html", "<p>no log</p>"),
        ("x.html", '<script class="battle-log-data">|win|'),
        ("x.log", b"\xff"),
    ],
)
def test_a_file_without_a_replay_is_an_error(name: str, content: str | bytes, tmp_path: Path):
    found = read(write(tmp_path / name, content))
    assert len(found) <= 1  # brackets alone hold nothing
    for error in found:
        assert isinstance(error, ReplayError)
        assert error.id == str(tmp_path / name)


def test_a_file_that_decompresses_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_sources, "_FREE", 1 << 16)
    for name in ("x.jsonl.gz", "x.json.gz", "x.log.gz"):
        (error,) = read(write(tmp_path / name, b" " * (1 << 22)))
        assert isinstance(error, ReplayError)
        assert "decompresses" in str(error)


def test_the_size_of_a_log_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_sources, "LARGEST_PART", 2000)
    for name, content in (("x.log", "x" * 3000), ("x.json", '{"log": "' + "x" * 300_000 + '"}')):
        (error,) = read(write(tmp_path / name, content))
        assert isinstance(error, ReplayError), name


@pytest.mark.parametrize(
    "damage", [lambda data: data[:40], lambda data: data[:20] + b"\0\0\0" + data[23:], lambda _: b"x"]
)
def test_a_damaged_archive_is_an_error(damage: Callable[[bytes], bytes], tmp_path: Path):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(damage(gzip.compress(json.dumps(REPLAY).encode())))
    assert all(isinstance(one, ReplayError) for one in read(path))
    assert read(path)


@pytest.mark.parametrize(
    "identity",
    ["../../etc/passwd", "a/b-1", "x" * 500 + "-1", "GEN1OU-1", "", 7, None, "\x1b[2J-1", "game1", "gen1", "1", "a-b1"],
)
def test_an_id_of_another_shape_is_replaced_by_a_hash(identity: object, tmp_path: Path):
    (found,) = read(write(tmp_path / "x.json", json.dumps({"id": identity, "log": LOG})))
    (same,) = read(write(tmp_path / "y.json", json.dumps({"log": LOG})))
    assert found.id == same.id
    assert found.id.startswith("log-")


@pytest.mark.parametrize("identity", ["gen1ou-1", "smogtours-gen9ou-712345", "gen9ou-2353297164-0x9fk2pw", ID])
def test_an_id_of_showdown_is_kept(identity: str, tmp_path: Path):
    (found,) = read(write(tmp_path / "x.json", json.dumps({"id": identity, "log": LOG})))
    assert found.id == identity


def test_files_of_the_same_name_are_different_battles(tmp_path: Path):
    for folder in ("a", "b"):
        write(tmp_path / folder / "game1.log", LOG + folder)
    assert len({found.id for found in read(tmp_path)}) == 2


def test_errors_are_sentences(tmp_path: Path):
    lines = [b"{", b"\xff\xfe", b'{"log": ' + b"9" * 5000 + b"}"]
    messages = [str(error).partition(": ")[2] for error in read(write(tmp_path / "x.jsonl", b"\n".join(lines)))]
    assert messages == [
        "This is not JSON: expecting property name enclosed in double quotes.",
        "This is not JSON: it is not UTF-8.",
        "This is not JSON: a number has too many digits.",
    ]


def test_missing_sources_are_errors(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "absent.json", tmp_path / "empty", write(tmp_path / "x.txt", "x")):
        with pytest.raises(UserError, match=r"\.jsonl|no file or folder"):
            read(path)


def test_a_log_names_its_format():
    found = format_of(LOG)
    assert found is not None
    assert found.id == "gen9vgc2025regi"
    assert format_of("|tier|[Gen 9] Nothing") is None
    assert format_of("") is None


def test_random_damage_gives_logs_or_errors(tmp_path: Path):
    generator = np.random.default_rng(3)
    for name, text in WRITTEN.items():
        for ending in ("", ".gz"):
            whole = write(tmp_path / (name + ending), text).read_bytes()
            for _ in range(60):
                data = bytearray(whole)
                for _ in range(generator.integers(1, 5)):
                    place = int(generator.integers(len(data)))
                    data[place : place + int(generator.integers(0, 3))] = generator.bytes(int(generator.integers(0, 3)))
                    data = data or bytearray(b"x")
                (tmp_path / (name + ending)).write_bytes(bytes(data))
                for found in read(tmp_path / (name + ending)):
                    assert isinstance(found, ReplayLog | ReplayError)
