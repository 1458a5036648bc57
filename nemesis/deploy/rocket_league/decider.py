"""Decisions for one car in a match of the real game, as in a match pool.

As in training, the car decides every `tick_skip` ticks, and an action acts `action_delay` ticks after its decision,
until the next one acts. Time is the frame number of packets. After missed packets the car decides with the next one,
and then again `tick_skip` ticks later, so an action is never shorter than in training.
"""

from collections import deque

import numpy as np
from rlbot import flat

from nemesis.core.game import Decisions, FloatArray
from nemesis.core.masks import pack_mask
from nemesis.deploy.rocket_league.packets import PacketReader
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.views import build_views
from nemesis.play.players import Player

_FULL_MASK = pack_mask(np.ones((1, len(ACTIONS)), dtype=np.bool_))
_SLOT = np.zeros(1, dtype=np.int64)
_IN_PLAY = (flat.MatchPhase.Kickoff, flat.MatchPhase.Active)


class CarDecider:
    """Answers packets with a player, which sees them like the decisions of a match pool.

    In training a match ends with a goal. Here too a new one begins for the player after each goal, and whenever the
    game starts again; its memory is then cleared. While the ball is not in play, the car does nothing.
    """

    def __init__(self, player: Player, field: flat.FieldInfo, index: int, settings: RocketLeagueSettings) -> None:
        """Decide for the car at an index of the packets' players."""
        self._player = player
        self._reader = PacketReader(field)
        self._index = index
        self._tick_skip, self._delay = settings.tick_skip, settings.action_delay
        self._score: list[int] = []
        self._frame = 0  # of the last packet
        self._match = 0
        self._due: int | None = None  # frame of the next decision; None if it is the first of a match
        self._chosen = NEUTRAL  # the last action that was chosen
        self._acting = NEUTRAL
        self._waiting: deque[tuple[int, int]] = (
            deque()
        )  # actions that do not act yet, each with the frame in which it will

    def action(self, packet: flat.GamePacket) -> int:
        """Return the action that acts now."""
        info, score = packet.match_info, [team.score for team in packet.teams]
        frame, phase = info.frame_num, info.match_phase
        paused = phase == flat.MatchPhase.Paused
        if frame < self._frame or score != self._score or not (phase in _IN_PLAY or paused):
            self._begin()
        self._frame, self._score = frame, score
        self._reader.follow(packet)
        if paused or phase not in _IN_PLAY or not packet.balls:
            return NEUTRAL
        if self._due is None or frame >= self._due:
            self._chosen = self._decide(packet)
            self._due = frame + self._tick_skip
            self._waiting.append((frame + self._delay, self._chosen))
        while self._waiting and self._waiting[0][0] <= frame:
            self._acting = self._waiting.popleft()[1]
        return self._acting

    def _begin(self) -> None:
        """Start a new match."""
        self._due = None
        self._chosen = self._acting = NEUTRAL
        self._waiting.clear()
        self._player.forget(_SLOT)
        self._match += 1

    def _decide(self, packet: flat.GamePacket) -> int:
        state, seats = self._reader.read(packet)
        seat = seats[self._index]
        view = build_views(state, ACTIONS[np.full(state.present.shape, self._chosen)])[:, seat]
        return int(self._player.act(decision_of(self._match, int(seat), view)).action[0])


def decision_of(match: int, seat: int, view: FloatArray) -> Decisions:
    """Return the decision of one car with a view (1, view)."""
    return Decisions(match=np.array([match]), slot=_SLOT, seat=np.array([seat]), view=view, mask=_FULL_MASK)
