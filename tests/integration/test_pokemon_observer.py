"""Battles that are followed from what one seat receives: the views and masks are those of the match pool."""

import json
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nemesis.core.game import EndReason
from nemesis.core.masks import unpack_mask
from nemesis.games import open_game
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.hosts.observer import SeatUpdate
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.settings import PokemonSettings
from nemesis.games.pokemon.views import layout

TRAPS = """
Dugtrio @ Leftovers
Ability: Arena Trap
EVs: 1 HP
- Earthquake

Diglett @ Leftovers
Ability: Arena Trap
EVs: 1 HP
- Earthquake

Trapinch @ Leftovers
Ability: Arena Trap
EVs: 1 HP
- Earthquake
"""


def game_of(battle_format: str, **settings: Any) -> PokemonGame:
    game = open_game(f"pokemon:{battle_format}", {"pokemon": PokemonSettings(**settings)})
    assert isinstance(game, PokemonGame)
    return game


def played(game: PokemonGame, matches: int, seed: int) -> tuple[dict[tuple[int, int], list[Any]], list[dict[str, Any]]]:
    """Play random matches in a pool; returns the rows of each match and seat, and the recordings."""
    generator = np.random.default_rng(seed)
    rows: dict[tuple[int, int], list[Any]] = {}
    ended: list[int] = []
    with closing(game.pool(matches, seed)) as pool:
        while len(ended) < matches:
            waiting, results = pool.recv()
            ended += results.match.tolist()
            for row in range(len(waiting)):
                key = int(waiting.match[row]), int(waiting.seat[row])
                rows.setdefault(key, []).append((waiting.view[row].copy(), waiting.mask[row].copy()))
            mask = unpack_mask(waiting.mask, game.spec.actions)
            pool.send(np.argmax(generator.random(mask.shape) * mask, axis=1))
        recordings = [{"match": match, "recording": pool._recordings[match]} for match in ended]
    return rows, recordings


def received(game: PokemonGame, recordings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what each seat of recorded matches receives before each decision."""
    facts, node = game.format, find_node("bundled")
    start = {
        "layout": layout.for_host(),
        "vocabulary": dex.vocabulary().for_host(),
        "format": facts.id,
        "facts": {"slots": facts.slots, "brought": facts.brought, "generated": facts.generated},
        "slots": 1,
        "sheets": game.sheets,
        "turnLimit": game.turn_limit,
        "reasons": {reason.name: reason.value for reason in EndReason},
    }
    command = [node.node, Path(__file__).with_name("received.mjs"), installed_host(node)]
    job = json.dumps({"start": start, "matches": recordings})
    printed = subprocess.run(command, input=job, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("battle_format", "matches"),
    [("gen1ou", 6), ("gen9ou", 6), ("gen9vgc2025regi", 8), ("gen9randomdoublesbattle", 4)],
)
def test_what_a_seat_receives_gives_the_views_of_the_pool(battle_format: str, matches: int):
    game = game_of(battle_format)
    rows, recordings = played(game, matches, seed=3)
    assert compared(game, rows, received(game, recordings)) > 20 * matches


def test_refused_choices_are_seen_as_in_the_pool(tmp_path: Path):
    (tmp_path / "teams.txt").write_text(TRAPS)
    game = game_of("gen9anythinggoes", teams=str(tmp_path), turn_limit=60)
    rows, recordings = played(game, 10, seed=1)
    decisions = received(game, recordings)
    assert any(decision["refusals"] for decision in decisions)
    compared(game, rows, decisions)


def compared(game: PokemonGame, rows: dict[tuple[int, int], list[Any]], decisions: list[dict[str, Any]]) -> int:
    """Follow every seat from what it receives, many battles in a batch, and compare; returns how many decisions."""
    queues: dict[tuple[int, int], list[SeatUpdate]] = {}
    for one in decisions:
        key = one["match"], one["seat"]
        news = SeatUpdate(f"{key}", one["seat"], one["lines"], one["request"], one["refusals"])
        queues.setdefault(key, []).append(news)
    count = 0
    with closing(game.observer()) as observer:
        for step in range(max(map(len, queues.values()))):
            keys = [key for key, queue in queues.items() if step < len(queue)]
            view, mask = observer.observe([queues[key][step] for key in keys])
            for row, key in enumerate(keys):
                pool_view, pool_mask = rows[key][step]
                np.testing.assert_array_equal(view[row], pool_view, f"match and seat {key}, decision {step}")
                np.testing.assert_array_equal(mask[row], pool_mask, f"match and seat {key}, decision {step}")
            count += len(keys)
    assert {key: len(queue) for key, queue in queues.items()} == {key: len(rows[key]) for key in queues}
    return count


def test_observers_and_readers_give_their_host_to_the_next_one_and_only_once():
    game = game_of("gen1ou")
    for open_one in (game.observer, game.replay_reader):
        first = open_one()
        first.close()
        first.close()
        with closing(open_one()) as one, closing(open_one()) as other:
            assert one._host is first._host
            assert other._host is not first._host


def test_an_action_is_worded_as_the_server_wants_it():
    game = game_of("gen1ou")
    _, recordings = played(game, 1, seed=0)
    first = received(game, recordings)[0]
    with closing(game.observer()) as observer:
        observer.observe([SeatUpdate("one", first["seat"], first["lines"], first["request"], 0)])
        assert observer.choices(["one", "one"], np.array([0, 9])) == ["move 1", "switch 2"]
        observer.forget(["one"])
        with pytest.raises(Exception, match="There was no request in the battle one yet"):
            observer.choices(["one"], np.array([0]))
