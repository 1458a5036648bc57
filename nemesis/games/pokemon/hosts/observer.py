"""Converts battles on a server into the view records and masks of training.

A host reads the protocol lines and requests of one seat with the same code as for its own battles, so that a policy
gets the same inputs on a server as in training.
"""

import base64
from collections.abc import Callable, Sequence
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
    """The lines that a seat received since its last request, and its new request."""

    battle: str
    seat: int
    lines: list[str]
    request: dict[str, Any]
    refusals: int  # choices refused since the previous request


class Observer:
    """Tracks any number of battles of one format."""

    def __init__(self, host: Host, give_back: Callable[[Host], None]) -> None:
        """Use a host that was started for the format, and give it back in the end."""
        self._host = host
        self._give_back = give_back
        self._closed = False

    def observe(self, updates: Sequence[SeatUpdate]) -> tuple[npt.NDArray[np.int16], PackedMask]:
        """Return view records (n, view) and packed masks (n, byte), one row per update."""
        answer = self._ask("observe", news=[asdict(one) for one in updates])
        view = np.frombuffer(base64.b64decode(answer["views"]), "<i2").reshape(len(updates), layout.VIEW_SIZE)
        mask = np.frombuffer(base64.b64decode(answer["masks"]), np.uint8).reshape(len(updates), -1)
        return view.copy(), mask.copy()

    def choices(self, battles: Sequence[str], actions: IntArray) -> list[str]:
        """Return Showdown's choices for actions (n,) that answer the last requests of these battles."""
        asked = [{"battle": battle, "action": action} for battle, action in zip(battles, actions.tolist(), strict=True)]
        texts: list[str] = self._ask("choices", actions=asked)
        return texts

    def forget(self, battles: Sequence[str]) -> None:
        """Drop the state of battles that ended."""
        self._ask("forget", battles=list(battles))

    def close(self) -> None:
        """Give the host back. May be called twice."""
        if not self._closed:
            self._closed = True
            self._give_back(self._host)

    def _ask(self, question: str, **details: Any) -> Any:
        try:
            return self._host.ask(question, **details)
        except HostError as error:
            raise UserError(f"The host process that reads the battles failed. {error}") from None
