"""Human battles as a dataset: public replays are read by several hosts and written as both seats lived through them.

The sources are gone through twice: first for what is usual in them, then for the battles, in which what a log never
tells of the own team is filled in with what is usual. It is marked in `guessed`, number by number, filled in or not.

What is kept, and how: a decision whose choice cannot be known has the action −1, and stays in its episode, with the
actions that it may have been in `possible`, if some are excluded. Unknown is also one that no legal action fits
(`illegal`, by cause), and one whose mask may be wrong since the log does not tell whether its Pokémon was bound.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES
from nemesis.data.episodes import Episodes
from nemesis.data.replay_readers import ReplayReaders
from nemesis.data.writer import DatasetWriter
from nemesis.games import open_game
from nemesis.games.pokemon.formats import Format, find_format
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.replays.reading import Read, ReplayBattle, ReplayError, SeatDecisions, guessed_numbers
from nemesis.games.pokemon.replays.sources import Replay, ReplaySources, format_of
from nemesis.games.pokemon.replays.usage import Usage, UsageCounts
from nemesis.games.pokemon.views.layout import PHASES, POSITION

_BATCH = 16  # battles that a host is given at once,
_BATCH_SIZE = 1 << 22  # and characters of their logs
_FIRST_PASS = 0.15  # of the work
_RATING_STEP = 100
_LONGEST_EXAMPLE = 200  # characters,
_LONGEST_PLACE = 80  # of which so many tell where it stands


@dataclass
class ImportReport:
    """What came of an import."""

    format: str
    read: int = 0
    used: int = 0
    already: int = 0  # in the dataset before
    dropped: Counter[str] = field(default_factory=Counter)  # by reason
    examples: dict[str, str] = field(default_factory=dict)  # the first that was dropped for each reason
    seats_left_out: int = 0  # of battles that are used
    decisions: int = 0
    known: int = 0
    possible: int = 0  # of the others, those of which some actions can be excluded
    request_unsure: int = 0
    late: int = 0  # decisions that the server may have made
    illegal: Counter[str] = field(default_factory=Counter)  # decisions that no legal action fits, by cause
    rated_to_end: int = 0  # rated battles of the format that were played to their end
    rated_to_end_used: int = 0
    ratings: Counter[int] = field(default_factory=Counter)  # seats by the hundred that their rating is in
    starting: float = 0.0  # seconds until the hosts were ready,
    seconds: float = 0.0  # and from then on

    @property
    def battles_per_second(self) -> float:
        return self.read / self.seconds if self.seconds else 0.0

    def drop(self, reason: str, where: str, told: str) -> None:
        self.dropped[reason] += 1
        # The end of a path tells more than its beginning, and the reason more than either.
        place = where if len(where) <= _LONGEST_PLACE else f"…{where[1 - _LONGEST_PLACE :]}"
        self.examples.setdefault(reason, _printable(f"{place}: {told}"))

    def figures(self) -> dict[str, Any]:
        """Return all figures, for JSON."""
        return {
            "format": self.format,
            "read": self.read,
            "used": self.used,
            "already": self.already,
            "dropped": dict(self.dropped.most_common()),
            "seats_left_out": self.seats_left_out,
            "decisions": self.decisions,
            "known": self.known,
            "possible": self.possible,
            "request_unsure": self.request_unsure,
            "late": self.late,
            "illegal": self.illegal.total(),
            "illegal_causes": dict(self.illegal.most_common()),
            "rated_to_end": self.rated_to_end,
            "rated_to_end_used": self.rated_to_end_used / self.rated_to_end if self.rated_to_end else None,
            "ratings": {str(low): count for low, count in sorted(self.ratings.items())},
            "starting_seconds": self.starting,
            "seconds": self.seconds,
            "battles_per_second": self.battles_per_second,
        }


Watch = Callable[[float, ImportReport], None]  # what share of the sources is read, and what came of it so far


def import_replays(
    sources: Sequence[Path],
    out: Path,
    *,
    battle_format: str | None = None,
    add: bool = False,
    processes: int | None = None,
    unfinished: bool = False,
    completion: bool = True,
    watch: Watch = lambda _, __: None,
) -> ImportReport:
    """Write the battles of replays of one format into a dataset.

    Args:
        sources: files and folders.
        out: folder of the dataset.
        battle_format: id of the format; that of the first replay unless given.
        add: go on with a dataset that is there; battles that it has are not read again.
        processes: hosts that read; as many as there are cores unless given.
        unfinished: also take battles that ended by forfeit or timer.
        completion: fill in what logs do not tell with what is usual in the sources.
        watch: hears how far it is, after every few battles.
    """
    replays = ReplaySources(sources)
    chosen = find_format(battle_format) if battle_format else _first_format(replays)
    game = open_game(f"pokemon:{chosen.id}")
    assert isinstance(game, PokemonGame)  # noqa: S101
    report = ImportReport(chosen.id)
    begun = perf_counter()
    with (
        DatasetWriter(out, game.spec, add=add, options={"completion": completion}) as writer,
        ReplayReaders(game, processes or _cores(), unfinished=unfinished) as readers,
    ):
        report.starting = perf_counter() - begun
        begun += report.starting
        if completion:
            readers.complete(_usual(replays, readers, lambda share: watch(_FIRST_PASS * share, report)))
        for results in readers.read(_batches(replays, writer.sources, report)):
            taken = [battle for where, result in results if (battle := _usable(where, result, report))]
            if taken:
                writer.append(_episodes(taken, chosen.id, report))
            report.seconds = perf_counter() - begun
            watch(_FIRST_PASS + (1 - _FIRST_PASS) * replays.share, report)
        if not report.used and not report.already:
            raise UserError(_nothing_usable(report))
        writer.finish()
    report.seconds = perf_counter() - begun
    return report


def _usual(replays: ReplaySources, readers: ReplayReaders, watch: Callable[[float], None]) -> UsageCounts:
    """Return what is usual in all of the sources, be they in the dataset or not."""
    usage = Usage()
    for counts in readers.usage(_batches(replays, set(), ImportReport(""))):
        usage.add(counts)
        watch(replays.share)
    return usage.usual()


def _first_format(replays: Iterable[Replay | ReplayError]) -> Format:
    for replay in replays:
        found = format_of(replay.log) if isinstance(replay, Replay) else None
        if found:
            return found
    raise UserError("No replay says of which format it is; name better sources, or the format with --format.")


def _batches(replays: ReplaySources, present: set[str], report: ImportReport) -> Iterator[list[Replay]]:
    """Yield the replays that are not in the dataset and come for the first time, in batches."""
    before = frozenset(present)
    seen: set[str] = set()
    batch: list[Replay] = []
    size = 0
    for replay in replays:
        report.read += 1
        if isinstance(replay, ReplayError):
            report.drop(replay.reason, f"{replay.id}:{replay.line}", replay.message)
            continue
        if replay.id in seen:
            report.drop("duplicate", replay.where, f"{replay.id} comes again.")
            continue
        seen.add(replay.id)
        if replay.id in before:
            report.already += 1
            continue
        if len(batch) == _BATCH or (batch and size + len(replay.log) > _BATCH_SIZE):
            yield batch
            batch, size = [], 0
        batch.append(replay)
        size += len(replay.log)
    if batch:
        yield batch


def _usable(where: str, result: ReplayBattle | ReplayError, report: ImportReport) -> ReplayBattle | None:
    """Return the battle if it is used; if not, there is a reason."""
    if isinstance(result, ReplayError):
        report.rated_to_end += result.rated_to_end
        report.drop(result.reason, where, str(result))
        return None
    to_end = result.rated and result.ending == "played"
    report.rated_to_end += to_end
    seats = [seat for seat in result.seats if seat is not None]
    if result.unknown:
        kind = next(iter(result.unknown))
        report.drop("unknown protocol line", where, f"{result.id} has '{kind}', of which nothing is known here.")
    elif not seats:
        report.drop("both seats in disguise", where, f"{result.id} has no seat that cannot have had a Zoroark.")
    elif not all(_turns(seat) for seat in seats):
        report.drop("too short", where, f"{result.id} has not one turn.")
    elif not all(seat.packed.any(axis=1).all() for seat in seats):
        report.drop("contradiction", where, f"{result.id} has a decision without a legal action.")
    else:
        report.used += 1
        report.rated_to_end_used += to_end
        return result
    return None


def _turns(seat: SeatDecisions) -> int:
    return int((seat.view[:, POSITION.column("phase")] == PHASES.index("turn")).sum())


def _episodes(battles: list[ReplayBattle], format_name: str, report: ImportReport) -> Episodes:
    """Put battles together as a dataset keeps them, and count what is in them."""
    numbered = [
        (battle, number, seat) for battle in battles for number, seat in enumerate(battle.seats) if seat is not None
    ]
    seats = [seat for _, _, seat in numbered]
    offsets = np.cumsum([0, *(len(seat.action) for seat in seats)])
    read = np.concatenate([seat.read for seat in seats])
    action = np.concatenate([seat.action for seat in seats]).astype(np.int32)
    result = np.array([_result(battle.winner, number) for battle, number, _ in numbered], dtype=np.float32)
    rating = np.array([battle.ratings[number] or np.nan for battle, number, _ in numbered], dtype=np.float32)
    reward = np.zeros(len(action), dtype=np.float32)
    reward[offsets[1:] - 1] = result
    nothing = np.full(len(action), np.nan, dtype=np.float32)
    view = np.concatenate([seat.view for seat in seats])

    report.seats_left_out += SIDES * len(battles) - len(seats)
    report.decisions += len(action)
    report.known += int((action >= 0).sum())
    report.possible += sum(int(seat.possible.any(axis=1).sum()) for seat in seats)
    report.request_unsure += int((read & Read.REQUEST_UNSURE > 0).sum())
    report.late += int((read & Read.LATE > 0).sum())
    for battle in battles:
        report.illegal.update(battle.problems)
    report.ratings.update((rating[rating > 0] // _RATING_STEP * _RATING_STEP).astype(int).tolist())
    return Episodes(
        view=view,
        mask=np.concatenate([seat.packed for seat in seats]),
        action=action,
        tick=np.concatenate([seat.tick for seat in seats]).astype(np.int32),
        log_prob=nothing,
        value=nothing,
        reward=reward,
        possible=np.concatenate([seat.possible for seat in seats]),
        guessed=guessed_numbers(view, np.concatenate([seat.guessed for seat in seats])),
        offsets=offsets,
        source=np.array([battle.id for battle, _, _ in numbered]),
        group=np.array([_group(battle, format_name) for battle, _, _ in numbered]),
        format=np.full(len(seats), format_name),
        ending=np.array([battle.ending for battle, _, _ in numbered]),
        seat=np.array([number for _, number, _ in numbered], dtype=np.int8),
        result=result,
        rating=rating,
    )


def _group(battle: ReplayBattle, format_name: str) -> str:
    """Return what all battles between the same players have in common, without telling who they are."""
    players = "|".join([format_name, *sorted(battle.players)])
    return hashlib.blake2b(players.encode(), digest_size=8).hexdigest()


def _result(winner: int, seat: int) -> float:
    return 0.0 if winner < 0 else 1.0 if winner == seat else -1.0


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _nothing_usable(report: ImportReport) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in report.dropped.most_common())
    return f"Not one of {report.read} battles can be used as {report.format} ({reasons}), so there is no dataset."


def _printable(text: str) -> str:
    """Return a text of untrusted origin as one line that a terminal can show."""
    return "".join(one if one.isprintable() else "?" for one in text[:_LONGEST_EXAMPLE])
