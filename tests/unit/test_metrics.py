"""What a run says while it runs: metrics never hold a number twice, and the display suits where it is shown."""

import importlib.util
import io
import json
import re
import time
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nemesis.games.rocket_league.rewards import COMPONENTS
from nemesis.storage.config import TrackingConfig
from nemesis.storage.metrics import Metrics, check_tracking, read_metrics
from nemesis.storage.run_directory import RunDirectory, RunError
from nemesis.training.config import RunConfig
from nemesis.training.display import LiveDisplay, PlainDisplay, Progress, open_display
from nemesis.training.figures import sparkline
from nemesis.training.loop import train

torch.set_num_threads(1)

FILE_ONLY = TrackingConfig(tensorboard=False)


@pytest.fixture
def run(tmp_path: Path):
    with RunDirectory.create(tmp_path / "run", {"seed": 1}) as run:
        yield run


def progress(update: int, **changes: object) -> Progress:
    values = {
        "update": update,
        "total": 200,
        "decisions": update * 1000,
        "decisions_per_second": 41_230.0,
        "updates_per_second": 2.0,
        "seconds_left": 50.0,
        "time_split": {"simulate": 0.4, "infer": 0.2, "learn": 0.35, "other": 0.05},
        "losses": {"policy": -0.0123, "value": 0.5},
        "rewards": {},
        "evaluation": [(0, {"nash_conv": 4.7472}), (50, {"nash_conv": 0.5}), (100, {"nash_conv": 0.75})],
        "skipped_steps": 0,
    }
    return Progress(**{**values, **changes})


def test_a_line_holds_update_seconds_time_and_values(run):
    with Metrics(run, FILE_ONLY) as metrics:
        metrics.write(1, {"loss/policy": 0.1 + 0.2})
        metrics.write(2, {"loss/policy": 1.0})
        assert [line["update"] for line in read_metrics(run.metrics_path)] == [1, 2]  # readable at once
    first, second = read_metrics(run.metrics_path)
    assert first["loss/policy"] == 0.1 + 0.2
    assert list(first) == ["update", "seconds", "time", "loss/policy"]
    assert 0 <= first["seconds"] <= second["seconds"]


def test_numbers_that_are_not_finite_become_null(run):
    with Metrics(run, FILE_ONLY) as metrics:
        metrics.write(1, {"a": float("nan"), "b": float("-inf"), "c": torch.tensor(2.0)})
    (line,) = run.metrics_path.read_text().splitlines()
    values = json.loads(line, parse_constant=pytest.fail)
    assert (values["a"], values["b"], values["c"]) == (None, None, 2.0)


def test_a_metric_cannot_take_the_name_of_a_column(run):
    with Metrics(run, FILE_ONLY) as metrics, pytest.raises(ValueError, match="seconds"):
        metrics.write(1, {"seconds": 1.0})


def test_a_resumed_run_forgets_what_came_after_its_checkpoint(run):
    with Metrics(run, FILE_ONLY) as metrics:
        for update in range(1, 6):
            metrics.write(update, {"x": update})
    with run.metrics_path.open("a") as file:
        file.write('{"update": 6, "sec')  # the kill came in the middle of a line
    with Metrics(run, FILE_ONLY, resumed_update=3) as metrics:
        assert [line["x"] for line in read_metrics(run.metrics_path)] == [1, 2, 3]
        metrics.write(4, {"x": 40})
    assert [(line["update"], line["x"]) for line in read_metrics(run.metrics_path)] == [(1, 1), (2, 2), (3, 3), (4, 40)]


def test_seconds_continue_over_a_resumption(run):
    with Metrics(run, FILE_ONLY) as metrics:
        metrics.write(1, {"x": 1})
    line = {**read_metrics(run.metrics_path)[0], "seconds": 1000.5}
    run.metrics_path.write_text(json.dumps(line) + "\n")
    with Metrics(run, FILE_ONLY, resumed_update=1) as metrics:
        metrics.write(2, {"x": 2})
    assert 1000.5 <= read_metrics(run.metrics_path)[1]["seconds"] < 1030


def test_a_damaged_line_is_left_out_and_reported(run, caplog):
    with Metrics(run, FILE_ONLY) as metrics:
        metrics.write(1, {"x": 1})
    run.metrics_path.write_text("\0\0\0\n" + run.metrics_path.read_text())
    assert [line["update"] for line in read_metrics(run.metrics_path)] == [1]
    assert "Line 1 of" in caplog.text


def test_a_run_that_has_written_nothing_has_no_metrics(tmp_path):
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_tensorboard_shows_each_update_once_after_a_resumption(run, monkeypatch):
    with Metrics(run, TrackingConfig()) as metrics:
        for update in (1, 2, 3):
            metrics.write(update, {"loss/policy": update})
    later = time.time() + 2  # event files are named after the second, and read in the order of their names
    monkeypatch.setattr(time, "time", lambda: later)
    with Metrics(run, TrackingConfig(), resumed_update=1) as metrics:
        metrics.write(2, {"loss/policy": 20})
    events = EventAccumulator(str(run.tensorboard_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss/policy")] == [(1, 1.0), (2, 20.0)]


@pytest.fixture
def wandb():
    """The library, which reads the environment once, and again after `teardown`."""
    library = pytest.importorskip("wandb")
    library.teardown()
    yield library
    library.teardown()


def test_weights_and_biases_records_offline_into_the_run_directory(run, wandb, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    tracking = TrackingConfig(tensorboard=False, wandb=True)
    identifiers = set()
    for resumed_update in (None, 1):
        with Metrics(run, tracking, resumed_update) as metrics:
            metrics.write(2 if resumed_update else 1, {"loss/policy": 0.5})
        identifiers.add((run.path / "wandb-run.txt").read_text().strip())
    wandb.teardown()  # as at the end of the process, which waits until all is on disk
    (identifier,) = identifiers
    records = list((run.path / "wandb").glob(f"offline-run-*/run-{identifier}.wandb"))
    assert records
    assert any(b"loss/policy" in record.read_bytes() for record in records)


def test_without_a_connection_weights_and_biases_records_offline_and_says_how_to_upload(
    tmp_path: Path, wandb, monkeypatch, capfd
):
    for name, value in {"BASE_URL": "http://127.0.0.1:9", "API_KEY": "0" * 40, "INIT_TIMEOUT": "1"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    settings = {
        "game": "openspiel:kuhn_poker",
        "updates": 1,
        "collection": {"slots": 8, "decisions": 32},
        "policy": {"size": "nano"},
        "tracking": {"tensorboard": False, "wandb": True},
    }
    output = io.StringIO()
    train(RunConfig.model_validate(settings), tmp_path / "run", Console(file=output))
    wandb.teardown()  # as above
    (folder,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    (record,) = folder.glob("*.wandb")
    assert b"learner/loss" in record.read_bytes()
    sentence = f"so the run is recorded on disk; upload it later with `wandb sync {folder}`."
    (shown,) = (line for line in output.getvalue().splitlines() if "Weights & Biases cannot be reached" in line)
    assert shown.startswith("note: Warning: ")
    assert shown.endswith(sentence)
    assert sentence in (tmp_path / "run" / "run.log").read_text()
    assert capfd.readouterr() == ("", "")  # only the display writes to the terminal


def test_a_missing_weights_and_biases_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(RunError, match=re.escape("pip install -e '.[wandb]'")):
        check_tracking(TrackingConfig(wandb=True))
    check_tracking(TrackingConfig())


def test_an_unknown_tracking_key_is_refused():
    with pytest.raises(ValidationError, match="wandbb"):
        TrackingConfig.model_validate({"wandbb": True})


def test_without_a_terminal_the_display_is_plain_lines_with_an_eta():
    output = io.StringIO()
    with open_display("kuhn", 200, Console(file=output)) as display:
        assert isinstance(display, PlainDisplay)
        display.update(progress(100, skipped_steps=3))
        display.message("Skipped a damaged checkpoint.")
    text = output.getvalue()
    assert "\x1b" not in text
    assert "update 100/200 (50%)" in text
    assert "ETA 0:00:50" in text
    assert "3 steps skipped" in text
    assert "nash_conv 0.7500 (first 4.7472, best 0.5000)" in text
    assert "note: Skipped a damaged checkpoint." in text


def test_all_contributions_to_rewards_are_shown_the_largest_first():
    rewards = {name: (0.0, weight / 3000) for weight, name in enumerate(COMPONENTS, start=1)} | {"nothing": (0.0, 0.0)}
    rewards |= {"touch": (-0.01, 0.03), "result": (0.0012, 0.2)}
    outputs = [io.StringIO(), io.StringIO()]
    console = Console(file=outputs[1], force_terminal=True, width=80, height=24, color_system=None, _environ={})
    for output, shown in zip(outputs, (Console(file=outputs[0]), console), strict=True):
        with open_display("cars", 200, shown) as display:
            display.update(progress(100, rewards=rewards))
        words = " ".join(output.getvalue().replace("│", "").split())
        assert "rewards of 1,000 decisions: result 1.2 (200), touch -10 (30)," in words
        for name in COMPONENTS:
            assert f" {name} " in words
        assert "nothing" not in words


def test_plain_lines_are_few_and_the_last_update_is_always_among_them():
    output = io.StringIO()
    with open_display("kuhn", 200, Console(file=output)) as display:
        for update in range(1, 201):
            display.update(progress(update, evaluation=[]))
    lines = output.getvalue().splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["1/200", "200/200"]


def test_an_eta_that_cannot_be_known_is_not_made_up():
    output = io.StringIO()
    with open_display("kuhn", 200, Console(file=output)) as display:
        display.update(progress(1, seconds_left=None))
    assert "ETA -:--:--" in output.getvalue()


def test_on_a_terminal_the_display_is_a_panel_that_fits_80_by_24():
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=80, height=24, color_system=None, _environ={})
    losses = {f"loss_with_a_long_name_{index}": -0.00123 for index in range(30)}
    rewards = {f"component_{index}": (-0.001 * index, 0.001 * index) for index in range(30)}
    results = [(update, {f"nash_conv_{index}": 1 / (update + 1) for index in range(30)}) for update in range(100)]
    with open_display("kuhn", 200, console) as display:
        assert isinstance(display, LiveDisplay)
        display.update(progress(100, losses=losses, rewards=rewards, evaluation=results, skipped_steps=1))
    panel = output.getvalue()[output.getvalue().rindex("╭") :]
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", panel).rstrip().splitlines()
    assert len(lines) < 24
    assert {len(line) for line in lines} == {80}
    assert "ETA 0:00:50" in panel
    assert "simulate 40%" in panel
    assert "1.0000 → 0.0100 → 0.0100" in panel
    assert "component_29 -29 (29)" in panel


def test_win_rates_have_a_row_for_each_opponent_and_come_first():
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, height=24, color_system=None, _environ={})
    opponents = ("random", "max_damage", "greedy")
    history = [
        (update, {f"{figure}_against_{name}": rate for name in opponents for figure in ("return", "win_rate")})
        for update, rate in ((0, 0.05), (50, 0.5), (100, 0.4))
    ]
    with open_display("battles", 200, console) as display:
        display.update(progress(100, evaluation=history))
    table = output.getvalue().rpartition("evaluation at 100")[2]
    rows = [" ".join(line.strip("│ ").split()) for line in table.splitlines()]
    assert rows[2:5] == [f"win rate against {name} ▁▅▄ 5.0% → 50.0% → 40.0%" for name in opponents]
    assert rows[5].startswith("return against random")


def test_plain_lines_show_win_rates_as_shares():
    output = io.StringIO()
    with open_display("battles", 200, Console(file=output)) as display:
        display.update(progress(100, evaluation=[(0, {"win_rate_against_random": 0.5})]))
    assert "win_rate_against_random 50.0% (first 50.0%, best 50.0%)" in output.getvalue()


def test_a_live_display_draws_at_most_a_few_times_a_second():
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=80, height=24, _environ={})
    began = time.monotonic()
    with LiveDisplay("kuhn", 200, console) as display:
        for _ in range(2000):
            display.update(progress(100))
    draws = output.getvalue().count("╭")
    assert 2 <= draws <= 4 + 4 * (time.monotonic() - began)


def test_a_sparkline_spans_the_history():
    assert sparkline([0.0, 1.0, 2.0, 7.0]) == "▁▂▃█"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert len(sparkline([float(value) for value in range(1000)], width=20)) == 20
    assert sparkline([1.0, float("nan"), 2.0]) == "▁ █"
    assert sparkline([0.0, 0.5, 0.6], bounds=(0.0, 1.0)) == "▁▅▅"
