"""Everybody against everybody: policies, scripted players and players of poke-env, with a rating for each.

Where both players of a pair are ours, they meet in process; where one is of poke-env, on a local Showdown server.
Either way, matches come in pairs with seats and teams exchanged. Two players of poke-env do not meet.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.game import Game, MatchPool, RecordingPool, Results, is_counted
from nemesis.deploy.pokemon.poke_env_opponent import PREFIX
from nemesis.deploy.pokemon.server_matches import SLOTS as SERVER_SLOTS
from nemesis.deploy.pokemon.server_matches import Meeting, play_on_server
from nemesis.deploy.pokemon.showdown_client import Played
from nemesis.evaluation.ratings import Rating, rate
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.replays.html import write_replay
from nemesis.play.matches import Player, Score, play, seat_of_first
from nemesis.play.policy_players import PlayOptions, open_player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.storage.policy_files import SHIPPED, policy_path, read_header
from nemesis.training.assembly import config_of, find_checkpoint
from nemesis.training.config import RunConfig

MATCHES = 400  # of a pair, unless told
SLOTS = 128  # matches at once in process


@dataclass(frozen=True, slots=True)
class PairResult:
    """What the first of two players earned against the second."""

    first: str
    second: str
    score: Score


@dataclass(frozen=True)
class Tournament:
    """The results of everybody against everybody."""

    game: str
    names: Sequence[str]
    pairs: Sequence[PairResult]
    replays: Sequence[Path]

    @cached_property
    def ratings(self) -> list[Rating]:
        """Ratings of all players, best first; none while some cannot be compared."""
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
        met = [(f"{pair.first} against {pair.second}", pair.score.in_words()) for pair in self.pairs]
        rated = [
            (f"rating of {one.name}", f"{one.elo:.0f} ± {one.margin:.0f} Elo, {one.matches} matches")
            for one in self.ratings
        ]
        return [("game", self.game), *met, *rated, *(("replay", str(path)) for path in self.replays)]

    def as_json(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "pairs": [{"first": one.first, "second": one.second, **one.score.as_json()} for one in self.pairs],
            "ratings": [rating.as_json() for rating in self.ratings],
            "replays": [str(path) for path in self.replays],
        }


@dataclass(frozen=True, slots=True)
class Field:
    """Who takes part, and in which game."""

    game: Game
    names: Sequence[str]
    play_options: PlayOptions  # of the policies among them


def open_field(
    names: Sequence[str],
    game: str | None,
    overrides: Sequence[str],
    play_options: PlayOptions = PlayOptions(),  # noqa: B008 (frozen)
) -> Field:
    """Find the game that all can play; runs bring the settings of their game, with the overrides on top."""
    if repeated := {name for name in names if names.count(name) > 1}:
        raise UserError(f"{min(repeated)} is there twice; a player need not be measured against itself.")
    config: dict[str, Any] = {}
    for path in (policy_path(name) for name in names if _is_policy(name)):
        if path.is_file():
            found = {"game": read_header(path).game}
        else:
            found = config_of(find_checkpoint(path)).model_dump(mode="json", include={"game", "pokemon"})
        game = game or found["game"]
        if found["game"] != game:
            raise UserError(f"{path} plays {found['game']}, not {game}.")
        config = {**found, **config}
    if game is None:
        raise UserError("Say which game is played, such as --game pokemon:gen1ou: none of the players knows.")
    checked = build_config(RunConfig, {**config, "game": game}, overrides)
    opened = open_game(checked.game, {"pokemon": checked.pokemon})
    for name in names:
        if name.startswith(PREFIX) and not isinstance(opened, PokemonGame):
            raise UserError(f"{name} plays Pokémon battles, not {opened.spec.name}.")
        if not name.startswith(PREFIX) and not _is_policy(name):
            _check_scripted(opened, name)
    return Field(opened, names, play_options)


def run_tournament(
    field: Field,
    *,
    matches: int,
    seed: int,
    replays: int = 0,
    folder: Path = Path("replays"),
    tell: Callable[[str], None] = lambda _: None,
) -> Tournament:
    """Play so many matches of every pair, and save so many of each as replays; `tell` hears of every result."""
    pairs: list[PairResult] = []
    saved: list[Path] = []
    for first, second in combinations(field.names, 2):
        if first.startswith(PREFIX) and second.startswith(PREFIX):
            tell(f"{first} and {second} are both of poke-env and do not meet")
            continue
        keeper = _Keeper(field.game, (first, second), replays, folder)
        if first.startswith(PREFIX) or second.startswith(PREFIX):
            ours, theirs = (second, first) if first.startswith(PREFIX) else (first, second)
            pair = PairResult(ours, theirs, _on_server(field, ours, theirs, matches, seed, keeper))
        else:
            player, opponent = (
                open_entrant(field, name, SLOTS, seed + place) for place, name in enumerate((first, second))
            )
            watch = keeper.keep_in_process if replays else None
            (result,) = play(field.game, player, [opponent], matches=matches, slots=SLOTS, seed=seed + 2, watch=watch)
            pair = PairResult(first, second, result)
        pairs.append(pair)
        saved += keeper.saved
        tell(f"{pair.first} against {pair.second}: {pair.score.in_words()}")
    return Tournament(field.game.spec.name, field.names, pairs, saved)


def _on_server(field: Field, ours: str, theirs: str, matches: int, seed: int, keeper: "_Keeper") -> Score:
    assert isinstance(field.game, PokemonGame)  # noqa: S101
    player = open_entrant(field, ours, SERVER_SLOTS, seed)
    meeting = Meeting(theirs.removeprefix(PREFIX), matches, seed + 2)
    return play_on_server(field.game, player, meeting, keeper.keep_from_server)


def open_entrant(field: Field, name: str, slots: int, seed: int) -> Player:
    """Return one of the field, as a player of so many matches at once in process."""
    if not _is_policy(name):
        return open_opponent(field.game, name, seed)
    return open_player(policy_path(name), field.game, slots, seed, field.play_options)


def _is_policy(name: str) -> bool:
    """Whatever stands on the disk is a run, a checkpoint or a policy file; a path that does not is a mistake."""
    return not name.startswith(PREFIX) and (name.startswith(SHIPPED) or "/" in name or Path(name).exists())


def _check_scripted(game: Game, name: str) -> None:
    try:
        opponent_names(game, (name,))
    except UserError as error:
        raise UserError(f"{error} There is no run, checkpoint or policy file of that name either.") from None


class _Keeper:
    """Saves the first matches of a pair that end by play."""

    def __init__(self, game: Game, names: tuple[str, str], count: int, folder: Path) -> None:
        self._game = game
        self._names = names
        self._count = count
        self._folder = folder / "-".join(re.sub(r"\W+", "_", name).strip("_") for name in names)
        self.saved: list[Path] = []

    def keep_in_process(self, pool: MatchPool, ended: Results) -> None:
        if not isinstance(pool, RecordingPool):
            raise UserError(f"Matches of {self._game.spec.name} cannot be saved as replays.")
        for row in np.flatnonzero(is_counted(ended.end_reason)):
            if len(self.saved) < self._count:
                match = int(ended.match[row])
                names = self._names[::-1] if seat_of_first(ended.match[row]) else self._names
                self.saved.append(pool.save_replay(match, self._folder, names))

    def keep_from_server(self, played: Played) -> None:
        assert isinstance(self._game, PokemonGame)  # noqa: S101
        if len(self.saved) < self._count and is_counted(np.array([played.end_reason]))[0]:
            ours_first = sorted(self._names, key=lambda name: name.startswith(PREFIX))
            one, other = ours_first if played.booking.challenges else ours_first[::-1]
            log = [line for line in played.log if line.startswith("|")]
            path = write_replay(self._game.format, log, played.booking.match, self._folder, (one, other))
            self.saved.append(path)
