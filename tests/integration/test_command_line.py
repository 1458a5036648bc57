"""The command line: what it prints, how it exits, and that the user's mistakes never show a traceback."""

import json
import os
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import IO

import pytest
import yaml

from nemesis.cli import COMMANDS, main
from nemesis.core.commands import Command
from nemesis.core.plugins import import_attribute
from nemesis.games import families
from nemesis.presets import preset_names

SMALL = ["collection.slots=16", "collection.decisions=64", "policy.size=nano"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run of three updates."""
    folder = tmp_path / "run"
    assert main(["train", "kuhn", *SMALL, "updates=3", "--run", str(folder)]) == 0
    return folder


def nemesis(
    *arguments: str, output: IO[str] | int = subprocess.PIPE, **environment: str
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "import sys; from nemesis.cli import main; sys.exit(main())", *arguments]
    environment = os.environ | environment
    return subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, env=environment, check=False)


def complaint(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail because of its user, and return what it says."""
    assert main(list(arguments)) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) <= 2
    return captured.err.strip()


def test_help_is_short_and_names_every_command():
    result = nemesis("--help")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) <= 24  # of a terminal
    for command in ("train", "resume", "evaluate", "config", "doctor", "--version", "--install-completion"):
        assert command in result.stdout


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], {"cyclopts", "numpy", "pydantic", "rich", "torch"}),
        (["config"], {"cyclopts", "numpy", "pydantic", "rich", "torch"}),
        (["train", "--help"], {"numpy", "pydantic", "torch"}),
        (["train", "kuhn", "learner.gama=0.9"], {"numpy", "rich", "torch"}),
    ],
)
def test_an_answer_does_not_wait_for_imports_that_it_does_not_need(arguments: list[str], unneeded: set[str]):
    script = "import sys; from nemesis.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert unneeded & set(result.stderr.splitlines()[-1].split()) == set()


@pytest.mark.parametrize("arguments", [[], ["data"], ["replays"], ["config"], ["teams"]])
def test_a_list_of_commands_names_each_and_says_what_its_own_help_says(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
):
    assert main([*arguments, "--help"]) == 0
    box = [line for line in capfd.readouterr().out.splitlines() if line[0:1] in ("╭", "│", "╰")]
    assert {len(line) for line in box} == {80}
    entries = [*COMMANDS, *(group for family in families().values() for group in family.commands)]
    for word in arguments:
        (entries,) = (entry.commands for entry in entries if entry.name == word)
    names = [line.split()[1] for line in box[1:-1] if line[2] not in " -"]
    assert names == [entry.name for entry in entries]
    for entry in entries:
        if isinstance(entry, Command):
            assert import_attribute(entry.function).__doc__.splitlines()[0] == entry.summary


def test_help_needs_no_terminal_that_can_show_every_letter():
    result = nemesis("teams", "--help", PYTHONIOENCODING="ascii")
    assert "+- Commands ---" in result.stdout
    assert "| check  Check teams" in result.stdout


def test_help_of_train_lists_its_arguments(capfd: pytest.CaptureFixture[str]):
    assert main(["train", "--help"]) == 0
    text = capfd.readouterr().out
    assert "nemesis train PRESET [KEY=VALUE ...]" in text
    assert "--dry-run" in text
    assert len(text.splitlines()) <= 20


def test_version(capfd: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capfd.readouterr().out)


def test_completion_installs_and_completes_commands(tmp_path: Path):
    result = nemesis("--install-completion", "--shell", "bash", HOME=str(tmp_path))
    assert result.returncode == 0
    (script,) = tmp_path.rglob("completions/nemesis")
    ask = f"source {script}; COMP_WORDS=(nemesis ev); COMP_CWORD=1; _nemesis; echo $COMPREPLY"
    answer = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "evaluate"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["trian", "kuhn"], 'Unknown command "trian". Did you mean "train"?'),
        (["train"], "PRESET requires an argument"),
        (["train", "kuhn", "--runs", "x"], "Unknown option: --runs. Did you mean --run?"),
        (["evaluate", "x", "--matches", "0"], "matches must be a whole number of at least 2, not 0."),
        (["train", "khun"], "khun is not a preset. Did you mean kuhn?"),
        (["train", "mine.yaml"], "There is no file mine.yaml."),
        (["train", "kuhn", "updates", "--dry-run"], '"updates" is not an override.'),
        (
            ["train", "kuhn", "learner.learning_rat=1"],
            "learner.learning_rat is not a setting. Did you mean learner.learning_rate?",
        ),
        (["config", "show", "kuhn", "updates=0"], "updates must be a whole number of at least 1, not 0."),
        (["config", "fields", "nothing"], "No setting starts with nothing."),
        (["resume", "nowhere"], "nowhere"),
        (["evaluate", "nowhere", "--json", "figures.json"], "nowhere"),
        (
            ["evaluate", "nowhere", "--json", "no/such/file"],
            "no/such/file cannot be written: No such file or directory.",
        ),
        (["evaluate", "nowhere", "--json", "."], ". cannot be written: Is a directory."),
        (["evaluate", "nowhere", "--seed", "-1"], "--seed must be a whole number of at least 0, not -1."),
        (["evaluate", "random", "greedy"], "Name the game with --game FAMILY:GAME"),
        (["evaluate", "random", "bald", "--game", "pokemon:gen1ou"], "has no opponent called 'bald'"),
        (["evaluate", "random", "random", "--game", "pokemon:gen1ou"], "random is given twice"),
        (["evaluate", "random", "poke-env:RandomPlayer", "--game", "openspiel:kuhn_poker"], "plays Pokémon battles"),
        (["evaluate", "nowhere", "--replays", "-1"], "--replays must be a whole number of at least 0, not -1."),
        (["config", "show", "kuhn", "game=openspiel:khun_poker"], "kuhn_poker"),
        (
            ["config", "show", "kuhn", "game=chess"],
            "'chess' names no game. A game is written as family:game, for example openspiel:leduc_poker or pokemon:",
        ),
        (["train", "kuhn", "updates=1", "updates=2"], "updates is given twice; give it once."),
        (["train", "kuhn", "learner.gamma=0.9"], "learner.gamma is called learner.discount here"),
        (
            ["train", "kuhn", "pokemon.turn_limit=20"],
            "pokemon.turn_limit has no effect on openspiel:kuhn_poker; leave it out.",
        ),
        (["train", "kuhn", "game_settings.a=1"], "game_settings are for games that are named as module:attribute"),
        (["train", "kuhn", "collection.inference=central"], "set collection.actors to the number of processes"),
        (
            ["collect", "random", "--game", "openspiel:kuhn_poker", "--last", "--out", "x"],
            "--last is for runs and checkpoints, and none of the players is one; leave it out.",
        ),
        (
            ["collect", "random", "--game", "openspiel:kuhn_poker", "--top-p", "0.5", "--out", "x"],
            "--temperature and --top-p are for policies, and none of the players is one; leave them out.",
        ),
        (["replays", "import", "x", "--out", "y", "--json", "no/file"], "no/file cannot be written: No such file or"),
        (["exploit", "nowhere", "exploiter.updates=5"], "has no effect on `nemesis exploit`; set updates."),
        (["train", "kuhn", "reward.kind=dense"], "openspiel:kuhn_poker has none; use reward.kind=sparse, or"),
        (["train", "kuhn", "evaluation.opponents=greedy"], "has no opponent called 'greedy'. It has random. "),
    ],
)
def test_a_mistake_gets_a_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert sentence in complaint(capfd, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_reaches_the_exit_code_of_the_process():
    result = nemesis("train", "kuhn", "learner.algorithm=pppo")
    assert result.returncode == 2
    assert result.stdout == ""
    status, sentence = result.stderr.splitlines()
    assert status == "Reading the settings of kuhn …"
    assert sentence.startswith("learner.algorithm must be one of ppo, rnad, portfolio")


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_listed_and_valid(preset: str, capfd: pytest.CaptureFixture[str]):
    assert main(["config", "list"]) == 0
    assert re.search(rf"^{preset} +\w.*$", capfd.readouterr().out, re.MULTILINE)
    assert main(["config", "show", preset]) == 0
    assert re.match(r"# policy: [\d,]+ parameters\n", capfd.readouterr().out)


def test_what_config_show_prints_is_a_preset_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["config", "show", "kuhn", "learner.learning_rate=3e-4", "updates=7"]) == 0
    shown = capfd.readouterr().out
    assert yaml.safe_load(shown)["updates"] == 7
    (tmp_path / "mine.yaml").write_text(shown)
    assert main(["config", "show", str(tmp_path / "mine.yaml")]) == 0
    assert capfd.readouterr().out == shown


def test_config_fields_lists_ranges_and_defaults(capfd: pytest.CaptureFixture[str]):
    assert main(["config", "fields", "learner."]) == 0
    text = capfd.readouterr().out
    assert "learner.algorithm: one of ppo, rnad, portfolio, bc, offline, module:attribute;" in text
    assert "\ncollection" not in text


def test_config_schema_is_json(capfd: pytest.CaptureFixture[str]):
    assert main(["config", "schema"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert "learner" in schema["properties"]


def test_a_closed_pipe_is_no_error():
    command = (
        f"{sys.executable} -c 'import sys; from nemesis.cli import main; sys.exit(main())' config schema | head -1"
    )
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout == "{\n"
    assert result.stderr == ""


@pytest.mark.parametrize("arguments", [["config", "schema"], ["config", "list"], ["--help"]])
def test_an_output_that_cannot_be_written_is_said(arguments: list[str]):
    with Path("/dev/full").open("w") as full:
        result = nemesis(*arguments, output=full)
    assert result.stderr == "The standard output cannot be written: No space left on device.\n"
    assert result.returncode == 2


def test_a_letter_that_the_output_lacks_is_replaced():
    result = nemesis("config", "fields", "learner.learning_rate", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "learner.learning_rate" in result.stdout
    assert "?" in result.stdout


def test_doctor_reports_versions_and_finds_nothing_missing(capfd: pytest.CaptureFixture[str]):
    assert main(["doctor"]) == 0
    text = capfd.readouterr().out
    for word in ("python", "cores", "memory", "accelerators", "TensorBoard", "torch", "open_spiel"):
        assert word in text


def test_a_dry_run_prints_the_config_and_writes_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "leduc", "--dry-run", "policy.memory=lstm"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("# policy: ")
    assert yaml.safe_load(text)["policy"]["memory"] == "lstm"
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_named_after_its_preset_unless_it_gets_a_name(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "kuhn", *SMALL, "updates=1"]) == 0
    (folder,) = Path("runs").iterdir()
    assert re.fullmatch(r"kuhn-\d{8}-\d{6}", folder.name)


def test_train_then_evaluate_then_resume(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "figures.json"
    assert main(["evaluate", str(run), "--json", str(file)]) == 0
    assert "NashConv" in capfd.readouterr().out
    assert main(["evaluate", str(run), "--matches", "50"]) == 2
    assert "is measured exactly, without matches; leave out --matches" in capfd.readouterr().err
    recorded = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert json.loads(file.read_text())["nash_conv_average"] == pytest.approx(recorded["evaluation/nash_conv_average"])
    assert main(["resume", str(run), "updates=5"]) == 0
    assert main(["evaluate", str(run), "--json", str(file)]) == 0
    assert json.loads(file.read_text())["update"] == 5


def test_several_players_meet_and_are_rated(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "figures.json"
    checkpoint = max((run / "checkpoints").iterdir())
    players = [str(run), str(checkpoint), "random"]
    assert main(["evaluate", *players, "--matches", "20", "--json", str(file)]) == 0
    text = capfd.readouterr().out
    for name in players:
        assert f"rating of {name} " in text
    figures = json.loads(file.read_text())
    assert [(pair["first"], pair["second"]) for pair in figures["pairs"]] == list(combinations(players, 2))
    assert {pair["matches"] for pair in figures["pairs"]} == {20}
    assert {rating["name"] for rating in figures["ratings"]} == set(players)


def test_a_run_is_never_overwritten(run: Path, capfd: pytest.CaptureFixture[str]):
    capfd.readouterr()
    assert str(run) in complaint(capfd, "train", "kuhn", *SMALL, "updates=3", "--run", str(run))
