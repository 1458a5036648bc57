"""The presets of the exact games, in full: minutes each, so they run by name (`pytest tests/learning -m slow`)."""

import json
from pathlib import Path

import pytest

from nemesis.cli import main

# What one run of a preset must end at, with room for an unlucky seed.
BOUNDS = {"kuhn": 0.03, "leduc": 0.45, "liars_dice": 0.1, "goofspiel": 0.12}


@pytest.mark.slow
@pytest.mark.parametrize("preset", BOUNDS)
def test_a_preset_ends_near_an_equilibrium(preset: str, tmp_path: Path):
    run, result = tmp_path / "run", tmp_path / "result.json"
    assert main(["train", preset, "--run", str(run)]) == 0
    assert main(["evaluate", str(run), "--json", str(result)]) == 0
    assert json.loads(result.read_text())["nash_conv_average"] <= BOUNDS[preset]
