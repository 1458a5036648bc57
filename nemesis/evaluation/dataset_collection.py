"""Collects a dataset: plays matches of all pairs of players, or of one player against itself, and writes them.

With a teacher, the players' decisions lead the matches, and the dataset has what the teacher would have decided in
their place. A student that is cloned from such matches of its own learns to recover from its own mistakes.

S. Ross, G. Gordon, D. Bagnell (2011). A Reduction of Imitation Learning and Structured Prediction to No-Regret Online
Learning (DAgger).
"""

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import Decisions, MatchPool, Results
from nemesis.data.dataset import Card
from nemesis.data.writer import DatasetWriter, check_folder
from nemesis.evaluation.entrants import Entrants
from nemesis.evaluation.tournament import SLOTS
from nemesis.play.dataset_recorder import DatasetRecorder
from nemesis.play.matches import play
from nemesis.play.players import Choices, Player


def collect(
    entrants: Entrants,
    players: Sequence[str],
    out: Path,
    *,
    matches: int,
    seed: int,
    teacher: str | None = None,
    add: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Card:
    """Play `matches` matches of every pair and record the decisions of all seats; `report` gets every result as text.

    The players and the teacher are among the entrants. Matches that are added to a dataset differ from those in it,
    also with the same seed.
    """
    check_collection(entrants, out, add=add)
    pairs = list(combinations(players, 2)) or [(players[0], players[0])]
    with DatasetWriter(out, entrants.game.spec, add=add) as writer:
        for first, second in pairs:
            name, own_seed = _new_name(writer, f"{_short(first)}-{_short(second)}", seed)
            one, other = (
                entrants.open(player, SLOTS, own_seed + place) for place, player in enumerate((first, second))
            )
            recorder = DatasetRecorder(entrants.game, writer, name, SLOTS)
            observer = recorder if teacher is None else _Taught(recorder, entrants.open(teacher, SLOTS, own_seed + 3))
            (result,) = play(
                entrants.game,
                one,
                [other],
                matches=matches,
                slots=SLOTS,
                seed=own_seed + 2,
                on_end=observer.on_end,
                on_decisions=observer.on_decisions,
                activity=f"Playing {first} against {second}",
            )
            recorder.flush()
            report(f"{first} against {second}: {result.summary()}")
        return writer.finish()


class _Taught:
    """Gives a recorder the teacher's choices instead of those that were played."""

    def __init__(self, recorder: DatasetRecorder, teacher: Player) -> None:
        self._recorder = recorder
        self._teacher = teacher

    def on_decisions(self, decisions: Decisions, _: Choices) -> None:
        chosen = self._teacher.act(decisions)
        unknown = np.full(len(decisions), np.nan, dtype=np.float32)  # the matches are not the teacher's play
        self._recorder.on_decisions(decisions, Choices(chosen.action, unknown, unknown))

    def on_end(self, pool: MatchPool, ended: Results) -> None:
        self._recorder.on_end(pool, ended)
        self._teacher.forget(ended.slot)


def check_collection(entrants: Entrants, out: Path, *, add: bool = False) -> None:
    """Raise if the matches cannot be recorded there, before the players are opened."""
    for name in entrants.names:
        if entrants.remote(name):
            raise UserError(f"{name} plays over a server, where its views cannot be recorded.")
    check_folder(out, add)


def _new_name(writer: DatasetWriter, players: str, seed: int) -> tuple[str, int]:
    """Return a new name for the matches of a pair, and the seed of that name."""
    taken = {source.rpartition("-")[0] for source in writer.sources}
    while f"{players}-{seed}" in taken:
        seed += 4
    return f"{players}-{seed}", seed


def _short(player: str) -> str:
    """Return a player's name, or the last part of its path, as part of an id."""
    return re.sub(r"\W+", "_", Path(player).name).strip("_")
