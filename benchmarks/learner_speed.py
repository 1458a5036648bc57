"""How fast a policy of about a million parameters with an LSTM plays and learns, compared to two peers.

Plain torch code, written by hand for this one case (peers/plain_torch.py), is the limit:
  inference   decisions go from arrays through the network to sampled actions, with the memory of every seat kept
  update      one epoch over episodes of 20 to 40 decisions, cut into sequences of 16, by PPO and by R-NaD
Learners have their default settings. Both sides start from the same weights, data and random numbers. They must choose
the same actions and have the same weights after their first update, or the benchmark fails.

RecurrentPPO of stable-baselines3-contrib (peers/stable_baselines.py) is compared by the whole loop of playing and
learning, on Leduc poker, with the same encoder, LSTM and heads (except for our layer norms), matches in flight,
decisions per update, minibatches and epochs. What differs, since each library is used as intended:
  - Our network plays both seats. The peer's plays one, against a random opponent that needs no network.
  - We mask illegal actions. The peer cannot, and its environment replaces them.
  - Our value loss trains the LSTM. The peer's does not: its gradient stops at the shared LSTM. That saves the peer
    little, since its policy loss goes back through the LSTM anyway.
  - Our matches are rows of arrays, the peer's are Python objects. A second row removes that advantage: there our
    matches too are OpenSpiel states that are stepped one by one.
Only decisions of the network are counted.

The sides alternate, and a ratio is the median over all rounds. Speeds are medians too, per CPU second of this one
thread, which equals wall time on a free core and varies less on a busy one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.peers.plain_torch import PlainLearner, PlainPlayer, PlainPolicy
from benchmarks.report import MeasurementError, Row, option_parser, print_table, run, write_json
from nemesis.core.game import SIDES, Decisions, Game, GameSpec
from nemesis.core.masks import pack_mask, unpack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.games.openspiel.encoder import LinearActionHead, VectorEncoder
from nemesis.games.openspiel.game import open_game
from nemesis.learners.config import PPOConfig, RNaDConfig
from nemesis.learners.ppo import PPO
from nemesis.learners.rnad import RNaD
from nemesis.play.config import CollectionConfig
from nemesis.play.policy_players import PolicyPlayer
from nemesis.policies.config import PolicyConfig, dimensions
from nemesis.policies.policy import Policy, parameter_count
from nemesis.training.config import RunConfig
from nemesis.training.run import Run

if TYPE_CHECKING:
    from sb3_contrib import RecurrentPPO  # optional

Work: TypeAlias = Callable[[], int]  # returns how many decisions were processed


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of the policy, of a synthetic game and of an update."""

    policy: PolicyConfig
    view: int  # numbers
    actions: int
    decisions: int  # per update

    @property
    def spec(self) -> GameSpec:
        return GameSpec(
            name="synthetic",
            view_size=self.view,
            actions=self.actions,
            utility_scale=1.0,
            view_bytes=4,
            view_version="synthetic",
        )


class SteppedConfig(RunConfig):
    """A run whose matches are OpenSpiel states that are stepped one by one."""

    def open_game(self) -> Game:
        return open_game(GAME, node_limit=0)


SIZE = Size(PolicyConfig(size="small", memory="lstm"), view=128, actions=128, decisions=4096)
LEGAL = 0.2  # share of the actions
SEQUENCE_LENGTH = 16
MINIBATCH = 2048
GAME, SLOTS = "leduc_poker", 256
LOOP_LEARNER = PPOConfig(epochs=2, minibatch=MINIBATCH, sequence_length=SEQUENCE_LENGTH, normalise_advantages=True)
CPU = torch.device("cpu")


def main() -> None:
    options = option_parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    seed, rounds = options.seed, 3 if options.quick else 15
    peer = _recurrent_ppo(seed)
    rows = [measure_inference(batch, 16 * rounds, seed) for batch in (64, 512)]
    for kind in (PPOConfig, RNaDConfig):
        config = kind(sequence_length=SEQUENCE_LENGTH, minibatch=MINIBATCH)
        rows.append(measure_update(config, SIZE, rounds, seed))
    rows += measure_loop(peer, max(2, rounds // 2), seed)
    print_table(
        f"Decisions per second of an LSTM policy, {parameter_count(_policies(SIZE, seed)[0]):,} parameters", rows
    )
    if options.json:
        write_json(options.json, rows)


def measure_inference(batch: int, rounds: int, seed: int) -> Row:
    """Choose actions with our player and with the plain one."""
    policy, plain = _policies(SIZE, seed)
    ours, peer = PolicyPlayer(policy, SIZE.spec, batch, CPU, seed), PlainPlayer(plain, batch, seed)
    batches = [_decisions(batch, SIZE, np.random.default_rng([seed, number])) for number in range(8)]
    for decisions in batches:
        choices = ours.act(decisions)
        action, log_prob, value = peer.act(decisions)
        _require_equal("actions", choices.action, action)
        _require_equal("probabilities", choices.log_prob, log_prob)
        _require_equal("values", choices.value, value)

    def play(act: Callable[[Decisions], object]) -> Work:
        def work() -> int:
            for decisions in batches[: 512 // batch]:
                act(decisions)
            return 512

        return work

    speeds = _speeds([play(ours.act), play(peer.act)], rounds)
    return _row(f"inference, batch {batch}, against plain torch", *speeds)


def measure_update(config: PPOConfig, size: Size, rounds: int, seed: int, compared_updates: int = 1) -> Row:
    """Learn from the same episodes with our learner and with the plain one.

    Compare more than one update of small policies only: large ones diverge by rounding within a few.
    """
    policy, plain = _policies(size, seed)
    trajectories = _trajectories(size, config.sequence_length, policy.state_size, np.random.default_rng(seed))
    ours = RNaD(policy, config, CPU, seed) if isinstance(config, RNaDConfig) else PPO(policy, config, CPU, seed)
    peer = PlainLearner(plain, config, seed)

    def our_update() -> int:
        ours.update(trajectories, progress=0.0)
        return trajectories.decisions

    def peer_update() -> int:
        peer.update(trajectories)
        return trajectories.decisions

    for _ in range(compared_updates):
        our_update()
        peer_update()
        for own, other in zip(policy.parameters(), plain.parameters(), strict=True):
            _require_equal("weights", own.detach().numpy(), other.detach().numpy())
    speeds = _speeds([our_update, peer_update], rounds)
    return _row(f"update, {config.algorithm}, against plain torch", *speeds)


def measure_loop(peer: "RecurrentPPO", rounds: int, seed: int) -> list[Row]:
    """Play and learn with our runs, with matches in arrays and stepped one by one, and with RecurrentPPO."""
    config = RunConfig(
        game=f"openspiel:{GAME}",
        seed=seed,
        device="cpu",
        collection=CollectionConfig(slots=SLOTS, decisions=SIZE.decisions),
        policy=SIZE.policy,
        learner=LOOP_LEARNER,
    )
    folder = Path("unused")  # nothing is saved
    in_arrays, stepped = Run(config, folder), Run(SteppedConfig(**dict(config)), folder)
    own_size, peer_size = parameter_count(stepped.policy), parameter_count(peer.policy)
    if abs(own_size / peer_size - 1) > 0.03:
        raise MeasurementError(
            f"The policies differ in size: {own_size:,} parameters here, {peer_size:,} for the peer."
        )

    def ours(loop: Run) -> Work:
        def work() -> int:
            before = loop.decisions
            loop.step()
            return loop.decisions - before

        return work

    def peers() -> int:
        before = peer.num_timesteps
        peer.learn(SIZE.decisions, reset_num_timesteps=False)
        return peer.num_timesteps - before

    sides = [ours(in_arrays), ours(stepped), peers]
    for side in sides:
        side()
    speeds = _speeds(sides, rounds)
    return [
        _row("whole loop, matches in arrays, against RecurrentPPO", speeds[0], speeds[2]),
        _row("whole loop, matches stepped, against RecurrentPPO", speeds[1], speeds[2]),
    ]


def _speeds(sides: Sequence[Work], rounds: int) -> list[list[float]]:
    """Alternate between the sides; returns the decisions per second of each in every round."""
    speeds: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, side_speeds in zip(sides, speeds, strict=True):
            started = process_time()
            decisions = side()
            side_speeds.append(decisions / (process_time() - started))
    return speeds


def _row(measure: str, ours: list[float], peer: list[float]) -> Row:
    return {
        "measure": measure,
        "ours": median(ours),
        "peer": median(peer),
        "ratio": median(own / other for own, other in zip(ours, peer, strict=True)),
    }


def _recurrent_ppo(seed: int) -> "RecurrentPPO":
    try:
        from benchmarks.peers.stable_baselines import recurrent_ppo  # noqa: PLC0415 (optional)
    except ModuleNotFoundError as error:
        raise MeasurementError(
            f"RecurrentPPO is missing ({error}). Install it with: pip install --editable '.[benchmarks]'"
        ) from error
    return recurrent_ppo(GAME, dimensions(SIZE.policy).width, SLOTS, SIZE.decisions, LOOP_LEARNER, seed)


def _policies(size: Size, seed: int) -> tuple[Policy, PlainPolicy]:
    """Return our policy and the plain one, with the same weights."""
    torch.manual_seed(seed)
    width = dimensions(size.policy).width
    policy = Policy(
        lambda width: VectorEncoder(size.view, width), lambda width: LinearActionHead(width, size.actions), size.policy
    )
    plain = PlainPolicy(size.view, width, size.actions)
    with torch.no_grad():
        for target, source in zip(plain.parameters(), policy.parameters(), strict=True):
            target.copy_(source)
    return policy, plain


def _decisions(count: int, size: Size, generator: np.random.Generator) -> Decisions:
    mask = generator.random((count, size.actions)) < LEGAL
    mask[:, 0] = True
    return Decisions(
        match=np.arange(count),
        slot=np.arange(count),
        seat=generator.integers(SIDES, size=count),
        view=generator.standard_normal((count, size.view), dtype=np.float32),
        mask=pack_mask(mask),
    )


def _trajectories(size: Size, sequence_length: int, state_size: int, generator: np.random.Generator) -> Trajectories:
    """Return about as many decisions as an update takes, in episodes of uniformly random play."""
    matches = size.decisions // (30 * SIDES)
    lengths = np.repeat(generator.integers(20, 41, size=matches), SIDES)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    count = int(offsets[-1])
    decisions = _decisions(count, size, generator)
    mask = unpack_mask(decisions.mask, size.actions)
    position = np.arange(count) - np.repeat(offsets[:-1], lengths)  # within the episode
    memory_row = np.flatnonzero((position > 0) & (position % sequence_length == 0))
    return Trajectories(
        view=decisions.view,
        mask=decisions.mask,
        action=np.argmax(mask * generator.random(mask.shape), axis=1),
        log_prob=-np.log(mask.sum(axis=1)).astype(np.float32),
        value=generator.uniform(-0.1, 0.1, count).astype(np.float32),
        version=np.zeros(count, dtype=np.int64),
        tick=SIDES * position,
        offsets=offsets,
        match=np.repeat(np.arange(matches), SIDES),
        seat=np.tile(np.arange(SIDES), matches),
        result=generator.uniform(-1, 1, len(lengths)).astype(np.float32),
        memory_row=memory_row,
        memory=0.1 * generator.standard_normal((len(memory_row), state_size), dtype=np.float32),
    )


def _require_equal(name: str, ours: npt.NDArray[Any], peer: npt.NDArray[Any]) -> None:
    if not np.allclose(ours, peer, rtol=1e-4, atol=1e-5):
        raise MeasurementError(f"The two sides do not reach the same {name}, so their speeds cannot be compared.")


if __name__ == "__main__":
    run(main)
