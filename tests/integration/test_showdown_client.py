"""Play on a real Showdown server: the views are those of training, and nobody waits for ever."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from background import LIMIT, Background, wait_until
from test_pokemon_observer import TRAPS, game_of

from nemesis.core.errors import UserError
from nemesis.core.game import BoolArray, EndReason, IntArray, is_counted
from nemesis.core.masks import PackedMask
from nemesis.deploy.pokemon import server_matches
from nemesis.deploy.pokemon.decider import BattleDecider
from nemesis.deploy.pokemon.server_matches import MatchSeries, play_on_server
from nemesis.deploy.pokemon.showdown_client import FinishedBattle, Limits, ScheduledBattle, ShowdownClient
from nemesis.deploy.pokemon.showdown_connection import Connection
from nemesis.deploy.pokemon.showdown_server import showdown_server
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.observer import Observer, SeatUpdate
from nemesis.play.players import Player, RandomPlayer, ScriptedPlayer

HASTY = Limits(silence=1, absence=0.2)
NUMBERS = count()  # so that no user comes back by the name of an earlier one
LOOPBACK = "0100007F"  # 127.0.0.1 as the kernel lists it


@pytest.fixture(scope="module")
def observer() -> Iterator[Observer]:
    with closing(game_of("gen1ou").observer()) as opened:
        yield opened


@pytest.fixture
def our_name(_matches_on_shared_server: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name that we play by against poke-env, on the shared server."""
    name = f"Nemesis {next(NUMBERS)}"
    monkeypatch.setattr(server_matches, "_NAME", name)
    return name


class Notes:
    """An observer that keeps what it received and what it saw."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.seen: list[tuple[SeatUpdate, Any, PackedMask]] = []
        self.choices = observer.choices
        self.forget = observer.forget

    def observe(self, news: list[SeatUpdate]) -> tuple[Any, PackedMask]:
        view, mask = self._observer.observe(news)
        self.seen += zip(news, view, mask, strict=True)
        return view, mask


def bookings(game: PokemonGame, matches: int, seat: int) -> list[ScheduledBattle]:
    """Return one player's battles against the other, who has the other seat first."""
    booked = []
    for match in range(matches):
        place = (match + seat) % 2
        team = (game.pair_teams(0, match // 2) or (None, None))[place]
        booked.append(ScheduledBattle(match, team, challenges=place == 0))
    return booked


async def no_invitation(_: ScheduledBattle) -> None:
    """The other is a client with the same bookings."""


async def duel(
    websocket: str, game: PokemonGame, observers: list[Any], players: list[Player], matches: int
) -> list[list[FinishedBattle]]:
    """Let two of our clients meet."""
    number = next(NUMBERS)
    names = (f"One {number}", f"Other {number}")
    sheets = game.format.sheets == "offered"
    connections = [await Connection.open(websocket, name) for name in names]
    clients = [
        ShowdownClient(
            connection, BattleDecider(observer, player), game.format.id, opponent, sheets=sheets, limits=Limits()
        )
        for connection, observer, player, opponent in zip(connections, observers, players, names[::-1], strict=True)
    ]
    playing = [
        client.play(bookings(game, matches, seat), no_invitation, slots=4) for seat, client in enumerate(clients)
    ]
    try:
        return list(await asyncio.wait_for(asyncio.gather(*playing), LIMIT))
    finally:
        for connection in connections:
            await connection.close()


def counted(played: FinishedBattle) -> bool:
    return bool(is_counted(np.array([played.end_reason]))[0])


@pytest.mark.parametrize("battle_format", ["gen1ou", "gen9vgc2025regi"])
def test_live_views_are_those_that_the_lines_give_again(server: str, battle_format: str):
    game = game_of(battle_format)
    with (
        closing(game.observer()) as one,
        closing(game.observer()) as other,
        closing(game.observer()) as fresh,
    ):
        notes = [Notes(one), Notes(other)]
        results = asyncio.run(duel(server, game, notes, [RandomPlayer(1), RandomPlayer(2)], 2))
        first, second = (sorted(result, key=lambda played: played.scheduled.match) for result in results)
        assert len(first) == len(second) == 2
        assert all(counted(played) for played in first + second)
        assert [played.earned for played in first] == [-played.earned for played in second]
        for seat, note in enumerate(notes):
            for news, view, mask in note.seen:
                again = SeatUpdate(f"{seat} {news.battle}", news.seat, news.lines, news.request, news.refusals)
                view_again, mask_again = fresh.observe([again])
                np.testing.assert_array_equal(view_again[0], view)
                np.testing.assert_array_equal(mask_again[0], mask)
        assert min(len(note.seen) for note in notes) > 10
        if battle_format != "gen1ou":
            previews = [news for news, _, _ in notes[0].seen if news.request.get("teamPreview")]
            assert all(sum(line.startswith("|showteam|") for line in news.lines) == 2 for news in previews)


def switching(view: Any, mask: BoolArray, generator: np.random.Generator) -> IntArray:  # noqa: ARG001
    """Switch whenever it seems to be allowed."""
    order = np.array([*range(8, 14), *range(8), *range(14, 20)])
    return order[np.argmax(mask[:, order], axis=1)]


def test_a_choice_that_is_refused_is_decided_again(server: str, tmp_path: Path):
    (tmp_path / "teams.txt").write_text(TRAPS)
    game = game_of("gen9anythinggoes", teams=str(tmp_path))
    with (
        closing(game.observer()) as one,
        closing(game.observer()) as other,
    ):
        notes = Notes(one)
        players = [ScriptedPlayer(switching, game.spec.actions, 0), RandomPlayer(2)]
        ours, _ = asyncio.run(duel(server, game, [notes, other], players, 2))
    assert len(ours) == 2
    assert all(counted(played) for played in ours)
    assert {news.refusals for news, _, _ in notes.seen} == {0, 1}


async def against(
    websocket: str,
    game: PokemonGame,
    observer: Observer,
    behave: Callable[[Connection], Awaitable[None]],
    limits: Limits = HASTY,
) -> list[FinishedBattle]:
    """Challenge somebody who behaves in some way once the challenge has come."""
    number = next(NUMBERS)
    connection, opponent = [await Connection.open(websocket, f"{name} {number}") for name in ("Nemesis", "Opponent")]
    await opponent.send("", f"/utm {game.pair_teams(0, 0)[1]}")

    async def accept() -> None:
        while not any("/challenge gen1ou" in line for line in (await opponent.receive()).lines):
            pass
        await opponent.send("", f"/accept {connection.name}")
        await behave(opponent)

    decider = BattleDecider(observer, RandomPlayer(0))
    client = ShowdownClient(connection, decider, "gen1ou", opponent.name, sheets=False, limits=limits)
    accepting = asyncio.create_task(accept())
    try:
        return await asyncio.wait_for(client.play(bookings(game, 1, 0), no_invitation, slots=1), LIMIT)
    finally:
        accepting.cancel()
        with suppress(UserError, asyncio.CancelledError):
            await accepting
        for one in (connection, opponent):
            await one.close()


async def until_turn(opponent: Connection) -> str:
    """Wait for the first turn; returns the room."""
    while True:
        message = await opponent.receive()
        if "|turn|1" in message.lines:
            return message.room


async def disconnect(opponent: Connection) -> None:
    await until_turn(opponent)
    await opponent.close()


async def forfeit(opponent: Connection) -> None:
    await opponent.send(await until_turn(opponent), "/forfeit")
    await until_turn(opponent)


async def say_nothing(opponent: Connection) -> None:
    while True:
        await opponent.receive()


@pytest.mark.parametrize("behave", [disconnect, forfeit, say_nothing])
def test_a_battle_that_the_opponent_leaves_is_voided(
    server: str, observer: Observer, behave: Callable[[Connection], Awaitable[None]]
):
    (played,) = asyncio.run(against(server, game_of("gen1ou"), observer, behave))
    assert (played.end_reason, played.earned) == (EndReason.FORFEIT, 0)


def listening(port: int) -> list[str]:
    """Return the addresses, as the kernel lists them, on which a port is open."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, number = local.rpartition(":")
            if state == "0A" and int(number, 16) == port:
                found.append(address)
    return found


def test_a_server_accepts_local_connections_only(server: str):
    port = urlsplit(server).port
    assert port is not None
    assert listening(port) == [LOOPBACK]


def test_a_server_that_stops_is_said_in_a_sentence():
    game = game_of("gen1ou")
    with ExitStack() as server, closing(game.observer()) as own:
        websocket = server.enter_context(showdown_server(simulators=1))

        async def stop_the_server(opponent: Connection) -> None:
            await until_turn(opponent)
            await asyncio.to_thread(server.close)

        with pytest.raises(UserError, match=r"^The connection to the Showdown server was lost\.$"):
            asyncio.run(against(websocket, game, own, stop_the_server, Limits()))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(websocket).port or 0), timeout=LIMIT)


def test_a_server_that_is_not_there_is_said_in_a_sentence():
    with pytest.raises(UserError, match=r"^The Showdown server at ws://127\.0\.0\.1:9/ cannot be reached"):
        asyncio.run(Connection.open("ws://127.0.0.1:9/", "Nemesis"))


def test_an_opponent_who_never_comes_is_said_in_a_sentence(server: str, observer: Observer):
    game = game_of("gen1ou")

    async def wait_alone() -> None:
        connection = await Connection.open(server, "Lonely")
        client = ShowdownClient(
            connection,
            BattleDecider(observer, RandomPlayer(0)),
            "gen1ou",
            "Opponent",
            sheets=False,
            limits=Limits(opening=1),
        )
        try:
            await client.play(bookings(game, 1, 1), no_invitation, slots=1)
        finally:
            await connection.close()

    with pytest.raises(UserError, match=r"^No battle against Opponent started within 1 s\.$"):
        asyncio.run(wait_alone())


def preview(played: FinishedBattle, side: str) -> list[str]:
    """Return the species of a side; the server draws new genders each time."""
    return sorted(line.split("|")[3].split(",")[0] for line in played.log if line.startswith(f"|poke|{side}|"))


def test_poke_env_is_met_in_pairs_with_seats_and_teams_exchanged(our_name: str):
    game = game_of("gen9ou")
    battles: list[FinishedBattle] = []
    score = play_on_server(
        game, RandomPlayer(0), MatchSeries("SimpleHeuristicsPlayer", 4, seed=0, slots=4), battles.append
    )
    assert (score.matches, score.voided) == (4, 0)
    assert score.turns > 5
    battles.sort(key=lambda played: played.scheduled.match)
    for played in battles:
        ours = "p1" if played.scheduled.match % 2 == 0 else "p2"
        assert any(re.match(rf"\|player\|{ours}\|{our_name}\|", line) for line in played.log)
    for one, other in zip(battles[::2], battles[1::2], strict=True):
        for side in ("p1", "p2"):
            assert preview(one, side) == preview(other, side) != []
    assert preview(battles[0], "p1") != preview(battles[0], "p2")


@pytest.mark.usefixtures("our_name")
def test_poke_env_shows_its_team_sheet_where_training_did():
    game = game_of("gen9vgc2025regi")
    battles: list[FinishedBattle] = []
    score = play_on_server(game, RandomPlayer(0), MatchSeries("RandomPlayer", 2, seed=1, slots=2), battles.append)
    assert (score.matches, score.voided) == (2, 0)
    assert all(sum(line.startswith("|showteam|") for line in played.log) == 2 for played in battles)


@pytest.mark.usefixtures("our_name")
def test_a_player_that_does_not_exist_is_said_in_a_sentence():
    with pytest.raises(UserError, match=r"poke-env:CleverPlayer did not start.*There is no player CleverPlayer"):
        play_on_server(game_of("gen1ou"), RandomPlayer(0), MatchSeries("CleverPlayer", 2, seed=0))


@pytest.mark.usefixtures("our_name")
def test_a_player_that_crashes_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "quitter.py").write_text(
        "import os\nfrom poke_env.player import RandomPlayer\n\n\n"
        "class Quitter(RandomPlayer):\n    def choose_move(self, battle):\n        os._exit(3)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with pytest.raises(UserError, match=r"^The poke-env player exited with code 3\."):
        play_on_server(game_of("gen1ou"), RandomPlayer(0), MatchSeries("quitter:Quitter", 2, seed=0))


def descendants(pid: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def play_for_long() -> None:
    play_on_server(game_of("gen1ou"), RandomPlayer(0), MatchSeries("RandomPlayer", 10_000, seed=0))


def test_nothing_outlives_the_process_that_started_the_battles(tmp_path: Path):
    process = Background(tmp_path / "printed.txt", play_for_long)
    started: set[int] = set()

    def plays() -> bool:
        started.update(descendants(process.pid))
        return any(is_poke_env(pid) for pid in started) or not process.alive

    wait_until(plays)
    assert process.alive, process.printed
    os.kill(process.pid, signal.SIGKILL)
    assert process.finish() == -signal.SIGKILL
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))


def is_poke_env(pid: int) -> bool:
    with suppress(OSError):
        return b"poke_env_player" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
