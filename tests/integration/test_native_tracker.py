"""The native tracker writes the view records of the host, byte for byte, from the same lines and requests."""

import ctypes
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.native import build
from nemesis.games.pokemon.native.tracker import export
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout

CASES = Path(__file__).with_name("tracker_cases.mjs")
SHEETS = Path(dex.__file__).parents[1] / "teams/sets/gen1ou"
START, LINES, DECISION = range(3)
LINE_SIZE, REQUEST_SIZE, VIEW_BYTES = 20, 180, 2 * layout.VIEW_SIZE
TRACKER_BYTES = 4096  # more than the struct has
BATTLES = {"sheets": 10, "generated": 10, "wild": 20, "pp": 20, "namesakes": 20}


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The tracker alone, with its functions visible."""
    compiler = build.find_compiler()
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("native") / build.library_name()
    sources = [path for path in build.sources() if path.parent.name == "tracker"]
    flags = [*build.FLAGS, "-fvisibility=default", "-Werror"]
    subprocess.run([*compiler, *flags, "-shared", "-o", library, *sources], check=True)
    return ctypes.CDLL(str(library))


def played(kind: str, battles: int, seed: int = 1) -> bytes:
    node = find_node("bundled")
    job = {
        "layout": layout.for_host(),
        "vocabulary": dex.vocabulary().for_host(),
        "format": "gen1ou",
        "kind": kind,
        "sheets": str(SHEETS),
        "battles": battles,
        "seed": seed,
    }
    command = [str(node.node), CASES, installed_host(node)]
    return subprocess.run(command, input=json.dumps(job).encode(), capture_output=True, check=True).stdout


def rows(tracker: ctypes.CDLL, cases: bytes) -> Iterator[tuple[int, npt.NDArray[np.int16], npt.NDArray[np.int16]]]:
    """Yield the battle of each decision, the host's record, and the one that the native tracker writes."""
    state = ctypes.create_string_buffer(TRACKER_BYTES)
    place, battle = 0, -1
    while place < len(cases):
        kind, first, second, third = cases[place : place + 4]
        place += 4
        if kind == START:
            battle += 1
            tracker.nemesis_tracker_start(state, first, second)
        elif kind == LINES:
            count = second + 256 * third
            tracker.nemesis_tracker_read(state, cases[place : place + count * LINE_SIZE], count)
            place += count * LINE_SIZE
        else:
            assert kind == DECISION
            request = cases[place : place + REQUEST_SIZE]
            place += REQUEST_SIZE
            written = np.full(layout.VIEW_SIZE, -1, np.int16)
            tracker.nemesis_view_write(ctypes.c_void_p(written.ctypes.data), state, request, first, second)
            yield battle, np.frombuffer(cases, np.int16, layout.VIEW_SIZE, place), written
            place += VIEW_BYTES


@pytest.mark.parametrize("kind", BATTLES)
def test_native_view_records_are_those_of_the_host(kind: str, tracker: ctypes.CDLL):
    decisions = 0
    for battle, expected, written in rows(tracker, played(kind, BATTLES[kind])):
        different = [field_of(int(column)) for column in np.nonzero(expected != written)[0]]
        assert not different, f"decision {decisions}, in battle {battle}"
        decisions += 1
    assert decisions > 10 * BATTLES[kind]


def field_of(column: int) -> str:
    """Name a column of a view record."""
    starts = {"position": 0, "side": layout.POSITION.width, "pokemon": layout.POSITION.width + 2 * layout.SIDE.width}
    title, start = [(title, start) for title, start in starts.items() if start <= column][-1]
    block = {"position": layout.POSITION, "side": layout.SIDE, "pokemon": layout.POKEMON}[title]
    entity, offset = divmod(column - start, block.width)
    name = next(field.name for field in block.fields if offset < block.columns(field.name).stop)
    return f"{name} of {title} {entity}"


@pytest.mark.parametrize(("file", "text"), [("layout.h", export.header), ("facts.c", export.facts)])
def test_exported_files_are_those_of_the_layout_and_the_installed_simulator(file: str, text: Callable[[], str]):
    assert (export.FOLDER / file).read_text(encoding="utf-8") == text()
