"""`nemesis evaluate`."""

# ruff: noqa: PLC0415 (torch is slow to import, so what needs it is imported when the command runs)

import json as json_format
from pathlib import Path

from nemesis.core.errors import UserError


def evaluate(run: Path, /, *, matches: int | None = None, seed: int = 0, json: Path | None = None) -> None:
    """Measure a run or a checkpoint.

    Args:
        run: folder of a run or of one checkpoint
        matches: how many matches to play where no exact measure exists; the default of evaluation.matches unless given
        seed: of those matches
        json: file to write the figures to as well
    """
    if seed < 0:
        raise UserError(f"--seed must be a whole number of at least 0, not {seed}.")
    if json:
        _check_writable(json)
    from nemesis.core.config import build_config
    from nemesis.runtime import evaluation
    from nemesis.runtime.config import EvaluationConfig

    settings = build_config(EvaluationConfig, {} if matches is None else {"matches": matches})
    result = evaluation.evaluate(run, settings.matches, seed)
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
