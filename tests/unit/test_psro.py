"""PSRO on games with known answers: exact and learned responses, a population of matches, and going on after a kill."""

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import Duel, register
from rich.console import Console

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.core.game import IntArray
from nemesis.play.pairings import Pairing, PlayerSource
from nemesis.population.league import open_league
from nemesis.population.psro import computed, learned, sampled
from nemesis.population.psro.config import PSROConfig, continued_config, psro_config, response_config
from nemesis.population.psro.learned import opponents_of
from nemesis.population.psro.loop import run_psro
from nemesis.population.psro.results import Results
from nemesis.population.psro.sampled import POPULATION
from nemesis.population.psro.state import STATE, PSROMember, PSROState
from nemesis.population.store import payoff_log
from nemesis.population.store.payoff_log import LOG, read_log
from nemesis.presets import load_preset
from nemesis.training.run import Run

torch.set_num_threads(1)

QUIET = Console(file=StringIO())
DUEL = {
    "game": "duel:plain",
    "collection": {"slots": 24, "decisions": 300},
    "policy": {"width": 16, "layers": 1},
    "exploiter": {"learner": {"learning_rate": 0.03}},
    "tracking": {"tensorboard": False},
}
QUICK = ("updates=2", "matches=20", "iterations=2")


class KilledError(Exception):
    """Stands for the end of the process."""


def exact(*overrides: str, game: str = "kuhn") -> PSROConfig:
    longest = [] if any(one.startswith("iterations=") for one in overrides) else ["iterations=50"]
    return psro_config(load_preset(game), ["best_response=exact", *longest, *overrides])


def psro(config: PSROConfig, folder: Path, said: list[str] | None = None) -> Results:
    return run_psro(config, folder, (said if said is not None else []).append, QUIET)


def matches_of(folder: Path) -> IntArray:
    """Return the matches of each pair in a PSRO's log."""
    members = len(PSROState.load(folder).members)
    return read_log(folder / POPULATION).counts(members).matches


@pytest.fixture
def duel(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Duel())


def test_exact_responses_find_an_equilibrium_of_kuhn_poker(tmp_path: Path):
    said: list[str] = []
    results = psro(exact("nash_conv=1e-6"), tmp_path / "psro", said)
    chosen = results.iterations[results.chosen]
    assert chosen.exact is not None
    assert chosen.exact <= 1e-6
    assert len(results.iterations) < 15
    first = results.iterations[0]
    assert first.exact == pytest.approx(0.9167, abs=1e-4)  # of random play
    assert first.to_response is not None
    assert first.to_response.value == pytest.approx(first.exact)  # an exact best response gains all of it
    # The value of the game, −1/18 for side 0, is what the mixtures earn.
    assert chosen.row @ results.payoff @ chosen.column == pytest.approx(-1 / 18, abs=1e-6)
    assert said[0].startswith("Iteration 1: a mixture of 1 of 1 members loses")


@pytest.mark.parametrize("solver", ["uniform", "regret_matching", "rectified_nash"])
def test_every_solver_lowers_the_nash_conv_of_kuhn_poker(tmp_path: Path, solver: str):
    results = psro(exact(f"solver={solver}", "iterations=6"), tmp_path / "psro")
    values = [one.exact for one in results.iterations if one.exact is not None]
    assert min(values) < 0.5 < values[0]


def test_learned_responses_lower_the_nash_conv_of_kuhn_poker(tmp_path: Path):
    settings = [
        "iterations=3",
        "updates=40",
        "training.learner.learning_rate=5e-3",
        "training.learner.entropy_weight=0.01",
        "training.collection.slots=512",
        "training.collection.decisions=2048",
        "training.tracking.tensorboard=false",
    ]
    results = psro(psro_config(load_preset("kuhn"), settings), tmp_path / "psro")
    values = [one.exact for one in results.iterations if one.exact is not None]
    assert values[0] == pytest.approx(0.9167, abs=1e-4)
    assert values[-1] < 0.45
    for one in results.iterations[:-1]:
        assert one.to_response is not None
        assert one.exact is not None
        assert 0.8 * one.exact < one.to_response.value <= one.exact + 1e-6
    np.testing.assert_array_equal(results.payoff, -results.payoff.T)


def test_an_anytime_result_is_the_least_exploitable_mixture(tmp_path: Path):
    results = psro(exact("iterations=3", "anytime=true", game="leduc"), tmp_path / "psro")
    values = [one.exact for one in results.iterations if one.exact is not None]
    assert values[-1] > min(values)  # Leduc poker gets worse at first
    assert results.chosen == values.index(min(values))


@pytest.mark.usefixtures("duel")
def test_a_population_of_matches_grows_by_policies_that_beat_it(tmp_path: Path):
    config = psro_config(DUEL, ["updates=25", "matches=200", "iterations=1", "population=timid"])
    results = psro(config, tmp_path / "psro")
    assert results.names == ["timid", "response-1"]
    gain = results.iterations[0].to_response
    assert gain is not None
    assert gain.low > 0.5  # of at most 2
    assert results.iterations[0].to_population == gain
    assert results.mixture == {"response-1": 1.0}
    np.testing.assert_array_equal(matches_of(tmp_path / "psro"), [[0, 200], [200, 0]])


@pytest.mark.usefixtures("duel")
def test_a_part_of_the_matches_is_uniform_over_the_members_of_the_mixture(tmp_path: Path):
    members = [PSROMember(name, "scripted", None, 0, name) for name in ("random", "timid", "bold")]
    config, state = psro_config(DUEL, ["alpha=0.5"]), PSROState(tmp_path, members)
    shares = opponents_of(config, state, np.array([0.8, 0.2, 0.0]))
    assert shares == pytest.approx({"random": 0.65, "timid": 0.35})
    run = response_config(config, 1, shares, None)
    assert open_league(run, Duel(), tmp_path).pairings.pairings == tuple(
        Pairing(PlayerSource("learning", "main"), PlayerSource("scripted", name), share)
        for name, share in shares.items()
    )


@pytest.mark.usefixtures("duel")
def test_a_larger_number_of_iterations_goes_on_where_it_ended(tmp_path: Path):
    folder = tmp_path / "psro"
    psro(psro_config(DUEL, [*QUICK[:2], "iterations=1"]), folder)
    lines = (folder / POPULATION / LOG).read_text()
    results = psro(psro_config(DUEL, QUICK), folder)
    assert results.names[-2:] == ["response-1", "response-2"]
    assert (folder / POPULATION / LOG).read_text().startswith(lines)
    np.testing.assert_array_equal(matches_of(folder), 20 * (1 - np.eye(5)))


@pytest.mark.parametrize("moment", range(8))
@pytest.mark.usefixtures("duel")
def test_psro_goes_on_after_a_kill_in_any_step(moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each piece of work is killed once, before or after it: matches, training, saving a member or the state."""
    folder, config = tmp_path / "psro", psro_config(DUEL, QUICK)
    module, name, killed_before = [
        (sampled, "play_population", True),
        (payoff_log.PayoffWriter, "add", True),
        (payoff_log.PayoffWriter, "add", False),
        (learned, "train", True),
        (learned, "train", False),
        (learned, "save_policy", True),
        (learned, "save_policy", False),
        (PSROState, "save", False),
    ][moment]
    calls, original = [0], getattr(module, name)

    def killed(*arguments: object, **named: object) -> object:
        calls[0] += 1
        last = calls[0] == (2 if name != "save" else 5)
        if last and killed_before:
            raise KilledError
        result = original(*arguments, **named)
        if last:
            raise KilledError
        return result

    with monkeypatch.context() as patch:
        patch.setattr(module, name, killed)
        with pytest.raises(KilledError):
            psro(config, folder)
    results = psro(config, folder)
    assert results.names == ["random", "timid", "bold", "response-1", "response-2"]
    missing = 20 * (1 - np.eye(5)) - matches_of(folder)
    assert set(missing.ravel().tolist()) <= {0, -1}  # matches come in pairs, so one may be played besides a lost one
    assert [one.response for one in PSROState.load(folder).iterations] == ["response-1", "response-2", None]


@pytest.mark.usefixtures("duel")
def test_a_killed_training_is_resumed_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, config = tmp_path / "psro", psro_config(DUEL, ["updates=6", "matches=4", "training.checkpoints.interval=2"])
    step, steps = Run.step, []

    def killed(run: Run) -> dict[str, float]:
        if run.update == 5 and not steps:
            steps.append(run.update)
            raise KeyboardInterrupt
        return step(run)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "step", killed)
        with pytest.raises(KeyboardInterrupt):
            psro(config, folder)
    done: list[int] = []

    def counted(run: Run) -> dict[str, float]:
        done.append(run.update)
        return step(run)

    monkeypatch.setattr(Run, "step", counted)
    psro(psro_config(DUEL, ["updates=6", "matches=4", "training.checkpoints.interval=2", "iterations=1"]), folder)
    assert done == [4, 5]


@pytest.mark.usefixtures("duel")
def test_psro_ends_when_best_responses_gain_nothing(tmp_path: Path):
    """Nothing beats a policy that is trained for no longer than it takes to begin: the gain's interval has zero."""
    said: list[str] = []
    settings = ["population=bold", "updates=1", "matches=20", "iterations=9", "patience=1"]
    results = psro(psro_config(DUEL, settings), tmp_path / "psro", said)
    assert len(results.iterations) == 2
    assert "gained nothing" in results.ended


def test_an_exact_psro_gives_the_same_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = psro(exact("nash_conv=1e-6"), tmp_path / "whole")
    respond, calls = computed.ComputedMetaGame.respond, [0]

    def killed(*arguments: object) -> object:
        calls[0] += 1
        if calls[0] == 4:
            raise KilledError
        return respond(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(computed.ComputedMetaGame, "respond", killed)
        with pytest.raises(KilledError):
            psro(exact("nash_conv=1e-6"), tmp_path / "killed")
    assert psro(exact("nash_conv=1e-6"), tmp_path / "killed").as_json() == whole.as_json()


def test_the_report_is_one_page_without_links(tmp_path: Path):
    results = psro(exact("iterations=3"), tmp_path / "psro")
    page = (tmp_path / "psro" / "report.html").read_text()
    assert page.count("<svg") == 3
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    report = json.loads((tmp_path / "psro" / "report.json").read_text())
    assert report["mixture"] == pytest.approx(results.mixture)
    assert len(report["iterations"]) == 4
    assert report["members"] == ["random", "response-1", "response-2", "response-3"]


def test_the_command_starts_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = str(tmp_path / "psro")
    assert main(["psro", "kuhn", "best_response=exact", "iterations=2", "--run", folder]) == 0
    assert "Iteration 2: " in capsys.readouterr().out
    assert main(["psro", "kuhn", "--run", folder]) == 2
    assert f"continue it with `nemesis psro {folder}`" in capsys.readouterr().err
    assert main(["psro", folder, "iterations=3"]) == 0
    printed = capsys.readouterr().out
    assert "Iteration 3: " in printed
    assert "Iteration 2: " not in printed
    assert main(["psro", folder, "solver=uniform"]) == 2
    assert "solver cannot change when PSRO goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.updates=5", "training.updates has no effect on `nemesis psro`; set updates."),
        ("training.opponents.past_interval=5", "name the first members with population."),
        ("learner.clip=0.1", "learner.clip is a setting of the best responses' runs; write training.learner.clip."),
        ("collection.slots=8", "write training.collection.slots."),
    ],
)
def test_a_setting_without_effect_is_refused(override: str, sentence: str):
    with pytest.raises(UserError) as caught:
        psro_config(load_preset("kuhn"), [override])
    assert str(caught.value).endswith(sentence)


@pytest.mark.usefixtures("duel")
def test_what_cannot_be_computed_is_refused_in_a_sentence(tmp_path: Path):
    with pytest.raises(UserError, match=r"duel:plain is too large for exact best responses; set best_response=learned"):
        psro(psro_config(DUEL, ["best_response=exact"]), tmp_path / "psro")
    assert not (tmp_path / "psro" / STATE).exists()
    with pytest.raises(UserError, match="no opponent called 'nobody'"):
        psro(psro_config(DUEL, ["population=nobody"]), tmp_path / "psro")


def test_settings_that_may_change_do():
    config = exact()
    assert continued_config(config.model_dump(mode="json"), ["iterations=70", "patience=2"]).iterations == 70
    with pytest.raises(UserError, match=r"training\.learner\.clip cannot change"):
        continued_config(config.model_dump(mode="json"), ["training.learner.clip=0.1"])
