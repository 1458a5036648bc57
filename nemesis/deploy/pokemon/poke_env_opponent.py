"""A poke-env opponent: a child process that plays on the same server."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING

from nemesis.core.errors import UserError

if TYPE_CHECKING:
    from nemesis.deploy.pokemon.showdown_client import ScheduledBattle

PREFIX = "poke-env:"
_START_LIMIT = 300.0  # seconds, for a busy machine


class PokeEnvOpponent:
    """A running poke-env player."""

    def __init__(
        self, process: asyncio.subprocess.Process, opponent_team: dict[int, str | None], printed: IO[bytes]
    ) -> None:
        self._process = process
        self._teams = opponent_team
        self._printed = printed

    async def invite(self, scheduled: "ScheduledBattle") -> None:
        """Ask the player for a battle with a given team: to accept our challenge, or to challenge us."""
        assert self._process.stdin is not None  # noqa: S101
        invitation = {"challenges": not scheduled.challenges, "team": self._teams[scheduled.match]}
        try:
            self._process.stdin.write(json.dumps(invitation).encode() + b"\n")
            await self._process.stdin.drain()
        except ConnectionError:
            raise UserError(f"The poke-env player exited.{self.output_tail()}") from None

    async def ended(self) -> None:
        """Wait until the player exits, which is an error."""
        code = await self._process.wait()
        raise UserError(f"The poke-env player exited with code {code}.{self.output_tail()}")

    def output_tail(self) -> str:
        """Return the end of the player's output, if any, for an error message."""
        self._printed.seek(0)
        output = self._printed.read().decode(errors="replace").strip()[-1500:]
        return f" It printed: {output}" if output else ""


def check_installed() -> None:
    """Raise if poke-env is not installed."""
    if find_spec("poke_env") is None:
        raise UserError("poke-env players need poke-env. Install it with: pip install 'nemesis-rl[poke-env]'")


@asynccontextmanager
async def poke_env_opponent(
    player: str,
    websocket: str,
    battle_format: str,
    *,
    name: str,
    opponent: str,
    teams: dict[int, str | None],
    sheets: bool,
    seed: int,
) -> AsyncIterator[PokeEnvOpponent]:
    """Run a player class by name, with a team for every match; it plays as `name` against `opponent`."""
    check_installed()
    command = [sys.executable, "-m", "nemesis.deploy.pokemon.poke_env_player", websocket, battle_format, player]
    command += ["--name", name, "--opponent", opponent, "--seed", str(seed), *(["--sheets"] if sheets else [])]
    with tempfile.TemporaryFile() as printed:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=printed,
            start_new_session=True,
        )
        running = PokeEnvOpponent(process, teams, printed)
        try:
            await _await_ready(process, player, running)
            yield running
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _await_ready(process: asyncio.subprocess.Process, player: str, opponent: PokeEnvOpponent) -> None:
    assert process.stdout is not None  # noqa: S101
    try:
        async with asyncio.timeout(_START_LIMIT):
            line = await process.stdout.readline()
    except TimeoutError:
        raise UserError(
            f"{PREFIX}{player} did not start within {_START_LIMIT:.0f} s.{opponent.output_tail()}"
        ) from None
    if line.strip() != b"ready":
        raise UserError(f"{PREFIX}{player} did not start.{opponent.output_tail()}")
