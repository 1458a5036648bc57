"""How a run is continued: from which checkpoint, with which config, and what is refused."""

from collections.abc import Sequence
from pathlib import Path

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.plugins import check_imports
from nemesis.storage.checkpoints import Checkpoint, checkpoint_of, newest_update, newest_valid
from nemesis.storage.metrics import check_tracking
from nemesis.storage.run_directory import RunDirectory
from nemesis.training.config import RunConfig, resumed_config
from nemesis.training.process_group import is_secondary_process


def check_resumption(
    path: Path,
    overrides: Sequence[str] = (),
    *,
    checkpoint: int | None = None,
    new: Path | None = None,
    allow_imports: bool = False,
) -> None:
    """Raise if a run cannot be continued so, as far as can be told without the weights."""
    if checkpoint is not None and new is None:
        raise UserError(
            f"--checkpoint {checkpoint} would discard what {path} learned later; branch to a new folder with --run."
        )
    config = RunDirectory.config_of(path)
    if new is not None and not is_secondary_process():
        RunDirectory.check_new(new)
    try:
        before = build_config(RunConfig, config)
    except ConfigError:  # of another version, which the checkpoint tells
        return
    check_imports(path, before.imports(), allowed=allow_imports)
    after = resumed_config(config, overrides)
    update = newest_update(RunDirectory.checkpoints_of(path)) if checkpoint is None else checkpoint
    if update is None or update >= after.updates:  # an older one may be valid, so this needs a closer look
        continued_config(path, found_checkpoint(path, checkpoint)[0], overrides, allow_imports=allow_imports)


def found_checkpoint(path: Path, update: int | None) -> tuple[Checkpoint, list[str]]:
    """Return the checkpoint of an update, or the newest valid one with a sentence for each that was skipped."""
    root = RunDirectory.checkpoints_of(path)
    return newest_valid(root) if update is None else (checkpoint_of(root, update), [])


def continued_config(path: Path, checkpoint: Checkpoint, overrides: Sequence[str], *, allow_imports: bool) -> RunConfig:
    """Return the config with which a run continues, or raise why it cannot."""
    before = build_config(RunConfig, checkpoint.config)
    check_imports(path, before.imports(), allowed=allow_imports)
    config = resumed_config(before.model_dump(mode="json"), overrides)
    check_tracking(config.tracking)
    if checkpoint.update >= config.updates and not _is_unmeasured(path, checkpoint, config):
        finished = checkpoint.update == config.updates == before.updates
        problem = f"has finished its {config.updates} updates" if finished else f"is at update {checkpoint.update}"
        asked = "" if finished else f", and updates={config.updates} asks for no more"
        raise UserError(
            f"{path} {problem}{asked}; add some with `nemesis resume {path} updates={2 * checkpoint.update}`."
        )
    return config


def _is_unmeasured(path: Path, checkpoint: Checkpoint, config: RunConfig) -> bool:
    """Return whether a run has finished its updates, but not what it measures after them."""
    finished = checkpoint.update == config.updates
    return finished and config.opponents.target is not None and not RunDirectory.exploitability_of(path).exists()
