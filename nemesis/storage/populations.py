"""What is on disk of a population: its game and its members, in `population.json`, with their files in `members/`.

The opponent pool of a run is in the same place and can be read as a population. A member is named as a player by
`DIR#NAME`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from nemesis.core.errors import UserError
from nemesis.core.files import replace_file
from nemesis.games.config import GameConfig, game_config_of, without_technical

FORMAT = 1
REGISTRY = "population.json"
MEMBERS = Path("members")
SEPARATOR = "#"
"""Between the folder of a population and the name of a member."""

Kind: TypeAlias = Literal["policy", "scripted", "mixture", "remote"]
_RUN_KINDS: Mapping[str, Kind] = {"frozen": "policy", "scripted": "scripted"}


@dataclass(frozen=True, slots=True)
class MemberRecord:
    """A member of a population."""

    number: int  # never given to another member; payoffs are recorded by it
    name: str
    kind: Kind
    player: str  # a file in the folder of the population, or the name of a scripted player or one over a server
    origin: str = ""  # the player as it was added
    parents: tuple[str, ...] = ()  # names of the members that it was made from
    tags: tuple[str, ...] = ()
    anchor: float | None = None  # a fixed rating
    removed: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)  # how it was made

    @property
    def has_file(self) -> bool:
        return self.kind in {"policy", "mixture"}


@dataclass(frozen=True, slots=True)
class PopulationRecord:
    """The content of `population.json`."""

    path: Path
    game: str
    settings: Mapping[str, Any]  # of the game, that affect its matches
    view_version: str
    every_member: tuple[MemberRecord, ...]  # in the order of their numbers, with those that were removed
    run: bool = False  # whether it is the opponent pool of a run

    @property
    def members(self) -> list[MemberRecord]:
        """The members that were not removed."""
        return [member for member in self.every_member if not member.removed]

    def member(self, name: str) -> MemberRecord:
        """Return a member by its name."""
        for member in self.members:
            if member.name == name:
                return member
        known = ", ".join(member.name for member in self.members) or "none yet"
        raise UserError(f"{self.path} has no member called '{name}'. Its members: {known}.")

    def player_of(self, member: MemberRecord) -> str:
        """Return the name of a member as a player."""
        return str(self.path / member.player) if member.has_file else member.player

    def game_config(self) -> GameConfig:
        return game_config_of({**self.settings, "game": self.game})


def read_population(path: Path) -> PopulationRecord:
    """Read a population, or the opponent pool of a run."""
    file = path / REGISTRY
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        if "format" not in saved:
            return _read_pool(path, saved)
        if saved["format"] != FORMAT:
            raise UserError(f"{file} has format {saved['format']}, and this version of Nemesis reads {FORMAT}.")
        return PopulationRecord(
            path=path,
            game=str(saved["game"]),
            settings=dict(saved["settings"]),
            view_version=str(saved["view_version"]),
            every_member=tuple(_member(one) for one in saved["members"]),
        )
    except FileNotFoundError:
        raise UserError(
            f"{path} is not a population; create one with `nemesis population create {path}`, or name a run that has "
            "opponents."
        ) from None
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{file} is damaged: {error}.") from error


def write_population(record: PopulationRecord) -> None:
    """Write `population.json`; readers see the old content or the new one."""
    content = {
        "format": FORMAT,
        "game": record.game,
        "settings": dict(record.settings),
        "view_version": record.view_version,
        "members": [asdict(member) for member in record.every_member],
    }
    replace_file(record.path / REGISTRY, json.dumps(content, indent=2) + "\n")


def is_member(name: str) -> bool:
    """Return whether a name has the form DIR#NAME of a member, and is no path."""
    return SEPARATOR in name and not Path(name).exists()


def member_player(name: str) -> str:
    """Return the player that a member is, from its name as DIR#NAME."""
    folder, _, member = name.rpartition(SEPARATOR)
    population = read_population(Path(folder))
    return population.player_of(population.member(member))


def matching_settings(config: GameConfig) -> dict[str, Any]:
    """Return the settings of a game that affect its matches."""
    return {name: value for name, value in without_technical(config.model_dump(mode="json")).items() if name != "game"}


def _member(saved: Mapping[str, Any]) -> MemberRecord:
    if saved["kind"] not in get_args(Kind):
        raise ValueError(f"it has a member of the kind {saved['kind']}")
    listed = {name: tuple(saved[name]) for name in ("parents", "tags")}
    return MemberRecord(**{**saved, **listed})


def _read_pool(path: Path, saved: Mapping[str, Any]) -> PopulationRecord:
    """Return the opponent pool of a run as a population."""
    import yaml  # noqa: PLC0415  slow to import, and populations need it for nothing else

    config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    game = game_config_of(config)
    members = tuple(
        MemberRecord(
            number=number,
            name=one["name"],
            kind=_RUN_KINDS[one["source"][0]],
            player=one["source"][1],
            parents=(one["parent"],) if one["parent"] else (),
            tags=(one["category"],),
            about={"rating": one["rating"], "joined_at": one["joined_at"]},
        )
        for number, one in enumerate(saved["members"])
    )
    return PopulationRecord(path, game.game, matching_settings(game), "", members, run=True)
