"""An invented team game with a known optimum: two sides of two seats, rewards per decision, and a time limit.

Every seat has a cue, −1 or 1, and decides once a round, all seats at the same time. The right action is the cue's: it
pays 0.1, unless `rewards` are off. With `hidden`, the cue is seen in the first round only, so that a policy has to
remember it. Every third match uses one seat of each side.

    race      ends by the rules after so many rounds; a round counts for a side if all of its seats are right, and the
              side with more such rounds wins
    endless   never ends by the rules, and is truncated after so many rounds; nothing in a view tells how many are left.
              So the value of perfect play is 0.1 / (1 − discount) at every decision.

`RatedRelay` is the same game with rewards by component, `right`, `wrong` and `low`, and a potential, `cue`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from torch import Tensor, nn

from nemesis.core.game import (
    Arrays,
    Decisions,
    EndReason,
    FloatArray,
    GameSpec,
    IntArray,
    Results,
    RewardComponent,
    Scripted,
)
from nemesis.core.masks import pack_mask
from nemesis.core.random import generator_state, restore_generator
from nemesis.core.settings import Settings

SEATS, ACTIONS, VIEW = 4, 3, 3  # the last action is never legal
REWARD = 0.1
COMPONENTS = {  # paid besides each other: 1 for the right action, −1 for the other, and 1 for action 0
    "right": RewardComponent(REWARD, sparse=True),
    "wrong": RewardComponent(0.05),
    "low": RewardComponent(0.02),
}


class RelaySettings(Settings):
    """How a match goes."""

    kind: Literal["race", "endless"] = "race"
    rounds: int = 4
    hidden: bool = False
    rewards: bool = True


class Relay:
    """The game."""

    settings_model = RelaySettings

    def __init__(self, settings: RelaySettings | None = None) -> None:
        self.settings = settings or RelaySettings()
        self.spec = GameSpec("team_game:Relay", VIEW, ACTIONS, 1.0, 4, "1", seats=SEATS)
        self.scripted: Mapping[str, Scripted] = {}

    def pool(self, slots: int, seed: int) -> "RelayPool":
        return RelayPool(self.settings, slots, seed)

    def encoder(self, width: int) -> nn.Module:
        return RelayEncoder(width)

    def action_head(self, width: int) -> nn.Module:
        return RelayHead(width)


class RatedRelay(Relay):
    """The game with rewards by component."""

    reward_components = COMPONENTS
    potentials: Mapping[str, float] = {"cue": 0.5}

    def __init__(self, settings: RelaySettings | None = None) -> None:
        super().__init__(settings)
        self.spec = replace(self.spec, name="team_game:RatedRelay")

    def pool(self, slots: int, seed: int) -> "RelayPool":
        return RelayPool(self.settings, slots, seed, components=len(COMPONENTS))

    def potential(self, view: np.ndarray) -> FloatArray:
        return view[:, 1:2]


class RelayEncoder(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(VIEW, width)

    def forward(self, view: Tensor) -> tuple[Tensor, None]:
        return self.linear(view).tanh(), None


class RelayHead(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, ACTIONS)

    def forward(self, features: Tensor, context: None) -> Tensor:  # noqa: ARG002
        logits: Tensor = self.linear(features)
        return logits


class RelayPool:
    """Matches as rows of arrays."""

    def __init__(self, settings: RelaySettings, slots: int, seed: int, components: int = 0) -> None:
        self._settings = settings
        self._generator = np.random.default_rng(seed)
        self._match = np.arange(slots)
        self._next_match = slots
        self._round = np.zeros(slots, dtype=np.int64)
        self._cue = self._generator.integers(0, 2, (slots, SEATS))
        self._right = np.zeros((slots, 2))  # rounds in which all seats of a side were right
        self._reward = np.zeros((slots, SEATS, components) if components else (slots, SEATS), dtype=np.float32)
        self._ended = self._results(np.zeros(0, dtype=np.int64))

    @property
    def slots(self) -> int:
        return len(self._match)

    def recv(self) -> tuple[Decisions, Results]:
        ended, self._ended = self._ended, self._results(np.zeros(0, dtype=np.int64))
        return self._decisions(np.arange(self.slots)), ended

    def send(self, actions: IntArray) -> None:
        slot, seat = np.nonzero(self._used(np.arange(self.slots)))
        assert ((actions >= 0) & (actions < ACTIONS - 1)).all()
        right = actions == self._cue[slot, seat]
        self._reward[:] = 0
        if self._reward.ndim == 2:
            self._reward[slot, seat] = REWARD * right * self._settings.rewards
        else:
            self._reward[slot, seat] = np.stack([right, -1.0 * ~right, actions == 0], axis=1)
        wrong = np.zeros_like(self._right)
        np.add.at(wrong, (slot, seat % 2), ~right)
        self._right += wrong == 0
        self._round += 1
        over = np.flatnonzero(self._round >= self._settings.rounds)
        if over.size:
            self._ended = self._results(over)
            self._match[over] = self._next_match + np.arange(over.size)
            self._next_match += over.size
            self._round[over], self._right[over], self._reward[over] = 0, 0, 0
            self._cue[over] = self._generator.integers(0, 2, (over.size, SEATS))

    def snapshot(self) -> Arrays:
        return {
            "generator": generator_state(self._generator),
            "match": self._match.copy(),
            "next_match": np.array(self._next_match),
            "round": self._round.copy(),
            "cue": self._cue.copy(),
            "right": self._right.copy(),
            "reward": self._reward.copy(),
            **self._pending(),
        }

    def restore(self, snapshot: Arrays) -> None:
        restore_generator(self._generator, snapshot["generator"])
        self._match, self._next_match = snapshot["match"].copy(), int(snapshot["next_match"])
        self._round, self._cue = snapshot["round"].copy(), snapshot["cue"].copy()
        self._right, self._reward = snapshot["right"].copy(), snapshot["reward"].copy()
        final = {name.removeprefix("final_"): array for name, array in snapshot.items() if name.startswith("final_")}
        self._ended = Results(
            **{name: snapshot[f"ended_{name}"] for name in ("match", "slot", "returns", "end_reason", "reward")},
            final=Decisions(**final) if final else None,
        )

    def _pending(self) -> Arrays:
        """Return the results that wait for `recv`."""
        ended, final = self._ended, self._ended.final
        names = ("match", "slot", "returns", "end_reason", "reward")
        arrays = {f"ended_{name}": getattr(ended, name) for name in names}
        if final is not None:
            names = ("match", "slot", "seat", "view", "mask", "reward")
            arrays |= {f"final_{name}": getattr(final, name) for name in names}
        return arrays

    def close(self) -> None:
        pass

    def _used(self, slots: IntArray) -> np.ndarray:
        """Return which seats take part: (slot, seat)."""
        return (self._match[slots] % 3 > 0)[:, None] | (np.arange(SEATS) < 2)

    def _decisions(self, slots: IntArray) -> Decisions:
        row, seat = np.nonzero(self._used(slots))
        slot = slots[row]
        first = self._round[slot] == 0
        shown = first if self._settings.hidden else np.ones_like(first)
        view = np.stack([first, shown * (2.0 * self._cue[slot, seat] - 1), np.ones(len(slot))], axis=1)
        legal = np.broadcast_to(np.arange(ACTIONS) < ACTIONS - 1, (len(slot), ACTIONS))
        reward = self._reward[slot, seat]
        return Decisions(self._match[slot], slot, seat, view.astype(np.float32), pack_mask(legal), reward)

    def _results(self, slots: IntArray) -> Results:
        endless = self._settings.kind == "endless"
        reason = EndReason.TIME_LIMIT if endless else EndReason.PLAYED
        return Results(
            match=self._match[slots],
            slot=slots,
            returns=np.zeros((len(slots), 2), dtype=np.float32) if endless else self._race_returns(slots),
            end_reason=np.full(len(slots), reason, dtype=np.int64),
            reward=self._reward[slots],
            final=self._decisions(slots) if endless and len(slots) else None,
        )

    def _race_returns(self, slots: IntArray) -> FloatArray:
        lead = np.sign(self._right[slots, 0] - self._right[slots, 1])
        return np.stack([lead, -lead], axis=1).astype(np.float32)
