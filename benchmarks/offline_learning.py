"""Does weighting by advantage beat cloning? Both learn from the same data with the same network and updates.

Players of different strength, from random play to a trained policy, play each other and are recorded as one dataset.
Behaviour cloning and the offline learner train on it; they differ only in the weight of each action. The policies then
play each other, with seats and teams swapped, and a poke-env player on a local Showdown server.
"""

import tempfile
from pathlib import Path

import torch
from rich.console import Console

from benchmarks.report import Row, option_parser, print_table, run, write_figures
from nemesis.core.config import build_config
from nemesis.deploy.pokemon.poke_env_opponent import PREFIX
from nemesis.deploy.pokemon.remote_players import REMOTE_PLAYERS
from nemesis.evaluation.dataset_collection import collect
from nemesis.evaluation.entrants import open_entrants
from nemesis.evaluation.tournament import run_tournament
from nemesis.play.matches import Score
from nemesis.presets import load_preset
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

GAME = "pokemon:gen1ou"
PLAYERS = ("random", "max_power", "greedy", "shipped:gen1ou")
OPPONENT = f"{PREFIX}SimpleHeuristicsPlayer"
RECORDED, QUICK_RECORDED = 1000, 20  # matches per pair
UPDATES, QUICK_UPDATES = 1000, 10
MATCHES, QUICK_MATCHES = 1000, 40
LEARNERS = {
    "cloning": ("gen1ou_bc",),
    "binary": ("gen1ou_offline",),
    "filter": ("gen1ou_offline", "learner.weighting=filter"),
    "exp": ("gen1ou_offline", "learner.weighting=exp"),
    "filter, action-value critic": (
        "gen1ou_offline",
        "learner.weighting=filter",
        "learner.critic=actions",
        "policy.action_values=true",
    ),
}


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--dataset", type=Path, help="an existing dataset, instead of a new one")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS), metavar="LEARNER")
    parser.add_argument("--updates", type=int, help=f"of each (default: {UPDATES:,}, quick: {QUICK_UPDATES})")
    parser.add_argument("--runs", type=Path, help="folder in which the dataset and all runs are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    updates = options.updates or (QUICK_UPDATES if options.quick else UPDATES)
    matches = QUICK_MATCHES if options.quick else MATCHES
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.runs or Path(temporary)
        dataset = options.dataset or _record(folder / "dataset", options.quick, options.seed)
        runs = {name: _train(name, dataset, folder, updates, options.seed) for name in options.learners}
        rows = [_row(name, runs, matches, options.seed) for name in runs]
    print_table(f"{GAME}, {updates:,} updates: win rates by weighting", rows)
    if options.json:
        write_figures(options.json, {"updates": updates, "rows": rows})


def _record(path: Path, quick: bool, seed: int) -> Path:
    entrants = open_entrants(PLAYERS, GAME, ())
    console = Console()
    card = collect(entrants, path, matches=QUICK_RECORDED if quick else RECORDED, seed=seed, report=console.print)
    console.print(f"{card.summary.total.decisions:,} decisions of {card.summary.total.matches:,} matches.")
    return path


def _train(name: str, dataset: Path, folder: Path, updates: int, seed: int) -> Path:
    preset, *changes = LEARNERS[name]
    path = folder / "".join(letter if letter.isalnum() else "-" for letter in name)
    common = (f"data.sources={dataset}", f"updates={updates}", f"seed={seed}", f"evaluation.interval={updates}")
    Console().print(f"{name}: training …")
    train(build_config(RunConfig, load_preset(preset), [*common, *changes]), path)
    return path


def _row(name: str, runs: dict[str, Path], matches: int, seed: int) -> Row:
    """Play the averaged weights of a run against poke-env, a scripted player and those of the first run."""
    base = next(iter(runs))
    opponents = [OPPONENT, "greedy", *([] if name == base else [str(runs[base])])]
    scores: list[Score] = []
    for opponent in opponents:
        entrants = open_entrants([str(runs[name]), opponent], None, (), remote_players=[REMOTE_PLAYERS])
        (pair,) = run_tournament(entrants, matches=matches, seed=seed).pairs
        scores.append(pair.score)
    return {
        "learner": name,
        "against_SimpleHeuristicsPlayer": _shown(scores[0]),
        "against_greedy": _shown(scores[1]),
        f"against_{base}": _shown(scores[2]) if len(scores) > 2 else "–",
    }


def _shown(score: Score) -> str:
    low, high = score.win_rate_interval
    return f"{score.win_rate:.1%} ({low:.1%} to {high:.1%}), {score.matches} played, {score.voided} voided"


if __name__ == "__main__":
    run(main)
