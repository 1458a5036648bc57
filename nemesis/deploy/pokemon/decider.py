"""Decisions for battles on a server, in batches, as in a match pool."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nemesis.core.game import Decisions
from nemesis.games.pokemon.hosts.observer import Observer, SeatUpdate
from nemesis.play.players import Player


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """An open request, with the lines that its seat received since the previous one."""

    match: int
    slot: int  # among the battles in flight; reused, and the key of the player's memory
    update: SeatUpdate


class BattleDecider:
    """Answers requests with a player, which gets them like the decisions of a match pool."""

    def __init__(self, observer: Observer, player: Player) -> None:
        self._observer = observer
        self._player = player

    def decide(self, pending: Sequence[PendingDecision]) -> list[str]:
        """Return a choice for each decision; no two may be of the same battle."""
        updates = [one.update for one in pending]
        view, mask = self._observer.observe(updates)
        decisions = Decisions(
            match=np.array([one.match for one in pending]),
            slot=np.array([one.slot for one in pending]),
            seat=np.array([one.seat for one in updates]),
            view=view,
            mask=mask,
        )
        return self._observer.choices([one.battle for one in updates], self._player.act(decisions).action)

    def forget(self, battles: Sequence[str], slots: Sequence[int]) -> None:
        """Clear the state of battles that ended, and the player's memory of their slots."""
        self._observer.forget(battles)
        self._player.forget(np.array(slots))
