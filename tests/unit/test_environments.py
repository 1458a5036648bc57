"""What all environments share: illegal actions, settings, a package that is missing, and the documentation."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from duel import BREATH, Duel

from nemesis.core.errors import UserError
from nemesis.environments import aec_env, gymnasium_env, gymnasium_vector_env, parallel_env

torch.set_num_threads(1)

ROOT = Path(__file__).absolute().parent.parent.parent


def test_an_illegal_action_raises_and_changes_nothing() -> None:
    env = gymnasium_env(Duel())
    env.reset(seed=0)
    for action in (BREATH, -1, 4, 7):
        with pytest.raises(ValueError, match=f"Action {action} of environment 0 is not legal; choose one where"):
            env.step(action)
    env.step(0)
    aec, parallel = aec_env(Duel()), parallel_env(Duel())
    aec.reset()
    parallel.reset()
    with pytest.raises(ValueError, match="Action 3 of seat_0 is not legal"):
        aec.step(3)
    with pytest.raises(ValueError, match="Action None of seat_1 is not legal"):
        parallel.step({"seat_0": 0})
    with pytest.raises(UserError, match="illegal_action is one of raise, random, lose, not 'pass'"):
        gymnasium_env(Duel(), illegal_action="pass")


def test_an_illegal_action_can_be_replaced_by_a_random_one() -> None:
    env = gymnasium_env(Duel(), illegal_action="random")
    env.reset(seed=0)
    assert env.step(BREATH)[-1]["illegal_action"]
    aec = aec_env(Duel(), illegal_action="random")
    aec.reset(seed=0)
    aec.step(BREATH)
    assert aec.infos["seat_0"] == {"illegal_action": True}
    parallel = parallel_env(Duel(), illegal_action="random")
    parallel.reset(seed=0)
    *_, info = parallel.step({"seat_0": 0, "seat_1": BREATH})
    assert "illegal_action" in info["seat_1"]
    assert "illegal_action" not in info["seat_0"]


def test_an_illegal_action_can_lose_the_match() -> None:
    env = gymnasium_env("openspiel:leduc_poker", illegal_action="lose")
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)  # there is nothing to fold to
    assert (reward, terminated, truncated, info["end_reason"]) == (-13, True, False, "forfeit")
    _, info = env.reset()
    assert not env.step(int(info["action_mask"].argmax()))[2]
    aec = aec_env(Duel(), illegal_action="lose")
    aec.reset(seed=0)
    aec.step(0)
    aec.step(BREATH)
    assert aec.terminations == {"seat_0": True, "seat_1": True}
    assert aec.rewards == {"seat_0": 1, "seat_1": -1}
    parallel = parallel_env(Duel(), illegal_action="lose")
    parallel.reset(seed=0)
    _, reward, terminated, *_ = parallel.step({"seat_0": BREATH, "seat_1": 0})
    assert reward == {"seat_0": -1, "seat_1": 1}
    assert all(terminated.values())
    vector = gymnasium_vector_env(Duel(hosts=1), 2, illegal_action="lose")
    vector.reset(seed=0)
    rewards = np.zeros(2)
    for step in range(20):
        action = np.array([0, BREATH if step == 0 else 0])
        _, reward, terminated, _, info = vector.step(np.where(info["acting"], action, 0) if step else action)
        rewards += reward
        if terminated[1]:
            break
        assert not info["acting"][1]  # its match is played to the end without the agent
    assert rewards[1] == -1


def test_settings_of_the_family_are_checked() -> None:
    with pytest.raises(UserError, match="turn_limit"):
        aec_env("pokemon:gen1randombattle", settings={"turn_limit": 1})
    with pytest.raises(UserError, match="Settings belong to a game that is given by name"):
        aec_env(Duel(), settings={"turn_limit": 100})


def test_a_missing_package_is_named_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "nemesis.environments")
    with pytest.raises(UserError, match=r"needs pettingzoo, which is not installed; run `pip install"):
        importlib.import_module("nemesis.environments")


def test_the_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    script = ROOT / "examples" / "kuhn_reinforce.py"
    assert len(script.read_text().splitlines()) <= 60
    runpy.run_path(str(script))
    nash_conv = [float(value) for value in re.findall(r"NashConv ([\d.]+)", capsys.readouterr().out)]
    assert len(nash_conv) > 4
    assert nash_conv[-1] < nash_conv[0] / 2
