"""One battle on a server, as its messages tell one of the players: what is asked, what was said, and how it ended.

Nothing here sends or decides anything. A decision is due when a request has come that nobody answered yet; the
simulator sends what happened first and the request after it. A choice may be refused for a reason that the player could
not know: then the request comes again, changed, and `refusals` counts it, as in training.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from nemesis.core.game import EndReason
from nemesis.deploy.pokemon.showdown_connection import identity

MAX_REFUSALS = 3
_SIDES = ("p1", "p2")
# Errors that come of an answer that crossed the end of a turn or of the battle.
_HARMLESS = ("too late", "nothing to choose", "Can't do anything")
_QUITTING = (" forfeited.", " lost due to inactivity.", " forfeited by changing their name.")


@dataclass(slots=True)
class BattleRoom:
    """A battle in which `user` plays."""

    name: str
    user: str
    log: list[str] = field(default_factory=list)  # all lines but requests
    turn: int = 0
    decisions: int = 0  # answers that were given
    refusals: int = 0  # of the request that waits
    earned: int = 0  # 1, 0 or −1 once it has ended
    end_reason: EndReason | None = None
    opponent_left: bool = False
    sheets: int = 0  # team sheets that were shown
    sheets_rejected: bool = False
    request: dict[str, Any] | None = None  # that waits for an answer
    _read: int = 0  # lines that a decision was made with
    _answered: dict[str, Any] | None = None

    @property
    def ended(self) -> bool:
        return self.end_reason is not None

    @property
    def seat(self) -> int:
        """Return the seat that the request names."""
        if self.request is None:
            raise RuntimeError(f"Nothing is asked in {self.name}.")
        return _SIDES.index(self.request["side"]["id"])

    def read(self, lines: list[str]) -> None:
        """Take in what the room was told."""
        for line in lines:
            if line.startswith("|request|"):
                self._read_request(line.removeprefix("|request|"))
            elif line.startswith("|error|"):
                self._read_error(line)
            else:
                self.log.append(line)
                self._read_event(line)

    def take_unread(self) -> list[str]:
        """Return the lines since the last time."""
        lines = self.log[self._read :]
        self._read = len(self.log)
        return lines

    def answer(self, choice: str) -> str:
        """Note that the request is answered; returns the command that says so."""
        if self.request is None:
            raise RuntimeError(f"Nothing is asked in {self.name}.")
        self._answered, self.request = self.request, None
        self.decisions += 1
        return f"/choose {choice}|{self._answered['rqid']}"

    def void(self, reason: EndReason) -> None:
        """End a battle that did not end by play, or at its limit of turns."""
        self._end(0, reason)

    def _read_request(self, text: str) -> None:
        request = json.loads(text) if text else None
        if not request or self.ended:
            return
        if not request.get("update"):  # the one before was answered for good
            self.refusals = 0
        self.request = None if request.get("wait") else request

    def _read_error(self, line: str) -> None:
        if any(words in line for words in _HARMLESS):
            return
        self.refusals += 1
        if "[Invalid choice]" in line:  # else the changed request follows
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
        """A side whose name is taken away has left the room; we see nothing of our own leaving."""
        self.opponent_left = not name

    def _end(self, earned: int, reason: EndReason) -> None:
        if not self.ended:
            self.earned, self.end_reason, self.request = earned, reason, None
