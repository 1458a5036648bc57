"""How public logs of people are read: battles, decisions, share of known actions, contradictions, and the speed.

A file has one JSON object with `id` and `log` per line, and may be compressed. Its logs are of one format, which is its
name: `gen9ou.jsonl.gz`. One host reads them. It reads the first logs twice, as warm-up.
"""

import gzip
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.report import MeasurementError, option_parser, print_table, run, write_json
from nemesis.core.replays import ReplayError
from nemesis.games import open_game
from nemesis.games.pokemon.game import PokemonGame

_BATCH = 100
_QUICK = 300  # logs of each file
_WARM_UP = 100  # logs


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = [measure(path, _QUICK if options.quick else None) for path in options.files]
    print_table("Public logs read by one host", rows)
    if options.json:
        write_json(options.json, rows)


def measure(path: Path, limit: int | None) -> dict[str, Any]:
    """Read the logs of one file and return the figures."""
    game = open_game(f"pokemon:{path.name.split('.')[0]}")
    assert isinstance(game, PokemonGame)  # noqa: S101
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            logs = [(entry["id"], entry["log"]) for entry in map(json.loads, lines)][:limit]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MeasurementError(f"{path} cannot be read as lines of JSON with id and log: {error}") from None
    with closing(game.replay_reader()) as reader:
        reader.read(logs[:_WARM_UP])
        started = perf_counter()
        results = [
            result for first in range(0, len(logs), _BATCH) for result in reader.read(logs[first : first + _BATCH])
        ]
        seconds = perf_counter() - started
    count: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    for result in results:
        if isinstance(result, ReplayError):
            causes[result.reason] += 1
            continue
        count[result.ending] += 1
        causes.update(result.problems)
        for seat in result.seats:
            if seat is None:
                count["left out"] += 1
                continue
            count["decisions"] += len(seat.action)
            count["known"] += int((seat.action >= 0).sum())
    return {
        "file": path.name,
        "battles": len(logs),
        "read": count["played"] + count["forfeit"] + count["timer"],
        "completed": count["played"],
        "seats_left_out": count["left out"],
        "decisions": count["decisions"],
        "known": count["known"] / max(count["decisions"], 1),
        "contradictions": ", ".join(f"{number} {cause}" for cause, number in causes.most_common()) or "none",
        "battles_per_second": len(logs) / seconds,
    }


if __name__ == "__main__":
    run(main)
