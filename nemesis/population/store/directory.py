"""A population on disk: creates one, adds members and removes them.

    DIR/population.json    the game and the members
    DIR/members/           policy files, and mixtures of members as JSON
    DIR/payoffs.jsonl      the log of all matches

Policies are copied, so that a population does not depend on the runs that they came from. Every file is written
atomically, and only with a lock; readers need none.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nemesis.core.errors import UserError
from nemesis.core.files import WriteError, replacement
from nemesis.core.game import AnchoredGame, Game
from nemesis.core.plugins import ImportPermission
from nemesis.evaluation.entrants import RemotePlayers, open_entrants, remote_of
from nemesis.games.config import GameConfig
from nemesis.play.named_players import check_player, is_policy, mixture_of, parts_of
from nemesis.play.play_options import PlayOptions
from nemesis.storage.mixtures import SUFFIX as MIXTURE_SUFFIX
from nemesis.storage.mixtures import Mixture, normalised, write_mixture
from nemesis.storage.policies import DEFAULT_WEIGHTS, SavedPolicy, Weights, find_policy
from nemesis.storage.policy_export import PolicyExport
from nemesis.storage.policy_files import SUFFIX as POLICY_SUFFIX
from nemesis.storage.populations import (
    MEMBERS,
    REGISTRY,
    Kind,
    MemberRecord,
    PopulationRecord,
    matching_settings,
    read_population,
    write_population,
)

_WAIT = 10.0  # seconds for another process that changes the population, which takes moments
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class NewMember:
    """A player that joins a population."""

    player: str
    name: str | None = None  # by default made from the player's
    parents: Sequence[str] = ()
    tags: Sequence[str] = ()
    anchor: float | None = None
    weights: Weights = DEFAULT_WEIGHTS  # of a run or checkpoint
    about: Mapping[str, Any] = field(default_factory=dict)


def create_population(
    path: Path,
    players: Sequence[str] = (),
    game: str | None = None,
    overrides: Sequence[str] = (),
    *,
    remote_players: Sequence[RemotePlayers] = (),
    imports: ImportPermission = False,
) -> PopulationRecord:
    """Create a population of a game, or of the game that the players have in common, and add them."""
    _check_new(path)
    entrants = open_entrants(players, game, overrides, PlayOptions(allow_imports=imports), remote_players)
    record = _create(path, entrants.config, entrants.game)
    return add_members(record.path, [NewMember(player) for player in players], remote_players, imports=imports)


def copy_pool(path: Path, run: Path, *, imports: ImportPermission = False) -> PopulationRecord:
    """Create a population with the members of a run's opponent pool, as they are now."""
    _check_new(path)
    pool = read_population(run)
    if not pool.run:
        raise UserError(f"{run} is a population already; copy its folder.")
    config = pool.game_config()
    _create(path, config, config.open_game())
    members = [
        NewMember(pool.player_of(one), one.name, tags=one.tags, about={**one.about, "parent": [*one.parents]})
        for one in pool.members
    ]
    return add_members(path, members, imports=imports)


def add_members(
    path: Path,
    members: Sequence[NewMember],
    remote_players: Sequence[RemotePlayers] = (),
    *,
    imports: ImportPermission = False,
) -> PopulationRecord:
    """Add players to a population; those whom it cannot have are refused in a sentence, and then none is added."""
    with changing(path) as record:
        game = record.game_config().open_game()
        check_view_version(record, game)
        for one in members:
            _check_member(record, game, one, remote_players, imports)
        grown = record
        for one in members:
            grown = _added(grown, game, one, remote_players, imports)
        write_population(grown)
        return grown


def add_mixture(path: Path, weights: Mapping[str, float], name: str, *, tags: Sequence[str] = ()) -> PopulationRecord:
    """Add a mixture of members, by their names and weights; those that are mixtures are taken apart."""
    with changing(path) as record:
        check_name(record, name)
        players: dict[str, float] = {}
        for member_name, weight in normalised("The mixture", weights).items():
            member = record.member(member_name)
            if member.kind == "remote":
                raise UserError(f"{member_name} plays over a server, so it cannot be part of a mixture.")
            mixture = mixture_of(record.player_of(member))
            parts = mixture.players if mixture else {record.player_of(member): 1.0}
            for player, share in parts.items():
                own = Path(player).name if player.startswith(str(record.path / MEMBERS)) else player
                players[own] = players.get(own, 0.0) + weight * share
        file = (MEMBERS / name).with_name(f"{name}{MIXTURE_SUFFIX}")
        write_mixture(record.path / file, Mixture(record.game, record.settings, players))
        about = {"mixture": dict(normalised("The mixture", weights))}
        made = MemberRecord(
            len(record.every_member),
            name,
            "mixture",
            file.as_posix(),
            parents=tuple(weights),
            tags=tuple(tags),
            about=about,
        )
        grown = replace(record, every_member=(*record.every_member, made))
        write_population(grown)
        return grown


def remove_members(path: Path, names: Sequence[str]) -> PopulationRecord:
    """Remove members; their matches stay in the log, and count no more."""
    with changing(path) as record, playing(path):
        leaving = [record.member(name) for name in names]
        for mixture in record.members:
            used = [one.name for one in leaving if one.name in mixture.about.get("mixture", ())]
            if used and mixture not in leaving:
                raise UserError(f"{used[0]} is part of the mixture {mixture.name}; remove that as well.")
        members = tuple(replace(one, removed=True) if one in leaving else one for one in record.every_member)
        smaller = replace(record, every_member=members)
        write_population(smaller)
        for one in leaving:
            if one.has_file:
                (record.path / one.player).unlink(missing_ok=True)
        return smaller


def check_view_version(record: PopulationRecord, game: Game) -> None:
    """Raise if the members of a population read another version of the game's views."""
    if record.view_version and record.view_version != game.spec.view_version:
        raise UserError(
            f"{record.path} has members that read another version of the view record of {record.game} than this "
            "version of Nemesis writes; use the version that it was created with, or create a new population."
        )


def check_name(record: PopulationRecord, name: str) -> None:
    """Raise unless a new member may have this name."""
    if not _NAME.fullmatch(name):
        raise UserError(f"'{name}' cannot be the name of a member; use letters, digits, '.', '-' and '_'.")
    if any(member.name == name for member in record.members):
        raise UserError(f"{record.path} already has a member called '{name}'; choose another --name.")


@contextmanager
def changing(path: Path) -> Iterator[PopulationRecord]:
    """Yield a population that no other process changes meanwhile."""
    record = read_population(path)
    if record.run:
        raise UserError(
            f"{path} is the opponent pool of a run, which only the run changes; copy it with `nemesis population "
            f"create DIR --pool {path}`."
        )
    with _locked(path, "lock", _WAIT, "is being changed by another process; try again when it has ended"):
        yield read_population(path)


@contextmanager
def playing(path: Path) -> Iterator[None]:
    """Let no other process play matches of a population."""
    problem = "is in use by another process, which plays its matches; wait for it to end, or stop it"
    with _locked(path, "playing.lock", 0, problem):
        yield


@contextmanager
def _locked(path: Path, name: str, wait: float, problem: str) -> Iterator[None]:
    lock = FileLock(path / name)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise UserError(f"{path} {problem}.") from None
    except OSError as error:
        raise WriteError(path / name, error) from error
    try:
        yield
    finally:
        lock.release()


def _check_new(path: Path) -> None:
    if (path / REGISTRY).exists():
        raise UserError(f"{path} already has a population; add to it with `nemesis population add {path}`.")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} already exists and is not empty; name a new folder.")


def _create(path: Path, config: GameConfig, game: Game) -> PopulationRecord:
    try:
        (path / MEMBERS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(path, error) from error
    record = PopulationRecord(path, config.game, matching_settings(config), game.spec.view_version, ())
    write_population(record)
    return record


def _check_member(
    record: PopulationRecord,
    game: Game,
    member: NewMember,
    remote_players: Sequence[RemotePlayers],
    imports: ImportPermission,
) -> None:
    """Raise unless a player can be a member."""
    if remote := remote_of(member.player, remote_players):
        remote.check(game, member.player)
    else:
        check_player(game, member.player, imports)
    for parent in member.parents:
        record.member(parent)
    if member.name is not None:
        check_name(record, member.name)


def _added(
    record: PopulationRecord,
    game: Game,
    member: NewMember,
    remote_players: Sequence[RemotePlayers],
    imports: ImportPermission,
) -> PopulationRecord:
    """Write the files of a new member, and return the population with it."""
    name = member.name or _free_name(record, member.player)
    check_name(record, name)
    kind: Kind
    player, about, anchor = member.player, dict(member.about), member.anchor
    if remote_of(player, remote_players):
        kind = "remote"
    elif mixture := mixture_of(player):
        kind, player = "mixture", (MEMBERS / f"{name}{MIXTURE_SUFFIX}").as_posix()
        parts = _copied_parts(record, mixture, name, game, imports)
        write_mixture(record.path / player, replace(mixture, players=parts))
    elif is_policy(player):
        kind, player = "policy", (MEMBERS / f"{name}{POLICY_SUFFIX}").as_posix()
        saved = find_policy(parts_of(member.player)[0], allow_imports=imports)
        about |= {"update": saved.update, "decisions": saved.decisions}
        _copy_policy(saved, record.path / player, game, member.weights)
    else:
        kind = "scripted"
        if anchor is None and isinstance(game, AnchoredGame):
            anchor = game.anchors.get(player)
    made = MemberRecord(
        len(record.every_member),
        name,
        kind,
        player,
        member.player,
        tuple(member.parents),
        tuple(member.tags),
        anchor,
        about=about,
    )
    return replace(record, every_member=(*record.every_member, made))


def _copied_parts(
    record: PopulationRecord, mixture: Mixture, name: str, game: Game, imports: ImportPermission
) -> dict[str, float]:
    """Copy the policies of a mixture into the population; returns its players, by their names there."""
    players: dict[str, float] = {}
    for number, (part, weight) in enumerate(mixture.players.items()):
        own = part
        if is_policy(part):
            own = f"{name}.{number}{POLICY_SUFFIX}"
            _copy_policy(find_policy(part, allow_imports=imports), record.path / MEMBERS / own, game, DEFAULT_WEIGHTS)
        players[own] = weight
    return players


def _copy_policy(saved: SavedPolicy, file: Path, game: Game, weights: Weights) -> None:
    """Write a policy as a file: a copy of its file, or the weights of its checkpoint."""
    if saved.checkpoint is None:
        with replacement(file) as temporary:
            shutil.copyfile(saved.path, temporary)
    else:
        PolicyExport(saved, saved.load(game, weights), game, weights, saved.style).save(file)


def _free_name(record: PopulationRecord, player: str) -> str:
    """Return a name for a member that none has, from the last part of the player's name."""
    last = re.split(r"[:#]", player)[-1] if not Path(player).exists() else Path(player).resolve().name
    short = re.sub(r"[^\w.-]+", "_", Path(last).name)
    for suffix in (POLICY_SUFFIX, MIXTURE_SUFFIX):
        short = short.removesuffix(suffix)
    taken, name, number = {member.name for member in record.members}, short, 1
    while name in taken:
        number += 1
        name = f"{short}-{number}"
    return name
