"""Recordings of Rocket League: frames within their precision, bounded memory, and a page that shows what they have."""

import json
import re
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from rocket_league_states import random_state

from nemesis.games.pokemon.node import find_node
from nemesis.games.rocket_league.replays import frames
from nemesis.games.rocket_league.replays.frames import ARENA, ARENA_SIZE, CAR, CAR_SIZE, FLAGS, FrameRecorder, Recording
from nemesis.games.rocket_league.replays.page import write_page
from nemesis.games.rocket_league.state import BIG_PADS, PAD_POSITIONS, ArenaState

SCRIPTS = Path(frames.__file__).parent
HOSTILE = "</script><script>alert(1)</script>", "Ann & <b>Bob</b> {{script}}"

# Prints what the decoder of a page makes of its recording.
DECODE = """
const vm = require("vm");
const [recordingText, ...sources] = JSON.parse(require("fs").readFileSync(0));
for (const source of sources) vm.runInThisContext(source);
const recording = vm.runInThisContext("decodeRecording")(JSON.parse(recordingText));
const times = [...recording.time, (recording.time[0] + recording.time[1]) / 2];
const cars = recording.cars.map((car) => Object.fromEntries(Object.entries(car).map(([key, one]) => [key, [...one]])));
const moments = times.map((time) => vm.runInThisContext("momentAt")(recording, time));
console.log(JSON.stringify({ time: [...recording.time], events: recording.events, cars, moments }));
"""


def played(seats: int, cars: int, ticks: list[int], slots: int = 1, seed: int = 0) -> list[ArenaState]:
    """Random states at some ticks, in which nothing happens and every car moves on by little."""
    generator = np.random.default_rng(seed)
    one = random_state(generator, slots, seats, cars)
    none = np.zeros_like(one.goals)
    quiet = replace(one, touched=none > 0, goals=none, saves=none, shots=none, demolitions=none, demolished=none > 0)
    return [
        replace(
            quiet,
            position=quiet.position + np.float32(step) * quiet.present[..., None],
            pads=random_state(generator, slots, seats, cars).pads,
            tick=np.full(slots, tick),
        )
        for step, tick in enumerate(ticks)
    ]


def with_event(state: ArenaState, name: str, seat: int) -> ArenaState:
    changed = getattr(state, name).copy()
    changed[:, seat] = 1
    return replace(state, **{name: changed})


def recorded(states: list[ArenaState], match: int = 0) -> Recording:
    recorder = FrameRecorder(*states[0].present.shape)
    for state in states:
        recorder.record(np.full(len(state.tick), match), state)
    recording = recorder.recording(match)
    assert recording is not None
    return recording


def numbers(recording: Recording, name: str) -> np.ndarray:
    """A field of all cars: (frame, seat, number)."""
    at = sum(field.size for field in CAR[: [field.name for field in CAR].index(name)])
    field = next(field for field in CAR if field.name == name)
    cars = recording.frame[:, ARENA_SIZE:].reshape(len(recording.tick), -1, CAR_SIZE)
    return cars[..., at : at + field.size] / field.scale


def page_parts(path: Path) -> tuple[str, str]:
    """The recording and the script of a page."""
    page = path.read_text(encoding="utf-8")
    data, script = re.fullmatch(
        r'.*<script type="application/json" id="recording">(.*?)</script>\s*<script>(.*?)</script>\s*</html>\s*',
        page,
        re.DOTALL,
    ).groups()
    return data, script


def node(*arguments: str, given: str) -> str:
    command = [find_node("bundled").node, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def decoded(path: Path) -> dict:
    sources = [(SCRIPTS / name).read_text(encoding="utf-8") for name in ("geometry.js", "recording.js")]
    return json.loads(node("-e", DECODE, given=json.dumps([page_parts(path)[0], *sources])))


def test_frames_are_the_states_within_their_precision():
    states = played(6, 4, [8, 16, 24])
    recording = recorded(states)
    assert recording.frame.dtype == np.int16
    assert recording.cars == 4
    for name in ("position", "forward", "up", "boost"):
        expected = np.concatenate([getattr(state, name)[:, :4] for state in states]).reshape(3, 4, -1)
        precision = 0.5 / next(field.scale for field in CAR if field.name == name)
        assert np.abs(numbers(recording, name) - expected).max() <= precision + 1e-4, name
    ball = np.concatenate([state.ball_position for state in states])
    assert np.abs(recording.frame[:, :3] / ARENA[0].scale - ball).max() <= 0.1 + 1e-3


def test_there_are_15_frames_a_second_and_the_last_state():
    assert recorded(played(2, 2, list(range(8, 241, 8)))).tick.tolist() == list(range(8, 241, 8))
    often = recorded(played(2, 2, list(range(3, 242, 3)))).tick
    assert len(often) == 30
    assert (np.diff(often[:-1]) >= 6).all()
    assert often[-1] == 240
    assert recorded(played(2, 2, [8, 16, 21])).tick.tolist() == [8, 16, 21]  # a goal ends a match between two frames
    assert recorded(played(2, 2, [12, 24, 36])).tick.tolist() == [12, 24, 36]


@pytest.mark.parametrize(
    ("name", "flag"),
    [("touched", "touch"), ("goals", "goal"), ("saves", "save"), ("shots", "shot"), ("demolitions", "demolition")],
)
def test_what_happens_between_two_frames_is_in_the_next_and_in_no_other(name: str, flag: str):
    states = played(4, 4, [4, 8, 12, 16, 20, 24])
    states[2] = with_event(states[2], name, seat=1)
    flags = numbers(recorded(states), "flags")[..., 0].astype(int)
    assert (flags >> FLAGS.index(flag) & 1).tolist() == [[0] * 4, [0, 1, 0, 0], [0] * 4]


def test_a_body_that_is_nowhere_is_recorded_without_a_warning(recwarn: pytest.WarningsRecorder):
    (state,) = played(2, 2, [8])
    position = state.position.copy()
    position[0, 0], position[0, 1] = np.nan, np.inf
    frame = recorded([replace(state, position=position)]).frame
    assert frame[0, ARENA_SIZE] == 0
    assert frame[0, ARENA_SIZE + CAR_SIZE] == 32767
    assert len(recwarn) == 0


def test_a_match_is_recorded_apart_from_the_one_before_in_its_slot():
    recorder = FrameRecorder(2, 2)
    states = played(2, 2, [8, 16, 24, 32], slots=2)
    for match, state in zip([[0, 1], [0, 1], [0, 2], [0, 2]], states, strict=True):
        begun = np.where(np.array(match) == 2, 16, 0)  # the clock of a new match starts again
        recorder.record(np.array(match), replace(state, tick=state.tick - begun))
    lengths = {match: recorder.recording(match).tick.tolist() for match in (0, 1, 2)}
    assert lengths == {0: [8, 16, 24, 32], 1: [8, 16], 2: [8, 16]}
    assert recorder.recording(3) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frames, "_MOST_FRAMES", 100)
    monkeypatch.setattr(frames, "_KEPT_BYTES", 20_000)
    (state,) = played(2, 2, [0])
    recorder = FrameRecorder(1, 2)
    for match in range(12):
        for step in range(1, 151):
            recorder.record(np.array([match]), replace(state, tick=np.array([8 * step])))
    assert recorder.recording(11).tick.tolist() == list(range(8 * 51, 8 * 151, 8))  # the last frames
    kept = [match for match in range(11) if recorder.recording(match)]
    assert kept == [8, 9, 10]
    assert sum(recorder.recording(match).frame.nbytes for match in kept) <= 20_000
    arrays = [value for value in vars(recorder).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in arrays) < 10_000


def test_the_decoder_of_the_page_returns_what_was_recorded(tmp_path: Path):
    states = played(6, 4, [8, 16, 20], seed=3)
    states[1] = with_event(states[1], "touched", seat=2)
    states[2] = with_event(with_event(states[2], "touched", seat=2), "saves", seat=3)
    recording = recorded(states, match=7)
    path = write_page(recording, tmp_path, ("Ann", "Bob"))
    assert path.name == "2v2-7.html"
    found = decoded(path)
    assert found["time"] == pytest.approx([8 / 120, 16 / 120, 20 / 120])
    for seat, car in enumerate(found["cars"]):
        for name in ("position", "forward", "up", "boost", "flags"):
            assert car[name] == pytest.approx(numbers(recording, name)[:, seat].ravel(), abs=1e-3), name
    for state, moment in zip(states, found["moments"], strict=False):
        assert moment["pads"] == (state.pads[0] > 0.5).tolist()
        assert moment["ball"] == pytest.approx(state.ball_position[0], abs=0.101)
    events = [(event["kind"], event["seat"], round(120 * event["time"])) for event in found["events"]]
    assert events == [("touch", 2, 16), ("save", 3, 20)]


def test_between_two_frames_the_page_interpolates(tmp_path: Path):
    states = played(2, 2, [8, 16])
    jumped = replace(states[1], position=states[1].position + np.array([[[0, 0, 0], [3000, 0, 0]]], dtype=np.float32))
    found = decoded(write_page(recorded([states[0], jumped]), tmp_path, ("Ann", "Bob")))["moments"][-1]["cars"]
    assert found[0]["position"] == pytest.approx(states[0].position[0, 0] + 0.5, abs=0.2)
    assert found[1]["position"] == pytest.approx(
        states[0].position[0, 1], abs=0.2
    )  # it was put there, and did not move
    assert np.linalg.norm(found[0]["forward"]) == pytest.approx(1)


@pytest.mark.parametrize(("y", "winner"), [(5216, 0), (-5216, 1), (5200, None), (0, None)])
def test_the_page_knows_who_scored(tmp_path: Path, y: float, winner: int | None):
    (state,) = played(2, 2, [8])
    scored = replace(state, ball_position=np.array([[0, y, 100]], dtype=np.float32))
    path = write_page(recorded([scored]), tmp_path, ("Ann", "Bob"))
    assert json.loads(page_parts(path)[0])["winner"] == winner


def test_no_name_can_add_to_the_page(tmp_path: Path):
    path = write_page(recorded(played(2, 2, [8])), tmp_path, HOSTILE)
    page = path.read_text(encoding="utf-8")
    assert json.loads(page_parts(path)[0])["names"] == list(HOSTILE)
    plain = write_page(recorded(played(2, 2, [8])), tmp_path, ("Ann", "Bob")).read_text(encoding="utf-8")
    tags = re.compile(r"</?\w+")
    assert tags.findall(page) == tags.findall(plain)


def test_the_page_parses_and_names_no_other_address(tmp_path: Path):
    path = write_page(recorded(played(2, 2, [8])), tmp_path, ("Ann", "Bob"))
    script = tmp_path / "page.js"
    script.write_text(page_parts(path)[1], encoding="utf-8")
    node("--check", str(script), given="")
    page = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    assert "{{" not in page


def test_the_pads_of_the_page_stand_where_the_simulator_has_them():
    simulator = pytest.importorskip("RocketSim")
    from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes  # noqa: PLC0415

    use_meshes(find_meshes())
    arena = simulator.Arena(simulator.GameMode.SOCCAR)  # its pads are gone with it
    pads = arena.get_boost_pads()
    assert [pad.get_pos().as_tuple()[:2] for pad in pads] == [tuple(pad) for pad in PAD_POSITIONS.tolist()]
    assert tuple(place for place, pad in enumerate(pads) if pad.is_big) == BIG_PADS


def test_every_number_of_a_state_that_is_shown_is_in_a_frame():
    shown = {"ball_position", "position", "forward", "up", "boost", "pads", "on_ground", "demolished", "supersonic"}
    shown |= {"touched", "goals", "saves", "shots", "demolitions"}
    (state,) = played(2, 2, [8])
    before = recorded([state]).frame
    for field in fields(state):
        value = getattr(state, field.name)
        changed = ~value if value.dtype == bool else value + np.float32(1)
        if field.name not in ("present", "tick"):
            differs = (recorded([replace(state, **{field.name: changed})]).frame != before).any()
            assert differs == (field.name in shown), field.name
