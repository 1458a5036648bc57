"""`nemesis watch`: matches of the newest checkpoint are played, listed and served on this machine, and nothing else."""

import http.client
import json
import re
import shutil
import signal
import socket
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
import torch
from duel import Duel, register

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.dashboard import match_server
from nemesis.dashboard.match_server import MatchServer
from nemesis.evaluation.newest_matches import NewestMatches, WatchedMatch, WatchOptions
from nemesis.play.play_options import PlayOptions
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.checkpoints import load_checkpoint, prune, save_checkpoint
from nemesis.training.config import RunConfig
from nemesis.training.loop import resume, train

torch.set_num_threads(1)

SETTINGS = {
    "game": "duel:plain",
    "updates": 1,
    "collection": {"slots": 8, "decisions": 64},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo"},
    "evaluation": {"matches": 0},
    "tracking": {"tensorboard": False},
}
BOTH = ("Nemesis A", "Nemesis B")


@pytest.fixture(autouse=True)
def duel(monkeypatch: pytest.MonkeyPatch) -> Duel:
    """The game of every run."""
    return register(monkeypatch, Duel())


@pytest.fixture
def run(tmp_path: Path, duel: Duel) -> Path:  # noqa: ARG001
    """A run with a checkpoint of update 1."""
    folder = tmp_path / "run"
    train(build_config(RunConfig, SETTINGS), folder)
    return folder


@pytest.fixture
def server() -> Iterator[MatchServer]:
    with MatchServer("runs/x", 0) as server:
        yield server


def match(page: str = "A match.", update: int = 1, earned: float = 1.0) -> WatchedMatch:
    return WatchedMatch(update, ("Ann", "Bob"), earned, page.encode())


def ask(server: MatchServer, path: str, host: str | None = None) -> tuple[int, str]:
    """Request a page; returns the status and the content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_newest_checkpoint_plays_itself_once(run: Path):
    before = files(run)
    newest, found = NewestMatches(run, WatchOptions(matches=3)), []
    assert newest.play(found.append) == 1
    assert newest.play(found.append) is None
    assert [(one.update, one.names) for one in found] == [(1, BOTH)] * 3
    pages = [one.page.decode().partition(": ")[0] for one in found]
    assert set(pages) == {"Nemesis A against Nemesis B", "Nemesis B against Nemesis A"}
    assert files(run) == before  # it is only read


def test_a_newer_checkpoint_is_played_when_it_appears(run: Path):
    newest, found = NewestMatches(run, WatchOptions(matches=1)), []
    newest.play(found.append)
    resume(run, ["updates=2"])
    assert newest.play(found.append) == 2
    assert [one.update for one in found] == [1, 2]


@pytest.mark.parametrize("opponent", ["bold", "policy.safetensors"])
def test_an_opponent_is_a_scripted_player_or_a_policy(run: Path, opponent: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(run.parent)
    assert main(["export", str(run), "policy.safetensors"]) == 0
    found: list[WatchedMatch] = []
    NewestMatches(run, WatchOptions(opponent, matches=2)).play(found.append)
    assert [one.names for one in found] == [("Nemesis", opponent)] * 2
    assert {one.winner for one in found} <= {"Nemesis", opponent, None}


def test_policies_play_in_the_style_and_with_the_weights_that_are_asked_for(run: Path):
    def logs(**options) -> list[bytes]:
        found: list[WatchedMatch] = []
        NewestMatches(run, WatchOptions(matches=4, play=PlayOptions(**options))).play(found.append)
        return sorted(one.page for one in found)

    assert logs() == logs()
    assert logs(style=PlayStyle(temperature=0)) != logs()
    path = next((run / "checkpoints").iterdir())
    saved = load_checkpoint(path)
    tensors = {name: saved.tensors(name) for name in saved.names}
    tensors["weights"] = {name: 10 * tensor for name, tensor in tensors["weights"].items()}
    save_checkpoint(run / "checkpoints", saved.update, tensors, saved.state, saved.config)
    assert logs(weights="last") != logs()


def test_checkpoints_that_are_replaced_and_pruned_meanwhile_do_no_harm(run: Path):
    root = run / "checkpoints"
    saved = load_checkpoint(next(root.iterdir()))
    tensors = {name: saved.tensors(name) for name in saved.names}
    newest, found, stop = NewestMatches(run, WatchOptions(matches=1)), [], Event()

    def save() -> None:
        update = saved.update
        while not stop.is_set():
            update += 1
            for _ in range(2):  # the second replaces the first
                save_checkpoint(root, update, tensors, saved.state, saved.config)
            prune(root, keep_last=1, keep_every=0)

    thread = Thread(target=save)
    thread.start()
    try:
        while len(found) < 25:
            newest.play(found.append)
    finally:
        stop.set()
        thread.join()
    updates = [one.update for one in found]
    assert updates == sorted(updates)
    assert len(set(updates)) > 5


def test_the_list_and_the_pages_are_served_on_this_machine(server: MatchServer):
    assert server.address == f"http://127.0.0.1:{server.port}/"
    server.add(match("<p>Grüße</p>", update=3))
    server.add(match(update=4, earned=0.0))
    status, listed = ask(server, "/matches")
    names = ["Ann", "Bob"]
    assert status == 200
    assert json.loads(listed) == {
        "title": "runs/x",
        "matches": [
            {"number": 1, "update": 3, "names": names, "winner": "Ann"},
            {"number": 2, "update": 4, "names": names, "winner": None},
        ],
    }
    assert ask(server, "/matches/1") == (200, "<p>Grüße</p>")
    status, page = ask(server, "/")
    assert status == 200
    for path in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert ask(server, path)[0] == 200, path


@pytest.mark.parametrize(
    "path", ["/matches/2", "/matches/x", "/../match_server.py", "/matches/1/..", "/matches/1/", "/page.py"]
)
def test_nothing_else_is_served(server: MatchServer, path: str):
    server.add(match())
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "localhost:1", "example.org:{port}", "127.0.0.1.nip.io:{port}"]
)
def test_a_request_by_another_name_is_refused(server: MatchServer, host: str):
    server.add(match("A secret."))
    for path in ("/", "/matches", "/matches/1"):
        status, content = ask(server, path, host.format(port=server.port))
        assert status == 403
        assert "secret" not in content
    assert ask(server, "/matches/1", f"localhost:{server.port}") == (200, "A secret.")


def test_the_oldest_pages_are_dropped(server: MatchServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(match_server, "_KEPT_BYTES", 100)
    for _ in range(5):
        server.add(match("x" * 40))
    assert [one["number"] for one in server.listed()["matches"]] == [4, 5]
    assert ask(server, "/matches/3")[0] == 404
    server.add(match("x" * 400))
    assert len(ask(server, "/matches/6")[1]) == 400


def watched(run: Path, *options: str, then: Callable[[str], None], patch: pytest.MonkeyPatch) -> int:
    """Watch a run, and do something with the address that the browser is to open."""
    patch.setattr(webbrowser, "open", then)
    return main(["watch", str(run), "--matches", "1", *options])


def test_watch_opens_the_page_and_ends_by_a_signal(
    run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    opened: list[str] = []

    def interrupt(address: str) -> None:
        opened.append(address)
        signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert watched(run, then=interrupt, patch=monkeypatch) == 130
    finally:
        signal.signal(signal.SIGINT, handler)
    printed = capfd.readouterr()
    assert printed.out == f"{run} is shown at {opened[0]}; Ctrl-C ends it.\n"
    assert "Traceback" not in printed.err
    port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", opened[0])[1])
    with socket.socket() as free, pytest.raises(ConnectionRefusedError):
        free.connect(("127.0.0.1", port))


def refusal(run: Path, *options: str, capfd: pytest.CaptureFixture[str]) -> str:
    assert main(["watch", str(run), "--no-browser", *options]) == 2
    return capfd.readouterr().err.splitlines()[-1]


def test_a_port_that_is_in_use_is_refused(run: Path, capfd: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(run, "--port", str(port), capfd=capfd)
    remedy = "name another with --port, or leave it out for a free one."
    assert said == f"Port {port} of 127.0.0.1 is in use; {remedy}"
    assert refusal(run, "--port", "65536", capfd=capfd) == "--port must be below 65536, not 65536."


def test_what_cannot_be_watched_is_refused(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    assert refusal(tmp_path / "nowhere", capfd=capfd).startswith(f"There is no run in {tmp_path / 'nowhere'};")
    assert "duel:plain has no opponent called 'bald'" in refusal(run, "--opponent", "bald", capfd=capfd)
    assert "There is no run in other/run" in refusal(run, "--opponent", "other/run", capfd=capfd)
    shutil.rmtree(run / "checkpoints")
    assert refusal(run, capfd=capfd) == f"{run} has no checkpoint yet; watch it when the run has saved one."


def test_a_file_that_is_named_like_a_scripted_player_is_the_opponent(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("timid").write_text("no policy")
    assert "timid is not a policy file" in refusal(run, "--opponent", "timid", capfd=capfd)


def test_a_game_whose_matches_cannot_be_saved_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    settings = SETTINGS | {"game": "openspiel:kuhn_poker"}
    train(build_config(RunConfig, settings), tmp_path / "kuhn")
    said = refusal(tmp_path / "kuhn", capfd=capfd)
    assert said == "Matches of openspiel:kuhn_poker cannot be saved as replays."


def test_a_run_without_a_complete_checkpoint_is_refused(run: Path):
    for path in (run / "checkpoints").glob("*/weights.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(UserError, match=r"^None of the 2 checkpoints in .* is complete;"):
        NewestMatches(run, WatchOptions())
