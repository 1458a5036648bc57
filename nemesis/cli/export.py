"""`nemesis export`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from collections.abc import Callable
from pathlib import Path

from nemesis.cli.options import Flag, check_new
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
    report(f"Opening {run}")
    from nemesis.core.files import WriteError
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import DEFAULT_WEIGHTS, find_policy
    from nemesis.storage.policy_files import save_policy

    style = PlayStyle(temperature, top_p)
    saved = find_policy(run, allow_imports=allow_imports)
    exporter = _exporter(saved.game, format)
    check_new(file)
    if last and saved.checkpoint is None:
        raise UserError(f"--last is for runs and checkpoints; {run} is a file, which has only one kind of weights.")
    weights = "last" if last else DEFAULT_WEIGHTS
    game = saved.game_config().open_game()
    saved.check(game)
    report("Importing PyTorch")
    policy = saved.load(game, weights)
    if exporter:
        try:
            output(exporter(saved, policy, style, file))
        except OSError as error:
            raise WriteError(file, error) from error
        return
    about = {
        "update": saved.update,
        "decisions": saved.decisions,
        "weights": weights,
        "config": dict(saved.training_config()),
    }
    save_policy(file, policy, saved.policy, game, about, style)
    size = file.stat().st_size / 1e6
    age = "" if saved.decisions is None else f", after {saved.decisions:,} decisions"
    output(f"{file}: {size:.1f} MB, {game.spec.name}{age}.")


def _exporter(game: str, format_name: str) -> Callable[..., str] | None:
    """Return what exports policies in a format of the game's family; None for a policy file."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import family_of

    if format_name == _POLICY_FILE:
        return None
    family = family_of(game)
    exporters = family.exporters if family else {}
    if format_name not in exporters:
        raise UserError(f"{game} cannot be exported as {format_name}, only as {', '.join((_POLICY_FILE, *exporters))}.")
    found: Callable[..., str] = import_attribute(exporters[format_name])
    return found
