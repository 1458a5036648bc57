"""How fast poke-env plays at random: the peer of `pokemon_speed`, with the best settings for this machine.

poke-env is a client, so its battles run on a local Showdown server. Its speed depends on the number of simulator
processes, of clients and of battles in flight, and the best setting differs between formats. Several settings are
therefore tried, and the fastest counts. A choice that the server refuses and poke-env repeats counts as a decision each
time.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from benchmarks.report import MeasurementError
from nemesis.deploy.pokemon.showdown_server import showdown_server

_START_LIMIT = 300.0  # seconds, for a busy machine
_CLIENT_WARM_UP = 0.4  # share of the warm-up; the battles of a new client must get out of step


@dataclass(frozen=True, slots=True)
class Setting:
    """How the machine is divided between the processes of the peer."""

    simulators: int  # processes of the server that simulate battles
    clients: int  # processes of poke-env
    battles: int  # in flight per client

    def __str__(self) -> str:
        return f"{self.simulators} sim, {self.clients} × {self.battles}"


SETTINGS = (Setting(1, 1, 20), Setting(1, 1, 50), Setting(2, 1, 50), Setting(2, 1, 100), Setting(2, 2, 50))


@dataclass(frozen=True, slots=True)
class Speed:
    """What was played."""

    decisions: float  # per second
    battles: float  # per second
    voided: int  # battles that do not count


def poke_env_speed(
    battle_format: str, teams: Sequence[str], settings: Sequence[Setting], warm_up: float, seconds: float
) -> dict[Setting, Speed]:
    """Return the speed of random play with each setting, the fastest first."""
    rates_by_setting = peer_rates(
        "benchmarks.peers.poke_env_client", [battle_format], teams, settings, warm_up, seconds
    )
    speeds = {
        setting: Speed(rates["decisions"], rates["battles"], int(rates["stalled"]))
        for setting, rates in rates_by_setting.items()
    }
    if not any(speed.decisions for speed in speeds.values()):
        raise MeasurementError(f"poke-env made no decision in {seconds:.0f} s of {battle_format}.")
    return dict(sorted(speeds.items(), key=lambda pair: -pair[1].decisions))


def peer_rates(
    module: str,
    arguments: Sequence[str],
    teams: Sequence[str],
    settings: Sequence[Setting],
    warm_up: float,
    seconds: float,
) -> dict[Setting, dict[str, float]]:
    """Run one of our poke-env programs with each setting; returns the growth of each of its counts per second.

    `stalled` does not accumulate, so its last count is returned.
    """
    if find_spec("poke_env") is None:
        raise MeasurementError("poke-env is missing. Install it with: pip install --editable '.[benchmarks]'")
    rates: dict[Setting, dict[str, float]] = {}
    for simulators, group in groupby(settings, lambda setting: setting.simulators):
        with showdown_server(simulators) as websocket:
            wait = warm_up
            for setting in group:
                command = [sys.executable, "-m", module, websocket, *arguments, "--battles", str(setting.battles)]
                with _clients(command, teams, setting.clients, name=len(rates)) as clients:
                    rates[setting] = _rates(clients, wait, seconds)
                wait = _CLIENT_WARM_UP * warm_up  # the server is warm
    return rates


@contextmanager
def _clients(
    command: Sequence[str], teams: Sequence[str], count: int, name: int
) -> Iterator[list["subprocess.Popen[str]"]]:
    with ExitStack() as stack:
        command = list(command)
        if teams:
            file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "teams.txt"
            file.write_text("\n".join(teams), encoding="utf-8")
            command += ["--teams", str(file)]
        clients = []
        for number in range(count):
            client = subprocess.Popen(
                [*command, "--name", f"{name}x{number}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            stack.callback(_stop, client)
            clients.append(client)
        yield clients


def _rates(clients: Sequence["subprocess.Popen[str]"], warm_up: float, seconds: float) -> dict[str, float]:
    _await_first_decision(clients)
    time.sleep(warm_up)
    before, started = _counts(clients), time.monotonic()
    time.sleep(seconds)
    after, elapsed = _counts(clients), time.monotonic() - started
    rates = {name: (after[name] - before[name]) / elapsed for name in after}
    return rates | ({"stalled": float(after["stalled"])} if "stalled" in after else {})


def _await_first_decision(clients: Sequence["subprocess.Popen[str]"]) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while not _counts(clients)["decisions"]:
        if time.monotonic() > deadline:
            raise MeasurementError(f"poke-env made no decision within {_START_LIMIT:.0f} s.")
        time.sleep(0.2)


def _counts(clients: Sequence["subprocess.Popen[str]"]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for client in clients:
        assert client.stdin and client.stdout  # noqa: S101, PT018
        try:
            client.stdin.write("\n")
            client.stdin.flush()
        except BrokenPipeError:
            answer = ""
        else:
            answer = client.stdout.readline()
        if not answer:
            raise MeasurementError("A poke-env client exited before it was measured; its error is above.")
        total.update(json.loads(answer))
    return dict(total)


def _stop(client: "subprocess.Popen[str]") -> None:
    client.kill()
    client.wait()
    for pipe in (client.stdin, client.stdout):
        if pipe:
            pipe.close()
