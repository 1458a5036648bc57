"""The log of a population's matches: nothing is lost or counted twice, and damage is said."""

from pathlib import Path

import numpy as np
import pytest

from nemesis.core.game import EndReason
from nemesis.play.match_stream import FinishedMatches
from nemesis.population.store.payoff_log import LOG, PayoffWriter, read_log


def matches(*numbers: int, reason: EndReason = EndReason.PLAYED) -> FinishedMatches:
    number = np.array(numbers)
    zeros = np.zeros_like(number)
    return FinishedMatches(
        number, zeros, zeros + 1, number % 2, zeros + np.float32(1), zeros + reason, zeros, zeros + 7
    )


def written(folder: Path, *parts: FinishedMatches, pool: int = 0) -> None:
    with PayoffWriter(folder, read_log(folder), {}, 0) as writer:
        for part in parts:
            writer.add(pool, part)


def test_what_is_written_is_read(tmp_path: Path):
    written(tmp_path, matches(0, 3), matches(1, reason=EndReason.HOST_LOST))
    with PayoffWriter(tmp_path, read_log(tmp_path), {"a.b": 1}, 5) as writer:
        writer.add(2, matches(0))
    log = read_log(tmp_path)
    assert log.problems == ()
    assert [(one.number, one.setup_name, one.seed) for one in log.sessions.values()] == [(0, "", 0), (1, "a.b=1", 5)]
    assert log.matches.match.tolist() == [0, 3, 1, 0]
    assert log.matches.pool.tolist() == [0, 0, 0, 2]
    assert log.matches.result.tolist() == [0, 0, -1, 0]
    assert log.matches.turns.tolist() == [7] * 4
    assert log.counts(2).points.tolist() == [[0, 3], [0, 0]]
    assert log.counts(2).voided.tolist() == [[0, 1], [1, 0]]


def test_a_session_without_matches_leaves_nothing(tmp_path: Path):
    written(tmp_path)
    assert read_log(tmp_path).sessions == {}


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_an_incomplete_last_line_is_dropped_and_said_and_then_cut_off(cut: int, tmp_path: Path):
    written(tmp_path, matches(0, 1), matches(2, 3))
    file = tmp_path / LOG
    file.write_bytes(file.read_bytes()[:-cut])
    log = read_log(tmp_path)
    assert log.matches.match.tolist() == [0, 1]
    assert [problem.removeprefix(str(file)) for problem in log.problems] == [
        ": the last line is damaged, so its matches are dropped."
    ]
    written(tmp_path, matches(0))
    log = read_log(tmp_path)
    assert log.problems == ()
    assert log.matches.session.tolist() == [0, 0, 1]


def test_a_damaged_line_in_the_middle_loses_only_itself(tmp_path: Path):
    written(tmp_path, matches(0), matches(1), matches(2))
    file = tmp_path / LOG
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"match":[1]', b'"match":[9]')
    file.write_bytes(b"".join(lines))
    log = read_log(tmp_path)
    assert log.matches.match.tolist() == [0, 2]
    assert "line 3 is damaged" in log.problems[0]


def test_a_match_that_is_there_twice_counts_once(tmp_path: Path):
    written(tmp_path, matches(0), matches(1))
    file = tmp_path / LOG
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines, lines[-1]]))
    log = read_log(tmp_path)
    assert log.matches.match.tolist() == [0, 1]
    assert "1 matches are there twice" in log.problems[0]


def test_every_cut_of_a_log_keeps_all_lines_before_it(tmp_path: Path):
    written(tmp_path, *(matches(number) for number in range(20)))
    whole = (tmp_path / LOG).read_bytes()
    ends = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8) == ord("\n"))[1:]
    for cut in np.random.default_rng(0).integers(0, len(whole), 20):
        (tmp_path / LOG).write_bytes(whole[:cut])
        assert len(read_log(tmp_path).matches) == (ends < cut).sum()
