"""How strong a policy is in Pokémon battles: its win rate against a poke-env player on a real Showdown server.

    python -m benchmarks.battle_strength --format gen1ou --opponent SimpleHeuristicsPlayer --battles 1000

The server is a local one of the same npm package. The policy plays through our own websocket client, the opponent
through poke-env. Battles come in pairs, with teams and seats swapped in the second. Teams are the shipped ones of the
format; `--split held_out --held-out 0.3` uses the share of them that a run with the same setting does not train on.
`--teams` uses any others, of which illegal ones are left out and counted. A draw counts as half a win, and voided
battles do not count. The interval is Wilson's 95 % interval.
"""

import argparse
import time

import torch

from benchmarks.report import MeasurementError, option_parser, print_table, run, write_figures
from nemesis.deploy.pokemon.server_matches import SLOTS, MatchSeries, play_on_server
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.play.play_options import PlayOptions
from nemesis.play.policy_players import open_policy_player
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policies import SHIPPED

BATTLES, QUICK_BATTLES = 1000, 60
MAX_VOIDED = 0.05  # share of battles


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    settings = PokemonSettings(
        teams=options.teams,
        split=options.split,
        held_out=options.held_out,
        invalid_teams="skip" if options.teams else "refuse",
    )
    game = PokemonGame(find_format(options.format), settings)
    battles: int = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    policy: str = options.policy or f"{SHIPPED}{game.format.id}"
    style = PlayStyle.from_options(options.temperature, options.top_p)
    play_options = PlayOptions(style, options.ensemble, options.weights)
    player = open_policy_player(policy, game, SLOTS, options.seed, play_options)
    started = time.monotonic()
    score = play_on_server(game, player, MatchSeries(options.opponent, battles, options.seed))
    seconds = time.monotonic() - started
    if not score.matches:
        raise MeasurementError(f"No battle counts; they ended by: {dict(score.ended)}.")
    low, high = score.win_rate_interval
    row = {
        "format": game.format.id,
        "opponent": options.opponent,
        "win_rate": score.win_rate,
        "low": low,
        "high": high,
        "battles": score.matches,
        "voided": score.voided,
        "teams_played": len(game.team_set.packed) if game.team_set else None,
        "teams_left_out": game.team_set.skipped if game.team_set else None,
        "turns": score.turns,
        "battles_per_second": (score.matches + score.voided) / seconds,
    }
    print_table(f"{policy} on a local Showdown server, teams: {options.teams or options.split}", [row])
    if options.json:
        write_figures(
            options.json,
            {**row, "policy": policy, "teams": options.teams, "split": options.split, "ended": score.ended},
        )
    if score.voided > MAX_VOIDED * battles:
        raise MeasurementError(
            f"{score.voided} of {battles} battles were voided, which is too many; they ended by: {dict(score.ended)}."
        )


def _options() -> argparse.Namespace:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--format", default="gen1ou", help="format to play (default: gen1ou)")
    parser.add_argument(
        "--opponent",
        default="SimpleHeuristicsPlayer",
        help="poke-env player class, or package.module:Class (default: SimpleHeuristicsPlayer)",
    )
    parser.add_argument("--battles", type=int, help=f"number of battles (default: {BATTLES:,}, quick: {QUICK_BATTLES})")
    parser.add_argument("--policy", help="policy file, checkpoint or run (default: the shipped policy)")
    parser.add_argument("--teams", help="file or folder of teams instead of the shipped ones")
    parser.add_argument("--split", choices=("train", "held_out", "all"), default="all", help="which teams to play")
    parser.add_argument("--held-out", type=float, help="share of the teams held out from training")
    parser.add_argument(
        "--temperature",
        type=float,
        help="0 plays the likeliest action; without this and --top-p, a policy file plays as it was exported, "
        "and any other policy at temperature 1",
    )
    parser.add_argument(
        "--top-p",
        type=float,
        help="total probability of the likeliest actions that are kept, at temperature 1 unless given",
    )
    parser.add_argument("--weights", choices=("average", "last"), default="average", help="of a run or checkpoint")
    parser.add_argument("--ensemble", type=int, default=1, help="how many of the last checkpoints of a run play as one")
    return parser.parse_args()


if __name__ == "__main__":
    run(main)
