"""`nemesis export`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from pathlib import Path

from nemesis.cli.options import Flag
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report

_POLICY_FILE = "safetensors"


def export(
    run: Path,
    file: Path,
    /,
    *,
    last: Flag = False,
    temperature: float = 1.0,
    top_p: float = 1.0,
    format: str = _POLICY_FILE,  # noqa: A002 (it is the option's name)
    allow_imports: Flag = False,
) -> None:
    """Write the policy of a run as one file.

    Such a file can be evaluated, used as an opponent, and shared.

    Args:
        run: folder of a run or of one checkpoint
        file: new file, usually NAME.safetensors
        last: write the last weights instead of the averaged ones
        temperature: default temperature of its sampling; 0 plays the most likely action
        top_p: default total probability of the most likely actions that are kept
        format: safetensors, or a format of the game family
        allow_imports: import the code that the run names as module:attribute
    """
    report("Importing PyTorch")
    from nemesis.core.plugins import import_attribute
    from nemesis.games import family_of
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import find_policy
    from nemesis.storage.policy_files import save_policy

    style = PlayStyle(temperature, top_p)
    saved = find_policy(run, allow_imports=allow_imports)
    game = saved.game_config().open_game()
    policy = saved.load(game, "last" if last else "average")
    if format != _POLICY_FILE:
        family = family_of(saved.game)
        exporters = family.exporters if family else {}
        if format not in exporters:
            raise UserError(
                f"{saved.game} cannot be exported as {format}, only as {', '.join((_POLICY_FILE, *exporters))}."
            )
        output(import_attribute(exporters[format])(saved, policy, style, file))
        return
    about = {
        "update": saved.update,
        "decisions": saved.decisions,
        "weights": "last" if last else "average",
        "config": dict(saved.training_config()),
    }
    save_policy(file, policy, saved.policy, game, about, style)
    size = file.stat().st_size / 1e6
    output(f"{file}: {size:.1f} MB, {game.spec.name}, after {about['decisions']:,} decisions.")
