"""Writes matches between two players into a dataset, while they are played."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.game import SIDES, Decisions, FloatArray, Game, IntArray, MatchPool, Results, is_counted
from nemesis.data.episodes import Episodes
from nemesis.data.writer import DatasetWriter
from nemesis.play.players import Choices

_READY = 4096  # decisions of ended matches that come together before they are written
_Columns = dict[str, npt.NDArray[Any]]


class Recorder:
    """Hears of decisions and results, as `play` tells them, and writes the matches that ended by play."""

    def __init__(self, game: Game, writer: DatasetWriter, name: str, slots: int) -> None:
        """Let match n of a pool with so many slots be the battle `name-n`."""
        self._scale = game.spec.utility_scale
        self._writer = writer
        self._name = name
        self._ticks = np.zeros(slots, dtype=np.int32)  # decisions so far in the match
        self._rows: list[_Columns] = []
        self._ready = 0
        self._ended: list[Results] = []

    def note(self, decisions: Decisions, choices: Choices) -> None:
        """Keep decisions that were made at once."""
        self._rows.append(
            {
                "match": decisions.match,
                "seat": decisions.seat,
                "tick": self._ticks[decisions.slot],
                "view": decisions.view,
                "mask": np.packbits(decisions.mask, axis=1),
                "action": choices.action.astype(np.int32),
                "log_prob": choices.log_prob,
                "value": choices.value,
            }
        )
        np.add.at(self._ticks, decisions.slot, 1)

    def watch(self, _: MatchPool, ended: Results) -> None:
        """Take results; what has ended is written when enough has come together."""
        self._ready += int(self._ticks[ended.slot].sum())
        self._ticks[ended.slot] = 0
        self._ended.append(ended)
        if self._ready >= _READY:
            self.flush()

    def flush(self) -> None:
        """Write the matches that have ended; those in flight wait."""
        if not self._ended or not self._rows:
            return
        match, returns, reason = (
            np.concatenate([getattr(one, name) for one in self._ended]) for name in ("match", "returns", "end_reason")
        )
        if not len(match):
            return
        self._ended, self._ready = [], 0
        by_match = np.argsort(match)
        match, returns, played = match[by_match], returns[by_match], is_counted(reason[by_match])
        rows = {name: np.concatenate([part[name] for part in self._rows]) for name in self._rows[0]}
        place = np.minimum(np.searchsorted(match, rows["match"]), len(match) - 1)
        over = match[place] == rows["match"]
        self._rows = [{name: column[~over] for name, column in rows.items()}]
        kept = np.flatnonzero(over & played[place])
        # Rows came in the order of play, so a stable sort keeps each episode's.
        order = kept[np.argsort(_episode(rows)[kept], kind="stable")]
        if len(order):
            self._writer.append(self._episodes({name: column[order] for name, column in rows.items()}, match, returns))

    def _episodes(self, rows: _Columns, match: IntArray, returns: FloatArray) -> Episodes:
        """Put sorted decisions and the results of matches together."""
        starts = np.flatnonzero(np.diff(_episode(rows), prepend=-1))
        offsets = np.append(starts, len(rows["match"]))
        of_match, seat = rows["match"][starts], rows["seat"][starts]
        result = (returns[np.searchsorted(match, of_match), seat] / self._scale).astype(np.float32)
        reward = np.zeros(len(rows["match"]), dtype=np.float32)
        reward[offsets[1:] - 1] = result
        source = np.array([f"{self._name}-{number}" for number in of_match])
        return Episodes(
            view=rows["view"],
            mask=rows["mask"],
            action=rows["action"],
            tick=rows["tick"],
            log_prob=rows["log_prob"],
            value=rows["value"],
            reward=reward,
            possible=None,
            guessed=None,
            offsets=offsets,
            source=source,
            group=source,
            format=np.full(len(starts), self._writer.format),
            ending=np.full(len(starts), "played"),
            seat=seat.astype(np.int8),
            result=result,
            rating=np.full(len(starts), np.nan, dtype=np.float32),
        )


def _episode(rows: _Columns) -> IntArray:
    episode: IntArray = rows["match"] * SIDES + rows["seat"]
    return episode
