"""Matches between players as a dataset: everybody meets everybody, or one player meets itself."""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from nemesis.core.errors import UserError
from nemesis.data.dataset import Card
from nemesis.data.writer import DatasetWriter
from nemesis.deploy.pokemon.poke_env_opponent import PREFIX
from nemesis.evaluation.tournament import SLOTS, Field, open_entrant
from nemesis.play.matches import play
from nemesis.play.recording import Recorder


def collect(
    field: Field,
    out: Path,
    *,
    matches: int,
    seed: int,
    add: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Card:
    """Play so many matches of every pair and write what both seats saw and did; `tell` hears of every result.

    Matches that are added to a dataset are others than those in it, whatever the seed.
    """
    for name in field.names:
        if name.startswith(PREFIX):
            raise UserError(f"{name} plays on a server, where its view of a battle is not ours to record.")
    pairs = list(combinations(field.names, 2)) or [(field.names[0], field.names[0])]
    with DatasetWriter(out, field.game.spec, add=add) as writer:
        for first, second in pairs:
            name, own_seed = _new_name(writer, f"{_short(first)}-{_short(second)}", seed)
            one, other = (
                open_entrant(field, player, SLOTS, own_seed + place) for place, player in enumerate((first, second))
            )
            recorder = Recorder(field.game, writer, name, SLOTS)
            (result,) = play(
                field.game,
                one,
                [other],
                matches=matches,
                slots=SLOTS,
                seed=own_seed + 2,
                watch=recorder.watch,
                note=recorder.note,
            )
            recorder.flush()
            tell(f"{first} against {second}: {result.in_words()}")
        return writer.finish()


def _new_name(writer: DatasetWriter, players: str, seed: int) -> tuple[str, int]:
    """Return a name for the matches of a pair that no battle of the dataset has, and a seed that goes with it."""
    taken = {source.rpartition("-")[0] for source in writer.sources}
    while f"{players}-{seed}" in taken:
        seed += 3
    return f"{players}-{seed}", seed


def _short(player: str) -> str:
    """Return a player's name as part of an id: of a path, what is after its last slash."""
    return re.sub(r"\W+", "_", Path(player).name).strip("_")
