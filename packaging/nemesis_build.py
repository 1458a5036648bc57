"""The build backend: setuptools, with a native library that is compiled when the package is built.

A machine with a C compiler needs nothing else. For others, and for cross-builds, the pip package ziglang is asked for
as a build requirement. Where neither works the package is built without the library: battles then run on Node only.
"""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 (the other hooks)
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parents[1]
_NATIVE = Path("nemesis", "games", "pokemon", "native")
_ZIG = "ziglang>=0.13"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what building a wheel needs."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_compiler()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable install needs."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_compiler()]


def _compiler() -> list[str]:
    native, target = _native(), _target()
    if native is None or _without():
        return []
    return [] if target is None and native.system_compiler() else [_ZIG]


class BuildWithLibrary(build_py):
    """Copies the Python files, and compiles the library beside them."""

    def run(self) -> None:
        super().run()
        native, target = _native(), _target()
        folder = (ROOT if self.editable_mode else Path(self.build_lib)) / _NATIVE
        if not self.editable_mode:  # the folder may have the library of another target from an earlier build
            for file in folder.glob("nemesis_native.*"):
                file.unlink()
        if native is None or _without():
            return
        try:
            native.build_library(folder / native.library_name(target), target)
        except native.BuildError as error:
            if target is not None:
                raise
            print(f"The native engine is left out; everything else works. {error}", file=sys.stderr)


class PlatformDistribution(Distribution):
    """A package that differs between platforms, because of the library."""

    def has_ext_modules(self) -> bool:
        return not _without()


class PlatformWheel(bdist_wheel):
    """Tags the wheel for its platform, but for any Python."""

    def get_tag(self) -> tuple[str, str, str]:
        native, target = _native(), _target()
        if native is None or _without():
            return "py3", "none", "any"
        return "py3", "none", native.TARGETS[target].wheel if target else super().get_tag()[2]


def _target() -> str | None:
    """Return the target of a cross-build, or None for a build for this machine."""
    return os.environ.get("NEMESIS_NATIVE_TARGET") or None


def _without() -> bool:
    """Return whether the library is left out."""
    return _native() is None or _target() == "none"


def _native() -> ModuleType | None:
    """Return the module that compiles the library, without an import of the package; None if it is not there."""
    file = ROOT / _NATIVE / "build.py"
    if not file.exists():
        return None
    name = "nemesis_native_build"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            return None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
