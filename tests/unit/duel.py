"""A small game that behaves like a simulator of battles, for tests of everything that plays matches.

Both seats strike at once, for 0, 1 or 2 hit points. A seat that was hit by 2 must catch breath, alone, before the next
round. Views are small integers. Several hosts share the slots and answer in turn, so that each batch has the decisions
of only some matches; the end of a match comes in a batch without decisions.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nemesis.core.family import Family
from nemesis.core.game import (
    SIDES,
    Arrays,
    BoolArray,
    Decisions,
    EndReason,
    FloatArray,
    GameSpec,
    IntArray,
    Results,
    Scripted,
)
from nemesis.core.masks import pack_mask
from nemesis.games import registry

BREATH = 3  # the action of catching breath; the others are how hard to strike
HIT_POINTS = 8
ROUND_LIMIT = 5
VIEW = 4  # own hit points, the opponent's, the round, whether out of breath


def always(action: int, view: np.ndarray, mask: BoolArray, generator: np.random.Generator) -> IntArray:  # noqa: ARG001
    return np.where(mask[:, action], action, mask.argmax(axis=1))


class Duel:
    """The game, as wide as asked for."""

    def __init__(self, actions: int = 4, hosts: int = 3, lost: range = range(0)) -> None:
        self.spec = GameSpec("duel:plain", VIEW, actions, 1.0, 2, "1")
        self.potentials: Mapping[str, float] = {"hp": 0.5, "round": 0.0}
        self.scripted: Mapping[str, Scripted] = {"timid": partial(always, 0), "bold": partial(always, 2)}
        self._hosts = hosts
        self._lost = lost  # matches that the simulator will lose
        self.pools: list[DuelPool] = []

    def pool(self, slots: int, seed: int) -> "DuelPool":
        self.pools.append(DuelPool(self.spec.actions, slots, seed, self._hosts, self._lost))
        return self.pools[-1]

    def potential(self, view: np.ndarray) -> FloatArray:
        ahead = (view[:, 0] - view[:, 1]) / HIT_POINTS
        return np.stack([ahead, view[:, 2] / ROUND_LIMIT], axis=1).astype(np.float32)

    def encoder(self, width: int) -> nn.Module:
        return DuelEncoder(width)

    def action_head(self, width: int) -> nn.Module:
        return DuelHead(width, self.spec.actions)


def register(monkeypatch: pytest.MonkeyPatch, game: Duel) -> Duel:
    """Register a family of games of which `duel:plain` opens this very object; returns it."""
    families = {**registry.families(), "duel": Family("duel", "plain", "duel:open_plain")}
    monkeypatch.setattr(registry, "families", lambda: families)
    monkeypatch.setattr(sys.modules[__name__], "open_plain", lambda *_: game, raising=False)
    return game


class DuelEncoder(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(VIEW, width)

    def forward(self, view: Tensor) -> tuple[Tensor, None]:
        assert view.dtype == torch.int16
        return torch.relu(self.linear(view.float() / HIT_POINTS)), None


class DuelHead(nn.Module):
    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, actions)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002
        logits: Tensor = self.linear(features)
        return logits


@dataclass
class Match:
    number: int
    hit_points: list[int]
    rounds: int = 0
    breathless: list[bool] = field(default_factory=lambda: [False, False])
    log: list[int] = field(default_factory=list)

    def waiting(self) -> list[int]:
        return [seat for seat in range(SIDES) if self.breathless[seat]] or list(range(SIDES))

    def view(self, seat: int) -> list[int]:
        return [self.hit_points[seat], self.hit_points[1 - seat], self.rounds, self.breathless[seat]]

    def mask(self, seat: int, actions: int) -> BoolArray:
        return np.arange(actions) == BREATH if self.breathless[seat] else np.arange(actions) < BREATH

    def choose(self, actions: dict[int, int]) -> None:
        self.log += actions.values()
        if any(self.breathless):
            self.breathless = [False, False]
            return
        self.rounds += 1
        for seat, action in actions.items():
            self.hit_points[1 - seat] -= action
            self.breathless[1 - seat] = action == 2

    def end(self) -> tuple[list[float], EndReason] | None:
        if min(self.hit_points) > 0:
            return ([0.0, 0.0], EndReason.TURN_LIMIT) if self.rounds >= ROUND_LIMIT else None
        if max(self.hit_points) <= 0:
            return [0.0, 0.0], EndReason.TIE
        return ([1.0, -1.0] if self.hit_points[0] > 0 else [-1.0, 1.0]), EndReason.PLAYED


class DuelPool:
    def __init__(self, actions: int, slots: int, seed: int, hosts: int, lost: range) -> None:
        self._actions = actions
        self._seed = seed
        self._lost = lost
        self._next = 0
        self._matches = [self._new() for _ in range(slots)]
        self._shares = [share.tolist() for share in np.array_split(np.arange(slots), min(hosts, slots))]
        self._turn = 0
        self._ended: list[tuple[int, int, list[float], EndReason]] = []
        self._asked: list[tuple[int, int]] = []  # slot, seat
        self._played: dict[int, Match] = {}
        self.closed = False

    @property
    def slots(self) -> int:
        return len(self._matches)

    def recv(self) -> tuple[Decisions, Results]:
        assert not self.closed
        ended, self._ended = self._ended, []
        share = [] if ended else self._shares[self._turn]
        self._asked = [(slot, seat) for slot in share for seat in self._matches[slot].waiting()]
        matches = [self._matches[slot] for slot, _ in self._asked]
        rows = list(zip(matches, [seat for _, seat in self._asked], strict=True))
        view = np.array([match.view(seat) for match, seat in rows], dtype=np.int16).reshape(-1, VIEW)
        mask = np.array([match.mask(seat, self._actions) for match, seat in rows]).reshape(-1, self._actions)
        number = np.array([match.number for match in matches], dtype=np.int64)
        slot, seat = np.array(self._asked, dtype=np.int64).reshape(-1, 2).T
        table = np.array([(match, slot, reason) for match, slot, _, reason in ended], dtype=np.int64).reshape(-1, 3)
        returns = np.array([returns for _, _, returns, _ in ended], dtype=np.float32).reshape(-1, SIDES)
        results = Results(table[:, 0], table[:, 1], returns, table[:, 2])
        return Decisions(number, slot.copy(), seat.copy(), view, pack_mask(mask.astype(np.bool_))), results

    def send(self, actions: IntArray) -> None:
        assert len(actions) == len(self._asked)
        chosen: dict[int, dict[int, int]] = {}
        for (slot, seat), action in zip(self._asked, actions.tolist(), strict=True):
            assert self._matches[slot].mask(seat, self._actions)[action]
            chosen.setdefault(slot, {})[seat] = action
        for slot, of_seats in chosen.items():
            match = self._matches[slot]
            match.choose(of_seats)
            end = ([np.nan, np.nan], EndReason.HOST_LOST) if match.number in self._lost else match.end()
            if end:
                self._ended.append((match.number, slot, *end))
                self._played[match.number] = match
                self._matches[slot] = self._new()
        if self._asked:
            self._turn = (self._turn + 1) % len(self._shares)

    def snapshot(self) -> Arrays:
        states = [(m.number, *m.hit_points, m.rounds, *m.breathless) for m in self._matches]
        ended = [(match, slot, *returns, reason) for match, slot, returns, reason in self._ended]
        return {
            "matches": np.array(states, dtype=np.int64),
            "ended": np.array(ended, dtype=np.float64).reshape(-1, 5),
            "place": np.array([self._next, self._turn]),
            "seed": np.array(self._seed),
        }

    def restore(self, snapshot: Arrays) -> None:
        self._matches = [
            Match(number, [first, second], rounds, [bool(a), bool(b)])
            for number, first, second, rounds, a, b in snapshot["matches"].tolist()
        ]
        self._ended = [(int(e[0]), int(e[1]), [e[2], e[3]], EndReason(int(e[4]))) for e in snapshot["ended"].tolist()]
        self._next, self._turn = snapshot["place"].tolist()
        self._seed = int(snapshot["seed"])

    def close(self) -> None:
        self.closed = True

    def save_replay(self, match: int, folder: Path, names: tuple[str, str]) -> Path:
        path = folder / f"{match}.txt"
        path.write_text(f"{names[0]} against {names[1]}: {self._played[match].log}\n")
        return path

    def _new(self) -> Match:
        number, self._next = self._next, self._next + 1
        # Drawn from the number, so that a restored pool needs no generator.
        first, second = np.random.default_rng((self._seed, number)).integers(4, HIT_POINTS, 2).tolist()
        return Match(number, [first, second])
