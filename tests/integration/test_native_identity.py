"""The native engine plays Gen 1 exactly as Showdown: state, generator, requests and lines, decision by decision."""

import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.native_identity import KINDS, compare, reference
from benchmarks.native_replay import Engine, shown
from benchmarks.native_shrinking import Shrinker
from nemesis.games.pokemon.native import build

BATTLES = {
    "sheets": 150,
    "generated": 250,
    "wild": 450,
    "even": 450,
    "focused": 300,
    "mirror": 95,
    "pp": 300,
    "long": 5,
}


def options(battles: int, seed: int = 1) -> Namespace:
    return Namespace(battles=battles, seed=seed, first=0, overlay=True, quick=False)


@pytest.fixture(scope="module")
def engine() -> Engine:
    if build.find_compiler() is None:
        pytest.skip("there is no C compiler")
    return Engine()


@pytest.mark.parametrize("kind", KINDS)
def test_plays_as_showdown(engine: Engine, kind: str) -> None:
    tally = compare(engine, kind, options(BATTLES[kind]))
    assert not tally.differences, shown(tally.differences[0])
    assert tally.battles == BATTLES[kind]


def test_plays_as_the_simulator_without_the_overlay(engine: Engine) -> None:
    tally = compare(engine, "wild", Namespace(**{**vars(options(20)), "overlay": False}))
    assert not tally.differences, shown(tally.differences[0])


def test_refuses_what_a_request_does_not_offer(engine: Engine) -> None:
    battle = next(iter(reference("generated", options(1))))
    engine.start(battle)
    for action in (-1, 4, 8, 14, 31, 32, 1000):
        assert not engine.choose(0, action)
    assert engine.choose(0, 0)
    assert not engine.choose(0, 0)  # it has answered
    assert not engine.choose(0, 0)


def test_finds_and_shrinks_a_difference(tmp_path: Path) -> None:
    if build.find_compiler() is None:
        pytest.skip("there is no C compiler")
    engine = engine_with(tmp_path, "moves/before_move.c", "chance(b, 63)", "chance(b, 80)")  # more full paralysis
    tally = compare(engine, "generated", options(200))
    (difference,) = tally.differences
    with Shrinker(engine, overlay=True) as shrinker:
        smallest = shrinker.shrink(difference)
    assert len(smallest["setup"]["choices"]) < len(difference["setup"]["choices"])
    assert total(smallest["setup"]) < total(difference["setup"])
    assert "in Showdown" in shown(smallest)


def engine_with(folder: Path, file: str, sound: str, wrong: str) -> Engine:
    """Return an engine with a mistake."""
    sources = folder / "native"
    shutil.copytree(build.FOLDER, sources, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    code = (sources / "engine" / file).read_text(encoding="utf-8")
    assert code.count(sound) == 1
    (sources / "engine" / file).write_text(code.replace(sound, wrong), encoding="utf-8")
    compiler = build.find_compiler() or []
    library = folder / build.library_name()
    files = [str(path) for path in (sources / "engine").rglob("*.c")]
    build._run([*compiler, *build.FLAGS, "-shared", f"-I{sources}", "-o", str(library), *files])
    return Engine(library)


def total(setup: dict[str, Any]) -> int:
    return sum(len(team) for team in setup["teams"])
