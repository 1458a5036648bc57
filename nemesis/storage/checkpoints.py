"""Checkpoints: folders that are either complete or detectably incomplete.

    checkpoints/update-00000100/
      weights.safetensors    the policy
      NAME.safetensors       further tensors: optimiser, random states, …
      state.json             the update, counters, scalars
      config.yaml            the resolved config, so that the folder is self-contained
      manifest.json          format version, sha256 and size of every other file

A checkpoint is written under a temporary name, synced to the disk and then renamed, so that a kill or a power failure
leaves the previous one intact, also if that is of the same update: until it is replaced, it counts under a second name.
Loading checks every file against the manifest and reads no others. Pickle is never
used.
"""

# ruff: noqa: PLC0415 (torch is slow to import, and finding and verifying a checkpoint needs none of it)

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from nemesis.core.config import merged
from nemesis.core.errors import UserError
from nemesis.core.files import sync
from nemesis.core.progress import report

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 2
_TEMPORARY = ".tmp-"
_REPLACED = ".replaced-"
_REQUIRED = ("weights.safetensors", "state.json", "config.yaml")
_log = logging.getLogger(__name__)


class CheckpointError(UserError):
    """A checkpoint cannot be read or written; the message says what to do."""


class FormatError(CheckpointError):
    """A checkpoint of another version of Nemesis."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint whose files were verified."""

    path: Path
    update: int
    state: dict[str, Any]
    config: dict[str, Any]
    names: tuple[str, ...]  # of the tensor groups

    @property
    def stage_config(self) -> dict[str, Any]:
        """The config that was in use: that of the run, with the settings of the stage of its curriculum, if any."""
        stage = self.state.get("stage")
        if stage is None:
            return self.config
        curriculum = self.config["curriculum"]
        own = {name: value for name, value in self.config.items() if name != "curriculum"}
        return merged(own, curriculum["stages"][stage]["settings"])

    def tensors(self, name: str) -> "dict[str, Tensor]":
        """Read one tensor group, onto the CPU."""
        from nemesis.storage.tensor_files import load_tensors

        if name not in self.names:
            raise CheckpointError(f"{self.path} has no tensors called {name}, only {', '.join(self.names)}.")
        try:
            loaded = load_tensors(self.path / f"{name}.safetensors")
        except OSError as error:
            raise CheckpointError(f"{self.path} can no longer be read ({error}); it may have been pruned.") from error
        # Loaded tensors are views of the file; copies stay valid if it is removed, also on network disks.
        return {key: tensor.clone() for key, tensor in loaded.items()}


def save_checkpoint(
    root: Path,
    update: int,
    tensors: "Mapping[str, Mapping[str, Tensor]]",
    state: Mapping[str, Any],
    config: Mapping[str, Any],
) -> Path:
    """Write a checkpoint, replacing one of the same update, and return its folder.

    Checkpoints of later updates are removed. They were damaged when the run was resumed, and would otherwise be
    mistaken for its newest.
    """
    from nemesis.storage.tensor_files import save_tensors

    for name in tensors:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"{name!r} cannot name a group of tensors; use lower-case letters, digits and _.")
    if "weights" not in tensors:
        raise ValueError("A checkpoint needs a group of tensors called weights.")
    target = root / f"update-{update:08d}"
    temporary = root / f"{_TEMPORARY}{target.name}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _remove_temporary(temporary)
        temporary.mkdir()
        for number, (name, group) in enumerate(tensors.items()):
            report("Saving a checkpoint", number, len(tensors))
            save_tensors(temporary / f"{name}.safetensors", group)
        _write(temporary / "state.json", json.dumps({"update": update, "state": dict(state)}, indent=2) + "\n")
        _write(temporary / "config.yaml", yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
        files = {
            file.name: {"sha256": _sha256(file), "size": file.stat().st_size} for file in sorted(temporary.iterdir())
        }
        _write(temporary / "manifest.json", json.dumps({"format": FORMAT, "files": files}, indent=2) + "\n")
        for file in temporary.iterdir():
            sync(file)
        sync(temporary)
        if target.exists():
            replaced = root / f"{_REPLACED}{target.name}"
            _remove_temporary(replaced)
            target.rename(replaced)
        temporary.rename(target)
        sync(root)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(
            f"The checkpoint {target} could not be written ({error}); free or repair the disk, then resume the run."
        ) from error
    _remove_replaced(root)
    for later, path in _checkpoints(root).items():
        if later > update:
            _log.warning(
                "Removed %s: the run was resumed from an earlier checkpoint and is now at update %d.", path, update
            )
            _remove(path)
    _log.debug("Saved %s", target)
    return target


def load_checkpoint(path: Path) -> Checkpoint:
    """Verify every file of a checkpoint and return it."""
    files = _checked_files(path)
    try:
        saved = json.loads((path / "state.json").read_text(encoding="utf-8"))
        config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
        update, state = saved["update"], saved["state"]
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError) as error:
        raise CheckpointError(f"{path} is damaged: its state or config cannot be read ({error}).") from error
    names = tuple(name.removesuffix(".safetensors") for name in files if name.endswith(".safetensors"))
    return Checkpoint(path, update, state, config, names)


def newest_valid(root: Path) -> tuple[Checkpoint, list[str]]:
    """Return the newest complete checkpoint, and a message for each damaged one that was skipped."""
    skipped: list[str] = []
    for path in checkpoint_paths(root):
        try:
            return load_checkpoint(path), skipped
        except FormatError:  # so are the others, and none of them is damaged
            raise
        except CheckpointError as error:
            skipped.append(f"Skipped a checkpoint: {error}")
            _log.warning(skipped[-1])
    remedy = "start a new run with `nemesis train PRESET --run OTHER`, or restore a checkpoint from a backup."
    if skipped:
        raise CheckpointError(
            f"None of the {len(skipped)} checkpoints in {root} is complete; {remedy} {' '.join(skipped)}"
        )
    raise CheckpointError(f"There is no checkpoint in {root}; {remedy}")


def newest_update(root: Path) -> int | None:
    """Return the update of a run's newest checkpoint, valid or not; None if it has none."""
    return max(_checkpoints(root), default=None)


def checkpoint_of(root: Path, update: int) -> Checkpoint:
    """Return the checkpoint of an update."""
    found = _checkpoints(root)
    if update not in found:
        known = ", ".join(str(one) for one in sorted(found)) or "none"
        raise CheckpointError(f"There is no checkpoint of update {update} in {root}; there are: {known}.")
    return load_checkpoint(found[update])


def prune(root: Path, keep_last: int, keep_every: int, interval: int = 1) -> None:
    """Remove temporary files, and all checkpoints except the last few and every `keep_every`-th update (0: none).

    Those of every `interval`-th update come first among the last few. One in between, which was saved by time or when
    the run was interrupted, is kept as the newest, or where there are too few others.
    """
    if keep_last < 1:
        raise ValueError(f"keep_last is {keep_last}; at least the last checkpoint must be kept.")
    checkpoints = _checkpoints(root)
    last = sorted(checkpoints, key=lambda update: (update % interval == 0, update))[-keep_last:]
    kept = {*last, *sorted(checkpoints)[-1:]}
    for update, path in checkpoints.items():
        if update not in kept and (not keep_every or update % keep_every):
            _remove(path)
    _remove_replaced(root)
    for leftover in root.glob(f"{_TEMPORARY}*"):
        _remove_temporary(leftover)


def files_named(root: Path) -> set[str] | None:
    """Return the files of the run that its checkpoints refer to, or None if a checkpoint cannot be read."""
    named: set[str] = set()
    for path in _checkpoints(root).values():
        try:
            named |= set(json.loads((path / "state.json").read_text(encoding="utf-8"))["state"]["files"])
        except (OSError, ValueError, LookupError, TypeError):
            return None
    return named


def checkpoint_paths(root: Path) -> list[Path]:
    """Return the checkpoints of a run, newest first, valid or not."""
    return [path for _, path in sorted(_checkpoints(root).items(), reverse=True)]


def _checkpoints(root: Path) -> dict[int, Path]:
    """Return the checkpoints by update, under their second name where they were being replaced."""
    found: dict[int, Path] = {}
    for prefix in (_REPLACED, ""):
        names = re.compile(re.escape(prefix) + r"update-(\d+)")
        matches = ((names.fullmatch(path.name), path) for path in root.glob(f"{prefix}update-*"))
        found |= {int(match[1]): path for match, path in matches if match}
    return found


def _checked_files(path: Path) -> list[str]:
    """Compare a checkpoint's files with the manifest and return their names."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        version = manifest["format"]
        files = {name: (str(entry["sha256"]), int(entry["size"])) for name, entry in manifest["files"].items()}
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is not a checkpoint, or lost its manifest.json.") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path} is damaged: manifest.json cannot be read ({error}).") from error
    if version != FORMAT:
        remedy = (
            "update Nemesis"
            if isinstance(version, int) and version > FORMAT
            else "it was written by an older version: use that version, or train again"
        )
        raise FormatError(f"{path} has format {version}, and this version of Nemesis reads {FORMAT}; {remedy}.")
    for name in _REQUIRED:
        if name not in files:
            raise CheckpointError(f"{path} is damaged: manifest.json does not list {name}.")
    for number, (name, (digest, size)) in enumerate(files.items()):
        report(f"Verifying {path}", number, len(files))
        file = path / name
        try:
            if file.name != name or not file.is_file():
                raise CheckpointError(f"{path} is damaged: {name} is missing.")
            if file.stat().st_size != size:
                raise CheckpointError(f"{path} is damaged: {name} has {file.stat().st_size} bytes instead of {size}.")
            if _sha256(file) != digest:
                raise CheckpointError(f"{path} is damaged: {name} does not match its sha256.")
        except OSError as error:
            raise CheckpointError(f"{path} is damaged: {name} cannot be read ({error.strerror}).") from error
    return list(files)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    """Remove a checkpoint. It is renamed first, so that a kill meanwhile leaves no partial one."""
    hidden = path.with_name(f"{_TEMPORARY}removed-{path.name}")
    _remove_temporary(hidden)
    shutil.rmtree(path.rename(hidden))


def _remove_replaced(root: Path) -> None:
    for path in root.glob(f"{_REPLACED}*"):
        if (root / path.name.removeprefix(_REPLACED)).exists():
            _remove(path)


def _remove_temporary(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
