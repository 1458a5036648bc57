"""Runs that are ended at some moment lose nothing: the benchmark of interruptions, for a few moments."""

from pathlib import Path

import pytest

from benchmarks.interruptions import CLOSED, Moment, interrupt


@pytest.mark.parametrize(
    ("actors", "cause", "moment"),
    [
        (0, "SIGTERM", Moment(early=True, seconds=1.5)),
        (0, CLOSED, Moment(early=False, seconds=0.2)),
        (2, "SIGINT", Moment(early=False, seconds=0.1)),
        (2, "SIGHUP", Moment(early=False, seconds=0.3)),
    ],
)
def test_a_run_that_is_ended_has_saved_its_last_update_and_goes_on_from_it(
    tmp_path: Path, actors: int, cause: str, moment: Moment
):
    outcome = interrupt(tmp_path / "run", actors, cause, moment)
    assert not outcome.problems
    assert moment.early or (outcome.update is not None and outcome.update > 0)
