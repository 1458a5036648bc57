"""`nemesis collect` and `nemesis data`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from functools import partial
from pathlib import Path

from nemesis.cli.options import Flag, LogLevel, check_minimum, log_at, remote_players, split_settings
from nemesis.cli.status import output
from nemesis.core.progress import report


def collect(
    player: str,
    /,
    *others: str,
    out: Path,
    matches: int = 400,
    game: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    last: Flag = False,
    add: Flag = False,
    seed: int = 0,
    teacher: str | None = None,
    allow_imports: Flag = False,
    log_level: LogLevel = None,
) -> None:
    """Record matches into a dataset.

    All pairs of players play each other; a single player plays itself.

    Args:
        player: folder of a run or of one checkpoint, a policy file, or a scripted player such as random
        others: more players; and settings of the game as FAMILY.KEY=VALUE
        out: folder of the dataset
        matches: number of matches per pair
        game: FAMILY:GAME, if no run or policy determines it
        temperature: of the policies' sampling; 0 plays the most likely action
        top_p: total probability of the most likely actions that are kept
        last: play with the last weights of runs instead of the averaged ones
        add: add to an existing dataset, finished or not
        seed: of the matches
        teacher: a player whose actions are recorded in place of those that were played (DAgger)
        allow_imports: import the code that a run or policy file names as module:attribute
        log_level: what is shown of the log, by default warnings and errors
    """
    log_at(log_level)
    report(f"Opening {player}")
    check_minimum(seed=(seed, 0), matches=(matches, 1))
    from nemesis.evaluation import dataset_collection
    from nemesis.evaluation.entrants import open_entrants
    from nemesis.play.play_options import PlayOptions
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import DEFAULT_WEIGHTS

    names, settings = split_settings(others)
    style = PlayStyle.from_options(temperature, top_p)
    options = PlayOptions(style, weights="last" if last else DEFAULT_WEIGHTS, allow_imports=allow_imports)
    players = [player, *names]
    named = players if teacher is None or teacher in players else [*players, teacher]
    entrants = open_entrants(named, game, settings, options, remote_players())
    dataset_collection.check_collection(entrants, out, add=add)
    report("Importing PyTorch")
    import torch

    torch.set_num_threads(1)
    announce = partial(output, error=True)
    card = dataset_collection.collect(
        entrants, players, out, matches=matches, seed=seed, teacher=teacher, add=add, report=announce
    )
    output(card.text(), end="")


def show(dataset: Path, /, *, check: Flag = False) -> None:
    """Print the card of a dataset.

    Args:
        dataset: its folder
        check: read the whole dataset and compare it with its card
    """
    report(f"Reading {dataset}")
    from nemesis.data.dataset import open_dataset

    opened = open_dataset(dataset)
    if check:
        opened.verify()
    output(opened.card.text(), end="")
    if check:
        print("All shards match the card.")
