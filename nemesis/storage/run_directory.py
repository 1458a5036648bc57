"""The run directory: all files of a run, in open formats.

    config.yaml        the resolved config; a directory with this file is a run
    environment.json   commit, Python, packages and machine at the start of the run
    metrics.jsonl      one line per report                                 (metrics.py)
    tensorboard/       the same metrics as TensorBoard events              (metrics.py)
    checkpoints/       one folder per checkpoint                           (checkpoints.py)
    best.safetensors   the policy with the best validation accuracy        (evaluation/run_evaluation.py)
    replays/           saved matches, if the game supports replays         (evaluation/replays.py)
    run.log            the log of the package
    lock, holder.json  the process that is writing now

One process writes, any number read. The operating system frees the writer's lock however the process ends, so
`holder.json` is valid only while the lock is held. Readers need no lock.
"""

import json
import logging
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from filelock import FileLock, Timeout

from nemesis.core.errors import UserError
from nemesis.core.files import replace_file

_PACKAGE = "nemesis"
_DISTRIBUTION = "nemesis-rl"
# Files that may remain if `create` was killed before it wrote the config.
_LEFTOVERS = frozenset({"lock", "holder.json", "environment.json", "run.log"})
_log = logging.getLogger(__name__)


class RunError(UserError):
    """A run directory cannot be used as requested; the message says what to do."""


class RunDirectory:
    """A run directory locked for writing. Use `create` or `open`, as a context manager or with `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.running = False  # set when it begins; before, an error of the user is not the end of the run
        # A forked child would keep the lock after its parent has died, so workers are spawned.
        self._lock = FileLock(path / "lock", thread_local=False)
        self._log: _RunLog | None = None
        self._hold()

    @classmethod
    def create(cls, path: Path, config: dict[str, Any]) -> Self:
        """Create a run in a new or empty directory."""
        cls.check_new(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path} cannot be a run directory ({error.strerror}); choose another --run.") from error
        run = cls(path)
        try:
            if (path / "config.yaml").exists():  # since the check
                raise RunError(_taken(path))
            replace_file(path / "environment.json", json.dumps(environment(), indent=2) + "\n")
            replace_file(path / "config.yaml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
        except BaseException:
            run.close()
            raise
        return run

    @staticmethod
    def check_new(path: Path) -> None:
        """Raise if a run cannot be created there, without changing anything."""
        try:
            entries = path.iterdir() if path.exists() else ()
            names = {entry.name for entry in entries if not entry.name.startswith(".tmp-")}
        except OSError as error:
            raise RunError(f"{path} cannot be a run directory ({error.strerror}); choose another --run.") from error
        if "config.yaml" in names:
            raise RunError(_refusal(path) if _is_held(path) else _taken(path))
        if names - _LEFTOVERS:
            raise RunError(f"{path} contains files but no run; choose another --run.")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run to continue it."""
        cls.config_of(path)
        return cls(path)

    @staticmethod
    def config_of(path: Path) -> dict[str, Any]:
        """Return the config of a run, without the lock."""
        try:
            config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RunError(
                f"There is no run in {path}; start one with `nemesis train PRESET --run {path}` or give another path."
            ) from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise RunError(f"{path / 'config.yaml'} cannot be read ({reason}); put its original back.") from error
        if not isinstance(config, dict):
            raise RunError(f"{path / 'config.yaml'} is not a mapping of settings; put its original back.")
        return config

    @classmethod
    def checkpoints_of(cls, path: Path) -> Path:
        """Return the folder of a run's checkpoints, without the lock."""
        cls.config_of(path)
        return path / "checkpoints"

    def change_config(self, config: dict[str, Any]) -> None:
        """Save the config that a resumed run continues with."""
        replace_file(self.path / "config.yaml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def replays_path(self) -> Path:
        return self.path / "replays"

    @property
    def log_path(self) -> Path:
        return self.log_of(self.path)

    @staticmethod
    def log_of(path: Path) -> Path:
        return path / "run.log"

    @staticmethod
    def exploitability_of(path: Path) -> Path:
        """Return the file with what a run measures at its end if it has a target policy."""
        return path / "exploitability.json"

    @property
    def tensorboard_path(self) -> Path:
        return self.path / "tensorboard"

    def close(self) -> None:
        """Stop logging and release the lock. May be called twice."""
        if self._log is not None:
            self._log.detach()
            self._log = None
            (self.path / "holder.json").unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.running or not isinstance(error, UserError):
            log_end(error)
        self.close()

    def _hold(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunError(_refusal(self.path)) from None
        except OSError as error:
            raise RunError(f"{self.path} cannot be written to ({error.strerror}); choose another --run.") from error
        try:
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": _now()}
            replace_file(self.path / "holder.json", json.dumps(holder) + "\n")
            self._log = _RunLog(self.log_path)
        except BaseException:
            self._lock.release()
            raise


def environment() -> dict[str, Any]:
    """Describe the code, packages and machine of this process. Environment variables may be secret and are excluded."""
    return {
        "created": _now(),
        "git": _git(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "packages": _packages(),
    }


def log_to_run(path: Path, level: int) -> None:
    """Make a child process of a run log to the run's log file, at the level of the run's process."""
    logging.getLogger(_PACKAGE).setLevel(level)
    _RunLog(RunDirectory.log_of(path))


def log_level() -> int:
    """Return the level at which the package logs."""
    return logging.getLogger(_PACKAGE).level


def log_end(error: BaseException | None) -> None:
    """Log what ended a run, unless it ended by itself."""
    if isinstance(error, KeyboardInterrupt):
        _log.error("Ended by %s.", str(error) or "SIGINT")
    elif isinstance(error, UserError):
        _log.error("Ended by an error: %s", error)
    elif error is not None:
        _log.error("Ended by an unexpected %s.", type(error).__name__, exc_info=error)


class _RunLog(logging.FileHandler):
    """Writes the package's log records to a file. While any run is open, the package logs at INFO, or as was chosen."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger = logging.getLogger(_PACKAGE)
        others = self._attached(logger)
        self._level_before: int = others[0]._level_before if others else logger.level
        logger.addHandler(self)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)

    def detach(self) -> None:
        logger = logging.getLogger(_PACKAGE)
        logger.removeHandler(self)
        self.close()
        if not self._attached(logger):
            logger.setLevel(self._level_before)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name in the standard library)
        """Drop what a full disk cannot take: the run itself says what is wrong."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    @staticmethod
    def _attached(logger: logging.Logger) -> list["_RunLog"]:
        return [handler for handler in logger.handlers if isinstance(handler, _RunLog)]


def _is_held(path: Path) -> bool:
    """Return whether a process is writing to a run."""
    try:
        with FileLock(path / "lock").acquire(timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # nobody can write there
        return False


def _taken(path: Path) -> str:
    return f"{path} already has a run; continue it with `nemesis resume {path}` or choose another --run."


def _refusal(path: Path) -> str:
    remedy = "wait for it to end, stop it, or choose another --run."
    try:
        holder = json.loads((path / "holder.json").read_text(encoding="utf-8"))
        who = f"process {holder['pid']} on {holder['host']}, since {holder['started']}"
    except (OSError, ValueError, LookupError, TypeError):  # the holder has the lock but has not written holder.json yet
        who = "another process"
    return f"{path} is in use by {who}; {remedy}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def _packages() -> dict[str, str]:
    try:
        requirements = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return {}
    names = [_DISTRIBUTION] + [
        re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        for requirement in requirements
        if 'extra == "dev"' not in requirement
    ]
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not installed
            continue
    return versions


def _git() -> dict[str, Any] | None:
    """Return commit and dirty flag of the package's checkout, or of the working directory."""
    program = shutil.which("git")
    if program is None:
        return None

    def ask(directory: Path, *arguments: str) -> str | None:
        command = [program, "-C", str(directory), *arguments]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return None

    for directory in (Path(__file__).parent, Path.cwd()):
        commit = ask(directory, "rev-parse", "HEAD")
        if commit is not None:
            # As in `git describe --dirty`, untracked files do not count: the run directory may be one.
            changes = ask(directory, "status", "--porcelain", "--untracked-files=no")
            return {"commit": commit, "dirty": None if changes is None else changes != ""}
    return None
