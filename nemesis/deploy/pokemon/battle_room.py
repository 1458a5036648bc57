"""The state of one battle on a server, parsed from the messages to one player: its request, its log, its result.

Nothing here sends or decides anything. A decision is due when a request has not been answered yet; the simulator sends
the events first and the request after them. A choice may be refused for a reason that the player could not know. Then
the request is sent again, changed, and `refusals` counts it, as in training.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from nemesis.core.game import EndReason
from nemesis.deploy.pokemon.showdown_connection import identity

MAX_REFUSALS = 3
_SIDES = ("p1", "p2")
# Errors caused by an answer sent just after a turn or the battle ended.
_HARMLESS = ("too late", "nothing to choose", "Can't do anything")
_QUITTING = (" forfeited.", " lost due to inactivity.", " forfeited by changing their name.")


@dataclass(slots=True)
class BattleRoom:
    """A battle of `user`."""

    name: str
    user: str
    log: list[str] = field(default_factory=list)  # all lines except requests and errors
    turn: int = 0
    decisions: int = 0  # answers sent
    refusals: int = 0  # of the open request
    earned: int = 0  # 1, 0 or −1 once it has ended
    end_reason: EndReason | None = None
    opponent_left: bool = False
    sheets: int = 0  # team sheets shown
    sheets_rejected: bool = False
    request: dict[str, Any] | None = None  # the open request
    _read: int = 0  # lines already returned by take_unread
    _answered: dict[str, Any] | None = None

    @property
    def ended(self) -> bool:
        return self.end_reason is not None

    @property
    def seat(self) -> int:
        """The seat of the open request."""
        if self.request is None:
            raise RuntimeError(f"Nothing is asked in {self.name}.")
        return _SIDES.index(self.request["side"]["id"])

    def read(self, lines: list[str]) -> None:
        """Process the lines of a message."""
        for line in lines:
            if line.startswith("|request|"):
                self._read_request(line.removeprefix("|request|"))
            elif line.startswith("|error|"):
                self._read_error(line)
            else:
                self.log.append(line)
                self._read_event(line)

    def take_unread(self) -> list[str]:
        """Return the lines since the last call."""
        lines = self.log[self._read :]
        self._read = len(self.log)
        return lines

    def answer(self, choice: str) -> str:
        """Mark the request as answered; returns the command to send."""
        if self.request is None:
            raise RuntimeError(f"Nothing is asked in {self.name}.")
        self._answered, self.request = self.request, None
        self.decisions += 1
        return f"/choose {choice}|{self._answered['rqid']}"

    def void(self, reason: EndReason) -> None:
        """End a battle that did not end by the rules: it was abandoned, or reached the turn limit."""
        self._end(0, reason)

    def _read_request(self, text: str) -> None:
        request = json.loads(text) if text else None
        if not request or self.ended:
            return
        if not request.get("update"):  # the previous request is settled
            self.refusals = 0
        self.request = None if request.get("wait") else request

    def _read_error(self, line: str) -> None:
        if any(text in line for text in _HARMLESS):
            return
        self.refusals += 1
        if "[Invalid choice]" in line:  # otherwise a changed request follows
            self.request = self._answered

    def _read_event(self, line: str) -> None:
        _, kind, *parts = [*line.split("|", 4), "", ""]
        if kind == "turn":
            self.turn = int(parts[0])
        elif kind == "win":
            self._end(1 if identity(parts[0]) == identity(self.user) else -1, EndReason.PLAYED)
        elif kind == "tie":
            self._end(0, EndReason.TIE)
        elif kind == "player":
            self._read_player(parts[1])
        elif kind == "showteam":
            self.sheets += 1
        elif kind == "-message" and parts[0].endswith(_QUITTING):
            self.void(EndReason.FORFEIT)
        elif line.endswith(" rejected open team sheets."):
            self.sheets_rejected = True

    def _read_player(self, name: str) -> None:
        """An empty name means that the opponent has left the room."""
        self.opponent_left = not name

    def _end(self, earned: int, reason: EndReason) -> None:
        if not self.ended:
            self.earned, self.end_reason, self.request = earned, reason, None
