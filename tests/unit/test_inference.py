"""Central inference: policies in their own style, and no player kept open for an actor that is gone."""

from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from episodes import LEDUC, build_policy, opened

from nemesis.actors.inference import Inference, InferenceClient, InferenceTask, exchange
from nemesis.actors.shared_memory import SharedWeights
from nemesis.core.config import build_config
from nemesis.play.pairings import MAIN, PlayerSource
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policy_files import save_policy
from nemesis.training.assembly import play_settings
from nemesis.training.config import RunConfig

SLOTS = 16
SHAPE = PolicyConfig(width=16, layers=1)
FROZEN = PlayerSource("frozen", "frozen.safetensors")
LEARNING = PlayerSource("learning", MAIN)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Inference, list[InferenceClient]]]:
    """Inference for two actors, with a frozen policy that plays the likeliest action."""
    game, policy = opened(LEDUC), build_policy(opened(LEDUC))
    save_policy(tmp_path / FROZEN.name, policy, SHAPE, game, {}, PlayStyle(temperature=0))
    settings = {"game": f"openspiel:{LEDUC}", "collection": {"slots": SLOTS}, "policy": {"width": 16, "layers": 1}}
    exchanges = (exchange(game, SLOTS), exchange(game, SLOTS))
    weights = {MAIN: SharedWeights(policy)}
    weights[MAIN].publish(policy, 7)
    pipes = [Pipe() for _ in exchanges]
    played = play_settings(build_config(RunConfig, settings))
    task = InferenceTask(played, tmp_path, log_level=0, seed=0, weights=weights, exchanges=exchanges)
    inference = Inference(task, [theirs for theirs, _ in pipes])

    def serve() -> None:
        with suppress(EOFError):
            inference.run()

    thread = Thread(target=serve)
    thread.start()
    yield inference, [InferenceClient(at, ours) for at, (_, ours) in zip(exchanges, pipes, strict=True)]
    for _, ours in pipes:
        ours.close()
    thread.join()


def test_a_frozen_policy_plays_in_the_style_of_its_file(served: tuple[Inference, list[InferenceClient]]):
    _, (client, _) = served
    game, policy = opened(LEDUC), build_policy(opened(LEDUC))
    waiting, _ = game.pool(SLOTS, seed=0).recv()
    with torch.no_grad():
        output = policy.step(torch.from_numpy(waiting.view), torch.from_numpy(waiting.mask), torch.zeros(SLOTS, 0))
    client.handshake()
    for _ in range(3):
        np.testing.assert_array_equal(client.player(FROZEN).act(waiting).action, output.log_probs.argmax(-1).numpy())
    learning = client.player(LEARNING)
    drawn = [learning.act(waiting).action for _ in range(20)]
    assert learning.version == 7
    assert any((one != drawn[0]).any() for one in drawn)  # as its probabilities say


def test_a_player_that_only_a_dead_actor_needed_is_closed(served: tuple[Inference, list[InferenceClient]]):
    inference, (first, second) = served
    waiting, _ = opened(LEDUC).pool(SLOTS, seed=0).recv()
    for client in (first, second):
        client.handshake()
        client.player(FROZEN).act(waiting)
    first.player(LEARNING).act(waiting)
    assert inference.players == {FROZEN, LEARNING}
    first.handshake()  # the replacement of the first actor
    assert inference.players == {FROZEN}  # the second still needs it
    second.player(FROZEN).close()
    second.handshake()
    assert inference.players == set()
