"""`nemesis population`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from nemesis.cli.options import (
    Flag,
    LogLevel,
    check_minimum,
    check_writable,
    log_at,
    remote_players,
    split_settings,
    write_json,
)
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report

if TYPE_CHECKING:
    from rich.table import Table

    from nemesis.population.store.standings import Standings
    from nemesis.storage.populations import PopulationRecord

_Several = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
_MOST_COLUMNS = 12  # members whose payoffs are shown as a table


def create(
    folder: Path,
    /,
    *players: str,
    game: str | None = None,
    pool: Path | None = None,
    allow_imports: Flag = False,
) -> None:
    """Create a population.

    Args:
        folder: a new folder
        players: its first members, as for `nemesis population add`; and settings of the game as FAMILY.KEY=VALUE
        game: FAMILY:GAME, if no player determines it
        pool: a run, whose opponent pool is copied
        allow_imports: import the code that a policy file names as module:attribute
    """
    report(f"Creating {folder}")
    from nemesis.population.store.directory import copy_pool, create_population

    names, settings = split_settings(players)
    if pool is not None:
        if game or players:
            raise UserError("--pool takes the game, its settings and the members of a run; leave the others out.")
        record = copy_pool(folder, pool, imports=allow_imports)
    else:
        record = create_population(
            folder, names, game, settings, remote_players=remote_players(), imports=allow_imports
        )
    output(f"{folder}: a population of {record.game} with {_members(record)}.")


def add(
    folder: Path,
    /,
    *players: str,
    name: str | None = None,
    parent: _Several = (),
    tag: _Several = (),
    anchor: float | None = None,
    last: Flag = False,
    allow_imports: Flag = False,
) -> None:
    """Add members to a population.

    Args:
        folder: of the population
        players: folders of runs or of checkpoints, policy files, mixtures, scripted players such as random or
            module:attribute, players over a server with the prefix of their game family; or members and their weights
            as MEMBER=WEIGHT, which together become one mixture
        name: of the member; by default made from that of the player
        parent: name of a member that it was made from, may be repeated
        tag: a word to find it by, may be repeated
        anchor: fixed rating of the member
        last: take the last weights of a run instead of the averaged ones
        allow_imports: import the code that a policy file names as module:attribute
    """
    report(f"Opening {folder}")
    from nemesis.population.store.directory import NewMember, add_members, add_mixture

    if not players:
        raise UserError("Name at least one player to add.")
    if weights := _weights(players):
        if name is None:
            raise UserError("A mixture needs a --name.")
        record = add_mixture(folder, weights, name, tags=tag)
    else:
        if len(players) > 1 and (name or anchor is not None):
            raise UserError("--name and --anchor are for a single player; add one at a time.")
        members = [NewMember(player, name, parent, tag, anchor, "last" if last else "average") for player in players]
        record = add_members(folder, members, remote_players(), imports=allow_imports)
    output(f"{folder} has {_members(record)}.")


def list_members(folder: Path, /, *, tag: str | None = None, json: Path | None = None) -> None:
    """List the members of a population, or of a run's opponent pool.

    Args:
        folder: of the population or run
        tag: only members with this tag
        json: also write the list to this file
    """
    report(f"Reading {folder}")
    from dataclasses import asdict

    from nemesis.population.store.standings import standings

    if json:
        check_writable(json)
    found = standings(folder)
    _warn(found)
    rated = {rating.name: rating for rating in found.ratings}
    members = [one for one in found.members if tag is None or tag in one.tags]
    rows = []
    for one in members:
        rating = rated.get(one.name)
        own = f"{rating.elo:.0f} ± {rating.margin:.0f}" if rating else _known_rating(one.about.get("rating"))
        matches = str(rating.matches) if rating else "0"
        rows.append((one.name, one.kind, own, matches, ", ".join(one.parents), ", ".join(one.tags)))
    _print_table(_table("", ("member", "kind", "rating", "matches", "made from", "tags"), rows))
    if json:
        write_json(json, {"members": [asdict(one) for one in members]})


def show(folder: Path, /, *, setup: str | None = None, cycles: int = 5, json: Path | None = None) -> None:
    """Show payoffs and ratings of a population, and how far no ranking explains them.

    Args:
        folder: of the population
        setup: only matches with these settings, as FAMILY.KEY=VALUE; "" for those of the population
        cycles: number of cycles to show, the strongest first
        json: also write the figures to this file
    """
    report(f"Reading {folder}")
    from nemesis.population.store.standings import standings

    if json:
        check_writable(json)
    check_minimum(cycles=(cycles, 0))
    found = standings(folder, setup)
    if setup is not None and setup not in found.log.setups:
        known = ", ".join(f'"{one}"' for one in found.log.setups) or "none yet"
        raise UserError(f'{folder} has no matches with the settings "{setup}". It has played with {known}.')
    _warn(found)
    scored, voided = int(found.counts.matches.sum()) // 2, int(found.counts.voided.sum()) // 2
    output(f"{folder}: {found.population.game}, {_members(found.population)}, {scored:,} matches, {voided:,} voided.")
    if len(found.names) <= _MOST_COLUMNS and scored:
        _print_table(_payoff_table(found))
    ratings = [(one.name, f"{one.elo:.0f} ± {one.margin:.0f}", str(one.matches)) for one in found.ratings]
    if ratings:
        _print_table(_table("Ratings", ("member", "Elo, 95 %", "matches"), ratings))
    _print_cycles(found, cycles)
    if json:
        write_json(json, found.as_json())


def remove(folder: Path, /, *members: str) -> None:
    """Remove members from a population; their matches stay in its log, and count no more.

    Args:
        folder: of the population
        members: their names
    """
    report(f"Opening {folder}")
    from nemesis.population.store.directory import remove_members

    if not members:
        raise UserError("Name at least one member to remove.")
    record = remove_members(folder, members)
    output(f"{folder} has {_members(record)}.")


def play(
    folder: Path,
    /,
    *settings: str,
    matches: int = 200,
    minutes: float | None = None,
    total: int | None = None,
    order: Literal["uncertainty", "round_robin"] = "uncertainty",
    member: _Several = (),
    processes: int | None = None,
    seed: int = 0,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Play matches among the members of a population.

    What was played before counts: the same command goes on where it was stopped. Matches that have begun are played to
    their end.

    Args:
        folder: of the population
        settings: of the game, as FAMILY.KEY=VALUE; matches with other settings, such as other teams, are counted apart
        matches: number of matches of every pair, those before included
        minutes: begin no match after so many minutes
        total: number of matches to play now, over all pairs
        order: play the pairs first whose win rates are least certain, or those with the fewest matches
        member: play only pairs of these members, may be repeated
        processes: number of processes that play, by default the number of cores; 0 plays in this one
        seed: of the matches; those of an earlier call are not repeated
        allow_imports: import the code that the population names as module:attribute
        log_level: what is shown of the log, by default warnings and errors
    """
    log_at(log_level)
    report(f"Opening {folder}")
    check_minimum(matches=(matches, 2), total=(total, 2), processes=(processes, 0), seed=(seed, 0))
    if minutes is not None and not (minutes > 0 and math.isfinite(minutes)):
        raise UserError(f"--minutes must be a number above 0, not {minutes:g}.")
    from nemesis.evaluation.payoffs.play import Budget
    from nemesis.population.store.play import PlayRequest, play_population

    request = PlayRequest(
        matches=matches,
        order=order,
        budget=Budget(total, None if minutes is None else 60 * minutes),
        seed=seed,
        processes=_cores() if processes is None else processes,
        overrides=settings,
        members=member,
        imports=allow_imports,
    )
    played = play_population(folder, request, remote_players())
    output(f"{played:,} matches were played. `nemesis population show {folder}` shows what they say.")


def export(folder: Path, /, *, csv: Path) -> None:
    """Write every match and every cell of a population, with intervals, as CSV.

    Args:
        folder: of the population
        csv: folder of the files
    """
    report(f"Reading {folder}")
    from nemesis.population.store.export import export_csv
    from nemesis.population.store.standings import standings

    found = standings(folder)
    _warn(found)
    for path in export_csv(found, csv):
        output(str(path))


def _weights(players: Sequence[str]) -> dict[str, float]:
    """Return the members of a mixture with their weights; none if players are named."""
    pairs = [player.rpartition("=") for player in players]
    if not any(equals for _, equals, _ in pairs):
        return {}
    try:
        return {name: float(weight) for name, _, weight in pairs}
    except ValueError:
        raise UserError("Write the members of a mixture with weights, as MEMBER=WEIGHT.") from None


def _members(record: "PopulationRecord") -> str:
    count = len(record.members)
    return f"{count} member{'' if count == 1 else 's'}"


def _known_rating(rating: float | None) -> str:
    return "" if rating is None else f"{rating:.0f}"


def _warn(found: "Standings") -> None:
    from nemesis.population.store.payoff_log import warn_of_problems

    warn_of_problems(found.log)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _payoff_table(found: "Standings") -> "Table":
    """Return the win rates of rows against columns in percent, with half the width of their intervals."""
    rates, (low, high), matches = found.counts.win_rates, found.counts.intervals, found.counts.matches
    rows = [
        (
            name,
            *(
                f"{100 * rates[one, other]:.0f} ± {50 * (high[one, other] - low[one, other]):.0f}"
                if matches[one, other]
                else "–"
                for other in range(len(found.names))
            ),
        )
        for one, name in enumerate(found.names)
    ]
    return _table("Win rates of rows against columns, in %", ("", *found.names), rows)


def _print_cycles(found: "Standings", number: int) -> None:
    from nemesis.evaluation.intransitivity import strongest_cycles

    share = found.intransitivity.share
    if math.isnan(share):
        output("Too few matches to tell how much of who beats whom a ranking explains.")
        return
    output(f"{share:.1%} of the variance is cyclic: no ranking explains it.")
    for cycle in strongest_cycles(found.counts, number):
        names = [found.names[one] for one in (*cycle.players, cycle.players[0])]
        rates = ", ".join(f"{rate:.0%}" for rate in cycle.win_rates)
        output(f"  {' > '.join(names)}  ({rates}{'' if cycle.certain else '; may be chance'})")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich.table import Table

    table = Table(title=title or None, title_justify="left")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place == 0 or head in {"kind", "made from", "tags"} else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _print_table(table: "Table") -> None:
    import sys

    from rich.console import Console

    from nemesis.core.progress import clear

    clear()
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
