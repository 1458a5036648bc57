"""Packets of RLBot, written from the state of RocketSim as the game would report it."""

from collections.abc import Sequence
from typing import Any

from rlbot import flat

from nemesis.games.rocket_league.arena.rocketsim import Arena
from nemesis.games.rocket_league.state import BIG_PADS, PAD_POSITIONS

DODGE_SECONDS = 1.25  # after a jump
# RLBot orders pads by y and then by x, unlike RocketSim.
PADS = sorted(range(len(PAD_POSITIONS)), key=lambda pad: (PAD_POSITIONS[pad, 1], PAD_POSITIONS[pad, 0]))
FIELD = flat.FieldInfo(
    boost_pads=[
        flat.BoostPad(
            flat.Vector3(float(PAD_POSITIONS[pad, 0]), float(PAD_POSITIONS[pad, 1]), 70), is_full_boost=pad in BIG_PADS
        )
        for pad in PADS
    ]
)


def order_of(cars: int) -> list[int]:
    """Return the seats in the order of a packet's players: all blue cars come first."""
    return [*range(0, cars, 2), *range(1, cars, 2)]


def packet_of(
    arena: Arena,
    frame: int,
    phase: flat.MatchPhase = flat.MatchPhase.Active,
    score: Sequence[int] = (0, 0),
) -> flat.GamePacket:
    """Return what RLBot would send of an arena."""
    pads = arena.arena.get_boost_pads()
    return flat.GamePacket(
        players=[_player(arena.cars[seat].get_state(), seat % 2) for seat in order_of(len(arena.cars))],
        boost_pads=[flat.BoostPadState(pads[pad].get_state().is_active) for pad in PADS],
        balls=[flat.BallInfo(_physics(arena.arena.ball.get_state()))],
        match_info=flat.MatchInfo(match_phase=phase, frame_num=frame),
        teams=[flat.TeamInfo(team, points) for team, points in enumerate(score)],
    )


def _player(state: Any, team: int) -> flat.PlayerInfo:
    timed = state.has_jumped and not state.is_on_ground and state.air_time_since_jump < DODGE_SECONDS
    return flat.PlayerInfo(
        physics=_physics(state),
        air_state=_air_state(state),
        dodge_timeout=DODGE_SECONDS - state.air_time_since_jump if timed else -1,
        demolished_timeout=3 if state.is_demoed else -1,
        is_supersonic=state.is_supersonic,
        is_bot=True,
        team=team,
        boost=state.boost,
        has_jumped=state.has_jumped,
        has_double_jumped=state.has_double_jumped,
        has_dodged=state.has_flipped,
    )


def _air_state(state: Any) -> flat.AirState:
    if state.is_jumping:
        return flat.AirState.Jumping  # also while the wheels still have contact
    if state.is_on_ground:
        return flat.AirState.OnGround
    return flat.AirState.Dodging if state.is_flipping else flat.AirState.InAir


def _physics(state: Any) -> flat.Physics:
    angle = state.rot_mat.as_angle()
    return flat.Physics(
        flat.Vector3(*state.pos.as_tuple()),
        flat.Rotator(angle.pitch, angle.yaw, angle.roll),
        flat.Vector3(*state.vel.as_tuple()),
        flat.Vector3(*state.ang_vel.as_tuple()),
    )
