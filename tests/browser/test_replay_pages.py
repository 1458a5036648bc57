"""The pages of matches in a real browser, where one is installed: they run without an error and show the match."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nemesis.dashboard.match_server import MatchServer
from nemesis.evaluation.newest_matches import WatchedMatch
from nemesis.games.rocket_league.replays.frames import ARENA_SIZE, CAR_SIZE, Recording
from nemesis.games.rocket_league.replays.page import write_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NAMES = ("Ann <b>", "Bob & co")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def drawn(address: str, profile: Path, seconds: float) -> str:
    """The elements of a page after some seconds of its own time."""
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    options += ["--enable-logging=stderr", f"--user-data-dir={profile}", f"--virtual-time-budget={1000 * seconds:.0f}"]
    done = subprocess.run([BROWSER, *options, "--dump-dom", address], capture_output=True, text=True, check=True)
    assert not re.search(r"Uncaught|Refused to", done.stderr), done.stderr
    return done.stdout


def page(folder: Path, frames: int) -> Path:
    """A match of two cars in which the ball rolls over the line of the orange goal, and nobody moves."""
    frame = np.zeros((frames, ARENA_SIZE + 2 * CAR_SIZE), dtype=np.int16)
    frame[:, 1] = 5 * np.linspace(0, 5220, frames)
    for at, boost in ((ARENA_SIZE, 2500), (ARENA_SIZE + CAR_SIZE, 10000)):
        frame[:, at + 3] = frame[:, at + 8] = 32767  # forward is +x, up is +z
        frame[:, at + 9] = boost
    frame[3, ARENA_SIZE + 10] = 8  # a touch
    return write_page(Recording(0, 2, np.arange(8, 8 * frames + 8, 8, dtype=np.int32), frame), folder, NAMES)


def text(elements: str, identity: str) -> str:
    found = re.search(rf'id="{identity}"[^>]*>([^<]*)<', elements)
    assert found is not None
    return found[1]


def test_a_page_plays_from_disk_to_the_goal(tmp_path: Path):
    elements = drawn(page(tmp_path, frames=30).as_uri(), tmp_path / "profile", seconds=6)
    assert text(elements, "score") == "1 : 0"
    assert text(elements, "result") == "Ann &lt;b&gt; scores"
    assert text(elements, "touch") == "last touch: Ann &lt;b&gt;"
    assert text(elements, "clock") == "0:02.0 / 0:02.0"
    assert re.findall(r'class="figure">(\d+)<', elements) == ["25", "100"]
    assert len(re.findall(r'class="mark ', elements)) == 2  # the touch and the goal


def test_the_list_shows_the_newest_match(tmp_path: Path):
    content = page(tmp_path, frames=300).read_bytes()
    with MatchServer("runs/<x>", 0) as server:
        for update in (1, 2):
            server.add(WatchedMatch(update, NAMES, 1.0, content))
        elements = drawn(server.address, tmp_path / "profile", seconds=3)
    assert text(elements, "title") == "runs/&lt;x&gt;"
    assert 'src="/matches/2"' in elements
    assert re.findall(r'class="update">([^<]*)<', elements) == ["Update 2", "Update 1"]
    assert elements.count("<strong>Ann &lt;b&gt;</strong>") == 2
