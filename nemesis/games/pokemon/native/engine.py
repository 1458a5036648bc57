"""Which engine plays a game: the native one where it can, as the setting `pokemon.engine` says."""

import logging
from collections.abc import Iterable

from nemesis.core.errors import UserError
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.native.arena_memory import checked_library
from nemesis.games.pokemon.native.formats import NATIVE_FORMATS, is_native
from nemesis.games.pokemon.native.hosts import NativeHosts
from nemesis.games.pokemon.native.library import LibraryError
from nemesis.games.pokemon.native.team_sheets import TeamSheetError, team_sheet
from nemesis.games.pokemon.settings import PokemonSettings

_log = logging.getLogger(__name__)


def choose_hosts(
    battle_format: Format, settings: PokemonSettings, showdown: WarmHosts, teams: Iterable[str]
) -> NativeHosts | WarmHosts:
    """Return the hosts of a game's pools, whose packed teams are these."""
    if settings.engine == "showdown":
        return showdown
    problem = _problem(battle_format, teams)
    if not problem:
        return NativeHosts(showdown, settings.check_every)
    if settings.engine == "native":
        raise UserError(f"{problem} Set pokemon.engine=auto to play on Showdown instead.")
    if is_native(battle_format):
        _log.warning("%s is played on Showdown, which is slower. %s", battle_format.id, problem)
    return showdown


def library_problem() -> str:
    """Return why there is no native library, or an empty text; it is compiled now if it is missing."""
    try:
        checked_library()
    except LibraryError as error:
        return str(error)
    return ""


def _problem(battle_format: Format, teams: Iterable[str]) -> str:
    """Return why the native engine cannot play a format with these teams, or an empty text."""
    if not is_native(battle_format):
        return f"The native engine does not play {battle_format.id}; it plays {', '.join(NATIVE_FORMATS)}."
    if problem := library_problem():
        return problem
    try:
        for team in teams:
            team_sheet(team)
    except TeamSheetError as error:
        return str(error)
    return ""
