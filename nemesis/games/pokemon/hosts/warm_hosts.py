"""Hosts that stay warm: a pool that closes gives its hosts back, and the next pool goes on with them.

A host is at its full speed only after some ten seconds of battles, so ending it with every evaluation would be a waste.
"""

import weakref
from typing import Any

from nemesis.core.errors import UserError
from nemesis.games.pokemon.hosts.host_process import Host, HostError, Setting
from nemesis.games.pokemon.node import NodeSource

_TRIES = 3


class WarmHosts:
    """Idle hosts of one process. They end with it, or when nobody holds the stock any more."""

    def __init__(self, node: NodeSource) -> None:
        self._node = node
        self._idle: list[Host] = []
        weakref.finalize(self, _close_all, self._idle)

    def take(self, settings: list[Setting]) -> list[Host]:
        """Return a host for each setting, ready to play; new ones if need be."""
        hosts = [self._one() for _ in settings]  # they start side by side
        try:
            return [self._started(host, setting) for host, setting in zip(hosts, settings, strict=True)]
        except UserError:
            _close_all(hosts)
            raise

    def give_back(self, host: Host) -> None:
        """Keep a host that waits for a question."""
        self._idle.append(host)

    def check_teams(self, battle_format: str, teams: list[str]) -> list[dict[str, Any]]:
        """Ask the simulator's validator: for each team `{"packed": …}`, or `{"problems": [sentence, …]}`."""
        host = self._one()
        try:
            verdicts: list[dict[str, Any]] = host.ask("teams", format=battle_format, teams=teams)["teams"]
        except HostError as error:
            host.close()
            raise UserError(f"The validator failed over these teams. {error}") from None
        self.give_back(host)
        return verdicts

    def _one(self) -> Host:
        while self._idle:
            host = self._idle.pop()
            if host.alive:
                return host
            host.close()
        return Host(self._node)

    def _started(self, host: Host, setting: Setting) -> Host:
        for _ in range(_TRIES):
            try:
                host.start(setting)
            except HostError as error:
                host.close()
                host, problem = Host(self._node), error
            else:
                return host
        host.close()
        raise UserError(f"The Pokémon simulator does not start. {problem}")


def _close_all(hosts: list[Host]) -> None:
    for host in hosts:
        host.close()
