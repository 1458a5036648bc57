"""Files that are written through a temporary one: all of it or nothing, with the permissions of any new file."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from episodes import KUHN, opened

from nemesis.core.files import WriteError, replace_file
from nemesis.evaluation.replays import new_folder
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.hosts.replay_page import write_replay
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.checkpoints import save_checkpoint
from nemesis.storage.policy_files import save_policy

CONFIG = PolicyConfig(width=16, layers=1)


@pytest.fixture(params=[0o022, 0o007])
def permissions(request: pytest.FixtureRequest) -> Iterator[int]:
    """The permissions of a new file under a umask."""
    before = os.umask(request.param)
    yield 0o666 & ~request.param
    os.umask(before)


def write_policy(path: Path) -> None:
    game = opened(KUHN)
    save_policy(path, build_policy(game, CONFIG), CONFIG, game, {})


def test_files_have_the_permissions_that_the_umask_leaves(permissions: int, tmp_path: Path):
    write_policy(tmp_path / "members" / "policy.safetensors")
    save_checkpoint(tmp_path / "checkpoints", 1, {"weights": {"a": torch.zeros(2)}}, {}, {})
    replace_file(tmp_path / "text", "x")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert len(modes) == 6
    assert modes == dict.fromkeys(modes, permissions)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("file/policy", "file is not a folder"), ("folder", "Is a directory"), ("x" * 300, "File name too long")],
)
@pytest.mark.parametrize("write", [write_policy, lambda path: replace_file(path, "x")])
def test_what_cannot_be_written_is_said_in_a_sentence_and_leaves_nothing(tmp_path: Path, name: str, reason: str, write):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=rf"{name} cannot be written: .*{reason}\. Name another place, or free or"):
        write(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "file"}


def test_replays_go_into_a_folder_of_their_own(tmp_path: Path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "replay.html").write_text("")
    for name in ("file", "full"):
        assert new_folder(tmp_path / name) == tmp_path / f"{name}-2"
    with pytest.raises(WriteError, match=r"cannot be written: File name too long\."):
        new_folder(tmp_path / ("x" * 300))


def test_replays_that_cannot_be_saved_are_said_in_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"gen1ou-3\.html cannot be written: .*file is not a folder\."):
        write_replay(find_format("gen1ou"), ["|turn|1"], 3, tmp_path / "file", ("a", "b"))
