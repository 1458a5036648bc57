"""Families of games: what a package of games registers, in Nemesis or outside of it.

A package outside names its family as an entry point:

    [project.entry-points."nemesis.games"]
    chess = "my_package:FAMILY"

What a family has is given as `module:attribute`, so that registering it imports nothing heavy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nemesis.core.commands import CommandGroup


@dataclass(frozen=True, slots=True)
class Family:
    """What the rest of the system may ask of a family of games."""

    name: str  # before the colon of a game's name, and the group of its settings in a config
    example: str  # a game of the family, for help and error messages
    open_game: str  # (name of the game, settings or None) → Game
    settings: str | None = None  # the model of its settings (core.settings.Settings)
    pin: str | None = None  # (settings) → settings that also name what they stand for on this machine, for a new run
    commands: Sequence[CommandGroup] = ()  # what the command line adds
    checks: str | None = None  # () → (label, text) rows of `nemesis doctor`
    replays: str | None = None  # what reads public replays of the family (core.replays.ReplayFamily)
    remote_players: str | None = None  # players over a server (evaluation.entrants.RemotePlayers)
    exporters: Mapping[str, str] = field(
        default_factory=dict
    )  # by format: (PolicyExport, new file or folder) → sentence
