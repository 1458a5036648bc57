"""A person who waits sees what is going on, and how far it is."""

import io
import json
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from nemesis.cli.status import StatusLine, output, status_line
from nemesis.core import progress
from nemesis.core.game import StepPolicy
from nemesis.core.progress import Activity
from nemesis.games.openspiel.game import NODE_LIMIT, open_game
from nemesis.play.experience import Clock
from nemesis.play.matches import play
from nemesis.play.scripted import open_opponent
from nemesis.storage.run_directory import RunDirectory
from nemesis.training import reporter
from nemesis.training.config import RunConfig
from nemesis.training.display import LiveDisplay, PlainDisplay, Progress
from nemesis.training.reporter import Reporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_reports_go_to_the_innermost_listener():
    outer: list[str] = []
    inner: list[str] = []
    progress.report("nobody listens")
    with progress.listening(lambda activity: outer.append(str(activity))):
        progress.report("Importing")
        with progress.listening(lambda activity: inner.append(str(activity))):
            progress.report("Evaluating", 1037, 2000)
        progress.report("Evaluating", 12, 10)  # never more than all
        progress.clear()
    assert outer == ["Importing", "Evaluating: 10 of 10", "None"]
    assert inner == ["Evaluating: 1,037 of 2,000"]


def test_matches_report_how_many_are_over():
    game = open_game("kuhn_poker", None)
    seen: list[Activity | None] = []
    players = [open_opponent(game, "random", seed) for seed in range(3)]
    with progress.listening(seen.append):
        play(game, players[0], players[1:], matches=20, slots=8, seed=0, activity="Evaluating against two")
    reports = [activity for activity in seen if activity is not None and activity.text == "Evaluating against two"]
    counts = [activity.done for activity in reports]
    assert {activity.total for activity in reports} == {40}
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert 30 < counts[-1] < 40


def test_games_that_are_computed_exactly_report_how_far_they_are():
    seen: list[Activity | None] = []
    with progress.listening(seen.append):
        game = open_game("leduc_poker", None)
        uniform = StepPolicy(0, lambda _, mask, state: ((mask / mask.sum(1, keepdims=True)).astype(np.float32), state))
        game.nash_conv(uniform)
    by_text: dict[str, list[tuple[int, int | None]]] = {}
    for activity in seen:
        assert activity is not None
        by_text.setdefault(activity.text, []).append((activity.done, activity.total))
    counting, tabulating, computing = by_text.values()
    assert {total for _, total in counting} == {NODE_LIMIT}
    assert {total for _, total in tabulating} == {9457}  # nodes
    assert {total for _, total in computing} == {936}  # information states
    for reports in (counting, tabulating, computing):
        done = [done for done, _ in reports]
        assert len(done) >= 4
        assert done == sorted(set(done))
    assert tabulating[-1][0] > 8000


def test_on_a_terminal_the_status_is_one_line_that_disappears():
    stream = Terminal()
    with status_line(stream):
        progress.report("Importing PyTorch")
        progress.report("Evaluating against greedy", 37, 100)
        assert stream.getvalue().endswith("\r\x1b[2KEvaluating against greedy: 37 of 100 …")
    assert stream.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in stream.getvalue()


def test_elsewhere_the_first_activity_is_a_line_at_once_and_a_later_one_when_it_takes_long():
    stream = io.StringIO()
    line = StatusLine(stream, patience=0.05)
    line.show(Activity("Reading the settings"))
    assert stream.getvalue() == "Reading the settings …\n"
    line.show(Activity("Over in no time"))
    line.show(Activity("Evaluating", 3, 10))
    wait_for(lambda: "Evaluating" in stream.getvalue())
    line.close()
    assert stream.getvalue().splitlines()[:2] == ["Reading the settings …", "Evaluating: 3 of 10 …"]


def test_a_status_that_cannot_be_written_does_not_end_the_command():
    class Closed(Terminal):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    with status_line(Closed()):
        progress.report("Importing PyTorch")
        progress.report("Evaluating", 3, 10)


def test_a_result_replaces_the_status(capsys: pytest.CaptureFixture[str]):
    stream = Terminal()
    with status_line(stream):
        progress.report("Evaluating")
        output("win rate 60%")
        assert stream.getvalue().endswith("\r\x1b[2K")
    assert capsys.readouterr().out == "win rate 60%\n"


def test_a_warning_replaces_the_status_until_it_is_drawn_again():
    stream = Terminal()
    with status_line(stream):
        progress.report("Evaluating")
        logging.getLogger("nemesis.games").warning("A match is voided.")
        assert stream.getvalue().endswith("Evaluating …\r\x1b[2KWarning: A match is voided.\n")
        shown = len(stream.getvalue())
        wait_for(lambda: stream.getvalue().endswith("\r\x1b[2KEvaluating …") and len(stream.getvalue()) > shown)


def test_warnings_of_a_run_go_to_its_log_and_to_what_shows_it(tmp_path: Path):
    stream = Terminal()
    shown: list[str] = []
    warn = logging.getLogger("nemesis.games").warning
    with status_line(stream), RunDirectory.create(tmp_path / "run", {}) as run:
        warn("Before the display.")
        with progress.warnings_shown(shown.append):
            warn("A match is voided.")
        warn("After the display.")
        assert "A match is voided." in run.log_path.read_text()
    assert shown == ["Warning: A match is voided."]
    assert stream.getvalue() == ""


def test_plain_displays_show_an_activity_that_takes_long():
    stream = io.StringIO()
    with PlainDisplay("kuhn", 200, Console(file=stream), patience=0.05) as display:
        display.activity(Activity("Evaluating the last weights", 37, 100))
        wait_for(lambda: "Evaluating the last weights: 37 of 100 …\n" in stream.getvalue())


def test_live_displays_show_the_activity_in_the_panel():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, height=24, color_system=None, _environ={})
    with LiveDisplay("kuhn", 200, console, seconds_between_draws=0) as display:
        display.activity(Activity("Evaluating the last weights", 37, 100))
        assert "Evaluating the last weights: 37 of 100" in stream.getvalue()
    last = stream.getvalue()[stream.getvalue().rindex("╭") :]
    assert "Evaluating" not in last


class _Shown:
    """A display that keeps what it is given."""

    def __init__(self) -> None:
        self.left: list[float | None] = []
        self.split: dict[str, float] = {}
        self.rewards: dict[str, tuple[float, float]] = {}

    def update(self, shown: Progress) -> None:
        self.rewards = shown.rewards
        self.left.append(shown.seconds_left)
        self.split = shown.time_split


def test_the_time_left_counts_updates_evaluations_and_checkpoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A run of 100 updates of 2 s, an evaluation of 30 s every 20, and a checkpoint of 5 s every 30 updates."""
    now = 1000.0
    monkeypatch.setattr(reporter, "perf_counter", lambda: now)
    settings = {"game": "openspiel:kuhn_poker", "updates": 100}
    intervals = {"evaluation": {"interval": 20}, "checkpoints": {"interval": 30}}
    config = RunConfig.model_validate(settings | intervals)
    clock, display = Clock(), _Shown()
    reports = Reporter(display, clock, config, 0, 0, tmp_path / "metrics.jsonl")
    saves = 0

    def evaluate(update: int) -> None:
        nonlocal now
        now += 30
        clock.evaluate += 30
        reports.evaluated(update, {"nash_conv": 1.0})

    def save() -> None:
        nonlocal now, saves
        now += 5
        clock.save += 5
        saves += 1

    evaluate(0)
    save()
    moments = []
    for update in range(1, 101):
        now += 2
        clock.learn += 2
        if update % 20 == 0:
            evaluate(update)
        reports.report(update, 10 * update, {"learner/skipped_steps": 0.0}, saves)
        moments.append(now)
        if update % 30 == 0 or update == 100:
            save()
    remaining = [now - moment for moment in moments]
    assert display.left == pytest.approx([*remaining[:-1], 0])  # only the last checkpoint is left
    assert {name: round(share, 2) for name, share in display.split.items()} == {
        "learn": 0.50,
        "evaluate": 0.45,
        "save": 0.05,
    }


def test_a_slow_first_update_does_not_count_for_the_time_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    now = 1000.0
    monkeypatch.setattr(reporter, "perf_counter", lambda: now)
    config = RunConfig.model_validate({"game": "openspiel:kuhn_poker", "updates": 100})
    display = _Shown()
    reports = Reporter(display, Clock(learn=1.0), config, 0, 0, tmp_path / "metrics.jsonl")
    for update, seconds in enumerate((60, 2, 2, 2), start=1):
        now += seconds
        reports.report(update, 10 * update, {"learner/skipped_steps": 0.0}, 0)
    assert display.left == pytest.approx([99 * 60, 98 * 2, 97 * 2, 96 * 2])


def test_first_matches_are_expected_to_take_longer_than_later_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    now = 1000.0
    monkeypatch.setattr(reporter, "perf_counter", lambda: now)
    settings = {"game": "openspiel:kuhn_poker", "updates": 40, "evaluation": {"interval": 20}}
    clock, display = Clock(), _Shown()
    reports = Reporter(display, clock, RunConfig.model_validate(settings), 0, 0, tmp_path / "metrics.jsonl")
    for update in range(41):
        if update % 20 == 0:
            seconds = 50 if update == 0 else 10
            now += seconds
            clock.evaluate += seconds
            reports.evaluated(update, {"win_rate_against_random": 0.5, "matches_against_random": 100.0})
        now += 2
        if update:
            reports.report(update, 10 * update, {"learner/skipped_steps": 0.0}, 0)
    assert display.left[9] == pytest.approx(30 * 2 + 2 * 30)  # at update 10: two more, of 0.6 × 50 s each
    assert display.left[29] == pytest.approx(10 * 2 + 10)


def test_only_rewards_are_shown_as_rewards(tmp_path: Path):
    config = RunConfig.model_validate({"game": "openspiel:kuhn_poker"})
    display = _Shown()
    reports = Reporter(display, Clock(learn=1.0), config, 0, 0, tmp_path / "metrics.jsonl")
    others = {"learner/skipped_steps": 0.0, "collection/decisions": 64.0, "reward_frequency/touch": 0.5}
    reports.report(1, 64, others, 0)
    assert display.rewards == {}
    reports.report(2, 128, {**others, "reward/touch": -0.1, "reward_size/touch": 0.3}, 0)
    assert display.rewards == {"touch": (-0.1, 0.3)}


def test_a_resumed_run_knows_how_long_its_evaluations_took(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    now = 1000.0
    monkeypatch.setattr(reporter, "perf_counter", lambda: now)
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"update": 40, "seconds": 90.0, "speed/evaluation_seconds": 30.0}\n')
    settings = {"game": "openspiel:kuhn_poker", "updates": 100, "evaluation": {"interval": 20}}
    display = _Shown()
    reports = Reporter(display, Clock(), RunConfig.model_validate(settings), 41, 410, metrics)
    for update in range(42, 60):
        now += 2
        reports.report(update, 10 * update, {"learner/skipped_steps": 0.0}, 0)
    assert display.left[-1] == pytest.approx(41 * 2 + 3 * 30)


def test_the_time_left_counts_checkpoints_by_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A run of 200 updates of 10 s, and a checkpoint of 6 s every 2 minutes; it is resumed after the first half."""
    now = 1000.0
    monkeypatch.setattr(reporter, "perf_counter", lambda: now)
    checkpoints = {"interval": 1000, "minutes": 2}
    config = RunConfig.model_validate({"game": "openspiel:kuhn_poker", "updates": 200, "checkpoints": checkpoints})
    metrics = tmp_path / "metrics.jsonl"
    clock, display, saves = Clock(), _Shown(), 0
    reports = Reporter(display, clock, config, 0, 0, metrics)
    for update in range(1, 101):
        now += 10
        clock.learn += 10
        rates = reports.report(update, update, {"learner/skipped_steps": 0.0}, saves)
        if update % 12 == 0:
            now += 6
            clock.save += 6
            saves += 1
    assert display.left[-1] == pytest.approx(100 * 10 + 8 * 6)
    metrics.write_text(json.dumps({"update": 100, "seconds": 1.0} | rates) + "\n")
    reports = Reporter(display, Clock(learn=1.0), config, 100, 100, metrics)
    now += 10
    reports.report(101, 101, {"learner/skipped_steps": 0.0}, 0)
    assert display.left[-1] == pytest.approx(99 * 10 + 8 * 6)


def test_win_rates_are_shown_with_their_interval_and_matches():
    stream = io.StringIO()
    history = [
        (update, {f"{name}_against_random{suffix}": value for suffix in ("", "_average") for name, value in figures})
        for update, figures in (
            (0, (("win_rate", 0.5), ("return", 0.0), ("matches", 400.0))),
            (5, (("win_rate", 1.0), ("return", 1.0), ("matches", 100.0))),
            (10, (("win_rate", 0.6), ("return", 0.2), ("matches", 100.0))),
        )
    ]
    shown = Progress(
        update=10,
        total=100,
        decisions=1,
        decisions_per_second=1.0,
        updates_per_second=1.0,
        seconds_left=9.0,
        time_split={},
        losses={},
        rewards={},
        evaluation=history,
        skipped_steps=0,
    )
    with PlainDisplay("kuhn", 100, Console(file=stream)) as display:
        display.update(shown)
    assert (
        "win_rate_against_random 60.0% (95 % interval 50.2% to 69.1% of 100 matches; "
        "first 50.0% [45.1% to 54.9% of 400], best 100.0% [96.3% to 100.0% of 100])"
    ) in stream.getvalue()
    assert "matches_against" not in stream.getvalue()
    console = Console(file=stream, force_terminal=True, width=80, height=24, color_system=None, _environ={})
    with LiveDisplay("kuhn", 100, console) as display:
        display.update(shown)
    panel = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "evaluation at 10, 100 to 400 matches each" in panel
    rows = [" ".join(line.strip("│ ").split()) for line in panel.splitlines()]
    for label in ("win rate against random", "average against random"):  # whole, beside all the intervals
        assert f"{label} ▅█▅ 50.0% 45–55 → 100.0% 96–100 → 60.0% 50–69" in rows
