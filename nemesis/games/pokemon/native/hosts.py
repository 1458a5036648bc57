"""Hosts of the native engine for match pools; Showdown is started only to replay matches, for pages and checks."""

from typing import Any

from nemesis.core.errors import UserError
from nemesis.core.game import CheckCounts
from nemesis.games.pokemon.hosts.host_process import Ended, HostError, Setting
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.native.checks import Checks
from nemesis.games.pokemon.native.host import NativeHost


class NativeHosts:
    """Makes a host for each share of a pool. They live in this process and need no warming up."""

    def __init__(self, showdown: WarmHosts, check_every: int) -> None:
        """One match in `check_every` is replayed on Showdown and compared; 0 for none."""
        self._showdown = showdown
        self._checks = Checks(showdown, check_every)

    def take(self, settings: list[Setting]) -> list[NativeHost]:
        """Return a host for each setting."""
        return [NativeHost(setting, self._replay, self._ended) for setting in settings]

    def give_back(self, host: NativeHost) -> None:
        """Drop a host."""
        host.close()

    def take_checks(self) -> CheckCounts:
        """Return how many matches were compared with Showdown since the last call."""
        return self._checks.take_counts()

    def _replay(self, setting: Setting, recording: dict[str, Any]) -> Any:
        (host,) = self._showdown.take([Setting(setting.format, 1, setting.sheets, setting.turn_limit)])
        try:
            return host.ask("reenact", recording=recording)
        except HostError as error:
            raise UserError(f"Showdown could not replay this match. {error}") from error
        finally:
            self._showdown.give_back(host)

    def _ended(self, setting: Setting, ended: Ended) -> None:
        self._checks.offer(setting, ended)
