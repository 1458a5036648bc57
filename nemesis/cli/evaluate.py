"""`nemesis evaluate`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import json as json_format
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nemesis.core.errors import UserError


def evaluate(
    run: Path,
    /,
    *,
    matches: int | None = None,
    opponent: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    replays: int = 0,
    seed: int = 0,
    json: Path | None = None,
) -> None:
    """Measure a run or a checkpoint: exactly, or by matches against fixed opponents.

    Args:
        run: folder of a run or of one checkpoint
        matches: how many to play against each opponent; as in the run's evaluation.matches unless given
        opponent: whom to play against, may be repeated; as in the run's evaluation.opponents unless given
        replays: how many more matches, against the strongest opponent, to save as replays into the folder
        seed: of those matches
        json: file to write the figures to as well
    """
    for name, number in (("seed", seed), ("replays", replays)):
        if number < 0:
            raise UserError(f"--{name} must be a whole number of at least 0, not {number}.")
    if json:
        _check_writable(json)
    from nemesis.core.config import build_config
    from nemesis.runtime import evaluation
    from nemesis.runtime.config import EvaluationConfig

    if matches is not None:
        build_config(EvaluationConfig, {"matches": matches})  # says what is wrong with it before anything is loaded
    result = evaluation.evaluate(run, seed, matches, opponent or None, replays)
    rows = result.rows()
    width = max(len(label) for label, _ in rows)
    for label, figure in rows:
        print(f"{label:{width}}  {figure}")
    if json:
        json.write_text(json_format.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")


def _check_writable(file: Path) -> None:
    """Fail before the work is done, not after it, and leave no empty file should the work fail."""
    existed = file.exists()
    try:
        file.open("a").close()
        if not existed:
            file.unlink()
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
