"""How fast Rocket League is simulated and learned, compared to RLGym and to RocketSim alone.

Environments, on one core, in agent-steps (decisions of one car) per CPU second, with random play from kick-offs:
  rocketsim   arenas that are stepped with controls, and nothing else: the limit
  rlgym       RLGym 2.0.1's environment (peers/rlgym_environment.py): default observation, combined reward
  nemesis     our match pool, with views and dense rewards
Whole loops, simulation, inference and learning together, on the whole machine, in agent-steps per second of wall time:
  rlgym       the same network and the same PPO on RLGym's environment (peers/rlgym_trainer.py); the fastest of several
              settings counts
  nemesis     a run as `nemesis train` makes it, but in self-play only, as the others, and without evaluations; in one
              process or with an actor beside the learner; the faster counts
  rlgym-ppo   with `--peer PATH`, a folder with that package: its own network and PPO of about the same size
Each side has its turn, several times; figures are medians, and a ratio is the median of the ratios of the turns.
`ticks` are physics ticks per second.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np
import torch

from benchmarks.peers.rlgym_environment import ACTION_REPEAT, TOUCH_SECONDS, check_installed, make_environment
from benchmarks.peers.rlgym_loops import Loop, OurLoop, PeerLoop, PeerSetting, loop_config, rlgym_ppo_speed
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
from nemesis.core.game import SIDES
from nemesis.games.rocket_league.actions import ACTIONS
from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes
from nemesis.games.rocket_league.arena.rocketsim import controls_by_action, rocketsim
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.settings import RocketLeagueSettings, StartsConfig
from nemesis.policies.build import build_policy
from nemesis.policies.policy import parameter_count

SIZES = {"1v1": 1, "3v3": 3}
SLOTS = 64
TICKS = 120  # per second of the game
TARGET_TICKS = 25  # physics ticks/s that the specification asks for
MOST_MEMORY = 400  # megabytes of a process with 64 arenas of 3v3
ACTORS = (1, 0)
SETTINGS = (PeerSetting(2, 16, 1), PeerSetting(2, 16, 2), PeerSetting(2, 32, 2), PeerSetting(2, 64, 2))


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each measurement takes."""

    turns: int
    steps: int  # of our pool in a turn
    loop_turns: int
    warm_up: float  # seconds of a loop before each of its turns
    seconds: float
    settings: int  # of the loop on RLGym that are tried
    actors: int  # of our loop that are tried


FULL = Budget(turns=9, steps=150, loop_turns=3, warm_up=8, seconds=20, settings=len(SETTINGS), actors=len(ACTORS))
QUICK = Budget(turns=3, steps=20, loop_turns=1, warm_up=1, seconds=3, settings=1, actors=1)


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--no-loops", action="store_true", help="measure environments only")
    parser.add_argument("--peer", metavar="PATH", help="also measure rlgym-ppo, from a folder that has this package")
    options = parser.parse_args()
    torch.set_num_threads(1)
    check_installed()
    warn_if_busy()
    budget = QUICK if options.quick else FULL
    figures: dict[str, Any] = {"environments": {}, "loops": {}}
    for name, size in SIZES.items():
        progress(f"{name}: environments …")
        figures["environments"][name] = measure_environments(size, budget, options.seed)
    figures["memory_mb"] = pool_memory()
    if not options.no_loops:
        figures["loops"] = measure_loops(budget, options.seed, options.peer)
    _print(figures)
    if options.json:
        write_figures(options.json, figures)


def measure_environments(size: int, budget: Budget, seed: int) -> dict[str, float]:
    """Return the speed of one core with so many cars a side."""
    use_meshes(find_meshes())  # the same for all, if RLGym is installed
    sides: dict[str, Player] = {
        "rocketsim": RawArenas(size, seed),
        "rlgym": RLGymEnvironment(size, seed),
        "nemesis": OurPool(size, seed),
    }
    # The turns of all sides take about as long.
    steps = {"rocketsim": budget.steps, "rlgym": max(1, SLOTS * budget.steps // 4), "nemesis": budget.steps}
    for name, player in sides.items():
        player.play(max(1, steps[name] // 10))
    turns = [{name: _speed(player, steps[name]) for name, player in sides.items()} for _ in range(budget.turns)]
    speeds = {name: median(turn[name] for turn in turns) for name in sides}
    return speeds | {
        "ratio": median(turn["nemesis"] / turn["rlgym"] for turn in turns),
        "share_of_rocketsim": median(turn["nemesis"] / turn["rocketsim"] for turn in turns),
        "ticks": speeds["nemesis"] / (SIDES * size) * ACTION_REPEAT,
        "target_ticks": TARGET_TICKS,
    }


class Player(Protocol):
    """Plays at random."""

    def play(self, steps: int) -> int:
        """Play some steps; returns the agent-steps."""
        ...


class RawArenas:
    """Arenas of RocketSim that are stepped with controls only; kick-offs as often as untouched balls truncate."""

    def __init__(self, size: int, seed: int) -> None:
        module = rocketsim()
        self._arenas = []
        for _ in range(SLOTS):
            arena = module.Arena(module.GameMode.SOCCAR)
            self._arenas.append((arena, [arena.add_car(seat % SIDES) for seat in range(SIDES * size)]))
            arena.reset_kickoff(seed)
        self._controls = controls_by_action()
        self._generator = np.random.default_rng(seed)
        self._steps = 0

    def play(self, steps: int) -> int:
        controls, cars = self._controls, len(self._arenas[0][1])
        for _ in range(steps):
            self._steps += 1
            actions = self._generator.integers(0, len(ACTIONS), (len(self._arenas), cars)).tolist()
            for (arena, own), chosen in zip(self._arenas, actions, strict=True):
                for car, action in zip(own, chosen, strict=True):
                    car.set_controls(controls[action])
                arena.step(ACTION_REPEAT)
                if self._steps % int(TOUCH_SECONDS * TICKS / ACTION_REPEAT) == 0:
                    arena.reset_kickoff(self._steps)
        return steps * len(self._arenas) * cars


class RLGymEnvironment:
    """RLGym's environment, stepped as its users do."""

    def __init__(self, size: int, seed: int) -> None:
        self._environment = make_environment(size)
        self._generator = np.random.default_rng(seed)
        self._environment.reset()

    def play(self, steps: int) -> int:
        environment, played = self._environment, 0
        for _ in range(steps):
            agents = environment.agents
            actions = self._generator.integers(0, len(ACTIONS), len(agents))
            chosen = {agent: actions[at : at + 1] for at, agent in enumerate(agents)}
            _, _, terminated, truncated = environment.step(chosen)
            played += len(agents)
            if any(terminated.values()) or any(truncated.values()):
                environment.reset()
        return played


class OurPool:
    """Our match pool."""

    def __init__(self, size: int, seed: int) -> None:
        starts = StartsConfig(kickoff=1, ground=0, air=0, wall=0)
        self._pool = open_game(f"{size}v{size}", RocketLeagueSettings(starts=starts)).pool(SLOTS, seed)
        self._generator = np.random.default_rng(seed)

    def play(self, steps: int) -> int:
        played = 0
        for _ in range(steps):
            waiting, _ = self._pool.recv()
            self._pool.send(self._generator.integers(0, len(ACTIONS), len(waiting)))
            played += len(waiting)
        return played


def measure_loops(budget: Budget, seed: int, peer: str | None) -> dict[str, Any]:
    """Return the speed of whole loops of 1v1."""
    config = loop_config(ACTORS[0], seed)
    figures: dict[str, Any] = {"parameters": parameter_count(build_policy(config.open_game(), config.policy))}
    if peer is not None:
        progress("rlgym-ppo …")
        figures["rlgym_ppo"] = rlgym_ppo_speed(peer, config, budget.seconds)
    opened: dict[str, Callable[[], Loop]] = {}
    for actors in ACTORS[: budget.actors]:
        opened[f"nemesis, actors: {actors}"] = lambda actors=actors: OurLoop(loop_config(actors, seed))  # type: ignore[misc]
    for setting in SETTINGS[: budget.settings]:
        opened[f"rlgym, {setting}"] = lambda setting=setting: PeerLoop(config, setting)  # type: ignore[misc]
    turns: list[dict[str, float]] = []
    with ExitStack() as stack:
        loops = {name: stack.enter_context(open_loop()) for name, open_loop in opened.items()}
        for number in range(budget.loop_turns):
            turns.append({})
            for name, loop in loops.items():
                progress(f"1v1, whole loop, turn {number + 1} of {budget.loop_turns}: {name} …")
                turns[-1][name] = loop.speed(budget.warm_up, budget.seconds)
    return figures | compare_loops(turns)


def compare_loops(turns: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the best of our loops and of those on RLGym, by their medians over the turns, and their ratio."""
    medians = {name: median(turn[name] for turn in turns) for name in turns[0]}
    ours, theirs = (
        max((name for name in medians if name.startswith(side)), key=medians.__getitem__)
        for side in ("nemesis", "rlgym")
    )
    return {
        "nemesis": medians[ours],
        "rlgym": medians[theirs],
        "ratio": median(turn[ours] / turn[theirs] for turn in turns),
        "nemesis_best_with": ours,
        "rlgym_best_with": theirs,
        "by_setting": medians,
    }


def pool_memory() -> float:
    """Return the peak resident megabytes of a process with 64 arenas of 3v3."""
    code = (
        "import numpy as np; from nemesis.games.rocket_league.game import open_game; "
        f"pool = open_game('3v3').pool({SLOTS}, 0)\n"
        "for _ in range(20): pool.send(np.zeros(len(pool.recv()[0]), dtype=np.int64))\n"
        "print(open('/proc/self/status').read())"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    for line in outcome.stdout.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise MeasurementError(f"The memory of a pool could not be measured: {outcome.stderr.strip() or 'no VmHWM'}.")


def _speed(player: Player, steps: int) -> float:
    """Return agent-steps per CPU second of this process."""
    started = time.process_time()
    played = player.play(steps)
    return played / (time.process_time() - started)


def _print(figures: Mapping[str, Any]) -> None:
    environments: list[Row] = [{"game": name} | row for name, row in figures["environments"].items()]
    print_table("Agent-steps per CPU second of one core, random play", environments)
    print(f"A process with {SLOTS} arenas of 3v3 needs {figures['memory_mb']:.0f} MB (goal: below {MOST_MEMORY}).")
    if loops := figures["loops"]:
        shown = ("rlgym_ppo", "rlgym", "nemesis", "ratio", "parameters", "rlgym_best_with", "nemesis_best_with")
        row = {name: loops[name] for name in shown if name in loops}
        print_table(f"Agent-steps per second of a whole training loop of 1v1, {os.cpu_count()} cores", [row])
        print_table("By setting", [{"loop": name, "agent_steps": speed} for name, speed in loops["by_setting"].items()])


if __name__ == "__main__":
    run(main)
