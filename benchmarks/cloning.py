"""How accurately behaviour cloning predicts people's choices, and what improves it.

Every variant is the preset of behaviour cloning with some settings changed, trained on the same dataset. The policy of
each run with the best validation accuracy is evaluated on the test split, with the order of teams shuffled. Series of
the same players are never split. Three baselines are evaluated too: uniform over legal actions, the most frequent
actions of the training split, and the scripted player `greedy`. Decisions with one legal action are left out. The 95 %
intervals are bootstrapped over battles.

    nemesis replays import REPLAYS --out DATASET --keep-unfinished
    python -m benchmarks.cloning DATASET
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from benchmarks.report import Row, option_parser, print_table, run, write_figures
from nemesis.core.config import build_config
from nemesis.core.game import BoolArray, FloatArray, Game
from nemesis.core.masks import unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.data.config import Shares
from nemesis.data.dataset import open_dataset
from nemesis.data.split import episodes_of
from nemesis.data.validation_data import read_split
from nemesis.evaluation.run_evaluation import BEST
from nemesis.evaluation.validation import Predictor, Validation, policy_predictor, validate
from nemesis.presets import load_preset
from nemesis.storage.policies import find_policy
from nemesis.training.config import RunConfig
from nemesis.training.loop import train

PRESET = "vgc_bc"
QUICK = ("updates=20", "evaluation.interval=10", "collection.decisions=256")
_NARROW = "policy.width=80"  # as the shipped policy of self-play
VARIANTS: dict[str, tuple[str, ...]] = {
    "base": (),
    "twice as long": ("updates=1600",),
    "no dropout": ("learner.dropout=0",),
    "no augmentation": ("data.augment=[]",),
    "narrow": (_NARROW,),
    "narrow, no dropout": (_NARROW, "learner.dropout=0"),
    "narrow, from self-play": (
        _NARROW,
        "policy.init=shipped:gen9vgc2025regi",
        'policy.init_parts={"encoder": "encoder", "memory": "memory", "heads": "heads"}',
    ),
    "wide": ("policy.width=256",),
    "larger value weight": ("learner.value_weight=0.5",),
    "LSTM": ("policy.memory=lstm",),
    "label smoothing": ("learner.label_smoothing=0.05",),
}
TEST_SHARE = 0.1  # of the battles
_UNLIKELY = 1e-3  # weight of the actions that a scripted player does not choose


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("dataset", type=Path, help="folder of a dataset")
    parser.add_argument("--preset", default=PRESET, help=f"what is trained (default: {PRESET})")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--runs", type=Path, help="folder in which all runs are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    configs = {
        name: build_config(
            RunConfig,
            load_preset(options.preset),
            [
                f"data.sources={options.dataset}",
                f"data.test={TEST_SHARE}",
                f"seed={options.seed}",
                *_replaced(VARIANTS[name], QUICK if options.quick else ()),
            ],
        )
        for name in options.variants
    }
    settings = [f"data.sources={options.dataset}", f"data.test={TEST_SHARE}"]
    base = build_config(RunConfig, load_preset(options.preset), settings)
    game = base.open_game()
    test = read_split(base.data, game, "test")
    validations: dict[str, Validation] = {
        name: validate(predict, test, game) for name, predict in _baselines(base, game, options.seed).items()
    }
    with tempfile.TemporaryDirectory() as temporary:
        for name, config in configs.items():
            folder = (options.runs or Path(temporary)) / name.replace(" ", "-")
            Console().print(f"{name}: training …")
            train(config, folder)
            policy = find_policy(folder / BEST).load(game)
            predict = policy_predictor(policy, torch.device("cpu"), config.learner.sequence_length)
            validations[name] = validate(predict, test, game)
    rows = [_row(name, validation) for name, validation in validations.items()]
    print_table(f"{options.dataset}: accuracy on the test split, in %", rows)
    if options.json:
        write_figures(options.json, {"rows": rows, "decisions": next(iter(validations.values())).decisions})


def _replaced(settings: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return settings KEY=VALUE, with the others in place of those of the same key."""
    return list({setting.partition("=")[0]: setting for setting in (*settings, *others)}.values())


def _baselines(config: RunConfig, game: Game, seed: int) -> dict[str, Predictor]:
    generator = np.random.default_rng(seed)
    (path,) = config.data.sources
    frequency = _frequency(Path(path), config.data.shares, game)
    greedy = game.scripted["greedy"]

    def uniform(_: Trajectories, mask: BoolArray) -> FloatArray:
        return np.ones(mask.shape, dtype=np.float32)

    def frequent(_: Trajectories, mask: BoolArray) -> FloatArray:
        return np.broadcast_to(frequency, mask.shape)

    def scripted(part: Trajectories, mask: BoolArray) -> FloatArray:
        weight = np.full(mask.shape, _UNLIKELY, dtype=np.float32)
        weight[np.arange(part.decisions), greedy(part.view, mask, generator)] = 1.0
        return weight

    def predictor(weigh: Callable[[Trajectories, BoolArray], FloatArray]) -> Predictor:
        def predict(part: Trajectories) -> tuple[FloatArray, FloatArray]:
            mask = unpack_mask(part.mask, game.spec.actions)
            # Noise breaks ties between equal weights at random.
            noise = 1 + 1e-4 * generator.random(mask.shape, dtype=np.float32)
            weight = weigh(part, mask) * mask * noise
            log_probs = np.log(np.maximum(weight / weight.sum(axis=1, keepdims=True), 1e-30))
            return log_probs, np.zeros(part.decisions, dtype=np.float32)

        return predict

    named = {"uniform": uniform, "most frequent": frequent, "greedy": scripted}
    return {name: predictor(weigh) for name, weigh in named.items()}


def _frequency(path: Path, shares: Shares, game: Game) -> FloatArray:
    """Return how often each action was chosen in the training split, with a small pseudocount."""
    counts = np.full(game.spec.actions, 0.1)
    for shard in open_dataset(path, game.spec, any_format=True).shards:
        for group in range(len(shard.row_groups)):
            episodes = shard.read(group)
            action = episodes.at(episodes_of(episodes, "train", shares)).action
            np.add.at(counts, action[action >= 0], 1)
    return counts.astype(np.float32)


def _row(name: str, validation: Validation) -> Row:
    def percent(kind: str, count: int) -> float:
        return round(100 * validation.accuracy[kind][count], 1) if kind in validation.accuracy else float("nan")

    def interval(kind: str) -> str:
        if kind not in validation.accuracy:
            return "–"
        return "–".join(f"{100 * edge:.1f}" for edge in validation.accuracy_interval(kind))

    return {
        "variant": name,
        "turn_top1": f"{percent('turn', 1)} ({interval('turn')})",
        "top3": percent("turn", 3),
        "top5": percent("turn", 5),
        "move_top1": percent("move", 1),
        "switch_top1": percent("switch", 1),
        "preview_top1": f"{percent('preview', 1)} ({interval('preview')})",
        "preview_top5": percent("preview", 5),
        "replacement_top1": percent("replacement", 1),
        "loss": round(validation.loss, 3),
        "brier": round(validation.brier_error, 4),
        "calibration_error": round(validation.calibration_error, 3),
    }


if __name__ == "__main__":
    run(main)
