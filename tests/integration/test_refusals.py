"""Commands refuse wrong inputs at once: what does not need a policy is checked before torch is imported."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.games.config import GameConfig
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy

KUHN = "openspiel:kuhn_poker"
STAGES = 'curriculum.stages={"one": {"settings": {}}, "two": {"settings": {}}}'
DRIVERS = ("random", "idle", "--game", "rocket_league:1v1")
SMALL = ["collection.slots=16", "collection.decisions=64", "policy.size=nano", "tracking.tensorboard=false"]

# Runs commands in turn. Torch must be in none of them, so one process is enough for all.
SCRIPT = """
import contextlib, ctypes, importlib.util, io, json, os, sys
from nemesis.cli import main

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "wandb" else find_spec(name, *rest)  # not installed

if os.geteuid() == 0:  # without its capabilities, root may write only where permissions allow it
    version_3, own_process = 0x20080522, 0
    assert ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(version_3, own_process), (ctypes.c_uint32 * 6)()) == 0

for arguments in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(arguments)
    print(json.dumps([code, said.getvalue(), "torch" in sys.modules]), flush=True)
"""

REFUSED = [
    (["train", "kuhn", "--run", "run"], "run already has a run; continue it with `nemesis resume run`"),
    (["train", "kuhn", "game=openspiel:khun_poker"], "Did you mean kuhn_poker?"),
    (["train", "kuhn", "evaluation.opponents=greedy"], "openspiel:kuhn_poker has no opponent called 'greedy'."),
    (["train", "kuhn", "evaluation.anchors.bald=9"], "openspiel:kuhn_poker has no opponent called 'bald'."),
    (["train", "kuhn", "reward.kind=dense"], "reward.kind=dense needs reward components or potentials, and"),
    (["train", "gen1ou", "reward.weights.mp=1", "--dry-run"], "reward.weights.mp is not a reward of pokemon:gen1ou"),
    (["train", "kuhn", STAGES], "Stage one of the curriculum: openspiel:kuhn_poker is measured exactly"),
    (["train", "kuhn", "game=openspiel:goofspiel", STAGES], "Stage one of the curriculum: advance.rating=1400 needs"),
    (["train", "kuhn", "learner.algorithm=bc"], "name one by data.sources=FOLDER."),
    (["train", "kuhn", "tracking.wandb=true"], "tracking.wandb=true needs a package that is not installed"),
    (["train", "kuhn", "policy.init=nowhere"], "There is no run in nowhere"),
    (["train", "kuhn", "opponents.shares.cloned=1", "opponents.cloned=nobody.safetensors"], "There is no policy at"),
    (["train", "kuhn", "evaluation.matches=100"], "evaluation.matches has no effect on openspiel:kuhn_poker, which is"),
    (["train", "kuhn", "exploiter.updates=5"], "exploiter.updates has no effect without exploiters; set exploiter."),
    (["train", "kuhn", "data.buffer=5"], "data.buffer has no effect without a dataset; name one by data.sources=F"),
    (["train", "kuhn", "--dry-run", "--run", "run"], "run already has a run"),
    (["exploit", "run", "opponents.cloned=run"], "has no effect on `nemesis exploit` with exploiter.start=target;"),
    (["evaluate", "run", "random", "--folder", "new"], "--folder is for matches that are saved; say with --replays"),
    (["evaluate", "run", "--replays", "1"], "Matches of openspiel:kuhn_poker cannot be saved as replays."),
    (["evaluate", "run", "random", "--replays", "1"], "Matches of openspiel:kuhn_poker cannot be saved as replays."),
    (["config", "show", "kuhn", "game=openspiel:khun_poker"], "Did you mean kuhn_poker?"),
    (["exploit", "run", "evaluation.opponents=greedy"], "has no opponent called 'greedy'."),
    (["resume", "nowhere"], "There is no run in nowhere"),
    (["resume", "run", "learner.clip=0.1"], "learner.clip cannot change when a run is resumed"),
    (["resume", "run"], "run has finished its 1 updates; add some with `nemesis resume run updates=2`."),
    (["resume", "run", "--checkpoint", "0"], "--checkpoint 0 would discard what run learned later"),
    (["resume", "run", "--checkpoint", "7", "--run", "new"], "There is no checkpoint of update 7"),
    (["resume", "run", "updates=2", "--run", "dataset"], "dataset contains files but no run; choose another --run."),
    (["evaluate", "nowhere"], "There is no run in nowhere"),
    (["evaluate", "nothing.safetensors"], "There is no policy at nothing.safetensors."),
    (["evaluate", "broken.safetensors"], "is not a policy file of Nemesis, or it is damaged"),
    (["evaluate", "shipped:nobody"], "There is no shipped:nobody."),
    (["evaluate", "run", "--matches", "50"], "is measured exactly, without matches"),
    (["evaluate", "run", "nothing/here"], "There is no run in nothing/here"),
    (["evaluate", "run", "bald"], "has no opponent called 'bald'"),
    (["evaluate", "run", "random", "--ensemble", "9"], "valid checkpoints, and 9 were asked for"),
    (["evaluate", "run", "random", "--ensemble", "0"], "--ensemble must be a whole number of at least 1, not 0."),
    (["evaluate", "run", "random", "--temperature", "-1"], "The temperature must be a number of at least 0, not -1.0."),
    (["evaluate", "run", "random", "pokemon.turn_limit=20"], "pokemon.turn_limit has no effect on"),
    (["evaluate", "policy.safetensors", "--opponent", "bald"], "has no opponent called 'bald'"),
    (["evaluate", "run", "poke-env:RandomPlayer"], "plays Pokémon battles"),
    (["evaluate", "random", "bald", "--game", "pokemon:gen1ou"], "has no opponent called 'bald'"),
    (["evaluate", "random", "--game", "openspiel:khun_poker", "greedy"], "Did you mean kuhn_poker?"),
    (["evaluate", "random", "greedy", "--game", KUHN, "--ensemble", "2"], "--ensemble is for runs"),
    (["watch", "nowhere"], "There is no run in nowhere"),
    (["watch", "run", "--opponent", "bald"], "has no opponent called 'bald'"),
    (["watch", "run", "--port", "65536"], "--port must be below 65536, not 65536."),
    (["exploit", "nowhere"], "There is no run in nowhere"),
    (["exploit", "run", "learner.gamma=0.9"], "learner.gamma is called learner.discount here"),
    (["exploit", "run", "updates=0"], "updates must be a whole number of at least 1, not 0."),
    (["exploit", "run", "exploiter.updates=5"], "has no effect on `nemesis exploit`; set updates."),
    (["exploit", "run", "--run", "run"], "run already has a run"),
    (["export", "nowhere", "new.safetensors"], "There is no run in nowhere"),
    (["export", "run", "policy.safetensors"], "policy.safetensors already exists; name a new file"),
    (["export", "onnx", "run", "new"], "cannot be exported as onnx or, without a format, as a policy file."),
    (["export", "rlbot", "run", "new"], "openspiel:kuhn_poker cannot be exported as rlbot"),
    (["export", "run"], "nemesis export [FORMAT] POLICY FILE"),
    (["export", "run", "new.safetensors", "--top-p", "2"], "top_p must be a number above 0 and at most 1"),
    (["export", "policy.safetensors", "new.safetensors", "--last"], "--last is for runs and checkpoints"),
    (["collect", "nowhere/x", "--out", "new"], "There is no run in nowhere/x"),
    (["collect", "run", "bald", "--out", "new"], "has no opponent called 'bald'"),
    (["collect", "random", "--out", "new"], "Name the game with --game"),
    (["collect", "run", "--out", "dataset"], "dataset already has a dataset; continue it with --add"),
    (["collect", "run", "--out", "run"], "run has files that are not part of a dataset"),
    (["collect", "run", "--out", "policy.safetensors"], "policy.safetensors cannot be written to (Not a directory)"),
    (["collect", "random", "poke-env:RandomPlayer", "--game", "pokemon:gen1ou", "--out", "new"], "cannot be recorded"),
    (["replays", "import", "nowhere", "--out", "new"], "nowhere"),
    (["replays", "import", "broken.safetensors", "--out", "new"], "broken.safetensors"),
    (["replays", "import", "log.json", "--out", "new", "--format", "gen99ou"], "gen99ou"),
    (["replays", "import", "log.json", "--out", "dataset"], "dataset"),
    (["replays", "import", "log.json", "--out", "new", "--family", "openspiel"], "openspiel has no public replays"),
    (["data", "show", "nowhere"], "There is no dataset in nowhere"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, a policy file, a dataset, a file that is none of these, and a replay."""
    folder = tmp_path_factory.mktemp("refusals")
    assert main(["train", "kuhn", *SMALL, "updates=1", "--run", str(folder / "run")]) == 0
    assert main(["export", str(folder / "run"), str(folder / "policy.safetensors")]) == 0
    assert main(["collect", "random", "--game", KUHN, "--matches", "2", "--out", str(folder / "dataset")]) == 0
    (folder / "broken.safetensors").write_text("nonsense")
    game, config = build_config(GameConfig, {"game": "rocket_league:1v1"}), PolicyConfig(width=16, layers=1)
    about = {"config": game.model_dump(mode="json")}
    opened = game.open_game()
    save_policy(folder / "driver.safetensors", build_policy(opened, config), config, opened, about)
    log = {"id": "gen1ou-1", "format": "[Gen 1] OU", "log": "|player|p1|a||\n|tier|[Gen 1] OU\n|win|a"}
    (folder / "log.json").write_text(json.dumps(log))
    return folder


Answer: TypeAlias = tuple[int, str, bool]
"""The exit code of a command, what it said, and whether torch was imported."""


def answers_to(commands: Sequence[Sequence[str]], cwd: Path, within: Sequence[str] = ()) -> dict[str, Answer]:
    """Run commands in turn, in a process that is started by another command if wanted."""
    result = subprocess.run(
        [*within, sys.executable, "-c", SCRIPT],
        input=json.dumps(commands),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    return {str(command): json.loads(line) for command, line in zip(commands, said, strict=True)}


@pytest.fixture(scope="module")
def answers(folder: Path) -> Iterator[dict[str, Answer]]:
    before = sorted(folder.rglob("*"))
    yield answers_to([arguments for arguments, _ in REFUSED], folder)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_a_wrong_input_is_refused_without_torch(arguments: list[str], sentence: str, answers):
    code, said, torch = answers[str(arguments)]
    assert code == 2
    assert sentence in said
    assert "Traceback" not in said
    assert not torch


def in_read_only_folder(target: Path) -> list[str]:
    target.mkdir(mode=0o555)
    return []


def in_read_only_file_system(target: Path) -> list[str]:
    """Mount one there, in a namespace of its own, so that it is gone with the process."""
    target.mkdir()
    if not shutil.which("unshare") or subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        pytest.skip("this machine has no user namespaces")
    return ["unshare", "-Urm", "sh", "-c", f'mount -t tmpfs -o ro none "{target}" && exec "$0" "$@"']


@pytest.mark.parametrize(
    ("read_only", "reason"),
    [(in_read_only_folder, "Permission denied"), (in_read_only_file_system, "Read-only file system")],
)
def test_where_nothing_can_be_written_commands_say_so(folder: Path, tmp_path: Path, read_only, reason: str):
    target = tmp_path / "target"
    within = read_only(target)
    refused = {
        ("export", "run", f"{target}/policy.safetensors"): f"{target}/policy.safetensors cannot be written: {reason}.",
        ("export", "run", f"{target}/new/policy.safetensors"): f"cannot be written: {reason}.",
        ("train", "kuhn", *SMALL, "--run", f"{target}/run"): f"{target}/run cannot be a run directory ({reason})",
        ("exploit", "run", "--run", f"{target}/run"): f"{target}/run cannot be a run directory ({reason})",
        ("resume", "run", "updates=2", "--run", f"{target}/run"): reason,
        ("evaluate", "run", "--json", f"{target}/x.json"): f"{target}/x.json cannot be written: {reason}.",
        ("evaluate", *DRIVERS, "--replays", "1", "--folder", f"{target}/saved"): f"cannot be written: {reason}.",
        ("export", "rlbot", "driver.safetensors", f"{target}/bot"): f"{target}/bot",
        ("collect", "run", "--out", f"{target}/data"): f"{target}/data cannot be written to ({reason})",
        ("replays", "import", "log.json", "--out", f"{target}/data"): f"{target}/data cannot be written to ({reason})",
    }
    said = answers_to([list(command) for command in refused], folder, within)
    for command, sentence in refused.items():
        code, text, _ = said[str(list(command))]
        assert code == 2, text
        assert sentence in text
        assert "Traceback" not in text
    assert list(target.iterdir()) == []
