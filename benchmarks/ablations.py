"""Ablations of battle training: short runs that differ in one setting, and one run played in different ways.

The base run is the preset, cut to `--updates`; each other run removes or adds one feature. The base run is also played
with its last weights, as an ensemble of its last checkpoints, at other temperatures and with the likeliest actions
only. Each plays the game's strongest scripted player and the base run, in matches with seats and teams swapped. With
one seed, only large effects can be told from noise.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from benchmarks.report import Row, option_parser, print_table, run, write_figures
from nemesis.core.config import build_config
from nemesis.core.game import Game
from nemesis.play.matches import Score, play
from nemesis.play.play_options import PlayOptions
from nemesis.play.policy_players import PolicyPlayer, open_policy_player
from nemesis.play.scripted import open_opponent, opponent_names
from nemesis.policies.play_style import PlayStyle
from nemesis.population.league import open_league
from nemesis.presets import load_preset
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

PRESET = "gen1ou"
UPDATES, QUICK_UPDATES = 120, 4
MATCHES, QUICK_MATCHES = 1000, 20
ENSEMBLE = 4
SLOTS = 128
QUICK = ("collection.decisions=256", "collection.slots=32")
BASE = "base"
TRAINING_VARIANTS: dict[str, tuple[str, ...]] = {
    BASE: (),
    "no opponent model": ("policy.opponent_model=false", "learner.opponent_model_weight=0"),
    "learning rate not annealed": ("learner.learning_rate=5e-4",),
    "reward always dense": ("reward.dense_weight=1",),
    "reward always sparse": ("reward.dense_weight=0",),
    "smaller half of advantages filtered out": ("learner.advantage_share=0.5",),
}
PLAY_VARIANTS: dict[str, PlayOptions] = {
    "base, last weights": PlayOptions(weights="last"),
    f"base, ensemble of {ENSEMBLE}": PlayOptions(ensemble=ENSEMBLE, weights="last"),
    "base, temperature 0.3": PlayOptions(PlayStyle(temperature=0.3)),
    "base, temperature 0": PlayOptions(PlayStyle(temperature=0.0)),
    "base, top-p 0.8": PlayOptions(PlayStyle(top_p=0.8)),
}


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--preset", default=PRESET, help=f"what is trained (default: {PRESET})")
    parser.add_argument("--updates", type=int, help=f"of each run (default: {UPDATES}, quick: {QUICK_UPDATES})")
    parser.add_argument("--runs", type=Path, help="folder in which all runs are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    updates = options.updates or (QUICK_UPDATES if options.quick else UPDATES)
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.runs or Path(temporary)
        cuts = QUICK if options.quick else ()
        configs = {
            name: _config(options.preset, updates, options.seed, (*cuts, *changes))
            for name, changes in TRAINING_VARIANTS.items()
        }
        for name, config in configs.items():
            Console().print(f"{name}: training …")
            train(config, _folder(folder, name), open_matchmaker=open_league)
        game = configs[BASE].open_game()
        matches = QUICK_MATCHES if options.quick else MATCHES
        trained = {name: _player(_folder(folder, name), game, PlayOptions()) for name in TRAINING_VARIANTS}
        played = {
            name: _player(_folder(folder, BASE), game, play_options) for name, play_options in PLAY_VARIANTS.items()
        }
        rows = [
            _row(name, player, trained[BASE], game, matches, options.seed)
            for name, player in (trained | played).items()
        ]
    print_table(f"{options.preset}, {updates} updates: ablations", rows)
    if options.json:
        write_figures(options.json, {"preset": options.preset, "updates": updates, "rows": rows})


def _config(preset: str, updates: int, seed: int, changes: Sequence[str]) -> RunConfig:
    common = (
        f"updates={updates}",
        f"seed={seed}",
        f"evaluation.interval={updates}",
        "evaluation.matches=2",
        f"checkpoints.interval={max(1, updates // (2 * ENSEMBLE))}",
        f"checkpoints.keep_last={ENSEMBLE}",
        "tracking.tensorboard=false",
    )
    return build_config(RunConfig, load_preset(preset), [*common, *changes])


def _folder(root: Path, name: str) -> Path:
    return root / "".join(letter if letter.isalnum() else "-" for letter in name)


def _player(folder: Path, game: Game, play_options: PlayOptions) -> PolicyPlayer:
    return open_policy_player(folder, game, SLOTS, 0, play_options)


def _row(name: str, player: PolicyPlayer, base: PolicyPlayer, game: Game, matches: int, seed: int) -> Row:
    strongest = opponent_names(game)[-1]
    opponents = [open_opponent(game, strongest, seed), *([base] if player is not base else [])]
    scores = play(game, player, opponents, matches=matches, slots=SLOTS, seed=seed + 1)
    shown = [_shown(score) for score in scores]
    return {"variant": name, f"against_{strongest}": shown[0], "against_base": shown[1] if len(shown) > 1 else "–"}


def _shown(score: Score) -> str:
    low, high = score.win_rate_interval
    return f"{score.win_rate:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    run(main)
