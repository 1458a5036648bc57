"""`nemesis export`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nemesis.cli.options import Flag, check_new
from nemesis.cli.status import output
from nemesis.core.errors import UserError
from nemesis.core.progress import report

if TYPE_CHECKING:
    from nemesis.storage.policy_export import PolicyExport


def export(
    *words: str,
    last: Flag = False,
    temperature: float | None = None,
    top_p: float | None = None,
    allow_imports: Flag = False,
) -> None:
    """Write a policy as one file, or in another format.

    A policy file can be evaluated, used as an opponent, and shared. Game families may have other formats.

    Args:
        words: a format, unless it is a policy file; a run, checkpoint or policy file; a new file, or a new folder
        last: write the last weights instead of the averaged ones
        temperature: default temperature of its sampling; 0 plays the most likely action
        top_p: default total probability of the most likely actions that are kept
        allow_imports: import the code that the run names as module:attribute
    """
    if len(words) not in (2, 3):
        raise UserError("Name a run or a policy file, and a new file: nemesis export [FORMAT] POLICY FILE.")
    *formats, name, path = words
    target = Path(path)
    report(f"Opening {name}")
    from nemesis.core.files import WriteError
    from nemesis.policies.play_style import PlayStyle
    from nemesis.storage.policies import DEFAULT_WEIGHTS, find_policy
    from nemesis.storage.policy_export import PolicyExport

    style = PlayStyle.from_options(temperature, top_p)
    saved = find_policy(name, allow_imports=allow_imports)
    exporter = _exporter(saved.game, formats[0]) if formats else None
    check_new(target, may_be_empty_folder=exporter is not None)
    if last and saved.checkpoint is None:
        raise UserError(f"--last is for runs and checkpoints; {name} is a file, which has only one kind of weights.")
    weights = "last" if last else DEFAULT_WEIGHTS
    game = saved.game_config().open_game()
    saved.check(game)
    report("Importing PyTorch")
    policy = PolicyExport(saved, saved.load(game, weights), game, weights, style or saved.style)
    if exporter:
        try:
            output(exporter(policy, target))
        except OSError as error:
            raise WriteError(target, error) from error
        return
    policy.save(target)
    size = target.stat().st_size / 1e6
    age = "" if saved.decisions is None else f", after {saved.decisions:,} decisions"
    output(f"{target}: {size:.1f} MB, {game.spec.name}{age}.")


def _exporter(game: str, format_name: str) -> "Callable[[PolicyExport, Path], str]":
    """Return what exports policies in a format of the game's family."""
    from nemesis.core.plugins import import_attribute
    from nemesis.games import family_of

    family = family_of(game)
    exporters = family.exporters if family else {}
    if format_name not in exporters:
        others = f", only as {', '.join(exporters)}" if exporters else ""
        raise UserError(f"{game} cannot be exported as {format_name}{others} or, without a format, as a policy file.")
    found: Callable[[PolicyExport, Path], str] = import_attribute(exporters[format_name])
    return found
