"""Reuse of hosts: a pool, observer or replay reader that closes gives its hosts back, and the next one takes them.

A host reaches full speed only after about ten seconds of battles, because of JIT compilation, so it is not ended with
every evaluation.
"""

import weakref
from contextlib import suppress
from typing import Any

from nemesis.core.errors import UserError
from nemesis.core.game import CheckCounts
from nemesis.core.progress import report
from nemesis.games.pokemon.hosts.host_process import Host, HostError, Setting
from nemesis.games.pokemon.node import NodeSource
from nemesis.games.pokemon.teams.team_sets import CHECKING

_ATTEMPTS = 3


class WarmHosts:
    """Idle hosts of one process. They end with the process, or when this object is garbage-collected."""

    def __init__(self, node: NodeSource) -> None:
        self._node = node
        self._idle: list[Host] = []
        weakref.finalize(self, _close_all, self._idle)

    def take(self, settings: list[Setting]) -> list[Host]:
        """Return a started host for each setting; new ones if too few are idle."""
        hosts = [self._one() for _ in settings]  # new ones start in parallel
        started: list[Host] = []
        try:
            for host, setting in zip(hosts, settings, strict=True):
                report("Starting processes of the Pokémon simulator", len(started), len(hosts))
                started.append(self._started(host, setting))
            return started
        except UserError:  # for example, the format does not exist
            for host in hosts:
                self.give_back(host)
            raise

    def give_back(self, host: Host) -> None:
        """Keep a host for reuse. One that failed or was interrupted is ended instead."""
        if host.reusable:
            self._idle.append(host)
        else:
            host.close()

    def take_checks(self) -> CheckCounts:
        """Return that nothing was checked: these hosts are what others are checked against."""
        return CheckCounts()

    def check_teams(self, battle_format: str, teams: list[str]) -> list[dict[str, Any]]:
        """Validate teams with the simulator: for each `{"packed": …}`, or `{"problems": [sentence, …]}`."""
        new = not self._idle
        host = self._one()
        if new:
            report(CHECKING)  # no longer starting it
        try:
            answers: list[dict[str, Any]] = host.ask("teams", format=battle_format, teams=teams)["teams"]
        except HostError as error:
            raise UserError(f"The validator failed on these teams. {error}") from None
        finally:
            self.give_back(host)
        return answers

    def _one(self) -> Host:
        with suppress(IndexError):  # no other thread may take it between a look and a pop
            while not (host := self._idle.pop()).reusable:
                host.close()
            return host
        report("Starting a process of the Pokémon simulator")
        return Host(self._node)

    def _started(self, host: Host, setting: Setting) -> Host:
        for _ in range(_ATTEMPTS):
            try:
                host.start(setting)
            except HostError as error:
                host.close()
                host, problem = Host(self._node), error
            else:
                return host
        host.close()
        raise UserError(f"The Pokémon simulator did not start. {problem}")


def _close_all(hosts: list[Host]) -> None:
    for host in hosts:
        host.close()
