"""A connection to a Pokémon Showdown server: logs in, sends texts and reads messages.

A message is a group of lines for one room; messages outside of rooms have an empty room name. Logging in has a timeout,
and a lost connection raises an error.
"""

import asyncio
from dataclasses import dataclass

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from nemesis.core.errors import UserError

_CONNECT_LIMIT = 120.0  # seconds to connect and log in
_MAX_MESSAGE_SIZE = 1 << 24


class LostConnectionError(UserError):
    """The server cannot be reached, or has closed the connection."""


@dataclass(frozen=True, slots=True)
class Message:
    """The lines of one message to a room."""

    room: str
    lines: list[str]


def identity(name: str) -> str:
    """Return the normalised form of a user name, as Showdown compares names."""
    return "".join(letter for letter in name.lower() if letter.isascii() and letter.isalnum())


class Connection:
    """One user's connection."""

    def __init__(self, socket: ClientConnection, name: str) -> None:
        self._socket = socket
        self.name = name

    @classmethod
    async def open(cls, address: str, name: str) -> "Connection":
        """Connect to a server without passwords, and log in."""
        try:
            async with asyncio.timeout(_CONNECT_LIMIT):
                # No pings, because a busy server answers late; callers have their own timeouts.
                socket = await connect(address, ping_interval=None, max_size=_MAX_MESSAGE_SIZE, max_queue=None)
                connection = cls(socket, name)
                await connection._log_in()
        except TimeoutError:
            raise LostConnectionError(
                f"The Showdown server at {address} did not accept the login of {name} within {_CONNECT_LIMIT:.0f} s."
            ) from None
        except (OSError, InvalidURI, InvalidHandshake) as error:
            raise LostConnectionError(f"The Showdown server at {address} cannot be reached ({error}).") from None
        return connection

    async def send(self, room: str, text: str) -> None:
        try:
            await self._socket.send(f"{room}|{text}")
        except (OSError, WebSocketException):
            raise LostConnectionError("The connection to the Showdown server was lost.") from None

    async def receive(self) -> Message:
        """Wait for the next message."""
        try:
            text = str(await self._socket.recv())
        except (OSError, WebSocketException):
            raise LostConnectionError("The connection to the Showdown server was lost.") from None
        lines = text.split("\n")
        room = lines.pop(0)[1:] if text.startswith(">") else ""
        return Message(room, lines)

    async def close(self) -> None:
        await self._socket.close()

    async def _log_in(self) -> None:
        while True:
            for line in (await self.receive()).lines:
                _, kind, *parts = [*line.split("|"), "", ""]
                if kind == "challstr":
                    await self.send("", f"/trn {self.name},0,")
                elif kind == "nametaken":
                    raise UserError(f"The Showdown server refuses the name {self.name}: {parts[1]}")
                elif kind == "updateuser" and identity(parts[0]) == identity(self.name):
                    return
