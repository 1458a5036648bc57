"""A run on real battles: it learns, is measured, goes on exactly after a stop, and leaves battles to watch."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from nemesis.cli import main
from nemesis.games.pokemon.teams import team_sets
from nemesis.storage.policies import find_policy

SETTINGS = [
    "game=pokemon:gen1randombattle",
    "updates=2",
    "collection.slots=4",
    "collection.decisions=100",
    "policy.size=nano",
    "policy.width=null",
    "policy.layers=null",
    "policy.memory=gru",
    "learner.minibatch=256",
    "reward.kind=hybrid",
    "evaluation.matches=2",
    "evaluation.weights=average",
    "checkpoints.interval=1",
    "tracking.tensorboard=false",
    "pokemon.hosts=2",
]
SHIPPED_SETS = Path(team_sets.__file__).with_name("sets")
END = Path("checkpoints", "update-00000002")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("pokemon") / "run"
    assert main(["train", "kuhn", *SETTINGS, "--run", str(run)]) == 0
    return run


def test_a_run_is_measured_against_every_scripted_opponent_and_voids_nothing(finished: Path):
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["collection/voided"] == 0
    assert lines[-1]["collection/ended/played"] > 0
    measured = {name for name in lines[-1] if name.startswith("evaluation/win_rate_against_")}
    assert measured == {f"evaluation/win_rate_against_{name}_average" for name in ("random", "max_power", "greedy")}


@pytest.mark.parametrize("engine", ["native", "showdown"])
def test_battles_in_flight_go_on_exactly_on_either_engine(finished: Path, engine: str, tmp_path: Path):
    other = Path(shutil.copytree(finished, tmp_path / "run"))
    shutil.rmtree(other / END)
    assert main(["resume", str(other), f"pokemon.engine={engine}"]) == 0
    for name in ("weights", "average", "optimiser", "learner", "source", "random"):
        one, two = ((run / END / f"{name}.safetensors").read_bytes() for run in (finished, other))
        assert one == two, name


def test_a_curriculum_goes_from_one_team_to_a_set_of_teams(tmp_path: Path):
    team = Path(shutil.copy(SHIPPED_SETS / "gen1ou" / "jolteon-lead.txt", tmp_path))
    one_team = {"pokemon": {"teams": str(team), "held_out": 0}}
    stages = {
        "one_team": {"settings": one_team, "advance": {"win_rate": 0.1, "rating": None}, "evaluations": 1},
        "shipped_teams": {"settings": {}},
    }
    overrides = [f"curriculum.stages={json.dumps(stages)}", "game=pokemon:gen1ou", "updates=1", "pokemon.hosts=1"]
    overrides += ["evaluation.opponents=random", "evaluation.matches=2", "pokemon.turn_limit=10"]
    run = tmp_path / "run"
    assert main(["train", "kuhn", *_without(SETTINGS, overrides), *overrides, "--run", str(run)]) == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["evaluation/win_rate"] >= 0.1
    assert lines[-1]["curriculum/stage"] == 2
    assert lines[-1]["collection/voided"] == 0
    config = find_policy(run).training_config()
    assert config["pokemon"]["teams"] != str(team)


def _without(settings: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return settings that others do not change."""
    changed = {one.partition("=")[0] for one in others}
    return [one for one in settings if one.partition("=")[0] not in changed]


def test_battles_are_saved_to_watch(finished: Path, capfd: pytest.CaptureFixture[str]):
    assert len(list((finished / "replays").rglob("*.html"))) >= 1
    options = ["--matches", "2", "--opponent", "max_power", "--replays", "1"]
    assert main(["evaluate", str(finished), *options]) == 0
    text = capfd.readouterr().out
    assert "against max_power, averaged weights" in text
    (path,) = re.findall(r"^replay +(.*)$", text, re.MULTILINE)
    assert "max_power" in Path(path).read_text()
