"""The native engine in a match pool: it gives the batches of the Node hosts, and resumes what they began."""

import json
import logging

import numpy as np
import pytest

from nemesis.core.errors import UserError
from nemesis.core.game import CheckCounts, EndReason
from nemesis.core.masks import unpack_mask
from nemesis.games import open_game
from nemesis.games.pokemon.hosts.host_process import Ended, Setting
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.native import checks
from nemesis.games.pokemon.native.checks import Checks, difference
from nemesis.games.pokemon.native.engine import library_problem
from nemesis.games.pokemon.native.hosts import NativeHosts
from nemesis.games.pokemon.native.library import LibraryError
from nemesis.games.pokemon.settings import PokemonSettings

pytestmark = pytest.mark.skipif(bool(library_problem()), reason=library_problem() or "there is a library")

ENGINES = ("showdown", "native")
TEAM = """
Butterfree ; Psychic, Sleep Powder, Stun Spore, Double-Edge
Beedrill ; Hyper Beam, Swords Dance, Twineedle, Agility
Arbok ; Earthquake, Glare, Hyper Beam, Body Slam
Sandslash ; Slash, Earthquake, Rock Slide, Swords Dance
Nidoqueen ; Blizzard, Earthquake, Thunderbolt, Body Slam
Wigglytuff ; Blizzard, Body Slam, Thunder Wave, Counter
"""  # legal in all tiers
LITTLE_TEAM = """
Charmander ; Counter, Seismic Toss, Slash, Body Slam
Squirtle ; Body Slam, Counter, Blizzard, Seismic Toss
Pidgey ; Agility, Quick Attack, Sky Attack, Double-Edge
Rattata ; Blizzard, Body Slam, Super Fang, Double-Edge
Spearow ; Agility, Double-Edge, Drill Peck, Leer
Ekans ; Body Slam, Earthquake, Glare, Rock Slide
"""


def game_of(name, **settings):
    return open_game(f"pokemon:{name}", {"pokemon": PokemonSettings(**settings)})


def written(team, level):
    """Return the text of a team."""
    members = [line.split(" ; ") for line in team.strip().split("\n")]
    evs = "EVs: 252 HP / 252 Atk / 252 Def / 252 SpA / 252 SpD / 252 Spe"
    moves = ["\n".join(f"- {move}" for move in listed.split(", ")) for _, listed in members]
    texts = [f"{name}\nLevel: {level}\n{evs}\n{listed}" for (name, _), listed in zip(members, moves, strict=True)]
    return "\n\n".join(texts)


def random_legal(decisions, actions, generator):
    mask = unpack_mask(decisions.mask, actions)
    return np.argmax(mask * generator.random(mask.shape), axis=1)


def assert_same(one, other):
    (decisions, results), (others, other_results) = one, other
    for name in ("match", "slot", "seat", "view", "mask"):
        np.testing.assert_array_equal(getattr(decisions, name), getattr(others, name), err_msg=name)
        assert getattr(decisions, name).dtype == getattr(others, name).dtype
    for name in ("match", "slot", "returns", "end_reason"):
        np.testing.assert_array_equal(getattr(results, name), getattr(other_results, name), err_msg=name)


def play_alike(pools, battles, seed):
    """Play at random on several pools and compare each batch; returns the end reasons."""
    generator, reasons = np.random.default_rng(seed), []
    while len(reasons) < battles:
        said = [pool.recv() for pool in pools]
        for other in said[1:]:
            assert_same(said[0], other)
        decisions, results = said[0]
        reasons += results.end_reason.tolist()
        actions = random_legal(decisions, 20, generator)
        for pool in pools:
            pool.send(actions)
    return reasons


@pytest.mark.parametrize(
    ("name", "battles", "settings"),
    [
        ("gen1ou", 120, {}),
        ("gen1randombattle", 120, {"hosts": 3}),
        ("gen1challengecup", 24, {"hosts": 1}),
        ("gen1randombattle", 24, {"turn_limit": 20}),
        ("gen1ubers", 12, {"teams": "gen1ou", "team_order": "given"}),
    ],
)
def test_every_batch_is_the_same_byte_for_byte(name, battles, settings):
    pools = [game_of(name, engine=engine, **settings).pool(slots=24, seed=battles) for engine in ENGINES]
    reasons = play_alike(pools, battles, seed=1)
    assert set(reasons) <= {EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT}
    for pool in pools:
        pool.close()


def test_paired_matches_are_the_same():
    pools = [game_of("gen1ou", engine=engine).paired_pool(slots=8, seed=4) for engine in ENGINES]
    play_alike(pools, 20, seed=2)
    for pool in pools:
        pool.close()


@pytest.mark.parametrize(("first", "second"), [("showdown", "native"), ("native", "showdown")])
@pytest.mark.parametrize("name", ["gen1ou", "gen1randombattle"])
def test_battles_that_began_on_one_engine_go_on_with_the_other(name, first, second):
    pools = [game_of(name, engine=engine).pool(slots=12, seed=seed) for engine, seed in ((first, 3), (second, 5))]
    play_alike(pools[:1], 15, seed=3)
    pools[1].restore({name: array.copy() for name, array in pools[0].snapshot().items()})
    play_alike(pools, 15, seed=6)
    for pool in pools:
        pool.close()


def test_a_snapshot_may_have_matches_that_ended_and_free_slots():
    """As those have that were just returned, or not yet."""
    pool, other = (game_of("gen1randombattle", engine=engine).pool(slots=16, seed=1) for engine in ENGINES)
    generator = np.random.default_rng(0)
    for _ in range(300):
        decisions, results = pool.recv()
        if len(results):
            break
        pool.send(random_legal(decisions, 20, generator))
    pool.send(random_legal(decisions, 20, generator))
    other.restore(pool.snapshot())
    play_alike([pool, other], 10, seed=7)
    pool.close()
    other.close()


@pytest.mark.parametrize("name", ["gen1uu", "gen1nu", "gen1pu", "gen1zu", "gen1lc", "gen1tradebacksou"])
def test_auto_is_native_and_the_same_in_formats_without_a_team_set(name, tmp_path):
    team = written(LITTLE_TEAM, 5) if name == "gen1lc" else written(TEAM, 100)
    (tmp_path / "team.txt").write_text(team)
    games = [game_of(name, engine=engine, teams=str(tmp_path)) for engine in ("showdown", "auto")]
    assert isinstance(games[1]._pool_hosts, NativeHosts)
    pools = [game.pool(slots=4, seed=1) for game in games]
    play_alike(pools, 4, seed=1)
    for pool in pools:
        pool.close()


def test_formats_that_it_does_not_play_go_to_showdown():
    assert isinstance(game_of("gen9ou")._pool_hosts, WarmHosts)
    assert isinstance(game_of("gen1hackmonscup")._pool_hosts, WarmHosts)
    with pytest.raises(UserError, match=r"does not play gen9ou.*pokemon\.engine=auto"):
        game_of("gen9ou", engine="native")._pool_hosts  # noqa: B018


def test_without_a_library_battles_are_played_on_showdown(monkeypatch, caplog):
    monkeypatch.setattr("nemesis.games.pokemon.native.engine.checked_library", raise_library_error)
    with caplog.at_level(logging.WARNING):
        assert isinstance(game_of("gen1randombattle")._pool_hosts, WarmHosts)
    assert "played on Showdown, which is slower. There is no compiler." in caplog.text
    with pytest.raises(UserError, match=r"There is no compiler\. Set pokemon\.engine=auto"):
        game_of("gen1randombattle", engine="native")._pool_hosts  # noqa: B018


def raise_library_error():
    raise LibraryError("There is no compiler.")


def test_matches_are_checked_on_showdown_while_they_are_played(caplog):
    game = game_of("gen1randombattle", engine="native", check_every=2)
    pool = game.pool(slots=8, seed=2)
    with caplog.at_level(logging.ERROR):
        play_alike([pool], 40, seed=8)
        game._pool_hosts._checks.wait()
    counts = pool.take_checks()
    assert 8 <= counts.checked <= 32
    assert counts.different == 0
    assert not caplog.records
    assert pool.take_checks() == CheckCounts()
    pool.close()


def ended_match(engine="native"):
    game = game_of("gen1randombattle", engine=engine, check_every=0)
    pool = game.pool(slots=2, seed=6)
    ended = []
    host = pool._hosts[0]
    host._ended = lambda _, one: ended.append(one)
    play_alike([pool], 2, seed=9)
    pool.close()
    return game, ended[0]


def test_a_difference_is_found_logged_with_its_recording_and_counted(caplog):
    game, ended = ended_match()
    setting, showdown = Setting(game.format, 1, False, 300), game._hosts_ready
    assert difference(showdown, setting, ended) == ""
    changed = Ended(ended.slot, 1 - ended.winner, ended.reason, "", ended.recording)
    assert "won by" in difference(showdown, setting, changed)
    found = Checks(showdown, 1)
    with caplog.at_level(logging.ERROR):
        found.offer(setting, changed)
        found.wait()
    assert found.take_counts() == CheckCounts(1, 1)
    assert json.dumps(ended.recording) in caplog.text


def test_the_first_round_that_differs_is_named(monkeypatch):
    game, ended = ended_match()
    plain = checks.rounds

    def changed(setting, recording):
        digests = plain(setting, recording)
        return [*digests[:3], "0", *digests[4:]]

    monkeypatch.setattr(checks, "rounds", changed)
    found = difference(game._hosts_ready, Setting(game.format, 1, False, 300), ended)
    assert found == "the decisions of round 3 are not the same"
