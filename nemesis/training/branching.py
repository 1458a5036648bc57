"""Branches: a new run that starts from a checkpoint of another run, which is left as it is."""

import json
import logging
import shutil
from pathlib import Path

import yaml

from nemesis.core.errors import UserError
from nemesis.evaluation.run_evaluation import BEST
from nemesis.storage.checkpoints import Checkpoint
from nemesis.storage.policy_files import read_header
from nemesis.storage.run_directory import RunError, environment

_log = logging.getLogger(__name__)

_METRICS = "metrics.jsonl"  # the new run drops the lines after its update


def branch(source: Path, checkpoint: Checkpoint, target: Path) -> None:
    """Create a run from a checkpoint, with the files that it needs and the metrics.

    The new run appears in one step, so that a branch that was interrupted leaves none.
    """
    target = target.absolute()
    temporary = target.with_name(f".tmp-{target.name}")
    files = [*checkpoint.state["files"], *(name for name in (_METRICS, BEST) if (source / name).exists())]
    if BEST in files and _is_later(source / BEST, checkpoint.update):
        files.remove(BEST)
    try:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise RunError(f"{target} already exists; choose another --run.")
        if target == Path.cwd():  # it will be replaced
            raise RunError(f"{target} is the folder that you are in; choose another --run.")
        if temporary.exists():
            shutil.rmtree(temporary)
        shutil.copytree(checkpoint.path, temporary / "checkpoints" / f"update-{checkpoint.update:08d}")
        for name in files:
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, temporary / name)
        origin = environment() | {"branched_from": {"run": str(source), "update": checkpoint.update}}
        (temporary / "environment.json").write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
        config = yaml.safe_dump(checkpoint.config, sort_keys=False, allow_unicode=True)
        (temporary / "config.yaml").write_text(config, encoding="utf-8")
        temporary.rename(target)
    except OSError as error:
        raise RunError(f"{target} cannot be made from {checkpoint.path} ({error}); choose another --run.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_later(best: Path, update: int) -> bool:
    """Return whether the best policy so far is from after an update, or cannot be read."""
    try:
        later: bool = read_header(best).about["update"] > update
    except UserError as error:
        _log.warning("%s is left out of the branch: %s", best, error)
        return True
    return later
