"""A training loop on poke-env as its users write it, run until standard input ends.

Two poke-env players battle each other on a Showdown server. All waiting battles are decided in one forward pass of a
network, and PPO learns from finished ones.

    python -m benchmarks.peers.poke_env_trainer WEBSOCKET FORMAT CONFIG --battles 50 --name 0 [--teams FILE]

Every line on standard input is answered with the counts so far, as one line of JSON. The network and the learner are
those of CONFIG, the config of a run as JSON, and so the same as on our side.
"""

import argparse
import asyncio
import json
import logging
import random
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.player import BattleOrder, Player

from benchmarks.peers.poke_env_client import AnyTeam
from benchmarks.peers.poke_env_views import ArrayWriter
from nemesis.core.config import build_config
from nemesis.core.masks import pack_mask
from nemesis.core.trajectory import Trajectories
from nemesis.games.pokemon.formats import find_format
from nemesis.policies.build import build_policy
from nemesis.training.assembly import build_learner
from nemesis.training.config import RunConfig

_KEPT = 200  # finished battles; poke-env would keep all
_WINDOW = 0.005  # seconds in which requests are collected into one batch
_ENDLESS = 1_000_000_000  # battles


@dataclass(slots=True)
class _Request:
    player: "TrainedPlayer"
    battle: AbstractBattle
    answer: "asyncio.Future[BattleOrder]"


@dataclass(slots=True)
class _Episode:
    view: list[Any] = field(default_factory=list)
    mask: list[Any] = field(default_factory=list)
    action: list[int] = field(default_factory=list)
    log_prob: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)


class Trainer:
    """Decides for all battles and learns from finished ones."""

    def __init__(self, config: RunConfig) -> None:
        torch.set_num_threads(1)
        battle_format = find_format(config.game.removeprefix("pokemon:"))
        self._writer = ArrayWriter(battle_format.slots, battle_format.brought)
        self._config = config
        self._policy = build_policy(config.open_game(), config.policy)
        self._learner = build_learner(self._policy, config, torch.device("cpu"), 0, lambda _: [])
        self._requests: list[_Request] = []
        self._request_came = asyncio.Event()
        self._episodes: dict[tuple[str, str], _Episode] = {}
        self._finished: list[tuple[_Episode, float]] = []
        self.decisions = 0
        self.learned = 0
        self.battles = 0

    async def decide(self, player: "TrainedPlayer", battle: AbstractBattle) -> BattleOrder:
        answer: asyncio.Future[BattleOrder] = asyncio.get_running_loop().create_future()
        self._requests.append(_Request(player, battle, answer))
        self._request_came.set()
        return await answer

    async def serve(self) -> None:
        while True:
            await self._request_came.wait()
            await asyncio.sleep(_WINDOW)
            self._request_came.clear()
            requests, self._requests = self._requests, []
            self._answer(requests)
            if sum(len(episode.action) for episode, _ in self._finished) >= self._config.collection.decisions:
                self._learn()

    def ended(self, player: str, battle: AbstractBattle) -> None:
        episode = self._episodes.pop((player, battle.battle_tag), None)
        if episode is not None and episode.action:
            self._finished.append((episode, 1.0 if battle.won else -1.0 if battle.lost else 0.0))

    @torch.inference_mode()
    def _answer(self, requests: list[_Request]) -> None:
        views = np.stack([self._writer.view(request.battle) for request in requests])
        masks, orders = zip(*(self._writer.choices(request.battle) for request in requests), strict=True)
        mask = torch.from_numpy(np.stack(masks))
        output = self._policy.step(torch.from_numpy(views), mask, torch.zeros(len(views), self._policy.state_size))
        actions = torch.multinomial(output.log_probs.exp(), 1)
        log_probs = output.log_probs.gather(1, actions)[:, 0].tolist()
        rows = zip(requests, views, masks, actions[:, 0].tolist(), log_probs, output.value.tolist(), strict=True)
        for number, (request, view, legal, action, log_prob, value) in enumerate(rows):
            key = (request.player.username, request.battle.battle_tag)
            episode = self._episodes.setdefault(key, _Episode())
            episode.view.append(view)
            episode.mask.append(legal)
            episode.action.append(action)
            episode.log_prob.append(log_prob)
            episode.value.append(value)
            request.answer.set_result(orders[number][action])
        self.decisions += len(requests)

    def _learn(self) -> None:
        finished, self._finished = self._finished, []
        lengths = [len(episode.action) for episode, _ in finished]
        total, count = sum(lengths), len(finished)
        trajectories = Trajectories(
            view=np.stack([view for episode, _ in finished for view in episode.view]),
            mask=pack_mask(np.stack([mask for episode, _ in finished for mask in episode.mask])),
            action=np.array([action for episode, _ in finished for action in episode.action]),
            log_prob=np.array([number for episode, _ in finished for number in episode.log_prob], dtype=np.float32),
            value=np.array([number for episode, _ in finished for number in episode.value], dtype=np.float32),
            version=np.zeros(total, dtype=np.int64),
            tick=np.zeros(total, dtype=np.int64),
            offsets=np.append(0, np.cumsum(lengths)),
            match=np.arange(count),
            seat=np.zeros(count, dtype=np.int64),
            result=np.array([result for _, result in finished], dtype=np.float32),
            memory_row=np.zeros(0, dtype=np.int64),
            memory=np.zeros((0, 0), dtype=np.float32),
        )
        self._learner.update(trajectories, 0.0)
        self.learned += total


class TrainedPlayer(Player):
    """A poke-env player whose decisions the trainer makes."""

    def __init__(self, trainer: Trainer, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._trainer = trainer
        self._ended_tags: deque[str] = deque()

    def choose_move(self, battle: AbstractBattle) -> Any:
        return self._trainer.decide(self, battle)

    def teampreview(self, battle: AbstractBattle) -> str:
        self._trainer.decisions += 1
        return self.random_teampreview(battle)

    def _battle_finished_callback(self, battle: AbstractBattle) -> None:
        self._trainer.ended(self.username, battle)
        self._trainer.battles += 1
        self._ended_tags.append(battle.battle_tag)
        if len(self._ended_tags) > _KEPT:
            self._battles.pop(self._ended_tags.popleft(), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("websocket")
    parser.add_argument("format")
    parser.add_argument("config", type=Path, help="config of a run, as JSON")
    parser.add_argument("--battles", type=int, required=True, help="battles in flight")
    parser.add_argument("--name", required=True, help="name of this client, unique on the server")
    parser.add_argument("--teams", type=Path, help="file with one packed team per line")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    random.seed(options.name)
    teams = AnyTeam(options.teams.read_text(encoding="utf-8").splitlines()) if options.teams else None
    trainer = Trainer(build_config(RunConfig, json.loads(options.config.read_text(encoding="utf-8"))))
    challenger, opponent = (
        TrainedPlayer(
            trainer,
            AccountConfiguration(f"{role} {options.name}", None),
            battle_format=options.format,
            max_concurrent_battles=options.battles,
            server_configuration=ServerConfiguration(options.websocket, ""),
            ping_interval=None,  # a busy server answers late
            team=teams,
        )
        for role in ("trainer", "opponent")
    )
    loop = challenger.ps_client.loop
    serving = asyncio.run_coroutine_threadsafe(trainer.serve(), loop)
    battling = asyncio.run_coroutine_threadsafe(challenger.battle_against(opponent, n_battles=_ENDLESS), loop)
    for _ in sys.stdin:
        for task in (serving, battling):
            if task.done():
                task.result()
        counts = {"decisions": trainer.decisions, "battles": trainer.battles // 2, "learned": trainer.learned}
        print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
