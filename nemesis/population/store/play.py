"""Plays matches among the members of a population, and logs them as they end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from nemesis.core.config import build_config, override_paths
from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.plugins import ImportPermission, check_imports, is_import
from nemesis.evaluation.entrants import RemoteMatch, RemotePlayers, remote_of
from nemesis.evaluation.payoffs.play import Budget, play_schedule
from nemesis.evaluation.payoffs.playing import OnePool, Playing, PlayTask, Processes, own_seed
from nemesis.evaluation.payoffs.schedule import Order, Schedule, Wanted
from nemesis.games.config import GameConfig, is_technical
from nemesis.play.match_stream import FinishedMatches, MatchStream
from nemesis.play.named_players import check_player, open_player
from nemesis.play.play_options import PlayOptions
from nemesis.population.store.directory import changing, check_view_version, playing
from nemesis.population.store.payoff_log import PayoffLog, PayoffWriter, Session, read_log, warn_of_problems
from nemesis.storage.populations import MemberRecord, PopulationRecord, matching_settings

SLOTS = 128  # concurrent matches in each process
_REMOTE_POOLS = 1000  # the number of the first pool over a server


@dataclass(frozen=True, slots=True)
class PlayRequest:
    """What to play."""

    matches: int  # of every pair, those in the log included
    order: Order
    budget: Budget
    seed: int
    processes: int  # 0: this one
    overrides: Sequence[str] = ()  # settings of the game
    members: Sequence[str] = ()  # whose pairs are played; all by default
    imports: ImportPermission = False
    slots: int = SLOTS


def play_population(path: Path, request: PlayRequest, remote_players: Sequence[RemotePlayers] = ()) -> int:
    """Play matches of a population within the budget; returns how many ended."""
    with changing(path) as record:
        config, setup = _setup(record, request.overrides)
    with playing(path):
        log = read_log(path)
        warn_of_problems(log)
        game = config.open_game()
        members = _checked(record, game, request, remote_players)
        name = Session(0, setup, 0, "").setup_name
        schedule = _schedule(record, members, log, name, request)
        with PayoffWriter(path, log, setup, request.seed) as writer:
            seed = own_seed(request.seed, writer.session.number)
            started = monotonic()
            done = (
                _play_local(record, config, game, schedule.local, writer, request, seed) if schedule.local.left else 0
            )
            return done + _play_remote(record, game, schedule, writer, request, seed, done, started, remote_players)


@dataclass(frozen=True, slots=True)
class _Schedules:
    local: Schedule
    remote: Sequence[tuple[MemberRecord, MemberRecord, int]]  # ours, the one over a server, matches that are missing


def _setup(record: PopulationRecord, overrides: Sequence[str]) -> tuple[GameConfig, Mapping[str, Any]]:
    """Return the settings to play with, and those among them that differ from the population's."""
    own = record.game_config()
    config = build_config(GameConfig, own.model_dump(mode="json"), overrides)
    before, after = matching_settings(own), matching_settings(config)
    setup = {}
    for path in override_paths(overrides):
        value, old = _at(after, path), _at(before, path)
        if not is_technical(path) and value != old:
            setup[path] = json.dumps(value) if not isinstance(value, str) else value
    return config, setup


def _at(settings: Mapping[str, Any], path: str) -> Any:
    value: Any = settings
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _checked(
    record: PopulationRecord, game: Game, request: PlayRequest, remote_players: Sequence[RemotePlayers]
) -> list[MemberRecord]:
    """Return the members that play; raises in a sentence if one cannot."""
    check_view_version(record, game)
    members = [record.member(name) for name in request.members] if request.members else record.members
    if len(members) < 2:
        raise UserError(f"{record.path} needs at least two members to play; add some with `nemesis population add`.")
    named = [one.player for one in members if one.kind == "scripted" and is_import(one.player)]
    check_imports(record.path, named, allowed=request.imports)
    for one in members:
        if one.kind == "remote":
            if (remote := remote_of(one.player, remote_players)) is None:
                raise UserError(f"{one.name} plays over a server, and no family of games here has {one.player}.")
            remote.check(game, one.player)
        else:
            check_player(game, record.player_of(one), request.imports)
    return members


def _schedule(
    record: PopulationRecord, members: Sequence[MemberRecord], log: PayoffLog, setup: str, request: PlayRequest
) -> _Schedules:
    counts = log.counts(len(record.every_member), setup)
    played = counts.matches + counts.voided
    numbers = np.array([one.number for one in members if one.kind != "remote"], dtype=np.int64)
    cells = np.zeros((len(counts), len(counts)), dtype=np.bool_)
    cells[np.ix_(numbers, numbers)] = True
    remote = [
        (ours, theirs, missing)
        for theirs in members
        for ours in members
        if theirs.kind == "remote" != ours.kind
        and (missing := request.matches - int(played[ours.number, theirs.number])) > 0
    ]
    return _Schedules(Schedule(Wanted(cells, request.matches, request.order), counts.points, played), remote)


def _play_local(
    record: PopulationRecord,
    config: GameConfig,
    game: Game,
    schedule: Schedule,
    writer: PayoffWriter,
    request: PlayRequest,
    seed: int,
) -> int:
    import torch  # noqa: PLC0415  slow to import, and much can be refused without it

    torch.set_num_threads(1)
    # Numbers of removed members are among the players, but never play.
    there = replace(record, path=record.path.absolute())  # a process may work in another folder
    players = [there.player_of(one) for one in record.every_member]
    options = PlayOptions(allow_imports=request.imports)
    total = schedule.left if request.budget.matches is None else min(schedule.left, request.budget.matches)
    slots = max(min(request.slots, total), 2)
    playing: Playing
    if request.processes:
        task = PlayTask(config.model_dump(mode="json"), players, options, slots, seed)
        playing = Processes(task, min(request.processes, -(-total // slots)))
    else:
        playing = OnePool(
            MatchStream(
                game,
                lambda number: open_player(game, players[number], slots, own_seed(seed, 1, number), options),
                slots,
                seed,
            )
        )
    try:
        return play_schedule(playing, schedule, writer.add, slots=slots, budget=request.budget)
    finally:
        playing.close()


def _play_remote(
    record: PopulationRecord,
    game: Game,
    schedule: _Schedules,
    writer: PayoffWriter,
    request: PlayRequest,
    seed: int,
    done: int,
    started: float,
    remote_players: Sequence[RemotePlayers],
) -> int:
    """Play against players over a server, one pair after another; returns how many matches ended."""
    budget, played = request.budget, 0
    for pool, (ours, theirs, missing) in enumerate(schedule.remote, _REMOTE_POOLS):
        left = missing if budget.matches is None else min(missing, budget.matches - done - played)
        if left <= 0 or (budget.seconds is not None and monotonic() - started > budget.seconds):
            break
        remote = remote_of(theirs.player, remote_players)
        assert remote is not None  # noqa: S101  it was checked
        own = own_seed(seed, pool)
        options = PlayOptions(allow_imports=request.imports)
        player = open_player(game, record.player_of(ours), remote.slots, own, options)

        def log(match: RemoteMatch, pool: int = pool, ours: int = ours.number, theirs: int = theirs.number) -> None:
            writer.add(pool, _finished(match, ours, theirs))

        remote.play(
            game, player, theirs.player, matches=left, seed=own, replays=0, folder=record.path, ours=ours.name,
            on_match=log,
        )  # fmt: skip
        played += left
    return played


def _finished(match: RemoteMatch, ours: int, theirs: int) -> FinishedMatches:
    numbers = (match.number, ours, theirs, match.side)
    number, first, second, side = (np.array([value], dtype=np.int64) for value in numbers)
    ending = (np.array([value], dtype=np.int64) for value in (match.end_reason, match.decisions, match.turns))
    return FinishedMatches(number, first, second, side, np.array([match.earned], dtype=np.float32), *ending)
