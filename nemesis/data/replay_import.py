"""Imports public replays into a dataset, for any family of games whose replays can be read.

The archive is read twice: first for usage statistics, then for the matches. What a log does not show of a seat's own
position is imputed from the statistics. It is marked in `guessed`, number by number, whether it is imputed or left
unknown.

A decision whose action is unknown has the action −1 and stays in its episode. If some legal actions can be excluded,
the others are in `possible`. An action is also unknown where no legal one fits the log (`illegal`, by cause), and where
the mask may be wrong (`request_unsure`).
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.replays import (
    ReplayArchive,
    ReplayError,
    ReplayFamily,
    ReplayLog,
    ReplayMatch,
    UsageCounts,
)
from nemesis.data.episodes import Episodes
from nemesis.data.import_report import ImportReport
from nemesis.data.replay_readers import ReplayReaders
from nemesis.data.writer import DatasetWriter

_BATCH = 16  # logs that a reader gets at once,
_BATCH_SIZE = 1 << 22  # and their characters
_FIRST_PASS = 0.15  # of the work

Progress: TypeAlias = Callable[[float, ImportReport], None]
"""(share of the work that is done, the report so far) → nothing."""


def import_replays(
    family: ReplayFamily,
    sources: Sequence[Path],
    out: Path,
    *,
    format_name: str | None = None,
    add: bool = False,
    processes: int | None = None,
    unfinished: bool = False,
    imputation: bool = True,
    progress: Progress = lambda _, __: None,
) -> ImportReport:
    """Write the matches of replays of one format into a dataset.

    Args:
        family: of the games that the replays are of.
        sources: files and folders.
        out: folder of the dataset.
        format_name: id of the format; by default that of the first replay.
        add: continue an existing dataset; matches that it already has are not read again.
        processes: number of readers; by default the number of cores.
        unfinished: also use matches that ended by forfeit or timer.
        imputation: impute what logs do not show from usage statistics of the sources.
        progress: called after every few matches.
    """
    archive = family.open_archive(sources)
    game = family.open_game(format_name or _first_format(family, archive))
    begun = perf_counter()
    with (
        DatasetWriter(out, game.spec, add=add, options={"imputation": imputation}) as writer,
        ReplayReaders(
            lambda count: family.open_readers(game, count, unfinished=unfinished), processes or _cores()
        ) as readers,
    ):
        report = ImportReport(writer.format)
        report.starting = perf_counter() - begun
        begun += report.starting
        if imputation:
            counts = _count_usage(archive, readers, lambda share: progress(_FIRST_PASS * share, report))
            readers.impute(family.total_usage(counts))
        for results in readers.read(_batches(archive, writer.sources, report)):
            matches = [match for log, result in results if (match := _usable(log, result, report))]
            if matches:
                writer.append(_episodes(matches, writer.format))
            report.seconds = perf_counter() - begun
            progress(_FIRST_PASS + (1 - _FIRST_PASS) * archive.progress, report)
        if not report.used and not report.already:
            raise UserError(_nothing_usable(report))
        writer.finish()
    report.seconds = perf_counter() - begun
    return report


def _first_format(family: ReplayFamily, archive: ReplayArchive) -> str:
    for replay in archive:
        found = family.find_format(replay) if isinstance(replay, ReplayLog) else None
        if found:
            return found
    raise UserError("No replay names its format; give other sources, or the format with --format.")


def _count_usage(
    archive: ReplayArchive, readers: ReplayReaders, progress: Callable[[float], None]
) -> Iterator[UsageCounts]:
    """Yield the usage statistics of all sources, including matches that the dataset already has."""
    for counts in readers.count_usage(_batches(archive, set(), ImportReport(""))):
        yield counts
        progress(archive.progress)


def _batches(archive: ReplayArchive, present: set[str], report: ImportReport) -> Iterator[list[ReplayLog]]:
    """Yield the replays that are not in the dataset yet, each once, in batches."""
    before = frozenset(present)
    seen: set[str] = set()
    batch: list[ReplayLog] = []
    size = 0
    for replay in archive:
        report.read += 1
        if isinstance(replay, ReplayError):
            report.drop(replay.reason, f"{replay.id}:{replay.line}", replay.message)
            continue
        if replay.id in seen:
            report.drop("duplicate", replay.location, f"{replay.id} was read before.")
            continue
        seen.add(replay.id)
        if replay.id in before:
            report.already += 1
            continue
        if len(batch) == _BATCH or (batch and size + len(replay.text) > _BATCH_SIZE):
            yield batch
            batch, size = [], 0
        batch.append(replay)
        size += len(replay.text)
    if batch:
        yield batch


def _usable(log: ReplayLog, result: ReplayMatch | ReplayError, report: ImportReport) -> ReplayMatch | None:
    """Count what was read of a log, and return the match if it is used."""
    report.rated_to_end += result.rated_to_end
    if isinstance(result, ReplayError):
        report.drop(result.reason, log.location, str(result))
        return None
    report.use(result)
    return result


def _episodes(matches: Sequence[ReplayMatch], format_name: str) -> Episodes:
    """Return the episodes of matches as a dataset stores them."""
    pairs = [(match, episode) for match in matches for episode in match.episodes]
    episodes = [episode for _, episode in pairs]
    offsets = np.cumsum([0, *(len(episode.action) for episode in episodes)])
    result = np.array([episode.result for episode in episodes], dtype=np.float32)
    reward = np.zeros(offsets[-1], dtype=np.float32)
    reward[offsets[1:] - 1] = result
    no_policy = np.full(offsets[-1], np.nan, dtype=np.float32)
    return Episodes(
        view=np.concatenate([episode.view for episode in episodes]),
        mask=np.concatenate([episode.mask for episode in episodes]),
        action=np.concatenate([episode.action for episode in episodes]).astype(np.int32),
        tick=np.concatenate([episode.tick for episode in episodes]).astype(np.int32),
        log_prob=no_policy,
        value=no_policy,
        reward=reward,
        possible=np.concatenate([episode.possible for episode in episodes]),
        guessed=np.concatenate([episode.guessed for episode in episodes]),
        offsets=offsets,
        source=np.array([match.id for match, _ in pairs]),
        group=np.array([_group(match, format_name) for match, _ in pairs]),
        format=np.full(len(pairs), format_name),
        ending=np.array([match.ending for match, _ in pairs]),
        seat=np.array([episode.seat for episode in episodes], dtype=np.int8),
        result=result,
        rating=np.array([episode.rating for episode in episodes], dtype=np.float32),
    )


def _group(match: ReplayMatch, format_name: str) -> str:
    """Return the group of all matches between the same players, as a hash that does not reveal them."""
    players = "|".join([format_name, *sorted(match.players)])
    return hashlib.blake2b(players.encode(), digest_size=8).hexdigest()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _nothing_usable(report: ImportReport) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in report.dropped.most_common())
    return f"None of {report.read} replays can be used as {report.format} ({reasons}), so no dataset is written."
