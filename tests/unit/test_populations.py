"""Populations on disk: members come and go, play, and are never mixed up."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from duel import Duel, register
from duelling_members import policy_file

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.play.match_stream import MatchStream
from nemesis.play.named_players import check_player, open_player
from nemesis.play.play_options import PlayOptions
from nemesis.population.store.directory import NewMember, add_members, add_mixture, create_population, remove_members
from nemesis.population.store.payoff_log import read_log
from nemesis.population.store.standings import standings
from nemesis.storage.mixtures import read_mixture
from nemesis.storage.populations import member_player, read_population


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch) -> Duel:
    return register(monkeypatch, Duel())


@pytest.fixture
def folder(tmp_path: Path, game: Duel) -> Path:
    """A population with a policy and two scripted players."""
    policy_file(tmp_path / "policy.safetensors", game)
    path = tmp_path / "population"
    create_population(path, [str(tmp_path / "policy.safetensors"), "timid"])
    add_members(path, [NewMember("bold", "brave", parents=["timid"], tags=["rule"], anchor=1700.0)])
    return path


def run(*arguments: object) -> int:
    return main(["population", *map(str, arguments)])


def play(folder: Path, *options: object) -> None:
    assert run("play", folder, "--processes", 0, "--matches", 20, *options) == 0


def test_a_population_keeps_its_members_with_what_is_known_of_them(folder: Path, tmp_path: Path):
    (tmp_path / "policy.safetensors").unlink()  # it has a copy
    record = read_population(folder)
    assert (record.game, record.view_version) == ("duel:plain", "1")
    assert [(one.number, one.name, one.kind) for one in record.members] == [
        (0, "policy", "policy"),
        (1, "timid", "scripted"),
        (2, "brave", "scripted"),
    ]
    brave = record.member("brave")
    assert (brave.player, brave.parents, brave.tags, brave.anchor) == ("bold", ("timid",), ("rule",), 1700.0)
    assert member_player(f"{folder}#brave") == "bold"
    assert member_player(f"{folder}#policy") == str(folder / "members" / "policy.safetensors")


def test_members_play_and_are_rated_with_anchors_fixed(folder: Path, capsys: pytest.CaptureFixture[str]):
    play(folder)
    found = standings(folder)
    assert found.counts.matches.tolist() == [[0, 20, 20], [20, 0, 20], [20, 20, 0]]
    assert (found.counts.results.sum(axis=3) == np.where(np.eye(3), 0, 10)[:, :, None]).all()  # as often on each side
    assert found.counts.win_rates[1, 2] == 0  # timid never strikes
    ratings = {rating.name: rating for rating in found.ratings}
    assert (ratings["brave"].elo, ratings["brave"].margin) == (1700.0, 0.0)
    assert ratings["timid"].elo < 1700
    assert run("show", folder) == 0
    shown = capsys.readouterr().out
    assert "60 matches, 0 voided" in shown
    assert "of the variance is cyclic" in shown
    assert run("list", folder, "--tag", "rule") == 0
    assert "1700 ± 0" in capsys.readouterr().out


def test_the_same_command_goes_on_and_plays_only_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]):
    play(folder, "--total", 30)
    play(folder)
    play(folder)
    assert [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()] == [30, 30, 0]
    log = read_log(folder)
    assert sorted(log.sessions) == [0, 1]
    assert len(log.matches) == 60


def test_matches_with_other_settings_of_the_game_count_apart(tmp_path: Path):
    folder = tmp_path / "population"
    assert run("create", folder, "random", "uniform_random", "--game", "openspiel:kuhn_poker") == 2  # no such player
    assert run("create", folder, "--game", "openspiel:kuhn_poker") == 0
    assert run("add", folder, "random") == 0
    assert run("add", folder, "random", "--name", "other") == 0
    play(folder)
    log = read_log(folder)
    first = log.sessions[0]
    changed = replace(log, sessions={0: replace(first, setup={"family.teams": "mine"})})
    assert log.setups == [""]
    assert changed.setups == ["family.teams=mine"]
    assert changed.counts(2, "family.teams=mine").matches.sum() == 40
    assert changed.counts(2, "").matches.sum() == 0


def test_a_mixture_of_members_is_a_member_and_a_player(folder: Path, game: Duel):
    assert run("add", folder, "policy=1", "brave=3", "--name", "mixed") == 0
    mixture = read_mixture(folder / "members" / "mixed.json")
    assert mixture.players == {str(folder / "members" / "policy.safetensors"): 0.25, "bold": 0.75}
    add_mixture(folder, {"mixed": 1, "timid": 1}, "nested")
    assert read_mixture(folder / "members" / "nested.json").players["timid"] == 0.5
    assert len(read_mixture(folder / "members" / "nested.json").players) == 3
    play(folder)
    assert standings(folder).counts.matches.sum() == 20 * 20
    name = f"{folder}#nested"
    check_player(game, name)
    open_player(game, name, 4, 0, PlayOptions())
    assert main(["evaluate", name, "timid", "--matches", "4"]) == 0


def test_a_population_moves_with_its_mixtures(folder: Path, tmp_path: Path, game: Duel):
    add_mixture(folder, {"policy": 1, "brave": 1}, "mixed")
    moved = folder.rename(tmp_path / "moved")
    check_player(game, f"{moved}#mixed")


def test_what_is_removed_counts_no_more_and_its_name_is_free_again(folder: Path):
    play(folder)
    assert run("remove", folder, "timid") == 0
    assert standings(folder).names == ["policy", "brave"]
    assert standings(folder).counts.matches.tolist() == [[0, 20], [20, 0]]
    add_members(folder, [NewMember("bold", "timid")])
    assert standings(folder).counts.matches.sum() == 40  # the new one has another number
    remove_members(folder, ["policy"])
    assert not (folder / "members" / "policy.safetensors").exists()


def test_every_match_and_cell_is_written_as_csv(folder: Path, tmp_path: Path):
    play(folder)
    assert run("export", folder, "--csv", tmp_path / "csv") == 0
    with (tmp_path / "csv" / "matches.csv").open() as file:
        matches = list(csv.DictReader(file))
    with (tmp_path / "csv" / "cells.csv").open() as file:
        cells = list(csv.DictReader(file))
    assert len(matches) == 60
    assert len(cells) == 6 * 3
    for cell in cells:
        names, side = (cell["member"], cell["opponent"]), cell["side"]
        won = [
            match
            for match in matches
            if (
                match["result"] == "won"
                and (match["first"], match["second"]) == names
                and side in (match["side"], "both")
            )
            or (
                match["result"] == "lost"
                and (match["second"], match["first"]) == names
                and side in (str(1 - int(match["side"])), "both")
            )
        ]
        assert int(cell["won"]) == len(won)
        assert float(cell["low"]) <= float(cell["win_rate"]) <= float(cell["high"])
    assert (tmp_path / "csv" / "ratings.csv").read_text().startswith("member,elo,low,high,matches\nbrave,1700.0")


def won_by(match: dict[str, str]) -> tuple[str, str] | None:
    """Return the winner and the loser."""
    players = (match["first"], match["second"])
    return {"won": players, "lost": players[::-1]}.get(match["result"])


def winning_side(match: dict[str, str]) -> str:
    return match["side"] if match["result"] == "won" else str(1 - int(match["side"]))


def test_the_figures_are_written_as_json(folder: Path, tmp_path: Path):
    play(folder)
    assert run("show", folder, "--json", tmp_path / "figures.json") == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["members"] == ["policy", "timid", "brave"]
    assert figures["matches"][0] == [0, 20, 20]
    assert figures["win_rates"][2][1] == 1.0


def test_members_of_other_games_and_versions_are_refused(folder: Path, tmp_path: Path, game: Duel):
    other = Duel()
    other.spec = replace(other.spec, name="duel:other")
    with pytest.raises(UserError, match="plays duel:other, not duel:plain"):
        add_members(folder, [NewMember(policy_file(tmp_path / "other.safetensors", other))])
    later = Duel()
    later.spec = replace(later.spec, view_version="2")
    with pytest.raises(UserError, match="reads another version of the view record"):
        add_members(folder, [NewMember(policy_file(tmp_path / "later.safetensors", later))])
    game.spec = replace(game.spec, view_version="2")
    with pytest.raises(UserError, match="has members that read another version of the view record"):
        add_members(folder, [NewMember("bold")])
    assert len(read_population(folder).members) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "{}", "nobody"), "no opponent called 'nobody'"),
        (("add", "{}", "bold", "--name", "timid"), "already has a member called 'timid'"),
        (("add", "{}", "bold", "--name", "a b"), "'a b' cannot be the name of a member"),
        (("add", "{}", "bold", "--parent", "x"), "has no member called 'x'. Its members: policy, timid, brave."),
        (("add", "{}", "timid=1", "brave=x", "--name", "mixed"), "as MEMBER=WEIGHT"),
        (("add", "{}", "timid=1"), "A mixture needs a --name"),
        (("remove", "{}", "x"), "has no member called 'x'"),
        (("create", "{}"), "already has a population"),
        (("show", "{}/members"), "is not a population; create one with"),
        (("play", "{}", "--member", "timid"), "at least two members"),
        (("play", "{}", "--minutes", "0"), "--minutes must be a number above 0"),
        (("show", "{}", "--setup", "x=1"), 'has no matches with the settings "x=1"'),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    arguments: tuple[str, ...], sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(*(word.format(folder) for word in arguments)) == 2
    assert sentence in capsys.readouterr().err


def test_a_part_of_a_mixture_stays_as_long_as_the_mixture(folder: Path):
    add_mixture(folder, {"policy": 1, "timid": 1}, "mixed")
    with pytest.raises(UserError, match="policy is part of the mixture mixed"):
        remove_members(folder, ["policy"])
    remove_members(folder, ["policy", "mixed"])


def test_code_of_members_is_imported_only_with_permission(folder: Path):
    add_members(folder, [NewMember("duel:always", "own")], imports=True)
    assert run("play", folder, "--processes", 0) == 2


def test_the_opponent_pool_of_a_run_is_a_population_that_can_be_copied(
    tmp_path: Path, game: Duel, capsys: pytest.CaptureFixture[str]
):
    source, name, settings = tmp_path / "run", "past-00000002", {"game": "duel:plain", "collection.slots": 8}
    policy_file(source / "members" / f"{name}.safetensors", game)
    common = {"rating": 1100.0, "joined_at": 2, "score": 0.0, "weight": 0.0, "record": [[0, 0, 0]] * 2}
    members = [
        {"name": name, "category": "past", "source": ["frozen", f"members/{name}.safetensors"], "parent": "update 2"},
        {"name": "bold", "category": "scripted", "source": ["scripted", "bold"], "parent": None},
    ]
    registry = {"rating": 1200.0, "members": [one | common for one in members], "exploiters": []}
    (source / "population.json").write_text(json.dumps(registry))
    (source / "config.yaml").write_text(json.dumps({key: value for key, value in settings.items() if key == "game"}))
    assert run("list", source) == 0
    assert "1100" in capsys.readouterr().out
    assert main(["evaluate", f"{source}#{name}", "timid", "--matches", "2"]) == 0
    assert run("add", source, "timid") == 2
    assert "which only the run changes" in capsys.readouterr().err
    assert run("create", tmp_path / "copy", "--pool", source) == 0
    copied = read_population(tmp_path / "copy")
    assert [(one.name, one.kind, one.tags) for one in copied.members] == [
        (name, "policy", ("past",)),
        ("bold", "scripted", ("scripted",)),
    ]
    play(tmp_path / "copy")


def test_few_of_many_members_are_open_at_once(
    folder: Path, tmp_path: Path, game: Duel, monkeypatch: pytest.MonkeyPatch
):
    file = policy_file(tmp_path / "many.safetensors", game)
    add_members(folder, [NewMember(file, f"many-{number}") for number in range(60)])
    most, step = 0, MatchStream.step

    def counted(stream: MatchStream):
        nonlocal most
        finished = step(stream)
        most = max(most, stream.open_players)
        return finished

    monkeypatch.setattr(MatchStream, "step", counted)
    assert run("play", folder, "--processes", 0, "--matches", 2, "--total", 1000) == 0
    assert len(read_log(folder).matches) == 1000
    assert 2 < most <= 3 * 8
