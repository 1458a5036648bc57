"""Round-robin tournaments, with a rating for each player.

Local players play each other in this process, all pairs in one pool. A player over a server plays local players on that
server; two such players do not play each other. Matches are played in pairs with sides and teams swapped.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nemesis.core.game import SIDES, MatchPool, Results
from nemesis.core.progress import report as report_progress
from nemesis.evaluation.entrants import Entrants, RemotePlayers
from nemesis.evaluation.ratings import Rating, rate
from nemesis.evaluation.replays import ReplaySaver, new_folder
from nemesis.play.match_stream import FinishedMatches, MatchStream
from nemesis.play.matches import Score, score

MATCHES = 400  # per pair, by default; an odd number is rounded up
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
        points, draws = np.zeros((2, len(self.names), len(self.names)))
        for pair in self.pairs:
            one, other = self.names.index(pair.first), self.names.index(pair.second)
            earned = pair.score.wins + pair.score.draws / 2
            points[one, other], points[other, one] = earned, pair.score.matches - earned
            draws[one, other] = draws[other, one] = pair.score.draws
        try:
            return rate(self.names, points, draws=draws)
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
    pairs: dict[tuple[str, str], PairResult] = {}
    saved: dict[tuple[str, str], list[Path]] = {}
    cells = list(combinations(entrants.names, 2))
    local = [names for names in cells if not any(map(entrants.remote, names))]
    folders = {names: folder / _folder_name(names) for names in cells}
    if replays:
        folders = {names: new_folder(own) for names, own in folders.items()}

    def finished(names: tuple[str, str], pair: PairResult, files: list[Path]) -> None:
        pairs[names], saved[names] = pair, files
        report(f"{pair.first} against {pair.second}: {pair.score.summary()}")

    if local:
        savers = {names: ReplaySaver(entrants.game, names, count=replays, folder=folders[names]) for names in local}
        _in_process(entrants, local, matches, seed, savers if replays else {}, finished)
    for first, second in cells:
        theirs = entrants.remote(second)
        if not (remote := entrants.remote(first) or theirs):
            continue
        if entrants.remote(first) and theirs:
            report(f"{first} and {second} both play over a server, so they do not play each other")
            continue
        names = (first, second) if theirs else (second, first)
        pair, files = _over_server(entrants, remote, names, matches, seed, replays, folders[first, second])
        finished((first, second), pair, files)
    spec = entrants.game.spec
    played = [names for names in cells if names in pairs]
    replay_files = [path for names in played for path in saved[names]]
    return Tournament(spec.name, entrants.names, [pairs[names] for names in played], replay_files, spec.world)


def _folder_name(names: tuple[str, str]) -> str:
    return "-".join(re.sub(r"\W+", "_", name).strip("_") for name in names)


def _in_process(
    entrants: Entrants,
    cells: Sequence[tuple[str, str]],
    matches: int,
    seed: int,
    savers: Mapping[tuple[str, str], ReplaySaver],
    finished: Callable[[tuple[str, str], PairResult, list[Path]], None],
) -> None:
    """Play pairs of local players, one after another, in one pool."""
    names, rounds = entrants.names, -(-matches // SIDES)
    total = SIDES * rounds * len(cells)
    slots = min(SLOTS, total)
    numbers = [(names.index(first), names.index(second)) for first, second in cells]
    parts: dict[tuple[int, int], list[FinishedMatches]] = {pair: [] for pair in numbers}

    def save(pool: MatchPool, played: FinishedMatches, ended: Results) -> None:
        for pair, saver in zip(numbers, savers.values(), strict=True):
            rows = np.flatnonzero((played.first == pair[0]) & (played.second == pair[1]))
            saver.on_end(pool, ended.at(rows))

    stream = MatchStream(
        entrants.game,
        lambda number: entrants.open(names[number], slots, seed + 1 + number),
        slots,
        seed,
        on_finished=save if savers else None,
        recorded=bool(savers),
    )
    with stream:
        for pair in numbers:
            stream.add([pair] * rounds)
        while stream.left:
            report_progress("Playing matches", total - stream.left, total)
            played = stream.step()
            for pair in {*zip(played.first.tolist(), played.second.tolist(), strict=True)}:
                parts[pair].append(played.at(np.flatnonzero((played.first == pair[0]) & (played.second == pair[1]))))
                if sum(map(len, parts[pair])) == SIDES * rounds:
                    own = (names[pair[0]], names[pair[1]])
                    files = [replay.path for replay in savers[own].saved] if savers else []
                    finished(own, PairResult(*own, _score(FinishedMatches.concatenate(parts.pop(pair)))), files)


def _score(played: FinishedMatches) -> Score:
    turns = played.turns if (played.turns >= 0).any() else None
    return score(played.returns, played.end_reason, played.decisions, turns)


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
