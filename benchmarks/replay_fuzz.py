"""Fuzzing of the replay reader: battles are written as public replays, mutated, and read.

A mutated log must result in a battle or in an error with a reason, and so must every part of a mutated file. The
command fails if a host dies, hangs or returns garbage, if an exception is raised, if an action is illegal, or if a host
then reads the original logs differently than before. One file is mutated for every ten logs.
"""

import gzip
import json
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.replay_round_trip import FORMATS, play
from benchmarks.report import MeasurementError, option_parser, print_table, run, write_json
from nemesis.core.replays import ReplayError, ReplayLog
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.host_process import HostError
from nemesis.games.pokemon.replays.reading import ReplayBattle, ReplayReader
from nemesis.games.pokemon.replays.sources import ReplaySources
from nemesis.games.pokemon.replays.usage import total_usage

LOGS, QUICK_LOGS = 100_000, 1000
_LOGS_PER_FILE = 10
_BATTLES = 20  # to mutate
_BATCH = 100
_HOSTILE = (
    "|switch|p1a: __proto__|__proto__, L0, M|100/100", "|switch|p9z: X|Pikachu|1/1",
    "|move|p2a: constructor|constructor|p1a: toString", "|poke|p1|constructor, L50|", "|-start|p1a: X|hasOwnProperty",
    "|-weather|__proto__", "|-sidestart|p1: X|constructor", "|showteam|p1|]]]]|||", "|turn|NaN", "|turn|-1",
    "|turn|1e309", "|split|p1", "|", "||", "", "no bar", "|teampreview|999", "|win|", "|-transform|p1a: X|p1a: X",
    "|swap|p1a: X|7", "|swap|p1a: X|-1", "|-terastallize|p2b: X|", "|gametype|triples", "|gen|0", "|drag|p1b: X",
    "|replace|p1a: X", "|detailschange|p1a: X|", "|faint|p2b", "|-heal|p1: X|50/100|[from] move: Revival Blessing",
    "|-damage|p1a: X|0/0", "|-damage|p1a: X|9999/1", "|cant|p1a: X|", "|-item|p1a: X", "|-enditem|",
    "|teamsize|p1|99", "|" * 5000, "|-activate|p1a: X|ability: Commander|[of] p1a: X", "|-swapboost|p1a: X|p7a: Y",
    "|-mustrecharge|", "|upkeep", "|\x00\u202e\ud83d",
)  # fmt: skip


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--logs", type=int, metavar="N", help=f"number of mutated logs (default: {LOGS})")
    options = parser.parse_args()
    logs = options.logs or (QUICK_LOGS if options.quick else LOGS)
    rows = [fuzz(name, -(-logs // len(FORMATS)), options.seed) for name in FORMATS]
    print_table("Mutated replays", rows)
    if options.json:
        write_json(options.json, rows)


def fuzz(name: str, logs: int, seed: int) -> dict[str, object]:
    """Read mutated logs of a format and return the outcomes."""
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)  # noqa: S101
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        _, played = play(game, _BATTLES, seed, Path(folder))
    texts = list(played.values())
    outcomes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    started = perf_counter()
    with closing(game.replay_reader()) as reader, tempfile.TemporaryDirectory() as folder:
        reader.impute(total_usage([reader.usage(texts)]))
        originals = list(zip(map(str, played), texts, strict=True))
        before = [_summary(result) for result in reader.read(originals)]
        for first in range(0, logs, _BATCH):
            batch = [(str(number), mutated(texts, generator)) for number in range(first, min(first + _BATCH, logs))]
            for _ in range(len(batch) // _LOGS_PER_FILE):
                found = _parts(mutated_file(texts, Path(folder), generator))
                files["parts"] += len(found)
                replays = [(part.id, part.text) for part in found if isinstance(part, ReplayLog)]
                files["replays"] += len(replays)
                batch += replays
            _read(reader, batch, name, outcomes)
        if [_summary(result) for result in reader.read(originals)] != before:
            raise MeasurementError(f"Mutated logs of {name} changed how other logs are read.")
    seconds = perf_counter() - started
    reasons = ", ".join(f"{count} {reason}" for reason, count in outcomes.most_common() if reason != "read")
    return {
        "format": name,
        "logs": logs,
        "file_parts": files["parts"],
        "replays_in_files": files["replays"],
        "read": outcomes["read"],
        "refused": reasons,
        "logs_per_second": logs / seconds,
    }


def _read(reader: ReplayReader, batch: list[tuple[str, str]], name: str, outcomes: Counter[str]) -> None:
    try:
        results = reader.read(batch)
        reader.usage([log for _, log in batch])
    except HostError as error:
        raise MeasurementError(f"A batch of mutated logs of {name} broke the host: {error}") from None
    for result in results:
        outcomes[result.reason if isinstance(result, ReplayError) else "read"] += 1
        if isinstance(result, ReplayBattle):
            _check(result)


def _parts(file: Path) -> list[ReplayLog | ReplayError]:
    try:
        return list(ReplaySources([file]))
    except Exception as error:
        raise MeasurementError(f"A mutated {file.name} raised an exception: {error!r}") from error


def mutated_file(texts: list[str], folder: Path, generator: np.random.Generator) -> Path:
    """Write some logs as a file of a random kind, with bytes deleted, repeated, changed, or hostile ones inserted."""
    chosen = [texts[place] for place in generator.integers(len(texts), size=int(generator.integers(1, 4)))]
    replays = [{"id": f"gen9ou-{number}", "log": log} for number, log in enumerate(chosen)]
    kinds = {
        "x.json": json.dumps(replays[0], indent=1),
        "list.json": json.dumps(replays),
        "x.jsonl": "\n".join(map(json.dumps, replays)),
        "x.html": f'<script type="text/plain" class="battle-log-data">{chosen[0]}</script>',
        "x.log": chosen[0],
    }
    name = str(generator.choice(list(kinds)))
    data = bytearray(kinds[name].encode())
    compressed = generator.integers(2) == 1
    if compressed:
        name, data = f"{name}.gz", bytearray(gzip.compress(data, compresslevel=1))
    for _ in range(generator.geometric(0.4)):
        place, length = int(generator.integers(len(data))), int(generator.integers(1, 40))
        match generator.integers(5):
            case 0:
                del data[place : place + length]
                data = data or bytearray(b"x")
            case 1:
                data[place:place] = data[place : place + length]
            case 2:
                data[place : place + 1] = generator.bytes(1)
            case 3:
                hostile = (
                    b"[" * 3000,
                    b'{"log":' * 3000,
                    b"\xff\xfe",
                    b"\0",
                    b'"log": "',
                    b"</script>",
                    b"1" * 5000,
                    b"\n",
                )
                data[place:place] = hostile[generator.integers(len(hostile))]
            case _:
                data = data[: place + 1]
    path = folder / name
    path.write_bytes(data)
    return path


def mutated(texts: list[str], generator: np.random.Generator) -> str:
    """Return one of the logs with lines deleted, repeated, swapped, mixed, changed, or hostile ones inserted."""
    lines = texts[generator.integers(len(texts))].split("\n")
    for _ in range(generator.geometric(0.3)):
        place, other = generator.integers(len(lines), size=2)
        match generator.integers(7):
            case 0:
                del lines[place : place + int(generator.integers(1, 4))]
                lines = lines or [""]
            case 1:
                lines.insert(place, lines[other])
            case 2:
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                lines.insert(place, _HOSTILE[generator.integers(len(_HOSTILE))])
            case 4:
                parts = lines[place].split("|")
                parts[generator.integers(len(parts))] = str(generator.choice(lines[other].split("|")))
                lines[place] = "|".join(parts)
            case 5:
                text = list(lines[place] or "|")
                text[generator.integers(len(text))] = chr(int(generator.integers(32, 127)))
                lines[place] = "".join(text)
            case _:
                lines = lines[: int(place) + 1]
    return "\n".join(lines)


def _summary(result: ReplayBattle | ReplayError) -> object:
    if isinstance(result, ReplayError):
        return result
    return [seat and (seat.view.tobytes(), seat.mask.tobytes(), seat.action.tobytes()) for seat in result.seats]


def _check(battle: ReplayBattle) -> None:
    for seat in battle.seats:
        if seat is None:
            continue
        known = np.flatnonzero(seat.action >= 0)
        if not seat.mask[known, seat.action[known]].all():
            raise MeasurementError("A mutated log was read with an illegal action.")


if __name__ == "__main__":
    run(main)
