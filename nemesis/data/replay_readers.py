"""Several episode readers in threads, which survive a replay that crashes one of them."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from nemesis.core.replays import EpisodeReader, ReaderError, ReplayError, ReplayLog, ReplayMatch, UsageCounts

OpenReaders: TypeAlias = Callable[[int], list[EpisodeReader]]
"""Return so many new readers."""

T = TypeVar("T")


class ReplayReaders:
    """Readers of one format. Results come in the order of the batches, whatever the number of readers.

    A context manager.
    """

    def __init__(self, open_readers: OpenReaders, count: int) -> None:
        self._open_readers = open_readers
        self._count = count
        self._usage: UsageCounts | None = None
        self._idle: SimpleQueue[EpisodeReader] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> "ReplayReaders":
        for reader in self._open_readers(self._count):
            self._idle.put(reader)
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def count_usage(self, batches: Iterator[list[ReplayLog]]) -> Iterator[UsageCounts]:
        """Yield usage statistics of parts of the batches."""

        def count(reader: EpisodeReader, batch: list[ReplayLog]) -> list[UsageCounts]:
            return [reader.count_usage(batch)]

        for counts in self._map(batches, count, lambda _, __: {}):
            yield from counts

    def impute(self, usage: UsageCounts) -> None:
        """From now on, sample what logs do not show from these statistics."""
        self._usage = usage
        for _ in range(self._count):
            reader = self._idle.get()
            reader.impute(usage)
            self._idle.put(reader)

    def read(self, batches: Iterator[list[ReplayLog]]) -> Iterator[list[tuple[ReplayLog, ReplayMatch | ReplayError]]]:
        """Yield the logs of each batch and what was read of them."""

        def read(reader: EpisodeReader, batch: list[ReplayLog]) -> list[tuple[ReplayLog, ReplayMatch | ReplayError]]:
            return list(zip(batch, reader.read(batch), strict=True))

        def failed(log: ReplayLog, problem: str) -> tuple[ReplayLog, ReplayMatch | ReplayError]:
            return log, ReplayError(log.id, "reader failed", problem)

        return self._map(batches, read, failed)

    def _map(
        self,
        batches: Iterator[list[ReplayLog]],
        work: Callable[[EpisodeReader, list[ReplayLog]], list[T]],
        failed: Callable[[ReplayLog, str], T],
    ) -> Iterator[list[T]]:
        pending: deque[Future[list[T]]] = deque()
        for batch in batches:
            pending.append(self._threads.submit(self._run, batch, work, failed))
            if len(pending) > 2 * self._count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def _run(
        self,
        batch: list[ReplayLog],
        work: Callable[[EpisodeReader, list[ReplayLog]], list[T]],
        failed: Callable[[ReplayLog, str], T],
    ) -> list[T]:
        reader = self._idle.get()
        try:
            return work(reader, batch)
        except ReaderError as error:
            problem = str(error)
            reader.close()
            reader = self._replacement()
        finally:
            self._idle.put(reader)
        if len(batch) == 1:
            return [failed(batch[0], problem)]
        # One of the logs made the reader fail. Read one at a time, the others are not lost.
        return [result for log in batch for result in self._run([log], work, failed)]

    def _replacement(self) -> EpisodeReader:
        (reader,) = self._open_readers(1)
        if self._usage is not None:
            reader.impute(self._usage)
        return reader
