"""Writes matches to a dataset while they are played."""

import numpy as np

from nemesis.core.game import Decisions, FloatArray, Game, MatchPool, Results, default_weights
from nemesis.data.episodes import Episodes
from nemesis.data.writer import DatasetWriter
from nemesis.play.assembler import Assembled, Columns, EpisodeAssembler
from nemesis.play.players import Choices

_BATCH = 4096  # decisions of ended matches that are written together


class DatasetRecorder:
    """Writes the scored matches of `play` to a dataset."""

    def __init__(self, game: Game, writer: DatasetWriter, name: str, slots: int) -> None:
        """Match n is called `name-n` in the dataset."""
        self._scale = game.spec.utility_scale
        self._weights = default_weights(game)
        self._writer = writer
        self._name = name
        self._ticks = np.zeros(slots, dtype=np.int32)  # decisions so far in the match
        self._made = np.zeros((slots, game.spec.seats), dtype=np.int32)  # decisions so far of the seat
        self._assembler = EpisodeAssembler(game.spec.seats, bootstraps=False)
        self._ready = 0

    def on_decisions(self, decisions: Decisions, choices: Choices) -> None:
        """Add decisions that were made at the same time."""
        columns: Columns = {
            "match": decisions.match,
            "seat": decisions.seat,
            "step": self._made[decisions.slot, decisions.seat],
            "tick": self._ticks[decisions.slot],
            "view": decisions.view,
            "mask": decisions.mask,
            "action": choices.action.astype(np.int32),
            "log_prob": choices.log_prob,
            "value": choices.value,
        }
        if decisions.reward is not None:
            columns["received"] = decisions.reward
        self._assembler.add(columns)
        np.add.at(self._ticks, decisions.slot, 1)
        self._made[decisions.slot, decisions.seat] += 1

    def on_end(self, _: MatchPool, ended: Results) -> None:
        """Add results; ended matches are written in batches."""
        self._ready += int(self._ticks[ended.slot].sum())
        self._ticks[ended.slot] = 0
        self._made[ended.slot] = 0
        self._assembler.end(ended)
        if self._ready >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the matches that have ended; matches in flight are kept."""
        self._ready = 0
        assembled = self._assembler.take()
        if assembled is not None:
            self._writer.append(self._episodes(assembled))

    def _episodes(self, assembled: Assembled) -> Episodes:
        rows, count = assembled.rows, len(assembled.match)
        result = assembled.returns / np.float32(self._scale)
        source = np.array([f"{self._name}-{number}" for number in assembled.match])
        return Episodes(
            view=rows["view"],
            mask=rows["mask"],
            action=rows["action"],
            tick=rows["tick"],
            log_prob=rows["log_prob"],
            value=rows["value"],
            reward=self._reward(assembled, result),
            possible=None,
            guessed=None,
            offsets=assembled.offsets,
            source=source,
            group=source,
            format=np.full(count, self._writer.format),
            ending=np.where(assembled.terminated, "played", "truncated"),
            seat=assembled.seat.astype(np.int8),
            result=result,
            rating=np.full(count, np.nan, dtype=np.float32),
        )

    def _reward(self, assembled: Assembled, result: FloatArray) -> FloatArray:
        """Return the reward of each decision, the result at the last one of each episode."""
        reward = np.zeros(assembled.offsets[-1], dtype=np.float32)
        if assembled.reward is not None:
            paid = assembled.reward if self._weights is None else assembled.reward @ self._weights
            reward += paid / np.float32(self._scale)
        reward[assembled.offsets[1:] - 1] += result
        return reward
