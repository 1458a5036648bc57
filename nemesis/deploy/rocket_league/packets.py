"""From RLBot's packets to the state of an arena, from which views are built as in training.

RLBot and RocketSim have the same units and axes. What they tell in different ways is translated here: rotations are
angles in a packet, boost pads have another order, and a car that jumps counts as in the air although its wheels still
have contact.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rlbot import flat

from nemesis.core.errors import UserError
from nemesis.core.game import SIDES, FloatArray, IntArray
from nemesis.games.rocket_league.state import PAD_POSITIONS, PADS, ArenaState
from nemesis.games.rocket_league.views import TEAM

Rows: TypeAlias = npt.NDArray[np.float64]

_NEAR = 100.0  # uu, between where a pad is here and in the game
_WHEELS_LEAVE = 5  # ticks after the start of a jump, in RocketSim

# Columns of a car in `_row`.
_POSITION, _VELOCITY, _SPIN, _ROTATION = (slice(at, at + 3) for at in (0, 3, 6, 9))
_BOOST, _ON_GROUND, _DEMOLISHED, _CAN_FLIP, _SUPERSONIC = range(12, 17)


def pad_order(field: flat.FieldInfo) -> IntArray:
    """Return which pad of the field (pad,) each pad of a view is; raises if the field has others."""
    found = np.array([(pad.location.x, pad.location.y) for pad in field.boost_pads]).reshape(-1, 2)
    if len(found) == PADS:
        distance = np.linalg.norm(PAD_POSITIONS[:, None] - found, axis=2)
        order: IntArray = distance.argmin(axis=1)
        if distance.min(axis=1).max() < _NEAR and len(np.unique(order)) == PADS:
            return order
    raise UserError(
        f"The policy plays on standard soccar maps only; this field has {len(found)} boost pads, and not their {PADS}."
    )


def seats_of(packet: flat.GamePacket) -> IntArray:
    """Return the seat of each player (player,): blue cars have even seats and orange cars odd ones, in their order."""
    cars, seats = [0] * SIDES, []
    for player in packet.players:
        seats.append(SIDES * cars[player.team] + player.team)
        cars[player.team] += 1
    if max(cars) > TEAM:
        raise UserError(
            f"A side has {max(cars)} cars; the policy plays with at most {TEAM} a side, so its car stands still."
        )
    return np.array(seats)


class PacketReader:
    """Reads the packets of a match. It must follow all of them, because they do not say when a car jumped."""

    def __init__(self, field: flat.FieldInfo) -> None:
        self._pads = pad_order(field)
        self._jumped: dict[int, int] = {}  # first frame of the jump that a player is in

    def follow(self, packet: flat.GamePacket) -> None:
        """Take a packet that is not read."""
        frame = packet.match_info.frame_num
        self._jumped = {
            index: self._jumped.get(index, frame)
            for index, player in enumerate(packet.players)
            if player.air_state == flat.AirState.Jumping
        }

    def read(self, packet: flat.GamePacket) -> tuple[ArenaState, IntArray]:
        """Return the state of the match (1, …) of a packet that was followed, and the seat of each player (player,)."""
        frame, seat = packet.match_info.frame_num, seats_of(packet)
        seats = SIDES * int(1 + seat.max(initial=0) // SIDES)
        rows = np.array(
            [
                _row(player, frame - self._jumped.get(index, frame) < _WHEELS_LEAVE)
                for index, player in enumerate(packet.players)
            ]
        )
        forward, up = directions(rows[:, _ROTATION])
        nothing = np.zeros((1, seats), dtype=np.float32)

        def placed(values: npt.NDArray[np.generic], kind: type[np.generic] = np.float32) -> npt.NDArray[Any]:
            array = np.zeros((1, seats, *values.shape[1:]), dtype=kind)
            array[0, seat] = values
            return array

        ball = packet.balls[0].physics
        pads = np.array([pad.is_active for pad in packet.boost_pads], dtype=np.float32)
        return ArenaState(
            ball_position=_vector(ball.location),
            ball_velocity=_vector(ball.velocity),
            ball_spin=_vector(ball.angular_velocity),
            position=placed(rows[:, _POSITION]),
            velocity=placed(rows[:, _VELOCITY]),
            spin=placed(rows[:, _SPIN]),
            forward=placed(forward),
            up=placed(up),
            boost=placed(rows[:, _BOOST]),
            on_ground=placed(rows[:, _ON_GROUND], np.bool_),
            demolished=placed(rows[:, _DEMOLISHED], np.bool_),
            can_flip=placed(rows[:, _CAN_FLIP], np.bool_),
            supersonic=placed(rows[:, _SUPERSONIC], np.bool_),
            touched=nothing > 0,  # views have no events
            goals=nothing,
            saves=nothing,
            shots=nothing,
            demolitions=nothing,
            pads=pads[None, self._pads],
            present=placed(np.ones(len(seat)), np.bool_),
            tick=np.array([frame]),
        ), seat


def directions(rotation: Rows) -> tuple[Rows, Rows]:
    """Return forward and up (n, 3) of rotations (n, 3): pitch, yaw and roll in radians."""
    (cp, cy, cr), (sp, sy, sr) = np.cos(rotation).T, np.sin(rotation).T
    forward = np.stack([cp * cy, cp * sy, sp], axis=1)
    up = np.stack([-cr * cy * sp - sr * sy, -cr * sy * sp + sr * cy, cp * cr], axis=1)
    return forward, up


def _row(player: flat.PlayerInfo, lifts_off: bool) -> tuple[float, ...]:
    """Return the numbers of a car; if it jumps, with whether its wheels still have contact."""
    physics = player.physics
    at, velocity, spin, rotation = physics.location, physics.velocity, physics.angular_velocity, physics.rotation
    jumping = player.air_state == flat.AirState.Jumping
    on_ground = lifts_off if jumping else player.air_state == flat.AirState.OnGround
    used = player.has_double_jumped or player.has_dodged
    # A car that fell or was pushed off a surface may flip at any time; its timeout does not run.
    in_time = jumping or not player.has_jumped or player.dodge_timeout > 0
    return (
        *(at.x, at.y, at.z),
        *(velocity.x, velocity.y, velocity.z),
        *(spin.x, spin.y, spin.z),
        *(rotation.pitch, rotation.yaw, rotation.roll),
        player.boost,
        on_ground,
        player.demolished_timeout >= 0,
        on_ground or (in_time and not used),
        player.is_supersonic,
    )


def _vector(one: flat.Vector3) -> FloatArray:
    return np.array([[one.x, one.y, one.z]], dtype=np.float32)
