"""A local Pokémon Showdown server, from the same npm package that the hosts use.

It listens only on 127.0.0.1, without authentication, makes no network requests, and exits when its parent process ends,
however that happens. The package is linked into a temporary folder that holds the server's settings and logs, so that
nothing is written into the package.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.games.pokemon.node import find_node, installed_host

_ADDRESS = "127.0.0.1"
_START_LIMIT = 300.0  # seconds, for a busy machine
_LINKED = ("dist", "data", "databases", "server", "translations", "package.json")


@contextmanager
def showdown_server(simulators: int) -> Iterator[str]:
    """Run a server with `simulators` simulator processes; yields the address of its websocket."""
    node = find_node("bundled")
    packages = installed_host(node) / "node_modules"
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="showdown-") as name:
        folder = Path(name)
        _prepare_folder(folder, packages, port, simulators)
        log = folder / "server.log"
        with log.open("wb") as output:
            server = subprocess.Popen(  # noqa: S603
                # The server uses the parent folder of its files, so symbolic links must not be resolved.
                [
                    str(node.node),
                    "--preserve-symlinks",
                    "--preserve-symlinks-main",
                    str(folder / "dist" / "server" / "index.js"),
                ],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            _await_connection(server, port, log)
            yield f"ws://{_ADDRESS}:{port}/showdown/websocket"
        finally:
            _stop(server)


def _prepare_folder(folder: Path, packages: Path, port: int, simulators: int) -> None:
    (folder / "node_modules").symlink_to(packages)
    for name in _LINKED:
        (folder / name).symlink_to(packages / "pokemon-showdown" / name)
    (folder / "logs").mkdir()
    (folder / "config" / "chat-plugins").mkdir(parents=True)
    settings = {
        "port": port,
        "bindaddress": _ADDRESS,
        # As with `--no-security`, which poke-env requires.
        "nothrottle": True,
        "noguestsecurity": True,
        "noipchecks": True,
        # Features that battles do not need.
        "backdoor": False,
        "consoleips": [],
        "repl": False,
        "watchconfig": False,
        "loginserver": None,
        "loguserstats": 0,
        "reportjoins": False,
        "reportbattles": False,
        "reportbattlejoins": False,
        "subprocesses": {"network": 1, "simulator": simulators, "validator": 1},
    }
    lines = [
        f"Object.assign(exports, {json.dumps(settings)});",
        # The main process, and with it the others, exits when its standard input is closed.
        "if (!process.send) process.stdin.on('end', () => process.exit()).resume();",
    ]
    (folder / "config" / "config.js").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_ADDRESS, 0))
        port: int = probe.getsockname()[1]
    return port


def _await_connection(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection((_ADDRESS, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
    raise UserError(f"The local Showdown server did not start. The end of its log:\n{last}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Kill the server and all its child processes; they have nothing to save."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
