"""Writes the payoffs of a population as CSV: every match, every cell with its interval, and the ratings."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

import numpy as np

from nemesis.core.files import WriteError, replace_file
from nemesis.core.game import SIDES, EndReason
from nemesis.evaluation.payoffs.counts import DRAWN, LOST, WON, win_rate_intervals
from nemesis.population.store.standings import Standings

_RESULTS = {WON: "won", DRAWN: "drawn", LOST: "lost", -1: "voided"}
_MATCHES = ("session", "started", "setup", "pool", "match", "first", "second", "side", "result", "end_reason", "turns")
_CELLS = (
    "setup",
    "member",
    "opponent",
    "side",
    "matches",
    "won",
    "drawn",
    "lost",
    "win_rate",
    "low",
    "high",
)  # fmt: skip


def export_csv(standings: Standings, folder: Path) -> list[Path]:
    """Write matches.csv, cells.csv and ratings.csv into a folder; returns their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(folder, error) from error
    ratings = ((one.name, one.elo, one.low, one.high, one.matches) for one in standings.ratings)
    return [
        _write(folder / "matches.csv", _MATCHES, _match_rows(standings)),
        _write(folder / "cells.csv", _CELLS, _cell_rows(standings)),
        _write(folder / "ratings.csv", ("member", "elo", "low", "high", "matches"), ratings),
    ]


def _match_rows(standings: Standings) -> Iterable[Sequence[object]]:
    """Yield every match of the log, with those of members that were removed."""
    log, names = standings.log, _every_name(standings)
    played = log.matches
    columns = (played.session, played.pool, played.match, played.first, played.second, played.side)
    endings = (played.result, played.end_reason, played.turns)
    for session, pool, match, first, second, side, result, reason, turns in zip(
        *(column.tolist() for column in (*columns, *endings)), strict=True
    ):
        about = log.sessions.get(session)
        yield (
            session,
            about.started if about else "",
            about.setup_name if about else "",
            pool,
            match,
            names[first],
            names[second],
            side,
            _RESULTS[result],
            EndReason(reason).name.lower(),
            "" if turns < 0 else turns,
        )


def _cell_rows(standings: Standings) -> Iterable[Sequence[object]]:
    """Yield the results of every pair that met, by settings and side of the member, and of both sides together."""
    names, numbers = standings.names, np.array([one.number for one in standings.members], dtype=np.int64)
    total = len(standings.population.every_member)
    for setup in standings.log.setups:
        results = standings.log.counts(total, setup).of(numbers).results
        sides = [(str(side), results[:, :, side]) for side in range(SIDES)]
        for side, counted in [*sides, ("both", results.sum(axis=2))]:
            matches = counted.sum(axis=2)
            points = counted[..., WON] + counted[..., DRAWN] / 2
            low, high = win_rate_intervals(points, counted[..., DRAWN], matches)
            for one, other in np.argwhere(matches > 0).tolist():
                rate = points[one, other] / matches[one, other]
                figures = (f"{figure:.6f}" for figure in (rate, low[one, other], high[one, other]))
                yield (setup, names[one], names[other], side, matches[one, other], *counted[one, other], *figures)


def _every_name(standings: Standings) -> list[str]:
    """Return the names of all members by number; a name that was used again has the number of its member behind it."""
    members = standings.population.every_member
    current = {member.name for member in members if not member.removed}
    return [
        f"{member.name} ({member.number})" if member.removed and member.name in current else member.name
        for member in members
    ]


def _write(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    replace_file(path, text.getvalue())
    return path
