"""Collects a dataset: plays matches of all pairs of players, or of one player against itself, and writes them."""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.data.dataset import Card
from nemesis.data.writer import DatasetWriter, check_folder
from nemesis.evaluation.entrants import Entrants
from nemesis.evaluation.tournament import SLOTS
from nemesis.play.dataset_recorder import DatasetRecorder
from nemesis.play.matches import play


def collect(
    entrants: Entrants,
    out: Path,
    *,
    matches: int,
    seed: int,
    add: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Card:
    """Play `matches` matches of every pair and record the decisions of all seats; `report` gets every result as text.

    Matches that are added to a dataset differ from those in it, also with the same seed.
    """
    check_collection(entrants, out, add=add)
    pairs = list(combinations(entrants.names, 2)) or [(entrants.names[0], entrants.names[0])]
    with DatasetWriter(out, entrants.game.spec, add=add) as writer:
        for first, second in pairs:
            name, own_seed = _new_name(writer, f"{_short(first)}-{_short(second)}", seed)
            one, other = (
                entrants.open(player, SLOTS, own_seed + place) for place, player in enumerate((first, second))
            )
            recorder = DatasetRecorder(entrants.game, writer, name, SLOTS)
            (result,) = play(
                entrants.game,
                one,
                [other],
                matches=matches,
                slots=SLOTS,
                seed=own_seed + 2,
                on_end=recorder.on_end,
                on_decisions=recorder.on_decisions,
                activity=f"Playing {first} against {second}",
            )
            recorder.flush()
            report(f"{first} against {second}: {result.summary()}")
        return writer.finish()


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
        seed += 3
    return f"{players}-{seed}", seed


def _short(player: str) -> str:
    """Return a player's name, or the last part of its path, as part of an id."""
    return re.sub(r"\W+", "_", Path(player).name).strip("_")
