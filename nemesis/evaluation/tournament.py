"""Round-robin tournaments, with a rating for each player.

Two local players play in this process. A player over a server plays local players on that server; two such players do
not play each other. Matches are played in pairs with sides and teams swapped.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nemesis.evaluation.entrants import Entrants, RemotePlayers
from nemesis.evaluation.ratings import Rating, rate
from nemesis.evaluation.replays import ReplaySaver, new_folder
from nemesis.play.matches import Score, play

MATCHES = 400  # per pair, by default
SLOTS = 128  # concurrent matches in this process


@dataclass(frozen=True, slots=True)
class PairResult:
    """The score of the first of two players against the second."""

    first: str
    second: str
    score: Score


@dataclass(frozen=True)
class Tournament:
    """The results of all pairs."""

    game: str
    names: Sequence[str]
    pairs: Sequence[PairResult]
    replays: Sequence[Path]
    world: str = ""  # if the game has several

    @cached_property
    def ratings(self) -> list[Rating]:
        """Ratings of all players, best first; empty if some cannot be compared."""
        points = np.zeros((len(self.names),) * 2)
        for pair in self.pairs:
            one, other = self.names.index(pair.first), self.names.index(pair.second)
            earned = pair.score.wins + pair.score.draws / 2
            points[one, other], points[other, one] = earned, pair.score.matches - earned
        try:
            return rate(self.names, points)
        except ValueError:
            return []

    def rows(self) -> list[tuple[str, str]]:
        met = [(f"{pair.first} against {pair.second}", pair.score.summary()) for pair in self.pairs]
        rated = [
            (f"rating of {one.name}", f"{one.elo:.0f} ± {one.margin:.0f} Elo, {one.matches} matches")
            for one in self.ratings
        ]
        about = [("game", self.game), *([("world", self.world)] if self.world else [])]
        return [*about, *met, *rated, *(("replay", str(path)) for path in self.replays)]

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "world": self.world or None,
            "pairs": [{"first": one.first, "second": one.second, **one.score.as_json()} for one in self.pairs],
            "ratings": [rating.as_json() for rating in self.ratings],
            "replays": [str(path) for path in self.replays],
        }


def run_tournament(
    entrants: Entrants,
    *,
    matches: int,
    seed: int,
    replays: int = 0,
    folder: Path = Path("replays"),
    report: Callable[[str], None] = lambda _: None,
) -> Tournament:
    """Play `matches` matches of every pair and save `replays` of them; `report` gets every result as text."""
    pairs: list[PairResult] = []
    saved: list[Path] = []
    for first, second in combinations(entrants.names, 2):
        theirs = entrants.remote(second)
        if entrants.remote(first) and theirs:
            report(f"{first} and {second} both play over a server, so they do not play each other")
            continue
        own = folder / "-".join(re.sub(r"\W+", "_", name).strip("_") for name in (first, second))
        own = new_folder(own) if replays else own
        if remote := entrants.remote(first) or theirs:
            ours, other = (first, second) if theirs else (second, first)
            pair, files = _over_server(entrants, remote, (ours, other), matches, seed, replays, own)
        else:
            pair, files = _in_process(entrants, (first, second), matches, seed, replays, own)
        pairs.append(pair)
        saved += files
        report(f"{pair.first} against {pair.second}: {pair.score.summary()}")
    spec = entrants.game.spec
    return Tournament(spec.name, entrants.names, pairs, saved, spec.world)


def _in_process(
    entrants: Entrants, names: tuple[str, str], matches: int, seed: int, replays: int, folder: Path
) -> tuple[PairResult, list[Path]]:
    player, opponent = (entrants.open(name, SLOTS, seed + place) for place, name in enumerate(names))
    saver = ReplaySaver(entrants.game, names, count=replays, folder=folder)
    (score,) = play(
        entrants.game,
        player,
        [opponent],
        matches=matches,
        slots=SLOTS,
        seed=seed + 2,
        on_end=saver.on_end if replays else None,
        recorded=replays > 0,
        activity=f"Playing {names[0]} against {names[1]}",
    )
    return PairResult(*names, score), [replay.path for replay in saver.saved]


def _over_server(
    entrants: Entrants,
    remote: RemotePlayers,
    names: tuple[str, str],
    matches: int,
    seed: int,
    replays: int,
    folder: Path,
) -> tuple[PairResult, list[Path]]:
    ours, theirs = names
    player = entrants.open(ours, remote.slots, seed)
    score, files = remote.play(
        entrants.game, player, theirs, matches=matches, seed=seed + 2, replays=replays, folder=folder, ours=ours
    )
    return PairResult(ours, theirs, score), files
