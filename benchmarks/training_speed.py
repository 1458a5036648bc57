"""How fast a whole training loop runs, simulation, inference and learning together, compared to poke-env.

Both sides have the whole machine, the same teams, the same network and the same PPO, and learn in updates of the same
size:
  nemesis     a run as `nemesis train` makes it, in one process or with an actor beside the learner; the faster counts
  poke-env    0.16.1 on a local Showdown server of the same npm package: all waiting battles are decided in one call,
              and PPO learns from finished ones (peers/poke_env_trainer.py); the fastest of several settings counts
A decision is one answer of one seat to one request. Both sides learn only from battles that ended. `learner_waits` is
the share of wall time in which our learner had nothing to learn from. `--no-peer` measures our side alone.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.pokemon_peer import Setting, peer_rates
from benchmarks.pokemon_speed import format_teams
from benchmarks.report import (
    MeasurementError,
    option_parser,
    print_table,
    progress,
    run,
    warn_if_busy,
    write_figures,
)
from nemesis.core.config import build_config
from nemesis.games.pokemon.formats import find_format
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

FORMATS = ("gen9vgc2025regi", "gen1ou")
ACTORS = (0, 1)
SETTINGS = (Setting(1, 1, 50), Setting(2, 1, 100))
LOOP: dict[str, Any] = {
    "collection": {"slots": 128, "decisions": 4096, "staleness": 100},  # so that no decision is discarded
    "policy": {"width": 80, "layers": 2},
    "learner": {"algorithm": "ppo", "minibatch": 1024},
    "pokemon": {"split": "all", "turn_limit": 1000},
    "device": "cpu",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """How long each measurement takes."""

    warm_up: float  # seconds
    seconds: float
    decisions: int  # of an update


FULL = Budget(warm_up=30, seconds=60, decisions=4096)
QUICK = Budget(warm_up=3, seconds=8, decisions=512)


@dataclass(frozen=True, slots=True)
class LoopSpeed:
    """What a run did per second."""

    decisions: float
    battles: float
    updates: float
    learner_waits: float  # share of wall time


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument(
        "--formats", nargs="+", metavar="FORMAT", help=f"what to measure (default: {' '.join(FORMATS)})"
    )
    parser.add_argument("--no-peer", action="store_true", help="measure our loop only, not the one on poke-env")
    options = parser.parse_args()
    warn_if_busy()
    formats: Sequence[str] = options.formats or (FORMATS[:1] if options.quick else FORMATS)
    budget = QUICK if options.quick else FULL
    figures = {
        name: measure(find_format(name).id, budget, options.seed, with_peer=not options.no_peer) for name in formats
    }
    names = ("poke_env", "nemesis", "ratio", "learner_waits", "poke_env_battles", "nemesis_battles", "actors")
    print_table(
        "Decisions per second of a whole training loop",
        [{"format": name} | {key: row[key] for key in names if key in row} for name, row in figures.items()],
    )
    if options.json:
        write_figures(options.json, {"formats": figures})


def measure(battle_format: str, budget: Budget, seed: int, *, with_peer: bool) -> dict[str, Any]:
    """Return all figures of a format."""
    figures = _our_figures(battle_format, budget, seed)
    if with_peer:
        figures |= _peer_figures(battle_format, budget, seed)
        figures["ratio"] = figures["nemesis"] / figures["poke_env"]
    return figures


def loop_config(battle_format: str, actors: int, budget: Budget, seed: int) -> RunConfig:
    """Return the settings of the loop, which both sides share except for the actors."""
    collection = LOOP["collection"] | {"actors": actors, "decisions": budget.decisions}
    return build_config(RunConfig, LOOP | {"game": f"pokemon:{battle_format}", "seed": seed, "collection": collection})


def _our_figures(battle_format: str, budget: Budget, seed: int) -> dict[str, Any]:
    speeds: dict[int, LoopSpeed] = {}
    for actors in ACTORS:
        progress(f"{battle_format}: our loop with {actors or 'no'} actor beside the learner …")
        speeds[actors] = _loop_speed(loop_config(battle_format, actors, budget, seed), budget)
    actors, best = max(speeds.items(), key=lambda pair: pair[1].decisions)
    return {
        "nemesis": best.decisions,
        "learner_waits": best.learner_waits,
        "actors": actors,
        "nemesis_battles": best.battles,
        "nemesis_updates": best.updates,
        "nemesis_by_actors": {str(count): speed.decisions for count, speed in speeds.items()},
    }


def _peer_figures(battle_format: str, budget: Budget, seed: int) -> dict[str, Any]:
    progress(f"{battle_format}: the loop on poke-env …")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(loop_config(battle_format, 0, budget, seed).model_dump_json(), encoding="utf-8")
        rates = peer_rates(
            "benchmarks.peers.poke_env_trainer",
            [battle_format, str(file)],
            format_teams(battle_format),
            SETTINGS,
            budget.warm_up,
            budget.seconds,
        )
    peer = max(rates.values(), key=lambda rate: rate["decisions"])
    if not peer["learned"]:
        raise MeasurementError(f"The loop on poke-env completed no update in {budget.seconds:.0f} s.")
    return {
        "poke_env": peer["decisions"],
        "poke_env_battles": peer["battles"],
        "poke_env_learned": peer["learned"],
        "poke_env_by_setting": {str(setting): rate["decisions"] for setting, rate in rates.items()},
    }


def _loop_speed(config: RunConfig, budget: Budget) -> LoopSpeed:
    torch.set_num_threads(1)
    with closing(Run(config, Path("unused"))) as training:  # nothing is saved
        _step_for(training, budget.warm_up)
        decisions, matches = training.counts.decisions, training.counts.matches
        waited, update, started = training.clock.wait, training.update, time.monotonic()
        _step_for(training, budget.seconds)
        elapsed = time.monotonic() - started
        counts, clock = training.counts, training.clock
        return LoopSpeed(
            decisions=(counts.decisions - decisions) / elapsed,
            battles=(counts.matches - matches) / elapsed,
            updates=(training.update - update) / elapsed,
            learner_waits=(clock.wait - waited) / elapsed,
        )


def _step_for(training: Run, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        training.step()


if __name__ == "__main__":
    run(main)
