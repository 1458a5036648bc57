"""Battles that are played elsewhere, seen as in training: what a server tells a seat becomes view records and masks.

A host reads the protocol lines and requests of one seat with the very code that it uses for its own battles, so a
policy that was trained in process meets nothing new on a server.
"""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import IntArray
from nemesis.core.masks import PackedMask
from nemesis.games.pokemon.hosts.host_process import Host, HostError
from nemesis.games.pokemon.views import layout


@dataclass(frozen=True, slots=True)
class SeatUpdate:
    """What the seat of a battle was told since the last time, up to a request that it has to answer."""

    battle: str
    seat: int
    lines: list[str]
    request: dict[str, Any]
    refusals: int  # choices that were refused since the request before


class Observer:
    """Follows the battles of one format, any number at once."""

    def __init__(self, host: Host) -> None:
        """Follow battles with a host that was started for their format."""
        self._host = host

    def observe(self, news: Sequence[SeatUpdate]) -> tuple[npt.NDArray[np.int16], PackedMask]:
        """Return view records (n, view) and packed masks (n, byte), one row for each of the news."""
        answer = self._ask("observe", news=[asdict(one) for one in news])
        view = np.frombuffer(base64.b64decode(answer["views"]), "<i2").reshape(len(news), layout.VIEW_SIZE)
        mask = np.frombuffer(base64.b64decode(answer["masks"]), np.uint8).reshape(len(news), -1)
        return view.copy(), mask.copy()

    def choices(self, battles: Sequence[str], actions: IntArray) -> list[str]:
        """Return Showdown's choices for actions (n,) that answer what was observed last in these battles."""
        asked = [{"battle": battle, "action": action} for battle, action in zip(battles, actions.tolist(), strict=True)]
        texts: list[str] = self._ask("choices", actions=asked)
        return texts

    def forget(self, battles: Sequence[str]) -> None:
        """Drop what is known of battles that ended."""
        self._ask("forget", battles=list(battles))

    def close(self) -> None:
        self._host.close()

    def _ask(self, question: str, **details: Any) -> Any:
        try:
            return self._host.ask(question, **details)
        except HostError as error:
            raise UserError(f"The process that reads the battles was lost. {error}") from None
