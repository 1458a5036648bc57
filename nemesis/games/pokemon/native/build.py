"""Compiles the native library: by `cc` where it works, else by the pip package ziglang.

The build of the package runs this file before anything is installed, so it needs only the standard library. The library
carries a hash of its sources, so that one from other sources is recognised and not loaded.

    python nemesis/games/pokemon/native/build.py [FILE]    # compiles it now
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TARGET = "NEMESIS_NATIVE_TARGET"  # environment variable: the target of a cross-build, one of TARGETS; none: no library

FLAGS = ("-std=c99", "-O3", "-fvisibility=hidden", "-ffp-contract=off", "-fPIC", "-Wall", "-Wextra")
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
_PARTS = ("arena", "engine", "tracker")
_TIMEOUT = 600  # seconds


class BuildError(Exception):
    """The library could not be compiled; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A platform that libraries are built for."""

    zig: str  # its name for zig
    wheel: str  # its name in the file names of wheels
    suffix: str  # of libraries


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", ".so"),
    "linux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", ".so"),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64", ".dylib"),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", ".dylib"),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", ".dll"),
}


def library_name(target: str | None = None) -> str:
    """Return the file name of the library, for this machine or a target."""
    suffixes = {"win32": ".dll", "darwin": ".dylib"}
    return "nemesis_native" + (TARGETS[target].suffix if target else suffixes.get(sys.platform, ".so"))


def sources() -> list[Path]:
    """Return the C files that are compiled."""
    return sorted(path for part in _PARTS for path in (FOLDER / part).rglob("*.c"))


def source_hash() -> str:
    """Return the hash of all files that the library is made of."""
    digest = hashlib.sha256()
    headers = [*FOLDER.glob("*.h"), *(path for part in _PARTS for path in (FOLDER / part).rglob("*.h"))]
    for path in sorted([*sources(), *headers]):
        digest.update(f"{path.relative_to(FOLDER).as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def system_compiler() -> str | None:
    """Return the C compiler of this machine, or None if there is none that works."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        found = shutil.which(name)
        if found is not None and _works(found):
            return found
    return None


def find_compiler(target: str | None = None) -> list[str] | None:
    """Return the command of a C compiler, for this machine or a target; None if there is none."""
    if target is None and (found := system_compiler()):
        return [found]
    if find_spec("ziglang") is None:
        return None
    command = [sys.executable, "-m", "ziglang", "cc"]
    return [*command, "-target", TARGETS[target].zig] if target else command


def build_library(output: Path, target: str | None = None) -> None:
    """Compile the library, for this machine or a target, and put it in its place at once."""
    compiler = find_compiler(target)
    if compiler is None:
        raise BuildError("There is no C compiler that works: neither cc on the PATH nor the pip package ziglang.")
    if not sources():
        raise BuildError(f"There are no sources of the native library in {FOLDER}.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as folder:
        built = Path(folder, output.name)
        flags = [*FLAGS, f'-DNEMESIS_SOURCES="{source_hash()}"', "-shared"]
        if (target or sys.platform).startswith("linux"):
            flags.append("-Wl,-z,defs")  # a function that is missing is an error, as elsewhere
        command = [*compiler, *flags, "-o", str(built), *map(str, sources()), "-lm"]
        try:
            _run([*command, "-flto"])  # a sixth faster, but not every linker can
        except BuildError:
            _run(command)
        built.replace(output)


def _works(compiler: str) -> bool:
    """Return whether a compiler makes a library; that of macOS may only ask to be installed."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.c")
        source.write_text("#include <stdint.h>\n#include <string.h>\nint32_t nothing(void) { return 0; }\n")
        try:
            _run([compiler, "-std=c99", "-fPIC", "-shared", "-o", str(source.with_suffix(".so")), str(source)])
        except BuildError:
            return False
    return True


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{command[0]} could not compile the native library: {error}") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(f"{command[0]} could not compile the native library:\n" + "\n".join(errors[:20]))


def main() -> int:
    """Compile the library for this machine, or for the target in the environment."""
    target = os.environ.get(TARGET)
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / library_name(target)
    try:
        build_library(output, target)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
