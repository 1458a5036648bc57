"""Public replays of Pokémon Showdown, for the import into datasets (`core/replays.py`)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.core.game import Game
from nemesis.core.replays import (
    EpisodeReader,
    ReaderError,
    ReplayArchive,
    ReplayError,
    ReplayLog,
    ReplayMatch,
    UsageCounts,
)
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.host_process import HostError
from nemesis.games.pokemon.replays.conversion import to_match
from nemesis.games.pokemon.replays.reading import ReplayReader
from nemesis.games.pokemon.replays.sources import ReplaySources, format_of
from nemesis.games.pokemon.replays.usage import total_usage
from nemesis.games.pokemon.settings import PokemonSettings


class PokemonReplays:
    """The replays of all supported formats; a `ReplayFamily`."""

    def open_archive(self, paths: Sequence[Path]) -> ReplayArchive:
        return ReplaySources(paths)

    def find_format(self, log: ReplayLog) -> str | None:
        found = format_of(log.text)
        return found.id if found else None

    def open_game(self, format_name: str) -> Game:
        return PokemonGame(find_format(format_name), PokemonSettings())

    def open_readers(self, game: Game, count: int, *, unfinished: bool) -> list[EpisodeReader]:
        assert isinstance(game, PokemonGame)  # noqa: S101
        return [PokemonEpisodeReader(reader, unfinished=unfinished) for reader in game.replay_readers(count)]

    def total_usage(self, counts: Iterable[UsageCounts]) -> UsageCounts:
        return total_usage(counts)


class PokemonEpisodeReader:
    """Reads logs with one host; an `EpisodeReader`."""

    def __init__(self, reader: ReplayReader, *, unfinished: bool) -> None:
        self._reader = reader
        self._played = not unfinished

    def read(self, logs: Sequence[ReplayLog]) -> list[ReplayMatch | ReplayError]:
        with _failures():
            battles = self._reader.read([(log.id, log.text) for log in logs], played=self._played)
        return [battle if isinstance(battle, ReplayError) else to_match(battle) for battle in battles]

    def count_usage(self, logs: Sequence[ReplayLog]) -> UsageCounts:
        with _failures():
            return self._reader.usage([log.text for log in logs], played=self._played)

    def impute(self, usage: UsageCounts) -> None:
        with _failures():
            self._reader.impute(usage)

    def close(self) -> None:
        self._reader.close()


@contextmanager
def _failures() -> Iterator[None]:
    """Convert errors of a host, which cannot be used again, into a `ReaderError`."""
    try:
        yield
    except (HostError, UserError) as error:
        raise ReaderError(str(error)) from error


REPLAYS = PokemonReplays()
