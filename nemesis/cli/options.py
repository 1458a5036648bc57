"""Options that several commands share, and how positional words are told apart."""

# ruff: noqa: PLC0415 (what is slow to import is imported when a command runs)

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from nemesis.core.errors import UserError

if TYPE_CHECKING:
    from nemesis.core.replays import ReplayFamily
    from nemesis.evaluation.entrants import RemotePlayers

Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False)]
"""An option that is on or off."""


def check_minimum(**options: tuple[int | None, int]) -> None:
    """Raise unless each option is at least as large as it must be."""
    for name, (number, least) in options.items():
        if number is not None and number < least:
            raise UserError(f"--{name} must be a whole number of at least {least}, not {number}.")


def split_settings(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of players, and the settings of games among them, such as FAMILY.KEY=VALUE."""
    from nemesis.games.config import family_settings

    groups = (*family_settings(), "game_settings")
    settings = [word for word in words if "=" in word and word.partition(".")[0] in groups]
    return [word for word in words if word not in settings], settings


def remote_players() -> "list[RemotePlayers]":
    """Return the players over servers that the game families bring."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import families

    return [import_attribute(family.remote_players) for family in families().values() if family.remote_players]


def replay_family(name: str | None) -> "ReplayFamily":
    """Return what reads the replays of a family of games; the name may be left out where only one can."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import families

    readable = {family.name: family.replays for family in families().values() if family.replays}
    if name is None and len(readable) == 1:
        name = next(iter(readable))
    if name not in readable:
        wrong = "Several families can read replays" if name is None else f"{name} has no public replays"
        raise UserError(f"{wrong}; name one with --family: {', '.join(readable)}.")
    found: ReplayFamily = import_attribute(readable[name])
    return found
