"""The installed package is found wherever Python is started."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_an_editable_install_is_found_from_the_folder_above_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build = pytest.importorskip("setuptools.build_meta")
    clone, site = tmp_path / "nemesis", tmp_path / "site"
    (clone / "nemesis").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "nemesis/__init__.py"):
        shutil.copy(ROOT / name, clone / name)
    monkeypatch.chdir(clone)
    zipfile.ZipFile(tmp_path / build.build_editable(str(tmp_path))).extractall(site)
    # The checkout that is tested is installed as well.
    others = f"sys.path[:] = [path for path in sys.path if path != {str(ROOT)!r}]"
    script = f"import site, sys; {others}; site.addsitedir({str(site)!r}); import nemesis; print(nemesis.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(clone / "nemesis" / "__init__.py")
