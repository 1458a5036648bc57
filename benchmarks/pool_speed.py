"""How fast matches are simulated: decisions per second of one process with random play, without a network.

`ours` is the default pool of a game, with matches as indices into arrays. `peer` steps the same matches as OpenSpiel
states from Python, as a loop over `pyspiel` would, and as our pool does for games that are too large for arrays.

Exit codes: 0 when every game reaches 40,000 decisions per second, 1 when it could not be measured, 3 when one does not.
"""

import sys
from statistics import median
from time import process_time

from benchmarks.report import Row, option_parser, print_table, run, write_json
from nemesis.core.game import MatchPool
from nemesis.games.openspiel.game import open_game
from nemesis.play.players import RandomPlayer

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=4)",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
)
SLOTS = 4096
BAR = 40_000  # decisions per second
SLOWER = 3  # exit code


def main() -> None:
    options = option_parser(__doc__ or "").parse_args()
    rounds = 3 if options.quick else 9
    rows = [_measure(game, rounds, options.seed) for game in GAMES]
    print_table(f"Decisions per second of {SLOTS} matches, random play, one process", rows)
    if options.json:
        write_json(options.json, rows)
    if slow := [str(row["measure"]) for row in rows if row["ours"] < BAR]:
        print(f"Below {BAR:,} decisions per second: {', '.join(slow)}.", file=sys.stderr)
        sys.exit(SLOWER)


def _measure(name: str, rounds: int, seed: int) -> Row:
    arrays = open_game(name).pool(SLOTS, seed)
    stepped = open_game(name, node_limit=1).pool(SLOTS, seed)
    pairs = [(_speed(arrays, 100, seed), _speed(stepped, 3, seed)) for _ in range(rounds)]
    return {
        "measure": name,
        "ours": median(ours for ours, _ in pairs),
        "peer": median(peer for _, peer in pairs),
        "ratio": median(ours / peer for ours, peer in pairs),
    }


def _speed(pool: MatchPool, steps: int, seed: int) -> float:
    """Return decisions per CPU second, choosing actions included."""
    player, decisions, started = RandomPlayer(seed), 0, process_time()
    for _ in range(steps):
        waiting, _ = pool.recv()
        decisions += len(waiting)
        pool.send(player.act(waiting).action)
    return decisions / (process_time() - started)


if __name__ == "__main__":
    run(main)
