"""Settings of the tests on real simulators, and the server that they share."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from nemesis.deploy.pokemon import server_matches
from nemesis.deploy.pokemon.showdown_server import showdown_server
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts


@pytest.fixture(scope="session", autouse=True)
def _shared_hosts() -> Iterator[None]:
    """Let all games of the test process reuse each other's hosts, which take seconds to start and to warm up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PokemonGame, "_hosts_ready", WarmHosts("bundled"))
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A local Showdown server, for all tests of the process; yields the address of its websocket."""
    with showdown_server(simulators=1) as websocket:
        yield websocket


@pytest.fixture
def _matches_on_shared_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let matches against poke-env be played on the shared server instead of a new one."""
    monkeypatch.setattr(server_matches, "showdown_server", lambda simulators: nullcontext(server))  # noqa: ARG005
