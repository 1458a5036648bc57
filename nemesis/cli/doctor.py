"""`nemesis doctor`: what is installed, what is missing, and the command that installs it."""

# ruff: noqa: PLC0415 (what is slow to import is imported when the command runs)

import os
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from nemesis.cli.status import output
from nemesis.core.progress import report

_DISTRIBUTION = "nemesis-rl"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<bound>[^;]*)(?:;.*extra == ['\"](?P<extra>[\w-]+)['\"])?")
_GIBIBYTE = 1 << 30


@dataclass(frozen=True, slots=True)
class _Requirement:
    """A package in the metadata of Nemesis; without an extra it is required."""

    name: str
    bound: str
    extra: str | None

    @property
    def installed(self) -> str | None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version(self.name)
        except PackageNotFoundError:
            return None


def doctor() -> int:
    """Report versions, accelerators and missing packages."""
    requirements = _requirements()
    needed = [requirement for requirement in requirements if requirement.extra is None]
    report("Importing PyTorch")
    torch_failure = _failure("torch")
    accelerators = torch_failure or _accelerators()
    report("Importing TensorBoard")
    tensorboard = _failure("torch.utils.tensorboard") or "ready"
    report("Importing Weights & Biases")
    wandb = _failure("wandb") or "ready"
    report("Looking at the simulators")
    of_families = _family_checks()
    _print_rows(
        ("nemesis", nemesis_version()),
        ("python", f"{platform.python_version()} on {platform.platform()}"),
        ("cores", str(_cores())),
        ("memory", _memory()),
        ("accelerators", accelerators),
        *of_families,
        ("TensorBoard", tensorboard),
        ("Weights & Biases", wandb),
    )
    print("\nRequired packages")
    _print_rows(*((requirement.name, requirement.installed or "missing") for requirement in needed))
    print("\nOptional packages")
    for extra in sorted({requirement.extra for requirement in requirements if requirement.extra}):
        missing = [each for each in requirements if each.extra == extra and not each.installed]
        _print_rows((extra, f"missing; install with  {_install(missing)}" if missing else "installed"))
    lacking = [requirement for requirement in needed if not requirement.installed]
    if lacking:
        print(f"\nRequired packages are missing. Install them with  {_install(lacking)}")
    elif torch_failure:
        torch = [requirement for requirement in needed if requirement.name == "torch"]
        print(f"\ntorch cannot be imported. Reinstall it with  {_install(torch)} --force-reinstall")
    return 1 if lacking or torch_failure else 0


def nemesis_version() -> str:
    from importlib.metadata import version

    return version(_DISTRIBUTION)


def _print_rows(*rows: tuple[str, str]) -> None:
    for label, text in rows:
        output(f"  {label:18} {text}")


def _requirements() -> list[_Requirement]:
    from importlib.metadata import requires

    found = filter(None, map(_REQUIREMENT.match, requires(_DISTRIBUTION) or []))
    return [_Requirement(match["name"], match["bound"].strip(), match["extra"]) for match in found]


def _install(missing: Sequence[_Requirement]) -> str:
    names = [f"{requirement.name}{requirement.bound}" for requirement in missing]
    return shlex.join([sys.executable, "-m", "pip", "install", *names])


def _failure(module: str) -> str | None:
    """Import a module, because an installed package can still be broken."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        return f"not installed ({error.name})"
    except Exception as error:
        return f"installed, but its import fails: {error}"
    return None


def _family_checks() -> list[tuple[str, str]]:
    from nemesis.core.plugins import import_attribute
    from nemesis.games import families

    return [row for family in families().values() if family.checks for row in import_attribute(family.checks)()]


def _cores() -> int:
    # Containers and batch systems often give a process fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{total / _GIBIBYTE:.1f} GiB"


def _accelerators() -> str:
    import torch

    found = [f"CUDA {torch.cuda.get_device_name(index)}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("MPS")
    return ", ".join(found) or "none; training runs on the CPU"
