"""How long a bot of RLBot thinks: CPU milliseconds from a packet of the game to the inputs of a car.

    python -m benchmarks.bot_speed

The game sends 120 packets a second, so a bot that decides on each of them, as here, has 8.3 ms. The policy has a width
of 224 and a memory.

Exit codes: 0 when the median is below that, 1 when something could not be measured, 3 when it is not.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from benchmarks.report import Row, option_parser, print_table, run, warn_if_busy, write_json
from benchmarks.rlbot_packets import FIELD, packet_of
from nemesis.cli import main as nemesis
from nemesis.deploy.rocket_league.launch import open_bot
from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes
from nemesis.games.rocket_league.arena.rocketsim import Arena
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.storage.policy_files import save_policy

SLOWER = 3  # exit code
BAR = 1000 / 120  # milliseconds
CARS = (2, 6)
PACKETS, QUICK_PACKETS = 1000, 100
POLICY = PolicyConfig(width=224, layers=1, memory="lstm")


def main() -> None:
    options = option_parser(__doc__ or "").parse_args()
    warn_if_busy()
    rows = [measure(cars, QUICK_PACKETS if options.quick else PACKETS, options.seed) for cars in CARS]
    print_table("Milliseconds of a decision", rows)
    if options.json:
        write_json(options.json, rows)
    if any(row["median_ms"] > BAR for row in rows):
        print(f"Above the bar of {BAR:.1f} ms.", file=sys.stderr)
        sys.exit(SLOWER)


def measure(cars: int, packets: int, seed: int) -> Row:
    """Let a bot decide on so many packets of a match with so many cars."""
    torch.manual_seed(seed)
    name, settings = f"{cars // 2}v{cars // 2}", {"tick_skip": 1}
    game = open_game(name, RocketLeagueSettings.model_validate(settings))
    about = {"config": {"game": f"rocket_league:{name}", "rocket_league": settings}}
    use_meshes(find_meshes())
    arena = Arena.make(cars)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        save_policy(folder / "policy.safetensors", build_policy(game, POLICY), POLICY, game, about)
        nemesis(["export", "rlbot", str(folder / "policy.safetensors"), str(folder / "Bot")])
        bot = open_bot(folder / "Bot")
    bot.field_info, bot.index = FIELD, 0
    bot.initialize()
    times = []
    for frame in range(packets):
        packet = packet_of(arena, frame)
        started = time.process_time()  # not what other processes take
        bot.get_output(packet)
        times.append(1000 * (time.process_time() - started))
    return {"cars": cars, "median_ms": median(times), "slowest_ms": max(times), "bar_ms": BAR, "decisions": packets}


if __name__ == "__main__":
    run(main)
