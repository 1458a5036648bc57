"""Results of matches between members, appended as cells are finished: JSON lines that anything can read.

A line holds two members and the counts of wins, draws and losses of the first. A line that was cut off while it was
written is dropped when the log is opened, and its cell is played again.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import IntArray
from nemesis.play.matches import Score
from nemesis.population.meta_game.payoffs import Counts, Payoffs

FILE = "payoffs.jsonl"


class PayoffLog:
    """The log of one folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._lines = self._read()

    def add(self, first: str, second: str, score: Score) -> None:
        """Append the score of the first of two members."""
        lost = score.matches - score.wins - score.draws
        line = {"first": first, "second": second, "won": score.wins, "drawn": score.draws, "lost": lost}
        line["voided"] = score.voided
        with self._file.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
            log.flush()
            os.fsync(log.fileno())
        self._lines.append(line)

    def payoffs(self, members: Sequence[str]) -> Payoffs:
        """Return the counts between members."""
        counts: Counts = np.zeros((len(members), len(members), 3), dtype=np.int64)
        for first, second, line in self._among(members):
            result = np.array([line["won"], line["drawn"], line["lost"]])
            counts[first, second] += result
            counts[second, first] += result[::-1]
        return Payoffs(counts)

    def played(self, members: Sequence[str]) -> IntArray:
        """Return the matches of each pair (member, member), the voided ones included."""
        played = self.payoffs(members).matches
        for first, second, line in self._among(members):
            played[first, second] += line["voided"]
            played[second, first] += line["voided"]
        return played

    def _among(self, members: Sequence[str]) -> list[tuple[int, int, dict[str, int]]]:
        place = {name: number for number, name in enumerate(members)}
        return [
            (place[line["first"]], place[line["second"]], line)
            for line in self._lines
            if line["first"] in place and line["second"] in place
        ]

    def _read(self) -> list[dict]:  # type: ignore[type-arg]  # as JSON has it
        """Read all lines, and cut off a last one that is not whole."""
        if not self._file.exists():
            return []
        content = self._file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
        except ValueError as error:
            raise UserError(f"{self._file} is damaged ({error}); put its original back.") from error
        if len(whole) < len(content):
            with self._file.open("r+b") as log:
                log.truncate(len(whole))
        return lines
