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


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What `make train` needs of a clone before it has installed anything."""
    for name in ("Makefile", "pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "packaging", tmp_path / "packaging")
    return tmp_path


def make(clone: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0", "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    environment = {**os.environ, **unreachable, "PIP_CONFIG_FILE": os.devnull, "PYTHONPATH": ""}
    command = ["make", "train", *arguments]
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("make") is None, reason="this machine has no make")
def test_make_without_a_network_says_so(clone: Path):
    result = make(clone, f"PYTHON={sys.executable}")
    assert result.returncode == 2
    assert "pip could not install the packages; see above. Check the network and the disk, then try ag" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (clone / ".venv" / "installed").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="this machine has no make")
def test_make_with_an_old_python_says_so(clone: Path):
    result = make(clone, "PYTHON=false")
    assert result.returncode == 2
    assert "Nemesis needs Python 3.11 or newer, and false is none. Name one with make PYTHON=…" in result.stderr
    assert not (clone / ".venv").exists()
