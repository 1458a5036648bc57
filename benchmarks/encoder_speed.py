"""How fast the default Pokémon policy is on one core, in decisions per second.

The views and masks come from real battles of a singles and a doubles format with random play. `inference` goes from
view records to log-probabilities, values and the next memory; `training` is a forward and a backward pass over 1,024
decisions, in sequences of 16 if the policy has a memory. Speeds are medians per CPU second of one thread.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
import torch
from torch import Tensor

from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_json
from nemesis.core.game import Game
from nemesis.core.masks import unpack_mask
from nemesis.games.pokemon.game import open_game
from nemesis.play.players import RandomPlayer
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy, parameter_count

FORMATS = ("gen9ou", "gen9vgc2025regi")
BATCHES = (64, 256, 1024)
SEQUENCE_LENGTH = 16
SLOTS = 64  # battles that the views are taken from


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--formats", nargs="+", default=FORMATS, metavar="FORMAT", help="Showdown formats to measure")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rounds = 10 if options.quick else 40
    rows = [row for name in options.formats for row in measure(name, rounds, options.seed)]
    print_table("Decisions per second of the default Pokémon policy, one thread", rows)
    if options.json:
        write_json(options.json, rows)


def measure(name: str, rounds: int, seed: int) -> list[Row]:
    """Measure the policy with and without memory on one format."""
    game = open_game(name)
    view, mask = _decisions(game, max(BATCHES), seed)
    rows: list[Row] = []
    for config in (PolicyConfig(), PolicyConfig(memory="lstm")):
        torch.manual_seed(seed)
        policy = Policy(game.encoder, game.action_head, config)
        speeds = {f"inference_{batch}": _inference(policy, view[:batch], mask[:batch], rounds) for batch in BATCHES}
        training = _training(policy, view, mask, max(3, rounds // 4))
        rows.append(
            {"format": name, "memory": config.memory, "parameters": parameter_count(policy)}
            | speeds
            | {"training": training}
        )
    return rows


def _decisions(game: Game, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return views and masks of decisions from the start of battles to their end, in random order."""
    pool, player, generator = game.pool(SLOTS, seed), RandomPlayer(seed), np.random.default_rng(seed)
    views, masks = [], []
    for _ in range(16 * count // SLOTS):
        decisions, _ = pool.recv()
        kept = generator.random(len(decisions)) < 0.2
        views.append(decisions.view[kept])
        masks.append(unpack_mask(decisions.mask[kept], game.spec.actions))
        pool.send(player.act(decisions).action)
    pool.close()
    chosen = generator.permutation(sum(map(len, views)))[:count]
    if len(chosen) < count:
        raise MeasurementError(f"The battles had only {len(chosen)} of the {count} decisions that are needed.")
    return torch.from_numpy(np.concatenate(views)[chosen]), torch.from_numpy(np.concatenate(masks)[chosen])


def _inference(policy: Policy, view: Tensor, mask: Tensor, rounds: int) -> float:
    state = torch.zeros(len(view), policy.state_size)
    with torch.inference_mode():
        return _speed(lambda: policy.step(view, mask, state), len(view), rounds)


def _training(policy: Policy, view: Tensor, mask: Tensor, rounds: int) -> float:
    count, length = len(view), SEQUENCE_LENGTH if policy.state_size else 1
    view, mask = (part.view(count // length, length, -1) for part in (view, mask))
    state = torch.zeros(len(view), policy.state_size)

    def learn() -> None:
        output = policy(view, mask, state)
        (output.log_probs[..., 0].mean() + output.value.mean()).backward()
        policy.zero_grad()

    return _speed(learn, count, rounds)


def _speed(work: Callable[[], object], decisions: int, rounds: int) -> float:
    work()
    speeds = []
    for _ in range(rounds):
        started = process_time()
        work()
        speeds.append(decisions / (process_time() - started))
    return median(speeds)


if __name__ == "__main__":
    run(main)
