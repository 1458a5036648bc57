"""Several hosts that read replays side by side, and go on though a replay ends one of them."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from nemesis.core.errors import UserError
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.host_process import HostError
from nemesis.games.pokemon.replays.reading import ReplayBattle, ReplayError, ReplayReader
from nemesis.games.pokemon.replays.sources import Replay
from nemesis.games.pokemon.replays.usage import UsageCounts

Result = tuple[str, ReplayBattle | ReplayError]  # where the replay stands, and what it tells
T = TypeVar("T")


class ReplayReaders:
    """Readers of one format. Results come in the order of the batches, however many readers there are.

    A context manager.
    """

    def __init__(self, game: PokemonGame, count: int, *, unfinished: bool) -> None:
        """Read with so many hosts, perhaps also battles that ended by forfeit or timer."""
        self._game = game
        self._count = count
        self._played = not unfinished
        self._usual: UsageCounts | None = None
        self._idle: SimpleQueue[ReplayReader] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> "ReplayReaders":
        for reader in self._game.replay_readers(self._count):
            self._idle.put(reader)
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def usage(self, batches: Iterator[list[Replay]]) -> Iterator[UsageCounts]:
        """Yield what replays tell of teams."""

        def count(reader: ReplayReader, batch: list[Replay]) -> list[UsageCounts]:
            return [reader.usage([one.log for one in batch], played=self._played)]

        for counts in self._each(batches, count, lambda _, __: {}):
            yield from counts

    def complete(self, usual: UsageCounts) -> None:
        """From now on, fill in what logs do not tell."""
        self._usual = usual
        for _ in range(self._count):
            reader = self._idle.get()
            reader.complete(usual)
            self._idle.put(reader)

    def read(self, batches: Iterator[list[Replay]]) -> Iterator[list[Result]]:
        """Yield what the replays of each batch tell."""

        def read(reader: ReplayReader, batch: list[Replay]) -> list[Result]:
            results = reader.read([(one.id, one.log) for one in batch], played=self._played)
            return [(one.where, result) for one, result in zip(batch, results, strict=True)]

        def lost(replay: Replay, problem: str) -> Result:
            return replay.where, ReplayError(replay.id, "reader failed", problem, 0)

        return self._each(batches, read, lost)

    def _each(
        self,
        batches: Iterator[list[Replay]],
        work: Callable[[ReplayReader, list[Replay]], list[T]],
        lost: Callable[[Replay, str], T],
    ) -> Iterator[list[T]]:
        waiting: deque[Future[list[T]]] = deque()
        for batch in batches:
            waiting.append(self._threads.submit(self._one, batch, work, lost))
            if len(waiting) > 2 * self._count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _one(
        self,
        batch: list[Replay],
        work: Callable[[ReplayReader, list[Replay]], list[T]],
        lost: Callable[[Replay, str], T],
    ) -> list[T]:
        reader = self._idle.get()
        try:
            return work(reader, batch)
        except (HostError, UserError) as error:
            # One that refuses to answer may be as spoilt as one that has died.
            problem = str(error)
            reader.close()
            reader = self._renewed()
        finally:
            self._idle.put(reader)
        if len(batch) == 1:
            return [lost(batch[0], problem)]
        # One of them ended the host, and the others need not suffer.
        return [result for one in batch for result in self._one([one], work, lost)]

    def _renewed(self) -> ReplayReader:
        reader = self._game.replay_reader()
        if self._usual is not None:
            reader.complete(self._usual)
        return reader
