"""The match pool on the real simulator: reproducible, resumable, and unmoved by hosts that fail."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from background import Background, wait_until

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason
from nemesis.core.masks import packed_size, unpack_mask
from nemesis.games import open_game
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.games.pokemon.views.layout import POSITION

FORMATS = (
    "gen1ou",
    "gen9ou",
    "gen9vgc2025regi",
    "gen9vgc2023regc",
    "gen9vgc2024regg",
    "championsvgc2026regma",
    "championsvgc2026regmb",
    "gen1randombattle",
    "gen9randombattle",
    "gen9randomdoublesbattle",
)


TRAPPED = """
Dugtrio @ Leftovers
Ability: Arena Trap
Level: 100
EVs: 1 HP
- Earthquake

Diglett @ Leftovers
Ability: Arena Trap
Level: 100
EVs: 1 HP
- Earthquake

Trapinch @ Leftovers
Ability: Arena Trap
Level: 100
EVs: 1 HP
- Earthquake
"""


def game_of(name, **settings):
    return open_game(f"pokemon:{name}", {"pokemon": PokemonSettings(**settings)})


def random_legal(packed, generator):
    """Return random actions (n,) that packed masks (n, byte) allow."""
    return pick(unpack_mask(packed, 8 * packed.shape[1]), generator)


def pick(mask, generator):
    order = np.cumsum(mask, axis=1)
    wanted = np.floor(generator.random(len(mask)) * order[:, -1])
    return (order > wanted[:, None]).argmax(axis=1)


def play_on(pool, steps, seed=0):
    """Play at random for so many steps; returns all that the pool said."""
    generator = np.random.default_rng(seed)
    said = []
    for _ in range(steps):
        decisions, results = pool.recv()
        said.append((decisions, results))
        pool.send(random_legal(decisions.mask, generator))
    return said


def play_until(pool, matches, seed=0):
    """Play at random until so many matches ended; returns their results."""
    generator = np.random.default_rng(seed)
    ended = []
    while sum(map(len, ended)) < matches:
        decisions, results = pool.recv()
        ended.append(results)
        pool.send(random_legal(decisions.mask, generator))
    return ended


def assert_same(first, second):
    for (decisions, results), (others, other_results) in zip(first, second, strict=True):
        for name in ("match", "slot", "seat", "view", "mask"):
            np.testing.assert_array_equal(getattr(decisions, name), getattr(others, name), err_msg=name)
        for name in ("match", "slot", "returns", "end_reason"):
            np.testing.assert_array_equal(getattr(results, name), getattr(other_results, name), err_msg=name)


@pytest.fixture(scope="module", params=["native", "showdown"])
def gen1(request):
    return game_of("gen1randombattle", engine=request.param)


@pytest.fixture(scope="module")
def hosted():
    """A game whose hosts are processes."""
    return game_of("gen1randombattle", engine="showdown")


@pytest.mark.parametrize("name", FORMATS)
def test_battles_of_every_format_are_played_to_their_end(name):
    game = game_of(name)
    pool = game.pool(slots=8, seed=1)
    ended = play_until(pool, matches=8)
    reasons = np.concatenate([results.end_reason for results in ended])
    returns = np.concatenate([results.returns for results in ended])
    assert np.isin(reasons, (EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT)).all()
    np.testing.assert_array_equal(returns.sum(axis=1), 0)
    assert np.abs(returns[reasons == EndReason.PLAYED]).min() == 1
    pool.close()


def test_same_seed_plays_the_same_battles(gen1):
    pools = [gen1.pool(slots=6, seed=seed) for seed in (3, 3, 4)]
    first, second, other = (play_on(pool, 60) for pool in pools)
    assert_same(first, second)
    assert any(len(a[0]) != len(b[0]) or (a[0].view != b[0].view).any() for a, b in zip(first, other, strict=True))
    for pool in pools:
        pool.close()


@pytest.mark.parametrize("name", ["gen1randombattle", "gen9ou"])
def test_matches_of_a_pair_give_each_seat_the_same_team(name):
    game = game_of(name)
    pool = game.paired_pool(slots=5, seed=2)
    play_until(pool, matches=16)
    teams = {match: recording["setup"]["teams"] for match, recording in pool._recordings.items()}
    pairs = [match for match in teams if match % 2 == 0 and match + 1 in teams]
    assert len(pairs) >= 4
    for match in pairs:
        assert teams[match] == teams[match + 1]
        assert game.pair_teams(2, match // 2) in (None, tuple(teams[match]))
    assert len({tuple(teams[match]) for match in pairs}) > 1
    seeds = [pool._recordings[match]["setup"]["seed"] for match in teams]
    assert len(set(seeds)) == len(seeds)  # the battles themselves are as different as any
    pool.close()


def test_decisions_are_those_of_the_matches_in_flight(gen1):
    pool = gen1.pool(slots=6, seed=5)
    running = set(range(6))
    for decisions, results in play_on(pool, 400):
        for match in results.match:
            running.remove(match)
        running |= set(decisions.match.tolist())
        assert len(running) <= 6
        assert decisions.view.dtype == np.int16
        assert decisions.view.shape == (len(decisions), gen1.spec.view_size)
        assert decisions.mask.dtype == np.uint8
        assert decisions.mask.shape == (len(decisions), packed_size(gen1.spec.actions))
        assert decisions.mask.any(axis=1).all()
    pool.close()


@pytest.mark.parametrize("name", ["gen1randombattle", "gen9vgc2025regi"])
def test_snapshot_continues_exactly_even_in_another_pool(name):
    game = game_of(name)
    pool, other = game.pool(slots=6, seed=2), game.pool(slots=6, seed=77)
    play_on(pool, 75)
    play_on(other, 10)
    saved = {key: array.copy() for key, array in pool.snapshot().items()}
    expected = play_on(pool, 60, seed=9)
    other.restore(saved)
    assert_same(expected, play_on(other, 60, seed=9))
    pool.close()
    other.close()


def test_illegal_action_is_refused_with_the_match(gen1):
    pool = gen1.pool(slots=2, seed=0)
    decisions, _ = pool.recv()
    actions = random_legal(decisions.mask, np.random.default_rng(0))
    actions[0] = np.flatnonzero(~unpack_mask(decisions.mask[0], gen1.spec.actions))[0]
    with pytest.raises(ValueError, match=f"not legal in match {decisions.match[0]}"):
        pool.send(actions)
    actions[0] = -1
    with pytest.raises(ValueError, match="not legal"):
        pool.send(actions)
    pool.close()


def test_long_battle_is_drawn_at_the_turn_limit():
    pool = game_of("gen1randombattle", turn_limit=10).pool(slots=4, seed=0)
    ended = play_until(pool, matches=6)
    reasons = np.concatenate([results.end_reason for results in ended])
    returns = np.concatenate([results.returns for results in ended])
    assert (reasons == EndReason.TURN_LIMIT).any()
    assert (returns[reasons == EndReason.TURN_LIMIT] == 0).all()
    pool.close()


def lose_a_host(pool, lose):
    """Lose the first host in mid-game; returns the results of the recv that noticed."""
    play_on(pool, 22)
    target, other = pool.host_pids
    lose(pool._hosts[0])
    _, results = pool.recv()
    while pool.host_pids[0] == target:  # its last answer may have been on the way already
        pool.send(random_legal(pool._delivered.mask, np.random.default_rng(0)))
        _, results = pool.recv()
    assert pool.host_pids[1] == other
    return results


def kill(host):
    os.kill(host.pid, signal.SIGKILL)


def stop(host):
    os.kill(host.pid, signal.SIGSTOP)
    host._limit = 0.5  # seconds, so that the test need not wait as long as a pool does


def send_garbage(host):
    readable, writable = os.pipe()
    os.write(writable, b"this is not a frame at all" * 10)
    os.close(writable)
    os.dup2(readable, host._output)
    os.close(readable)


@pytest.mark.parametrize("lose", [kill, stop, send_garbage])
def test_lost_host_is_replaced_and_only_its_matches_are_voided(hosted, lose):
    pool = hosted.pool(slots=6, seed=1)
    results = lose_a_host(pool, lose)
    voided = results.end_reason == EndReason.HOST_LOST
    np.testing.assert_array_equal(np.sort(results.slot[voided]), [0, 1, 2])
    assert (results.returns[voided] == 0).all()
    pool.send(random_legal(pool._delivered.mask, np.random.default_rng(0)))
    ended = play_until(pool, matches=6)
    assert EndReason.HOST_LOST not in np.concatenate([results.end_reason for results in ended])
    pool.close()


def test_host_that_is_lost_between_steps_is_replaced_by_a_snapshot(hosted):
    pool = hosted.pool(slots=6, seed=1)
    play_on(pool, 20)
    pool.costs()  # from now on no host is at work
    os.kill(pool.host_pids[0], signal.SIGKILL)
    saved = pool.snapshot()
    ended = play_until(pool, matches=12)
    assert sum((results.end_reason == EndReason.HOST_LOST).sum() for results in ended) == 3
    other = hosted.pool(slots=6, seed=3)
    other.restore(saved)
    assert sum((results.end_reason == EndReason.HOST_LOST).sum() for results in play_until(other, matches=4)) == 3
    pool.close()
    other.close()


def test_snapshot_of_another_view_record_is_refused(gen1):
    pool = gen1.pool(slots=2, seed=1)
    with pytest.raises(UserError, match="another view layout"):
        pool.restore({**pool.snapshot(), "layout": np.array(1, dtype=np.uint64)})
    pool.close()


def test_choice_refused_for_a_hidden_reason_is_decided_again(tmp_path):
    """A Diglett may have Arena Trap or not: a seat that faces one learns by trying."""
    (tmp_path / "trap.txt").write_text(TRAPPED)
    game = game_of("gen9anythinggoes", teams=str(tmp_path), team_order="given")
    pool = game.pool(slots=4, seed=0)
    refusals = POSITION.column("refusals")
    generator = np.random.default_rng(0)
    seen = 0
    while seen < 3:
        decisions, results = pool.recv()
        assert EndReason.REFUSED not in results.end_reason
        mask = unpack_mask(decisions.mask, game.spec.actions)
        again = decisions.view[:, refusals] > 0
        if again.any():
            seen += int(again.sum())
            assert (decisions.view[again, POSITION.columns("trapped")][:, 0] == 1).all()
            assert not mask[again, 8:14].any()
        mask[:, :8] &= ~mask[:, 8:14].any(axis=1)[:, None]  # a seat that may switch does
        pool.send(pick(mask, generator))
    pool.close()


def open_pool_and_wait(file):
    pool = game_of("gen1randombattle", engine="showdown").pool(4, 0)
    file.with_suffix(".part").write_text(" ".join(map(str, pool.host_pids)))
    file.with_suffix(".part").rename(file)
    signal.pause()


def test_hosts_end_with_the_process_that_started_them(tmp_path):
    file = tmp_path / "pids.txt"
    process = Background(tmp_path / "printed.txt", open_pool_and_wait, file)
    wait_until(lambda: file.exists() or not process.alive)
    assert process.alive, process.printed
    pids = [int(pid) for pid in file.read_text().split()]
    assert len(pids) == 2
    assert all(is_running(pid) for pid in pids)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_finished_match_is_saved_as_a_replay(gen1, tmp_path):
    pool = gen1.pool(slots=4, seed=11)
    ended = play_until(pool, matches=3)
    results = next(results for results in ended if len(results))
    match, returns = int(results.match[0]), results.returns[0]
    page = pool.save_replay(match, tmp_path, ("Ann | Ann", "Bob </script>"))
    record = json.loads(page.with_suffix(".json").read_text())
    lines = record["log"].split("\n")
    winner = ("Ann Ann", "Bob </script>")[int(returns[1] > 0)]
    assert lines[-1] == f"|win|{winner}"
    assert "|player|p1|Ann Ann|" in record["log"]
    text = page.read_text()
    assert text.count("</script>") == 2  # the log's own and the viewer's
    assert f"<h2>{winner.replace('<', '&lt;').replace('>', '&gt;')} won.</h2>" in text
    with pytest.raises(UserError, match="not among the last"):
        pool.save_replay(10**6, tmp_path, ("a", "b"))
    pool.close()


def test_pool_may_close_in_mid_game_and_its_hosts_play_on(hosted):
    pool = hosted.pool(slots=4, seed=0)
    play_on(pool, 9)
    pids = set(pool.host_pids)
    pool.close()
    again = hosted.pool(slots=8, seed=0)
    assert pids & set(again.host_pids)
    play_until(again, matches=4)
    again.close()


def test_unknown_format_is_named_with_what_is_near():
    with pytest.raises(UserError, match="gen9vgc2025regi"):
        game_of("gen9vgc2025regj")
    with pytest.raises(UserError, match="no team preview"):
        game_of("gen1ou", open_team_sheets=True)
