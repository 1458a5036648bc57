"""The native library: compiled where there is a compiler, with the data of the simulator, and nothing out of bounds."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from nemesis.games.pokemon.native import build, library
from nemesis.games.pokemon.native.arena_memory import checked_library
from nemesis.games.pokemon.native.engine import library_problem
from nemesis.games.pokemon.native.library import LibraryError
from nemesis.games.pokemon.native.team_sheets import TEAM_BYTES, team_sheet
from nemesis.games.pokemon.node import find_node, installed_host

ROOT = Path(__file__).parents[2]
NATIVE = build.FOLDER
TEAMS = """
const { Teams } = require('pokemon-showdown');
const [format, count] = [process.argv[1], Number(process.argv[2])];
let state = 12345n;
function seed() {
  state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
  return state.toString(16).padStart(16, '0');
}
const drawn = [];
for (let battle = 0; battle < count; battle++) {
  const seeds = [seed(), seed()];
  const generator = Teams.getGenerator(format, `gen5,${seeds[0]}`);
  const teams = [Teams.pack(generator.getTeam())];
  generator.setSeed(`gen5,${seeds[1]}`);
  drawn.push([seeds, [...teams, Teams.pack(generator.getTeam())]]);
}
console.log(JSON.stringify(drawn));
"""

needs_compiler = pytest.mark.skipif(build.system_compiler() is None, reason="there is no C compiler")
needs_library = pytest.mark.skipif(bool(library_problem()), reason=library_problem() or "there is a library")


def node_output(*arguments):
    node = find_node("bundled")
    command = [str(node.node), *arguments]
    return subprocess.run(command, cwd=installed_host(node), capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("tool", "file"),
    [
        (["tools/random-sets.js"], "arena/random_sets.c"),
        (["tools/random-sets.js", "numbers"], "numbers.json"),
        (["tools/native-tables.js"], "engine/tables.c"),
    ],
)
def test_generated_files_are_those_of_the_installed_simulator(tool, file):
    assert node_output(*tool) == (NATIVE / file).read_text(encoding="utf-8")


@needs_library
@pytest.mark.parametrize(("name", "source"), [("gen1randombattle", 1), ("gen1challengecup", 2)])
def test_random_teams_are_those_that_showdown_draws(name, source):
    for seeds, teams in json.loads(node_output("-e", TEAMS, name, "2000")):
        drawn = ctypes.create_string_buffer(2 * TEAM_BYTES)
        checked_library().nemesis_draw_teams(source, (ctypes.c_uint64 * 2)(*(int(seed, 16) for seed in seeds)), drawn)
        assert drawn.raw == b"".join(map(team_sheet, teams)), seeds


@needs_compiler
def test_random_battles_stay_in_bounds(tmp_path: Path):
    """With wild teams and illegal choices, in a build that checks addresses and undefined behaviour."""
    fuzz = tmp_path / "fuzz"
    files = [str(path) for path in (Path(__file__).with_name("native_fuzz.c"), *build.sources())]
    command = [build.system_compiler(), "-std=c99", *build.SANITIZERS, f"-I{NATIVE}", '-DNEMESIS_SOURCES=""', *files]
    built = subprocess.run([*command, "-o", str(fuzz), "-lm"], capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip("the compiler has no sanitizers")
    played = subprocess.run([str(fuzz), "3000", "5"], capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert int(played.stdout.split()[0]) > 100_000


@pytest.fixture
def own_library(tmp_path, monkeypatch):
    """Sources of our own, whose library is one small file."""
    for name in ("arena", "engine", "tracker"):
        (tmp_path / name).mkdir()
    shutil.copy(NATIVE / "arena" / "version.c", tmp_path / "arena")
    (tmp_path / "arena" / "arena.h").write_text(
        "#include <stdint.h>\n#define NEMESIS_API\ntypedef int Team, Setup, Arena, Match;\n"
        '#define LAYOUT_VERSION ""\nenum { VIEW_SIZE, MOST_CHOICES };\n'
    )
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(build, "FLAGS", tuple(flag for flag in build.FLAGS if "visibility" not in flag))
    monkeypatch.setattr("nemesis.games.pokemon.native.library.cache_folder", lambda: tmp_path / "cache")
    library._loaded.cache_clear()
    yield tmp_path
    library._loaded.cache_clear()


@needs_compiler
def test_library_is_compiled_once_and_then_loaded(own_library):
    assert library.load().nemesis_sources().decode() == build.source_hash()
    compiled = (own_library / build.library_name()).stat().st_mtime_ns
    library._loaded.cache_clear()
    library.load()
    assert (own_library / build.library_name()).stat().st_mtime_ns == compiled


@needs_compiler
def test_library_of_other_sources_is_compiled_again(own_library):
    build.build_library(own_library / build.library_name())
    (own_library / "arena" / "more.h").write_text("// changed\n")
    assert library.load().nemesis_sources().decode() == build.source_hash()


@needs_compiler
def test_library_of_other_sources_is_refused_without_a_compiler(own_library, monkeypatch):
    build.build_library(own_library / build.library_name())
    (own_library / "arena" / "more.h").write_text("// changed\n")
    monkeypatch.setattr(build, "find_compiler", lambda _=None: None)
    with pytest.raises(LibraryError, match="no C compiler that works"):
        library.load()


@needs_compiler
def test_errors_of_the_compiler_are_shown(own_library):
    (own_library / "arena" / "bad.c").write_text("this is not C\n")
    with pytest.raises(LibraryError, match=r"could not compile(.|\n)*bad\.c"):
        library.load()


def copied_package(folder):
    """Copy what a build of the package reads, with few Python files."""
    listed = ["pyproject.toml", "setup.py", "README.md", "LICENSE", "packaging", "nemesis/games/pokemon/native"]
    for name in (*listed, "nemesis/__init__.py", "nemesis/games/__init__.py", "nemesis/games/pokemon/__init__.py"):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(source, target)


def run_backend(folder, hook, *arguments, **environment):
    """Run a hook of the build backend in a process of its own, and return what it returns."""
    script = f"import nemesis_build, sys; print('returned', nemesis_build.{hook}(*sys.argv[1:]))"
    environment = os.environ | {"PYTHONPATH": str(folder / "packaging")} | environment
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("returned ")[2].strip()


@needs_compiler
def test_ziglang_is_asked_for_only_where_nothing_else_compiles(tmp_path):
    pytest.importorskip("setuptools.build_meta")
    copied_package(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        assert run_backend(tmp_path, hook) == "[]"
        assert "ziglang" in run_backend(tmp_path, hook, PATH=str(empty))
        assert "ziglang" in run_backend(tmp_path, hook, NEMESIS_NATIVE_TARGET="windows-x86_64")
        assert run_backend(tmp_path, hook, PATH=str(empty), NEMESIS_NATIVE_TARGET="none") == "[]"


@needs_compiler
def test_wheels_have_the_library_and_the_tag_of_their_platform(tmp_path):
    pytest.importorskip("setuptools.build_meta")
    copied_package(tmp_path)
    name = run_backend(tmp_path, "build_wheel", str(tmp_path))
    assert name.startswith("nemesis_rl-")
    assert "-py3-none-" in name
    assert not name.endswith("-any.whl")
    files = zipfile.ZipFile(tmp_path / name).namelist()
    assert f"nemesis/games/pokemon/native/{build.library_name()}" in files
    assert "nemesis/games/pokemon/native/engine/battle.h" in files  # so that the hash of the sources can be compared
    plain = run_backend(tmp_path, "build_wheel", str(tmp_path), NEMESIS_NATIVE_TARGET="none")
    assert plain.endswith("-py3-none-any.whl")
    assert not [file for file in zipfile.ZipFile(tmp_path / plain).namelist() if "nemesis_native" in file]
