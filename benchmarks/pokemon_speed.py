"""How fast Pokémon battles are played at random, compared to poke-env and to the simulator alone.

Each side uses the whole machine, the same teams and uniformly random legal actions:
  poke-env    0.16.1 on a local Showdown server of the same npm package (peers/pokemon_peer.py); the fastest of several
              settings counts; battles are tracked, but no observation is built
  nemesis     our match pool with one or two hosts, the faster counts; every decision reaches Python as rows of
              arrays: the view record and the legal mask
A decision is one answer of one seat to one request. Speeds are per second of wall time, after a warm-up.

The limit is the simulator alone on one core, stock and overlaid, with nothing tracked, encoded or sent
(host/tools/speed.js, per CPU second of the simulator itself). The share of the limit is that of a pool with one host,
per second of wall time and per CPU second of that host. The costs are the parts of that host's wall time; `waiting` is
the time in which it waits for actions.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.memory import resident
from benchmarks.peers.pokemon_peer import SETTINGS, Speed, poke_env_speed
from benchmarks.report import (
    MeasurementError,
    Row,
    option_parser,
    print_table,
    progress,
    run,
    warn_if_busy,
    write_figures,
)
from nemesis.core.game import IntArray, MatchPool, is_counted
from nemesis.core.masks import PackedMask, unpack_mask
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.pool import BattlePool
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.games.pokemon.teams.team_sets import load_team_set

FORMATS = ("gen9vgc2025regi", "gen1ou", "gen9ou", "gen9randombattle", "gen9randomdoublesbattle")
HOSTS = (1, 2)
SLOTS = 64  # battles of a host
TURN_LIMIT = 1000  # that of the server
PARTS = ("simulate", "track", "encode", "transfer")


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each measurement takes, and how many of the peer's settings are tried."""

    alone: float  # seconds of the simulator alone
    warm_up: float  # seconds
    seconds: float
    settings: int


FULL = Budget(alone=15, warm_up=20, seconds=20, settings=len(SETTINGS))
QUICK = Budget(alone=2, warm_up=5, seconds=5, settings=1)


@dataclass(frozen=True, slots=True)
class PoolSpeed:
    """How fast a pool was, and what it cost."""

    speed: Speed
    per_host_second: float  # decisions per CPU second of the hosts
    memory: float  # peak resident megabytes of a host
    costs: dict[str, float]  # part → share of the hosts' time


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument(
        "--formats", nargs="+", metavar="FORMAT", help=f"what to measure (default: {' '.join(FORMATS)})"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    warn_if_busy()
    formats: Sequence[str] = options.formats or (FORMATS[:1] if options.quick else FORMATS)
    formats = [find_format(name).id for name in formats]
    figures = {name: measure(name, QUICK if options.quick else FULL, options.seed) for name in formats}
    print_table("Decisions per second, random play, the whole machine", [_peer_row(*pair) for pair in figures.items()])
    print_table("Decisions per second on one core, and the hosts", [_limit_row(*pair) for pair in figures.items()])
    print_table("Parts of a host's time, %", [_cost_row(*pair) for pair in figures.items()])
    if options.json:
        write_figures(options.json, {"formats": figures})


def measure(battle_format: str, budget: Budget, seed: int) -> dict[str, Any]:
    """Return all figures of a format."""
    teams = format_teams(battle_format)
    progress(f"{battle_format}: the simulator alone …")
    stock, overlaid = (_alone(battle_format, overlay, teams, budget.alone, seed) for overlay in (False, True))
    pools = []
    for hosts in HOSTS:
        progress(f"{battle_format}: a pool with {hosts} host{'s' * (hosts > 1)} …")
        pools.append(_pool_speed(battle_format, hosts, budget, seed))
    ours = max((pool.speed for pool in pools), key=lambda speed: speed.decisions)
    progress(f"{battle_format}: poke-env …")
    peers = poke_env_speed(battle_format, teams, SETTINGS[: budget.settings], budget.warm_up, budget.seconds)
    best_setting, peer = next(iter(peers.items()))
    return {
        "poke_env": peer.decisions,
        "nemesis": ours.decisions,
        "ratio": ours.decisions / peer.decisions,
        "overlay_gain": overlaid / stock,
        "share_of_limit": pools[0].speed.decisions / overlaid,
        "share_of_limit_per_cpu_second": pools[0].per_host_second / overlaid,
        "stock_alone": stock,
        "overlaid_alone": overlaid,
        "one_host": pools[0].speed.decisions,
        "two_hosts": pools[1].speed.decisions,
        "scaling": pools[1].speed.decisions / pools[0].speed.decisions,
        "host_memory_mb": max(pool.memory for pool in pools),
        "costs": pools[0].costs,
        "nemesis_battles": ours.battles,
        "nemesis_voided": sum(pool.speed.voided for pool in pools),
        "poke_env_battles": peer.battles,
        "poke_env_stalled": peer.voided,
        "poke_env_best_with": str(best_setting),
        "poke_env_by_setting": {str(setting): speed.decisions for setting, speed in peers.items()},
    }


def random_actions(packed: PackedMask, generator: np.random.Generator) -> IntArray:
    """Return a legal action (n,) for each row of the packed mask (n, byte), uniformly at random."""
    mask = unpack_mask(packed, 8 * packed.shape[1])
    legal = np.count_nonzero(mask, axis=1)
    chosen = np.floor(generator.random(len(mask)) * legal).astype(np.int64)
    first = np.cumsum(legal) - legal
    action: IntArray = np.flatnonzero(mask)[first + chosen] - np.arange(len(mask)) * mask.shape[1]
    return action


def open_pool(battle_format: str, hosts: int, slots: int, seed: int) -> BattlePool:
    """Return a pool of the format, with all its shipped teams."""
    settings = PokemonSettings(hosts=hosts, split="all", turn_limit=TURN_LIMIT)
    pool = PokemonGame(find_format(battle_format), settings).pool(slots, seed)
    assert isinstance(pool, BattlePool)  # noqa: S101
    return pool


def _pool_speed(battle_format: str, hosts: int, budget: Budget, seed: int) -> PoolSpeed:
    pool = open_pool(battle_format, hosts, hosts * SLOTS, seed)
    try:
        generator = np.random.default_rng(seed)
        _play(pool, generator, budget.warm_up)
        pids, costs = _processes(pool), _costs(pool)
        used = _cpu_seconds(pids)
        started = time.monotonic()
        decisions, battles, voided = _play(pool, generator, budget.seconds)
        spent = _costs(pool) - costs  # waits for steps in flight, as before the start
        elapsed = time.monotonic() - started
        if _processes(pool) != pids:
            raise MeasurementError(f"A host was lost while {battle_format} was measured.")
        used = _cpu_seconds(pids) - used
        shares = spent / (hosts * elapsed)
        return PoolSpeed(
            speed=Speed(decisions / elapsed, battles / elapsed, voided),
            per_host_second=decisions / used,
            memory=max(resident(pid, "VmHWM") for pid in pids),
            costs=dict(zip(PARTS, shares.tolist(), strict=True)) | {"waiting": 1 - float(shares.sum())},
        )
    finally:
        pool.close()


def _play(pool: MatchPool, generator: np.random.Generator, seconds: float) -> tuple[int, int, int]:
    """Play for some time; returns the decisions, the battles that count, and the voided ones."""
    decisions = battles = voided = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        waiting, ended = pool.recv()
        pool.send(random_actions(waiting.mask, generator))
        decisions += len(waiting)
        played = int(is_counted(ended.end_reason).sum())
        battles += played
        voided += len(ended) - played
    return decisions, battles, voided


def _costs(pool: BattlePool) -> npt.NDArray[np.float64]:
    """Return the seconds (part,) that the hosts spent on each part so far."""
    seconds: npt.NDArray[np.float64] = np.array([[host[part] for part in PARTS] for host in pool.costs()]).sum(axis=0)
    return seconds


def _processes(pool: BattlePool) -> list[int]:
    """Return the processes that simulate: the hosts, or this one with the native engine."""
    return pool.host_pids or [os.getpid()]


def _cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU time of processes so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK")


def format_teams(battle_format: str) -> Sequence[str]:
    """Return the shipped teams of a format, packed; none if the simulator generates them."""
    if find_format(battle_format).generated:
        return ()
    return load_team_set(battle_format, None, "all", WarmHosts("bundled").check_teams).packed


def _alone(battle_format: str, overlay: bool, teams: Sequence[str], seconds: float, seed: int) -> float:
    """Return the decisions per CPU second of a simulator that does nothing else."""
    node = find_node("bundled")
    command = [str(node.node), str(installed_host(node) / "tools" / "speed.js"), "--format", battle_format]
    shape = find_format(battle_format)
    command += ["--slots", str(shape.slots), "--brought", str(shape.brought)]
    command += ["--seconds", str(seconds), "--seed", str(seed), "--overlay", str(int(overlay))]
    with tempfile.TemporaryDirectory() as folder:
        if teams:
            file = Path(folder) / "teams.txt"
            file.write_text("\n".join(teams), encoding="utf-8")
            command += ["--teams", str(file)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise MeasurementError(f"The simulator alone could not be measured:\n{outcome.stderr.strip()}")
    return float(json.loads(outcome.stdout)["decisions_per_second"])


def _peer_row(battle_format: str, figures: Row) -> Row:
    names = (
        "poke_env",
        "nemesis",
        "ratio",
        "poke_env_battles",
        "nemesis_battles",
        "poke_env_stalled",
        "nemesis_voided",
        "poke_env_best_with",
    )
    return {"format": battle_format} | {name: figures[name] for name in names}


def _limit_row(battle_format: str, figures: Row) -> Row:
    names = (
        *("stock_alone", "overlaid_alone", "overlay_gain", "one_host", "share_of_limit"),
        *("share_of_limit_per_cpu_second", "two_hosts", "scaling", "host_memory_mb"),
    )
    return {"format": battle_format} | {name: figures[name] for name in names}


def _cost_row(battle_format: str, figures: Row) -> Row:
    return {"format": battle_format} | {part: 100 * share for part, share in figures["costs"].items()}


if __name__ == "__main__":
    run(main)
