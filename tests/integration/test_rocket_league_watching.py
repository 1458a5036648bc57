"""Matches of Rocket League on the real simulator, recorded, saved and watched."""

import json
import os
import re
import signal
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from background import command, wait_until
from test_rocket_league_pool import play, pool_of, results, rolling, shot

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.core.game import RecordingPool, ReplayPool
from nemesis.evaluation.newest_matches import NewestMatches, WatchOptions
from nemesis.games.rocket_league.replays.frames import ARENA, FrameRecorder
from nemesis.games.rocket_league.state import ArenaState
from nemesis.storage.policies import find_policy
from nemesis.storage.policy_files import save_policy

pytest.importorskip("RocketSim")

SHORT = "rocket_league.match_seconds=2"
SMALL = ["policy.size=nano", "collection.slots=4", "collection.decisions=32", "tracking.tensorboard=false", SHORT]


class Both(FrameRecorder):
    """Records frames, and keeps the states too."""

    def __init__(self, slots: int, seats: int) -> None:
        super().__init__(slots, seats)
        self.states: dict[int, list[ArenaState]] = {}

    def record(self, match, state: ArenaState) -> None:
        super().record(match, state)
        for slot, number in enumerate(match.tolist()):
            self.states.setdefault(number, []).append(state.at(np.array([slot])))


def header(path: Path) -> dict:
    return json.loads(re.search(r'id="recording">(.*?)</script>', path.read_text(encoding="utf-8"))[1])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rocket") / "run"
    settings = [*SMALL, "updates=1", "evaluation.matches=0"]
    assert main(["train", "rocket_league_1v1", *settings, "--run", str(folder)]) == 0
    return folder


def test_an_opponent_of_other_matches_is_refused_unless_the_settings_are_named(run: Path, tmp_path: Path):
    file = tmp_path / "other.safetensors"
    saved = find_policy(run)
    config = {**(saved.config or {}), "rocket_league": {"match_seconds": 2, "tick_skip": 4}}
    game = saved.game_config().open_game()
    save_policy(file, saved.load(game), saved.policy, game, {"config": config})
    with pytest.raises(UserError, match=r"different settings of the game: rocket_league\.tick_skip is 8 and 4\. Say"):
        NewestMatches(run, WatchOptions(str(file)))
    NewestMatches(run, WatchOptions(str(file), overrides=["rocket_league.tick_skip=8"]))


def test_a_pool_records_only_if_it_is_told_to(tmp_path: Path):
    pool = pool_of(shot)
    assert isinstance(pool, ReplayPool)
    assert isinstance(pool, RecordingPool)
    pool.recorder = None
    play(pool, 20)
    with pytest.raises(UserError, match=r"^Match 0 was not recorded, or ended too long ago, so it cannot be saved\.$"):
        pool.save_replay(0, tmp_path, ("Ann", "Bob"))
    assert list(tmp_path.iterdir()) == []


def test_every_decision_of_a_match_is_a_frame_up_to_its_goal(tmp_path: Path):
    pool = pool_of(shot, slots=3)
    pool.recorder = recorder = Both(3, 2)
    ends = results(play(pool, 40))
    for ended in ends:
        for match, returns in zip(ended.match.tolist(), ended.returns, strict=True):
            recording, states = recorder.recording(match), recorder.states[match]
            assert recording.tick.tolist() == [state.tick[0] for state in states]
            assert (np.diff(recording.tick[:-1]) == 8).all()
            ball = np.concatenate([state.ball_position for state in states])
            assert np.abs(recording.frame[:, :3] / ARENA[0].scale - ball).max() <= 0.1 + 1e-3
            winner = header(pool.save_replay(match, tmp_path, ("Ann", "Bob")))["winner"]
            assert returns[winner] == 1


def test_a_match_without_a_goal_has_no_winner(tmp_path: Path):
    pool = pool_of(rolling, match_seconds=2)
    pool.record_matches()
    play(pool, 31)
    assert header(pool.save_replay(0, tmp_path, ("Ann", "Bob")))["winner"] is None


def test_evaluate_saves_matches_and_overwrites_none(run: Path, capfd: pytest.CaptureFixture[str]):
    def saved() -> list[Path]:
        options = ["--opponent", "random", "--replays", "3", "--matches", "2", SHORT]
        assert main(["evaluate", str(run), *options]) == 0
        return [Path(path) for path in re.findall(r"^replay +(.*)$", capfd.readouterr().out, re.MULTILINE)]

    first = saved()
    content = {path: path.read_bytes() for path in first}
    assert len(content) == 3
    assert {tuple(header(path)["names"]) for path in first} == {("Nemesis", "random"), ("random", "Nemesis")}
    second = saved()
    assert not {*first} & {*second}
    assert {path: path.read_bytes() for path in first} == content


def test_a_finished_run_has_saved_matches(run: Path):
    assert len(list((run / "replays").rglob("1v1-*.html"))) >= 4


def test_watch_shows_newer_checkpoints_of_a_run_as_they_appear(run: Path, tmp_path: Path):
    before = sorted(run.rglob("*"))
    watching = command(tmp_path / "printed", "watch", str(run), "--no-browser", "--matches", "2", SHORT)
    try:
        wait_until(lambda: "Played matches of update 1." in watching.printed or not watching.alive)
        address = re.search(r"is shown at (http://127\.0\.0\.1:\d+/);", watching.printed)[1]

        def listed() -> list[dict]:
            with urllib.request.urlopen(f"{address}matches") as answer:
                return json.load(answer)["matches"]

        assert [match["update"] for match in listed()] == [1, 1]
        assert sorted(run.rglob("*")) == before
        with urllib.request.urlopen(f"{address}matches/1") as answer:
            assert 'id="recording"' in answer.read().decode()
        assert main(["resume", str(run), "updates=2", "evaluation.matches=0"]) == 0
        wait_until(lambda: [match["update"] for match in listed()] == [1, 1, 2, 2])
    finally:
        os.kill(watching.pid, signal.SIGINT)
    assert watching.finish() == 130
    assert "Traceback" not in watching.printed
