"""Team sets: files, weights, splits and draws, with a simple validator; the real one has its own tests."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.core.progress import listening
from nemesis.games.pokemon.teams import team_files
from nemesis.games.pokemon.teams.team_files import read_teams
from nemesis.games.pokemon.teams.team_sets import load_team_set, shipped_sets, shuffled, validate_teams

PASTE = "Tauros\n- Body Slam\n\nSnorlax\n- Rest\n"
MAIN_FORMATS = ("gen1ou", "gen9ou", "gen9vgc2025regi")
OTHER_FORMATS = ("gen9vgc2023regc", "gen9vgc2024regg", "gen9championsvgc2026regma", "gen9championsvgc2026regmb")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def packed(*names):
    return "]".join(f"{name}|||noability|bodyslam,rest||||||||" for name in names)


def accept(_format, texts):
    """Validate teams: all are valid, except those that contain `bad`."""
    return [{"problems": [f"{text} is bad."]} if "bad" in text else {"packed": text} for text in texts]


def many(count):
    return [packed(f"Mon{number}", "Tauros", "Snorlax") for number in range(count)]


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def texts(path, battle_format="gen1ou"):
    return [team.text.strip() for team in read_teams(path, battle_format)]


def test_each_file_of_a_folder_is_a_team(tmp_path):
    write(tmp_path, rain=PASTE, stall=packed("Chansey"))
    (tmp_path / "notes.md").write_text("not a team")
    (tmp_path / ".hidden.txt").write_text("not a team")
    (tmp_path / "one.gen1ou_team").write_text(PASTE)
    teams = read_teams(tmp_path, "gen1ou")
    assert [team.label for team in teams] == ["one", "rain", "stall"]
    assert teams[1].source == str(tmp_path / "rain.txt")
    assert teams[1].text == PASTE


def test_backup_is_split_at_its_headings_and_other_formats_are_excluded(tmp_path):
    file = tmp_path / "backup.txt"
    file.write_text(
        f"=== [gen1ou] Old/First ===\r\n\r\n{PASTE}\n=== [gen9ou] Other ===\n\n{PASTE}\n"
        f"=== [gen1ou-box] Box ===\n\n{PASTE}\n=== Bare ===\n\n{PASTE}"
    )
    teams = read_teams(file, "gen1ou")
    assert [team.label for team in teams] == ["Old/First", "Bare"]
    assert all(team.text == PASTE.strip() for team in teams)
    assert teams[0].source == f"{file}, line 1, Old/First"


def test_packed_teams_are_one_per_line(tmp_path):
    file = tmp_path / "many.packed"
    first, second = packed("Tauros", "Chansey"), packed("Jynx")
    file.write_text(f"{first}\n\ngen9ou]Other|{first}\ngen1ou]Mine|{second}\n")
    assert texts(file) == [first, second]
    assert [team.label for team in read_teams(file, "gen1ou")] == ["line 1", "Mine"]


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_lines_of_json_are_teams_with_ids(tmp_path, suffix):
    file = tmp_path / f"set.{suffix}"
    lines = [{"id": "a", "team": PASTE}, {"id": "b\u2028", "team": [{"species": "Tauros", "moves": ["rest"]}]}]
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    first, second = read_teams(file, "gen1ou")
    assert (first.label, first.text, first.source) == ("a", PASTE, f"{file}, line 1, a")
    assert second.label == "b"  # unprintable characters are removed
    assert json.loads(second.text) == lines[1]["team"]


def test_json_file_is_a_team_an_entry_or_a_list_of_entries(tmp_path):
    team = [{"species": "Tauros", "moves": ["rest"]}]
    for content, count in ((team, 1), ({"id": "x", "team": PASTE}, 1), ([{"team": PASTE}, {"team": PASTE}], 2)):
        file = tmp_path / "set.json"
        file.write_text(json.dumps(content))
        assert len(read_teams(file, "gen1ou")) == count


def test_shipped_sets_are_found_by_name():
    assert set(shipped_sets()) == {*MAIN_FORMATS, *OTHER_FORMATS}
    for name in shipped_sets():
        teams = load_team_set(name, None, "all", accept)
        assert len(set(teams.packed)) == len(teams.packed) >= (12 if name in MAIN_FORMATS else 4)


def test_format_without_a_set_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="No team set ships for gen9uu"):
        load_team_set("gen9uu", None, "train", accept)
    with pytest.raises(UserError, match=r"'nowhere' is neither a file or folder.*gen9ou"):
        load_team_set("gen9uu", "nowhere", "train", accept)


def test_bad_teams_are_listed_in_one_error(tmp_path):
    write(tmp_path, good=packed("Tauros"), one="bad one", two="bad two")
    with pytest.raises(UserError) as error:
        load_team_set("gen1ou", tmp_path, "all", accept)
    assert str(error.value).splitlines() == [
        f"2 of 3 teams of {tmp_path} cannot be used in gen1ou:",
        str(tmp_path / "one.txt"),
        "  bad one is bad.",
        str(tmp_path / "two.txt"),
        "  bad two is bad.",
    ]


def test_files_and_entries_that_cannot_be_read_hide_no_others(tmp_path):
    write(tmp_path, good=packed("Tauros"), empty="")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "lines.jsonl").write_text('{"team": "bad"}\n{\n{"team": "Jynx|"}\n')
    (tmp_path / "entries.json").write_text('[{"team": "Jynx|"}, {"taem": "Jynx|"}]')
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(UserError) as error:
        load_team_set("gen1ou", tmp_path, "all", accept)
    entry = '  An entry must be an object with "team" and, optionally, "id".'
    assert re.sub(r"JSON \(.*\)", "JSON", str(error.value)).splitlines() == [
        f"6 of 9 teams of {tmp_path} cannot be used in gen1ou:",
        *(f"{tmp_path / 'bytes.txt'}", "  It is not UTF-8 text."),
        *(f"{tmp_path / 'empty.txt'}", "  It is empty."),
        *(f"{tmp_path / 'entries.json'}, entry 2", entry),
        *(f"{tmp_path / 'folder.txt'}", "  It is not a file that can be read."),
        *(f"{tmp_path / 'lines.jsonl'}, line 1", "  bad is bad."),
        *(f"{tmp_path / 'lines.jsonl'}, line 2", "  This is not JSON."),
    ]
    assert len(load_team_set("gen1ou", tmp_path, "all", accept, skip_invalid=True).packed) == 3


def test_bad_teams_can_be_skipped_with_a_warning(tmp_path, caplog):
    write(tmp_path, good=packed("Tauros"), one="bad one")
    teams = load_team_set("gen1ou", tmp_path, "all", accept, skip_invalid=True)
    assert teams.packed == (packed("Tauros"),)
    assert teams.skipped == 1
    assert "1 of 2 teams" in caplog.text
    assert "bad one is bad." in caplog.text
    (tmp_path / "good.txt").write_text("bad too")
    with pytest.raises(UserError, match="2 of 2 teams"):
        load_team_set("gen1ou", tmp_path, "all", accept, skip_invalid=True)


def test_long_list_of_bad_teams_is_truncated(tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(json.dumps({"team": f"bad {number}"}) for number in range(500)))
    with pytest.raises(UserError, match="and 480 more") as error:
        load_team_set("gen1ou", file, "all", accept)
    assert len(str(error.value).splitlines()) < 50


def split_of(teams, folder, split, fraction=0.25):
    file = folder / "set.packed"
    file.write_text("\n".join(teams))
    return load_team_set("gen1ou", file, split, accept, held_out=fraction).packed


def test_splits_are_disjoint_complete_and_near_their_fraction(tmp_path):
    teams = many(800)
    train, held_out = split_of(teams, tmp_path, "train"), split_of(teams, tmp_path, "held_out")
    assert not set(train) & set(held_out)
    assert set(train) | set(held_out) == set(teams) == set(split_of(teams, tmp_path, "all"))
    assert 150 < len(held_out) < 250  # 200 expected, standard deviation 12


def test_split_of_a_team_does_not_depend_on_the_others(tmp_path):
    teams = many(200)
    held_out = set(split_of(teams, tmp_path, "held_out"))
    assert set(split_of(teams[100:][::-1], tmp_path, "held_out")) == held_out & set(teams[100:])
    larger = split_of(teams, tmp_path, "held_out", fraction=0.5)
    assert held_out < set(larger)


def test_order_and_nicknames_do_not_change_the_split(tmp_path):
    for name in (f"Mon{number}" for number in range(60)):
        plain = packed(name, "Tauros")
        reordered = "]".join(reversed(plain.split("]")))
        nicknamed = f"Nick|{name}" + plain.removeprefix(f"{name}|")
        splits = {
            text in split_of([text, *many(30)], tmp_path, "held_out", 0.5) for text in (plain, reordered, nicknamed)
        }
        assert len(splits) == 1


def test_nothing_is_held_out_by_default(tmp_path):
    write(tmp_path, one=packed("Tauros"))
    assert load_team_set("gen1ou", tmp_path, "train", accept).packed == (packed("Tauros"),)
    with pytest.raises(UserError, match=r"No team of .* is in the split held_out"):
        load_team_set("gen1ou", tmp_path, "held_out", accept)


def test_settings_of_a_folder_give_weights_and_names_held_out(tmp_path):
    write(tmp_path, rain=packed("Tauros"), sun=packed("Jynx"), stall=packed("Chansey"))
    (tmp_path / "set.yaml").write_text("weights: {rain: 3}\nheld_out: [stall]\n")
    train = load_team_set("gen1ou", tmp_path, "train", accept)
    assert train.weights == (0.75, 0.25)
    assert load_team_set("gen1ou", tmp_path, "held_out", accept).packed == (packed("Chansey"),)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("weights: {rian: 2}", "names rian"),
        ("held_out: [nobody]", "names nobody"),
        ("weights: {rain: -1}", "weights"),
        ("weights: {rain: .inf}", "weights"),
        ("held_out: 1.5", "held_out"),
        ("wieghts: {}", "wieghts"),
        ("- a list", "mapping"),
        ("a: [", "set.yaml, line 1: not valid YAML"),
        ("a: 2024-99-99", "not valid YAML"),
        ("held_out: 0.1\nheld_out: 0.2", "set.yaml, line 2: held_out is given twice, first in line 1"),
        ("weights: {rain: 0}", "weight 0"),
    ],
)
def test_bad_settings_of_a_folder_are_errors(tmp_path, settings, message):
    write(tmp_path, rain=packed("Tauros"))
    (tmp_path / "set.yaml").write_text(settings)
    with pytest.raises(UserError, match=message):
        load_team_set("gen1ou", tmp_path, "all", accept)


def test_fraction_out_of_range_is_an_error(tmp_path):
    write(tmp_path, rain=packed("Tauros"))
    for fraction in (-0.1, 1, float("nan")):
        with pytest.raises(UserError, match="at least 0 and below 1"):
            load_team_set("gen1ou", tmp_path, "all", accept, held_out=fraction)


def test_draws_follow_the_weights(tmp_path):
    write(tmp_path, a=packed("Tauros"), b=packed("Jynx"), c=packed("Chansey"))
    (tmp_path / "set.yaml").write_text("weights: {a: 5, b: 0, c: 3}")
    teams = load_team_set("gen1ou", tmp_path, "all", accept)
    drawn = teams.draw(np.random.default_rng(0), 100_000)
    frequency = np.bincount(drawn, minlength=3) / len(drawn)
    assert drawn.shape == (100_000,)
    assert frequency[1] == 0
    assert frequency == pytest.approx([0.625, 0, 0.375], abs=0.006)  # four standard deviations
    assert (drawn == teams.draw(np.random.default_rng(0), 100_000)).all()


def test_shuffling_keeps_the_members_and_reaches_every_order():
    team = packed("Tauros", "Jynx", "Chansey")
    generator = np.random.default_rng(0)
    orders = Counter(shuffled(team, generator) for _ in range(6000))
    assert len(orders) == 6
    assert all(Counter(order.split("]")) == Counter(team.split("]")) for order in orders)
    assert all(850 < count < 1150 for count in orders.values())


def test_teams_are_validated_in_parts_and_results_are_cached(tmp_path):
    sizes = []

    def counting(battle_format, texts):
        sizes.append(len(texts))
        return accept(battle_format, texts)

    file = tmp_path / "set.packed"
    file.write_text("\n".join(many(450)))
    reported = []
    with listening(reported.append):
        first = validate_teams("gen1ou", file, counting)
    assert list(map(str, reported)) == [f"Checking teams: {done} of 450" for done in (0, 200, 400)]
    assert sizes == [200, 200, 50]
    assert validate_teams("gen1ou", file, counting) == first
    assert sizes == [200, 200, 50]
    validate_teams("gen2ou", file, counting)  # another format is not in the cache
    assert sizes == [200, 200, 50] * 2
    file.write_text("\n".join(many(451)))
    validate_teams("gen1ou", file, counting)
    assert sizes[6:] == [200, 200, 51]


@pytest.mark.parametrize("corrupt", ["", "{", "[]", '{"packed": "x"}', '[{"packed": 1}]', "[[]]", "[" * 100_000])
def test_corrupt_cache_is_ignored(tmp_path, monkeypatch, corrupt):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path, one=packed("Tauros"))
    first = validate_teams("gen1ou", tmp_path, accept)
    (cached,) = (tmp_path / "cache").rglob("*.json")
    cached.write_text(corrupt)
    assert validate_teams("gen1ou", tmp_path, accept) == first


def test_cache_that_cannot_be_written_is_ignored(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    write(tmp_path, one=packed("Tauros"))
    assert validate_teams("gen1ou", tmp_path / "one.txt", accept)[0].packed == packed("Tauros")


def test_team_that_is_too_long_or_not_unicode_is_not_sent_to_the_validator(tmp_path):
    file = tmp_path / "set.jsonl"
    file.write_text("\n".join(json.dumps({"team": team}) for team in ("x" * 70_000, "\ud800", packed("Tauros"))))
    teams = validate_teams("gen1ou", file, accept)
    assert [team.problems for team in teams] == [
        ("The team is longer than 64 KB.",),
        ("The team has characters that are not valid Unicode.",),
        (),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1\n  This is not JSON"),
        ("a.jsonl", b'{"team": 5}', 'line 1\n  An entry must be an object with "team"'),
        ("a.jsonl", b"[" * 200_000, "not JSON"),
        ("a.jsonl", b'{"team": "x", "n": ' + b"9" * 5000 + b"}", "not JSON"),
        ("a.json", b"nope", "not JSON"),
        ("a.jsonl.gz", b"not compressed", "cannot be read"),
        ("a.jsonl.gz", gzip.compress(b"{}" * 9000, mtime=0)[:30], "cannot be read"),
        ("a.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("a.txt", b"", "It is empty"),
        ("a.txt", b"=== [gen9ou] x ===\n\nTauros\n", "has no team for gen1ou"),
    ],
)
def test_bad_files_are_errors(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_team_set("gen1ou", tmp_path / name, "all", accept)


def test_folder_without_teams_is_an_error(tmp_path):
    with pytest.raises(UserError, match="has no file of teams"):
        load_team_set("gen1ou", tmp_path, "all", accept)


def test_device_is_not_read():
    with pytest.raises(UserError, match="not a file that can be read"):
        load_team_set("gen1ou", Path("/dev/zero"), "all", accept)


def test_impossible_path_is_an_error():
    for path in ("x" * 5000, "a\0b"):
        with pytest.raises(UserError):
            load_team_set("gen1ou", path, "all", accept)


def test_file_that_decompresses_beyond_the_limit_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(team_files, "_MAX_BYTES", 1 << 20)
    file = tmp_path / "bomb.jsonl.gz"
    file.write_bytes(gzip.compress(b" " * (8 << 20)))
    assert file.stat().st_size < 10_000
    with pytest.raises(UserError, match="holds more than 1 MB"):
        load_team_set("gen1ou", file, "all", accept)
