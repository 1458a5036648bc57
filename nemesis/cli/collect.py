"""`nemesis collect` and `nemesis data`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nemesis.core.errors import UserError

_SETTING = "pokemon."


def collect(
    player: str,
    /,
    *others: str,
    out: Path,
    matches: int = 400,
    game: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    last: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    add: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    seed: int = 0,
) -> None:
    """Record matches into a dataset.

    Everybody meets everybody; one player alone meets itself.

    Args:
        player: folder of a run or of one checkpoint, a policy file, or a scripted player such as random
        others: more of them; and settings of the game as KEY=VALUE, such as pokemon.split=held_out
        out: folder of the dataset
        matches: how many to play of each pair
        game: what is played, where no run or policy says it
        temperature: of the policies' draws; 0 plays the likeliest action
        top_p: probability of the likeliest actions that are kept
        last: play with the last weights of runs instead of the averaged ones
        add: go on with a dataset that is there, finished or not
        seed: of the matches
    """
    for name, number, least in (("seed", seed, 0), ("matches", matches, 1)):
        if number < least:
            raise UserError(f"--{name} must be a whole number of at least {least}, not {number}.")
    import torch

    from nemesis.evaluation import dataset_collection as collecting
    from nemesis.evaluation import tournament
    from nemesis.play.players import PlayStyle
    from nemesis.play.policy_players import PlayOptions

    torch.set_num_threads(1)
    settings = [one for one in others if one.startswith(_SETTING) and "=" in one]
    players = [player, *(one for one in others if one not in settings)]
    play_options = PlayOptions(PlayStyle.wanted(temperature, top_p), weights="weights" if last else "average")
    field = tournament.open_field(players, game, settings, play_options)
    card = collecting.collect(
        field,
        out,
        matches=matches,
        seed=seed,
        add=add,
        tell=lambda sentence: print(sentence, file=sys.stderr, flush=True),
    )
    print(card.text(), end="")


def show(dataset: Path, /, *, check: Annotated[bool, Parameter(negative="", show_default=False)] = False) -> None:
    """Print the card of a dataset.

    Args:
        dataset: its folder
        check: read all of it and compare it with the card
    """
    from nemesis.data.dataset import open_dataset

    opened = open_dataset(dataset)
    if check:
        opened.verify()
    print(opened.card.text(), end="")
    if check:
        print("Every shard is what the card says.")
