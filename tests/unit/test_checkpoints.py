"""A checkpoint is valid or skipped with a warning, and what it holds comes back bit for bit."""

import json
import logging
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from nemesis.storage import checkpoints
from nemesis.storage.checkpoints import (
    CheckpointError,
    checkpoint_of,
    load_checkpoint,
    newest_valid,
    prune,
    save_checkpoint,
)
from nemesis.storage.random_states import capture_random_states, restore_random_states
from nemesis.storage.state_tree import flatten_state, unflatten_state

torch.set_num_threads(1)

CONFIG = {"seed": 3, "learner": {"name": "rnad"}}


def save(root: Path, update: int) -> Path:
    return save_checkpoint(root, update, {"weights": {"w": torch.full((64,), float(update))}}, {"n": update}, CONFIG)


def updates(root: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("update-")) for path in root.iterdir())


def flip_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def same(left: object, right: object) -> bool:
    """Equal in value and type, all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def through_disk(root: Path, state: object) -> object:
    tensors, tree = flatten_state(state)
    path = save_checkpoint(root, 1, {"weights": {}, "optimiser": tensors}, {"tree": tree}, {})
    loaded = load_checkpoint(path)
    return unflatten_state(loaded.tensors("optimiser"), loaded.state["tree"])


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path):
    weights = {"a": torch.randn(3, 4), "b": torch.arange(5, dtype=torch.int16), "flag": torch.tensor(True)}
    state = {"decisions": 2**60, "rate": 0.1 + 0.2, "best": None}
    path = save_checkpoint(tmp_path, 100, {"weights": weights, "learner": {}}, state, CONFIG)
    loaded = load_checkpoint(path)
    assert path == tmp_path / "update-00000100"
    assert (loaded.update, loaded.state, loaded.config) == (100, state, CONFIG)
    assert same(dict(sorted(loaded.tensors("weights").items())), weights)
    assert loaded.tensors("learner") == {}


def test_a_folder_can_be_moved_and_is_complete_in_open_formats(tmp_path):
    moved = save(tmp_path / "run", 7).rename(tmp_path / "elsewhere")
    assert load_checkpoint(moved).update == 7
    assert {file.name for file in moved.iterdir()} == {
        "weights.safetensors",
        "state.json",
        "config.yaml",
        "manifest.json",
    }
    assert yaml.safe_load((moved / "config.yaml").read_text()) == CONFIG
    assert set(json.loads((moved / "manifest.json").read_text())["files"]) == {
        "weights.safetensors",
        "state.json",
        "config.yaml",
    }


def test_views_and_shared_tensors_can_be_saved(tmp_path):
    table = torch.arange(12.0).reshape(3, 4)
    group = {"whole": table, "same": table, "transposed": table.T, "row": table[1], "empty": torch.empty(0, 4)}
    group["parameter"] = torch.nn.Parameter(table)
    loaded = load_checkpoint(save_checkpoint(tmp_path, 1, {"weights": group}, {}, {})).tensors("weights")
    assert all(torch.equal(loaded[name], tensor) for name, tensor in group.items())


def test_loaded_tensors_outlive_the_checkpoint(tmp_path):
    save(tmp_path, 1)
    loaded = newest_valid(tmp_path)[0]
    tensors = loaded.tensors("weights")
    save(tmp_path, 2)
    prune(tmp_path, keep_last=1, keep_every=0)
    assert torch.equal(tensors["w"], torch.ones(64))
    with pytest.raises(CheckpointError, match="pruned"):
        loaded.tensors("weights")


@pytest.mark.parametrize("file", ["weights.safetensors", "state.json", "config.yaml", "manifest.json"])
@pytest.mark.parametrize("damage", [flip_byte, truncate, Path.unlink])
def test_a_damaged_checkpoint_is_skipped_loudly(tmp_path, caplog, file, damage):
    save(tmp_path, 100)
    damage(save(tmp_path, 200) / file)
    with caplog.at_level(logging.WARNING):
        loaded, skipped = newest_valid(tmp_path)
    assert loaded.update == 100
    assert len(skipped) == 1
    assert "update-00000200" in skipped[0]
    assert skipped[0] in caplog.text


def test_a_checkpoint_cut_off_while_being_written_is_never_seen(tmp_path):
    save(tmp_path, 100)
    (tmp_path / ".tmp-update-00000200").mkdir()
    (tmp_path / ".tmp-update-00000200" / "weights.safetensors").write_bytes(b"half")
    loaded, skipped = newest_valid(tmp_path)
    assert (loaded.update, skipped) == (100, [])
    save(tmp_path, 200)
    assert newest_valid(tmp_path)[0].update == 200


def test_a_write_that_fails_leaves_the_previous_checkpoint_and_says_so(tmp_path, monkeypatch):
    def full_disk(path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    save(tmp_path, 100)
    monkeypatch.setattr(checkpoints, "sync", full_disk)
    with pytest.raises(CheckpointError, match="No space left"):
        save(tmp_path, 200)
    assert updates(tmp_path) == [100]


def test_when_all_are_damaged_nothing_starts_from_scratch(tmp_path):
    for update in (100, 200):
        flip_byte(save(tmp_path, update) / "weights.safetensors")
    with pytest.raises(CheckpointError, match=r"None of the 2 checkpoints .* start a new run with `nemesis train"):
        newest_valid(tmp_path)


def test_when_there_is_none_nothing_starts_from_scratch(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint"):
        newest_valid(tmp_path / "never-made")


def test_a_file_that_the_manifest_does_not_list_is_not_read(tmp_path):
    path = save(tmp_path, 1)
    (path / "optimiser.safetensors").write_bytes((path / "weights.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="no tensors called optimiser"):
        load_checkpoint(path).tensors("optimiser")


def test_a_manifest_cannot_point_outside_its_folder(tmp_path):
    path = save(tmp_path, 1)
    (path / "weights.safetensors").rename(tmp_path / "weights.safetensors")
    manifest = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(manifest.replace('"weights.safetensors"', '"../weights.safetensors"'))
    with pytest.raises(CheckpointError):
        load_checkpoint(path)


def test_a_format_of_the_future_is_refused(tmp_path):
    path = save(tmp_path, 1)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(CheckpointError, match="format 99"):
        load_checkpoint(path)


def test_pruning_keeps_the_last_and_every_mth_and_clears_leftovers(tmp_path):
    for update in range(10, 101, 10):
        save(tmp_path, update)
    (tmp_path / ".tmp-update-00000110").mkdir()
    prune(tmp_path, keep_last=2, keep_every=40)
    assert updates(tmp_path) == [40, 80, 90, 100]
    prune(tmp_path, keep_last=1, keep_every=0)
    assert updates(tmp_path) == [100]


def test_checkpoints_saved_in_between_do_not_push_out_those_of_the_interval(tmp_path):
    for update in (10, 20, 23, 30, 37, 39):
        save(tmp_path, update)
    prune(tmp_path, keep_last=2, keep_every=0, interval=10)
    assert updates(tmp_path) == [20, 30, 39]
    prune(tmp_path, keep_last=2, keep_every=0, interval=100)  # a longer interval: there is none of it yet
    assert updates(tmp_path) == [30, 39]


def test_a_checkpoint_of_a_chosen_update_is_found_and_an_unknown_one_lists_what_there_is(tmp_path):
    for update in (0, 20, 100):
        save(tmp_path, update)
    assert checkpoint_of(tmp_path, 20).update == 20
    with pytest.raises(CheckpointError, match=r"no checkpoint of update 21 in .*; there are: 0, 20, 100\."):
        checkpoint_of(tmp_path, 21)


def test_a_kill_while_a_checkpoint_is_replaced_leaves_the_one_before(tmp_path, monkeypatch):
    target, rename = save(tmp_path, 100), Path.rename

    def killed(path: Path, new: Path) -> Path:
        if new == target:
            raise KeyboardInterrupt  # not an error that saving handles
        return rename(path, new)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 100)
    assert not target.exists()
    assert newest_valid(tmp_path)[0].update == 100
    prune(tmp_path, keep_last=1, keep_every=0)
    assert newest_valid(tmp_path)[0].update == 100
    save(tmp_path, 100)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_saving_again_replaces_a_damaged_checkpoint_of_the_same_update(tmp_path):
    flip_byte(save(tmp_path, 100) / "state.json")
    save(tmp_path, 100)
    assert load_checkpoint(tmp_path / "update-00000100").update == 100
    assert updates(tmp_path) == [100]


def test_damaged_checkpoints_ahead_of_a_resumed_run_never_push_out_its_good_ones(tmp_path, caplog):
    save(tmp_path, 100)
    for update in (200, 300):
        flip_byte(save(tmp_path, update) / "weights.safetensors")
    with caplog.at_level(logging.WARNING):
        save(tmp_path, 110)
    prune(tmp_path, keep_last=2, keep_every=0)
    assert updates(tmp_path) == [100, 110]
    assert "update-00000300" in caplog.text


def test_an_optimiser_comes_back_bit_for_bit(tmp_path):
    def network_and_optimiser() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        network = torch.nn.Linear(5, 3)
        groups = [{"params": [network.weight], "lr": 0.1 + 0.2}, {"params": [network.bias], "weight_decay": 0.0}]
        return network, torch.optim.AdamW(groups, lr=1e-3)

    def step(network: torch.nn.Module, optimiser: torch.optim.Optimizer) -> None:
        optimiser.zero_grad()
        network(torch.linspace(0, 1, 5)).square().sum().backward()
        optimiser.step()

    network, optimiser = network_and_optimiser()
    step(network, optimiser)
    restored = through_disk(tmp_path, optimiser.state_dict())
    assert same(restored, optimiser.state_dict())

    twin, twin_optimiser = network_and_optimiser()
    twin.load_state_dict(network.state_dict())
    twin_optimiser.load_state_dict(restored)
    step(network, optimiser)
    step(twin, twin_optimiser)
    assert same(dict(twin.state_dict()), dict(network.state_dict()))


def test_a_gradient_scaler_comes_back_bit_for_bit(tmp_path):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale(torch.tensor(1.0))
    assert scaler.state_dict()["scale"] == 1024.0
    assert same(through_disk(tmp_path, scaler.state_dict()), scaler.state_dict())


def test_a_nested_state_keeps_every_type(tmp_path):
    state = {0: (1, 2.5, True), "0": [None, "x", {}], "t": {0: torch.tensor(1), "0": torch.tensor(2.0)}}
    state["far"] = [float("inf"), -float("inf"), 1e-320, -0.0]
    assert same(through_disk(tmp_path, state), state)
    assert np.isnan(through_disk(tmp_path, float("nan")))


def test_a_state_that_only_pickle_could_hold_is_refused():
    with pytest.raises(TypeError, match=r"a set at param_groups/0"):
        flatten_state({"param_groups": [{1, 2}]})


def test_random_generators_continue_exactly(tmp_path):
    def draw() -> list[float]:
        # An odd number of normal draws leaves half of a pair in the generators' own caches.
        values = [random.random(), random.gauss(0, 1), float(np.random.rand()), float(np.random.randn())]  # noqa: NPY002
        return values + torch.rand(3).tolist() + torch.randn(3).tolist()

    draw()
    tensors, scalars = capture_random_states()
    path = save_checkpoint(tmp_path, 1, {"weights": {}, "random": tensors}, {"random": scalars}, {})
    expected = [draw(), draw()]
    loaded = load_checkpoint(path)
    restore_random_states(loaded.tensors("random"), loaded.state["random"])
    assert [draw(), draw()] == expected
