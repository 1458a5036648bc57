"""Decisions for battles on a server: all that wait at one time make one batch, as in a match pool."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nemesis.core.game import Decisions
from nemesis.games.pokemon.hosts.observer import SeatUpdate, Observer
from nemesis.play.players import Player


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A request that waits, with what its seat was told since the one before."""

    match: int
    slot: int  # place among the battles in flight, reused; a player keeps its memory by it
    news: SeatUpdate


class BattleDecider:
    """Answers questions with a player, which sees them as the decisions of a match pool."""

    def __init__(self, observer: Observer, player: Player) -> None:
        self._observer = observer
        self._player = player

    def decide(self, questions: Sequence[PendingDecision]) -> list[str]:
        """Return a choice for each question; no two may be of the same battle."""
        news = [question.news for question in questions]
        view, mask = self._observer.observe(news)
        decisions = Decisions(
            match=np.array([question.match for question in questions]),
            slot=np.array([question.slot for question in questions]),
            seat=np.array([one.seat for one in news]),
            view=view,
            mask=mask,
        )
        return self._observer.choices([one.battle for one in news], self._player.act(decisions).action)

    def forget(self, battles: Sequence[str], slots: Sequence[int]) -> None:
        """Clear what is remembered of battles that ended in such slots."""
        self._observer.forget(battles)
        self._player.forget(np.array(slots))
