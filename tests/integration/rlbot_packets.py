"""Packets of RLBot, written from the state of RocketSim as the game would report it; and a server that sends them."""

import socket
from collections.abc import Callable, Sequence
from typing import Any

from rlbot import flat

from nemesis.games.rocket_league.arena.rocketsim import Arena
from nemesis.games.rocket_league.arena.simulation import Simulation
from nemesis.games.rocket_league.state import BIG_PADS, PAD_POSITIONS

DODGE_SECONDS = 1.25  # after a jump
# RLBot orders pads by y and then by x, unlike RocketSim.
PADS = sorted(range(len(PAD_POSITIONS)), key=lambda pad: (PAD_POSITIONS[pad, 1], PAD_POSITIONS[pad, 0]))
FIELD = flat.FieldInfo(
    boost_pads=[
        flat.BoostPad(flat.Vector3(*PAD_POSITIONS[pad].tolist(), 70), is_full_boost=pad in BIG_PADS) for pad in PADS
    ]
)


def order_of(cars: int) -> list[int]:
    """The seats in the order of a packet's players: all blue cars come first."""
    return [*range(0, cars, 2), *range(1, cars, 2)]


def packet_of(
    arena: Arena,
    frame: int,
    phase: flat.MatchPhase = flat.MatchPhase.Active,
    score: Sequence[int] = (0, 0),
) -> flat.GamePacket:
    """What RLBot would send of an arena."""
    pads = arena.arena.get_boost_pads()
    return flat.GamePacket(
        players=[_player(arena.cars[seat].get_state(), seat % 2) for seat in order_of(len(arena.cars))],
        boost_pads=[flat.BoostPadState(pads[pad].get_state().is_active) for pad in PADS],
        balls=[flat.BallInfo(_physics(arena.arena.ball.get_state()))],
        match_info=flat.MatchInfo(match_phase=phase, frame_num=frame),
        teams=[flat.TeamInfo(team, points) for team, points in enumerate(score)],
    )


def changed(message: Any, **parts: Any) -> Any:
    """A message of RLBot with other parts."""
    return type(message)(**{name: getattr(message, name) for name in message.__match_args__} | parts)


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


class EveryTick:
    """An arena of RocketSim that calls back after every tick of its steps."""

    def __init__(self, arena: Any, report: Callable[[], None]) -> None:
        self._arena = arena
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arena, name)

    def step(self, ticks: int) -> None:
        score = (self._arena.blue_score, self._arena.orange_score)
        for _ in range(ticks):
            self._arena.step(1)
            self._report()
            if (self._arena.blue_score, self._arena.orange_score) != score:
                break  # a step ends with a goal


def watch(simulation: Simulation, report: Callable[[], None]) -> Arena:
    """Call back after every tick of the match in the first slot; returns its arena."""
    playing = simulation._playing[0]
    simulation._playing[0] = Arena(EveryTick(playing.arena, report), playing.cars)
    return playing


class Server:
    """What a bot connects to: sends it messages, and receives its answers."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(120)
        self.port = self._listening.getsockname()[1]

    def accept(self) -> flat.ConnectionSettings:
        self._connection, _ = self._listening.accept()
        self._connection.settimeout(120)
        return self.receive()

    def send(self, message: Any) -> None:
        content = flat.CorePacket(message).pack()
        self._connection.sendall(len(content).to_bytes(2, "big") + content)

    def receive(self) -> Any:
        return flat.InterfacePacket.unpack(self._exactly(int.from_bytes(self._exactly(2), "big"))).message

    def close(self) -> None:
        self._connection.close()
        self._listening.close()

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            part = self._connection.recv(size - len(content))
            assert part, "the bot has closed the connection"
            content += part
        return content
