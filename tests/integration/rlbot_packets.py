"""A server that sends packets of RLBot, and arenas that call back after every tick."""

import socket
from collections.abc import Callable
from typing import Any

from background import LIMIT
from rlbot import flat

from nemesis.games.rocket_league.arena.rocketsim import Arena
from nemesis.games.rocket_league.arena.simulation import Simulation


def changed(message: Any, **parts: Any) -> Any:
    """A message of RLBot with other parts."""
    return type(message)(**{name: getattr(message, name) for name in message.__match_args__} | parts)


class EveryTick:
    """An arena of RocketSim that calls back after every tick of its steps."""

    def __init__(self, arena: Any, report: Callable[[], None]) -> None:
        self._arena = arena
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arena, name)

    def step(self, ticks: int) -> None:
        score = (self._arena.blue_score, self._arena.orange_score)
        for _ in range(ticks):
            self._arena.step(1)
            self._report()
            if (self._arena.blue_score, self._arena.orange_score) != score:
                break  # a step ends with a goal


def watch(simulation: Simulation, report: Callable[[], None]) -> Arena:
    """Call back after every tick of the match in the first slot; returns its arena."""
    playing = simulation._playing[0]
    simulation._playing[0] = Arena(EveryTick(playing.arena, report), playing.cars)
    return playing


class Server:
    """What a bot connects to: sends it messages, and receives its answers."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(LIMIT)
        self.port = self._listening.getsockname()[1]

    def accept(self) -> flat.ConnectionSettings:
        self._connection, _ = self._listening.accept()
        self._connection.settimeout(LIMIT)
        return self.receive()

    def send(self, message: Any) -> None:
        content = flat.CorePacket(message).pack()
        self._connection.sendall(len(content).to_bytes(2, "big") + content)

    def receive(self) -> Any:
        return flat.InterfacePacket.unpack(self._exactly(int.from_bytes(self._exactly(2), "big"))).message

    def close(self) -> None:
        self._connection.close()
        self._listening.close()

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            part = self._connection.recv(size - len(content))
            assert part, "the bot has closed the connection"
            content += part
        return content
