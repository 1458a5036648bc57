"""Replays imported into datasets: what is used, what is dropped and why, and that nothing is read twice."""

import gzip
import json
import os
import signal
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from benchmarks.replay_round_trip import play
from nemesis.cli import main
from nemesis.core.game import BoolArray
from nemesis.core.replays import EpisodeReader, ReplayLog, ReplayMatch
from nemesis.data import replay_import
from nemesis.data.augmentation import Augmentation
from nemesis.data.config import DataConfig
from nemesis.data.dataset import open_dataset
from nemesis.data.episodes import Episodes, concatenate
from nemesis.data.import_report import ImportReport
from nemesis.data.replay_readers import ReplayReaders
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.host_process import Host
from nemesis.games.pokemon.replay_family import REPLAYS, PokemonEpisodeReader
from nemesis.games.pokemon.replays.reading import ReplayBattle
from nemesis.games.pokemon.views.layout import FOE, OWN, POKEMON, POSITION, VIEW_SIZE, cut

FORMAT = "gen9ou"
BATTLES = 4


@cache
def logs() -> list[str]:
    """Public logs of battles that were played to their end."""
    game = open_game(f"pokemon:{FORMAT}")
    assert isinstance(game, PokemonGame)
    with TemporaryDirectory() as folder:
        _, played = play(game, BATTLES, 3, Path(folder))
    return [log.replace("|tier|", "|rated|\n|tier|", 1) for log in played.values()][:BATTLES]


def replay(number: int, log: str | None = None) -> dict[str, Any]:
    return {"id": f"{FORMAT}-{number}", "log": logs()[number] if log is None else log}


def write_lines(path: Path, replays: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, replays)).encode()))
    return path


def run_import(*arguments: object) -> dict[str, Any]:
    """Import and return the figures."""
    with TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        assert main(["replays", "import", *map(str, arguments), "--json", str(figures)]) == 0
        result: dict[str, Any] = json.loads(figures.read_text())
    return result


def content(path: Path) -> Episodes:
    opened = open_dataset(path)
    return concatenate([shard.read(group) for shard in opened.shards for group in range(len(shard.row_groups))])


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("imported")
    source = write_lines(folder / "x.jsonl.gz", [replay(number) for number in range(BATTLES)])
    return folder / "dataset", run_import(source, "--out", folder / "dataset", "--processes", 1, "--no-imputation")


def test_a_dataset_has_what_the_reader_returns(imported: tuple[Path, dict[str, Any]]):
    path, figures = imported
    game = open_game(f"pokemon:{FORMAT}")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as reader:
        read = reader.read([(f"{FORMAT}-{number}", log) for number, log in enumerate(logs())])
    episodes = content(path)
    assert figures["used"] == BATTLES
    assert episodes.count == 2 * BATTLES
    for number, battle in enumerate(read):
        assert isinstance(battle, ReplayBattle)
        for seat, decisions in enumerate(battle.seats):
            assert decisions is not None
            (place,) = np.flatnonzero((episodes.source == f"{FORMAT}-{number}") & (episodes.seat == seat))
            one = episodes.at(np.array([place]))
            np.testing.assert_array_equal(one.mask, np.packbits(decisions.mask, axis=1))
            np.testing.assert_array_equal(one.action, decisions.action)
            np.testing.assert_array_equal(one.view, decisions.view)
            assert one.result[0] == (1 if battle.winner == seat else -1)
            assert one.reward.sum() == one.result[0]
            assert np.isnan(one.rating[0])


def test_battles_of_the_same_players_are_a_group(tmp_path: Path):
    again = logs()[1].replace("|One|", "|o ne!|").replace("|win|One", "|win|o ne!")
    others = logs()[2].replace("|One|", "|Third|").replace("|win|One", "|win|Third")
    exchanged = logs()[3].replace("|One|", "|X|").replace("|Other|", "|One|").replace("|X|", "|Other|")
    source = write_lines(
        tmp_path / "x.jsonl.gz", [replay(0), replay(1, again), replay(2, others), replay(3, exchanged)]
    )
    run_import(source, "--out", tmp_path / "dataset", "--processes", 1, "--no-imputation")
    episodes = content(tmp_path / "dataset")
    group = dict(zip(episodes.source.tolist(), episodes.group.tolist(), strict=True))
    one, same, other, turned = (group[f"{FORMAT}-{number}"] for number in range(4))
    assert one == same == turned != other
    assert len(one) == 16


def test_ticks_count_the_decisions_of_both_seats(imported: tuple[Path, dict[str, Any]]):
    episodes = content(imported[0])
    for start in episodes.match_starts:
        ticks = np.sort(np.concatenate([episodes.at(np.array([place])).tick for place in (start, start + 1)]))
        assert ticks[0] == 0
        np.testing.assert_array_equal(ticks, np.searchsorted(ticks, ticks))


def test_what_the_log_does_not_show_is_marked(imported: tuple[Path, dict[str, Any]]):
    episodes = content(imported[0])
    own, views = flagged(episodes), cut(episodes.view).pokemon[:, OWN]
    for name in ("stats", "hp", "max_hp"):
        assert own[:, :, POKEMON.columns(name)].all()
    assert not own[:, :, POKEMON.column("fainted")].any()
    revealed = views[:, :, POKEMON.columns("move_revealed")] > 0
    assert revealed.any()
    assert not (own[:, :, POKEMON.columns("moves")] & revealed).any()
    shown = views[:, :, POKEMON.column("item_revealed")] > 0
    assert not (own[:, :, POKEMON.column("item")] & shown).any()


def test_guesses_are_hidden_from_learners_if_asked(imported: tuple[Path, dict[str, Any]]):
    path, _ = imported
    episodes, game = content(path), open_game(f"pokemon:{FORMAT}")
    shown, hidden = (
        cut(Augmentation(config, game).trajectories(episodes, [0]).view).pokemon[:, OWN]
        for config in (DataConfig(sources={str(path): 1.0}, hide_guesses=hide) for hide in (False, True))
    )
    marked = flagged(episodes)
    item, hp, max_hp = (POKEMON.column(name) for name in ("item", "hp", "max_hp"))
    there = shown[..., max_hp] > 0
    assert (hidden[..., max_hp][there] == 100).all()
    share = shown[..., hp][there] / shown[..., max_hp][there]
    np.testing.assert_allclose(hidden[..., hp][there] / 100, share, atol=0.011)
    assert marked[..., item].any()
    assert (hidden[..., item] == np.where(marked[..., item], 0, shown[..., item])).all()


def flagged(episodes: Episodes) -> BoolArray:
    """Return which numbers of own Pokémon are guesses: (decision, Pokémon, column)."""
    assert episodes.guessed is not None
    bits = cut(np.unpackbits(episodes.guessed, axis=1, count=VIEW_SIZE).view(np.bool_))
    own: BoolArray = bits.pokemon[:, OWN]
    for others in (bits.position, bits.side, bits.pokemon[:, FOE]):
        assert not others.any()
    return own


def test_imputation_does_not_depend_on_the_order_of_replays(tmp_path: Path, imported: tuple[Path, dict[str, Any]]):
    every = [replay(number) for number in range(BATTLES)]
    forward = write_lines(tmp_path / "forward.jsonl.gz", every)
    backward = write_lines(tmp_path / "backward.jsonl.gz", every[::-1])
    run_import(forward, "--out", tmp_path / "one", "--processes", 1)
    run_import(backward, "--out", tmp_path / "other", "--processes", 2)
    one, other, unimputed = (by_battle(content(path)) for path in (tmp_path / "one", tmp_path / "other", imported[0]))
    for name in ("source", "seat", "view", "mask", "action", "guessed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))

    guessed, before = flagged(one), flagged(unimputed)
    own, plain = (cut(part.view).pokemon[:, OWN] for part in (one, unimputed))
    known = own[:, :, POKEMON.column("base_species")] > 0
    for name in ("stats", "ability", "tera_type"):
        columns = POKEMON.columns(name)
        assert (own[known][:, columns] > 0).all(), name
        np.testing.assert_array_equal(guessed[:, :, columns], before[:, :, columns])
    moves = POKEMON.columns("moves")
    assert (own[:, :, moves] > 0).sum() > 1.1 * (plain[:, :, moves] > 0).sum()
    np.testing.assert_array_equal((guessed[:, :, moves]).sum(axis=2), before[:, :, moves].sum(axis=2))

    # What is shown stays, though moves may be in another order.
    varying = {"moves", "pp", "max_pp", "move_disabled", "move_revealed", "hp", "max_hp"}
    for field in POKEMON.fields:
        if field.name not in varying:
            columns = POKEMON.columns(field.name)
            sure = ~before[:, :, columns]
            np.testing.assert_array_equal(own[:, :, columns][sure], plain[:, :, columns][sure], err_msg=field.name)
    np.testing.assert_array_equal(cut(one.view).position, cut(unimputed.view).position)
    np.testing.assert_array_equal(one.known, unimputed.known)
    free = cut(unimputed.view).position[:, POSITION.columns("only_move")][:, 0] == 0
    chosen = np.flatnonzero(free & (unimputed.action >= 0) & (unimputed.action < 8))
    first, second = (
        view[chosen, 0, moves][np.arange(len(chosen)), part.action[chosen] % 4]
        for view, part in ((own, one), (plain, unimputed))
    )
    np.testing.assert_array_equal(first, second)


def by_battle(episodes: Episodes) -> Episodes:
    return episodes.at(np.lexsort([episodes.seat, episodes.source]))


def test_figures_add_up(imported: tuple[Path, dict[str, Any]]):
    path, figures = imported
    total = open_dataset(path).card.summary.total
    assert figures["read"] == figures["used"] == figures["rated_to_end"] == total.matches
    assert figures["rated_to_end_used"] == 1
    assert (figures["decisions"], figures["known"]) == (total.decisions, total.known)
    assert figures["illegal"] == 0


def test_battles_are_dropped_by_named_reasons(tmp_path: Path):
    first = logs()[0]
    replays = [
        replay(0),
        replay(0),
        replay(1, ""),
        replay(2, first.replace("|win|", "|nobody|")),
        replay(3, first.replace("[Gen 9] OU", "[Gen 9] UU")),
        replay(4, first.replace("|win|", "|-message|Somebody forfeited.\n|win|")),
        replay(5, first.replace("|win|", "|-message|Somebody lost due to inactivity.\n|win|")),
        replay(6, first.replace("|turn|1\n", "|turn|1\n|nonsense|x\n")),
        replay(7, "\n".join(line for line in first[: first.index("|turn|1")].split("\n")) + "\n|\n|win|One"),
        {"id": "gen9ou-8"},
    ]
    source = write_lines(tmp_path / "x.jsonl.gz", replays)
    figures = run_import(source, "--out", tmp_path / "dataset", "--processes", 1)
    assert (figures["read"], figures["used"]) == (len(replays), 1)
    assert figures["dropped"] == dict.fromkeys(
        (
            "duplicate", "empty log", "no winner", "wrong format", "ended by forfeit", "ended by timer",
            "unknown protocol line", "too short", "unreadable part",
        ),
        1,
    )  # fmt: skip
    kept = run_import(source, "--out", tmp_path / "more", "--keep-unfinished", "--processes", 1)
    assert kept["used"] == 3
    episodes = content(tmp_path / "more")
    endings = dict(zip(episodes.source.tolist(), episodes.ending.tolist(), strict=True))
    assert endings == {f"{FORMAT}-0": "played", f"{FORMAT}-4": "forfeit", f"{FORMAT}-5": "timer"}


def test_rated_battles_count_whatever_they_are_dropped_for(tmp_path: Path):
    long, split = (logs()[0].replace("|turn|1\n", f"|turn|1\n{line}\n") for line in ("|c|" + "x" * 30_000, "|split|p1"))
    others = long.replace("[Gen 9] OU", "[Gen 9] UU"), long.replace("|win|", "|nobody|"), long.replace("|rated|", "|x|")
    replays = [replay(number, log) for number, log in enumerate([logs()[0], long, split, *others])]
    figures = run_import(write_lines(tmp_path / "x.jsonl.gz", replays), "--out", tmp_path / "dataset", "--processes", 1)
    assert figures["dropped"] == {"too long": 4, "not public": 1}
    assert figures["rated_to_end"] == 3
    assert figures["rated_to_end_used"] == pytest.approx(1 / 3)


def test_an_interrupted_import_continues(tmp_path: Path, imported: tuple[Path, dict[str, Any]]):
    some = write_lines(tmp_path / "some.jsonl.gz", [replay(number) for number in range(2)])
    run_import(some, "--out", tmp_path / "dataset", "--processes", 1)
    (tmp_path / "dataset" / "card.json").unlink()
    every = write_lines(tmp_path / "all.jsonl.gz", [replay(number) for number in range(BATTLES)])
    figures = run_import(every, "--out", tmp_path / "dataset", "--add", "--processes", 1)
    assert (figures["read"], figures["already"], figures["used"]) == (BATTLES, 2, BATTLES - 2)
    assert open_dataset(tmp_path / "dataset").card.summary == open_dataset(imported[0]).card.summary
    nothing_new = run_import(every, "--out", tmp_path / "dataset", "--add", "--processes", 1)
    assert nothing_new["already"] == BATTLES


def test_battles_read_before_an_interruption_are_kept(
    tmp_path: Path, imported: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    every = write_lines(tmp_path / "all.jsonl.gz", [replay(number) for number in range(BATTLES)])
    out = tmp_path / "dataset"

    def interrupt(_: float, report: ImportReport) -> None:
        if report.used:
            raise KeyboardInterrupt

    monkeypatch.setattr(replay_import, "_BATCH", 2)
    with pytest.raises(KeyboardInterrupt):
        replay_import.import_replays(REPLAYS, [every], out, processes=1, imputation=False, progress=interrupt)
    figures = run_import(every, "--out", out, "--add", "--processes", 1, "--no-imputation")
    assert figures["already"] == 2
    np.testing.assert_array_equal(by_battle(content(out)).view, by_battle(content(imported[0])).view)


def open_readers(count: int) -> list[EpisodeReader]:
    return REPLAYS.open_readers(REPLAYS.open_game(FORMAT), count, unfinished=False)


def test_a_host_that_dies_costs_no_battle():
    batch = [ReplayLog(f"{FORMAT}-{number}", log, "here") for number, log in enumerate(logs())]
    with ReplayReaders(open_readers, 1) as readers:
        readers.impute(REPLAYS.total_usage(readers.count_usage(iter([batch]))))
        (before,) = readers.read(iter([batch]))
        reader = readers._idle.get()
        assert isinstance(reader, PokemonEpisodeReader)
        os.kill(reader._reader._host.pid, signal.SIGKILL)
        readers._idle.put(reader)
        (after,) = readers.read(iter([batch]))
    for (_, one), (_, other) in zip(before, after, strict=True):
        assert isinstance(one, ReplayMatch)
        assert isinstance(other, ReplayMatch)
        np.testing.assert_array_equal(one.episodes[0].view, other.episodes[0].view)


def test_a_host_that_refuses_to_answer_costs_no_battle():
    batch = [ReplayLog(f"{FORMAT}-{number}", log, "here") for number, log in enumerate(logs()[:2])]
    with ReplayReaders(open_readers, 1) as readers:
        reader = readers._idle.get()
        assert isinstance(reader, PokemonEpisodeReader)
        reader._reader._host.close()
        reader._reader._host = Host("bundled")  # it was not started for a format
        readers._idle.put(reader)
        (results,) = readers.read(iter([batch]))
    assert all(isinstance(result, ReplayMatch) for _, result in results)


def test_examples_keep_the_reason_if_the_path_is_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    deep = tmp_path / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    unknown = logs()[0].replace("|turn|1\n", "|turn|1\n|nonsense|x\n")
    source = write_lines(deep / "x.jsonl.gz", [replay(0), replay(1, unknown), {"id": "gen9ou-8"}])
    run_import(source, "--out", tmp_path / "dataset", "--processes", 1, "--no-imputation")
    shown = "".join(capsys.readouterr().out.replace("│", "").split())
    assert "x.jsonl.gz:2:gen9ou-1:Ithas'nonsense',whichisnotsupported." in shown
    assert "x.jsonl.gz:3:Thisisnotareplay,becauseithasnolog." in shown
    assert "outoftime,perhapsmadebytheserver" in shown


def test_saved_pages_and_their_json_are_the_same_battles(tmp_path: Path):
    game = open_game("pokemon:gen1ou")
    assert isinstance(game, PokemonGame)
    play(game, 2, 5, tmp_path / "saved" / "deep")
    saved = len(list(tmp_path.rglob("*.html")))
    figures = run_import(tmp_path / "saved", "--out", tmp_path / "dataset", "--processes", 1)
    assert (figures["read"], figures["used"]) == (2 * saved, saved)
    assert figures["dropped"] == {"duplicate": saved}


@pytest.mark.parametrize(
    ("replays", "options", "complaint"),
    [
        ([{"id": "gen9ou-1", "log": ""}], ["--format", FORMAT], "None of 1 replays can be used"),
        ([{"id": "gen9ou-1", "log": ""}], [], "No replay names its format"),
        ([{"id": "gen9ou-1", "log": "x"}], ["--format", "gen9oo"], "gen9ou"),
        ([{"id": "gen9ou-1", "log": "x"}], ["--processes", "0"], "--processes"),
        ([{"id": "gen7ou-1", "log": "|tier|[Gen 7] OU"}], [], "cannot be read"),
    ],
)
def test_mistakes_are_reported_in_a_sentence(
    replays: list[dict[str, Any]],
    options: list[str],
    complaint: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
):
    source = write_lines(tmp_path / "x.jsonl.gz", replays)
    assert main(["replays", "import", str(source), "--out", str(tmp_path / "dataset"), *options]) == 2
    message = capfd.readouterr().err
    assert complaint in message
    assert "Traceback" not in message
    assert not (tmp_path / "dataset").exists()
