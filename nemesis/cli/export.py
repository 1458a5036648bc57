"""`nemesis export`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def export(
    run: Path,
    file: Path,
    /,
    *,
    last: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> None:
    """Write the policy of a run as one file.

    Such a file can be evaluated, met as an opponent, and given away.

    Args:
        run: folder of a run or of one checkpoint
        file: new file, usually NAME.safetensors
        last: write the last weights instead of the averaged ones
        temperature: of its draws wherever it plays and nobody asks for another; 0 plays the likeliest action
        top_p: probability of the likeliest actions that are kept there
    """
    from nemesis.play.players import PlayStyle
    from nemesis.storage.policy_files import save_policy
    from nemesis.training.assembly import config_of, find_checkpoint, open_any_policy, open_game_of

    style = PlayStyle(temperature, top_p)
    checkpoint = find_checkpoint(run)
    config = config_of(checkpoint)
    game = open_game_of(config)
    policy, shape = open_any_policy(checkpoint.path, game, "weights" if last else "average")
    about = {
        "update": checkpoint.update,
        "decisions": checkpoint.state["decisions"],
        "weights": "last" if last else "average",
        "config": checkpoint.config,
    }
    save_policy(file, policy, shape, game, about, style)
    size = file.stat().st_size / 1e6
    print(f"{file}: {size:.1f} MB, {game.spec.name}, after {about['decisions']:,} decisions.")
