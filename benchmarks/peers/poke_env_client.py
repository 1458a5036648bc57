"""Two random players of poke-env that battle each other on a Showdown server until standard input ends.

    python -m benchmarks.peers.poke_env_client WEBSOCKET FORMAT --battles 20 --name 0 [--teams FILE]

Every line on standard input is answered with the counts so far, as one line of JSON. poke-env tracks each battle as
usual, but no observation is built, so the peer does less work than a learner would need.
"""

import argparse
import asyncio
import json
import logging
import random
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.battle import AbstractBattle
from poke_env.player import BattleOrder, RandomPlayer
from poke_env.teambuilder import Teambuilder

_KEPT = 200  # finished battles; poke-env would keep all, and some messages arrive after the end
_STALLED = 15.0  # seconds without a decision after which a battle counts as stalled
_ENDLESS = 1_000_000_000  # battles


class CountingPlayer(RandomPlayer):
    """A random player that counts its decisions."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.decisions = 0
        self.ended = 0
        self._ended_tags: deque[str] = deque()
        self._last_answer: dict[str, float] = {}  # by tag of a battle

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        self._count(battle)
        return self.choose_random_move(battle)

    def teampreview(self, battle: AbstractBattle) -> str:
        self._count(battle)
        return self.random_teampreview(battle)

    def stalled(self) -> int:
        """Return how many battles have stalled."""
        now = time.monotonic()
        return sum(now - answered > _STALLED for answered in list(self._last_answer.values()))

    def _count(self, battle: AbstractBattle) -> None:
        self.decisions += 1
        self._last_answer[battle.battle_tag] = time.monotonic()

    def _battle_finished_callback(self, battle: AbstractBattle) -> None:
        self.ended += 1
        self._last_answer.pop(battle.battle_tag, None)
        self._ended_tags.append(battle.battle_tag)
        if len(self._ended_tags) > _KEPT:
            self._battles.pop(self._ended_tags.popleft(), None)


class AnyTeam(Teambuilder):
    """Returns one of several packed teams at random."""

    def __init__(self, teams: list[str]) -> None:
        self._teams = teams

    def yield_team(self) -> str:
        return random.choice(self._teams)  # noqa: S311


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("websocket")
    parser.add_argument("format")
    parser.add_argument("--battles", type=int, required=True, help="battles in flight")
    parser.add_argument("--name", required=True, help="name of this client, unique on the server")
    parser.add_argument("--teams", type=Path, help="file with one packed team per line")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    random.seed(options.name)
    teams = AnyTeam(options.teams.read_text(encoding="utf-8").splitlines()) if options.teams else None
    challenger, opponent = (
        CountingPlayer(
            AccountConfiguration(f"{role} {options.name}", None),
            battle_format=options.format,
            max_concurrent_battles=options.battles,
            server_configuration=ServerConfiguration(options.websocket, ""),
            ping_interval=None,  # a busy server answers late
            team=teams,
        )
        for role in ("challenger", "opponent")
    )
    battling = asyncio.run_coroutine_threadsafe(
        challenger.battle_against(opponent, n_battles=_ENDLESS), challenger.ps_client.loop
    )
    for _ in sys.stdin:
        if battling.done():
            battling.result()
        counts = {
            "decisions": challenger.decisions + opponent.decisions,
            "battles": challenger.ended,
            "stalled": max(challenger.stalled(), opponent.stalled()),
        }
        print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
