"""Pokémon benchmarks: every figure is measured, and the soak test detects what it is meant to."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.peers.pokemon_peer import SETTINGS
from benchmarks.pokemon_soak import SAMPLES, Sample, check, memory_growth, soak
from benchmarks.pokemon_speed import Budget, measure, open_pool, random_actions
from benchmarks.report import MeasurementError
from nemesis.core.game import EndReason
from nemesis.core.masks import pack_mask


def test_all_figures_of_a_format_are_measured():
    figures = measure("gen1ou", Budget(alone=0.5, warm_up=0.5, seconds=1, settings=2), seed=0)
    assert figures["nemesis"] == max(figures["one_host"], figures["two_hosts"])
    assert figures["ratio"] == pytest.approx(figures["nemesis"] / figures["poke_env"])
    assert figures["scaling"] == pytest.approx(figures["two_hosts"] / figures["one_host"])
    assert figures["overlay_gain"] == pytest.approx(figures["overlaid_alone"] / figures["stock_alone"])
    assert figures["share_of_limit"] == pytest.approx(figures["one_host"] / figures["overlaid_alone"])
    by_setting = figures["poke_env_by_setting"]
    assert set(by_setting) == {str(setting) for setting in SETTINGS[:2]}
    assert max(by_setting, key=by_setting.get) == figures["poke_env_best_with"]
    assert by_setting[figures["poke_env_best_with"]] == figures["poke_env"]
    assert figures["nemesis_voided"] == 0
    assert sum(figures["costs"].values()) == pytest.approx(1)
    assert all(share > 0 for share in figures["costs"].values())
    assert 50 < figures["host_memory_mb"] < 3000  # of the process of the tests: native battles are in it


def test_random_actions_are_legal_and_uniform():
    mask = np.zeros((4000, 7), dtype=np.bool_)
    mask[:, [1, 4, 6]] = True
    mask[::2, 4] = False
    actions = random_actions(pack_mask(mask), np.random.default_rng(0))
    assert mask[np.arange(len(mask)), actions].all()
    assert np.bincount(actions[1::2], minlength=7)[[1, 4, 6]] == pytest.approx(2000 / 3, abs=100)
    assert np.bincount(actions[::2], minlength=7)[[1, 6]] == pytest.approx(1000, abs=100)


def test_soak_samples_memory_and_end_reasons():
    pool = open_pool("gen1randombattle", hosts=2, slots=8, seed=0)
    processes = 1 + len(pool.host_pids)
    try:
        samples, reasons = soak(pool, battles=SAMPLES, seed=0)
    finally:
        pool.close()
    assert len(samples) == SAMPLES
    assert samples[-1].battles == reasons.total() >= SAMPLES
    assert set(reasons) <= {EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT}
    assert all(len(sample.memory) == processes and min(sample.memory) > 20 for sample in samples)


def test_soak_accepts_flat_memory_and_rejects_growth():
    flat = [Sample(number, number, 1.0, (100.0 + 10 * min(number, 10), 200.0)) for number in range(SAMPLES)]
    check(memory_growth(flat), Counter({EndReason.PLAYED: 1}), kept_hosts=True)
    growing = [Sample(number, number, 1.0, (100.0, 200.0 + 4 * number)) for number in range(SAMPLES)]
    with pytest.raises(MeasurementError, match="host 1"):
        check(memory_growth(growing), Counter({EndReason.PLAYED: 1}), kept_hosts=True)


def test_soak_rejects_voided_battles_and_lost_hosts():
    with pytest.raises(MeasurementError, match="2 by simulator failure"):
        check({"python": 0.0}, Counter({EndReason.SIMULATOR_FAILURE: 2, EndReason.TIE: 1}), kept_hosts=True)
    with pytest.raises(MeasurementError, match="host was lost"):
        check({"python": 0.0}, Counter({EndReason.PLAYED: 1}), kept_hosts=False)
