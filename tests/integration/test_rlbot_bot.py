"""Bots of RLBot 5: packets of real matches through the real package, compared with the match pool; there is no game."""

import logging
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from background import LIMIT
from rlbot import flat
from rlbot.config import load_player_config
from rlbot_packets import Server, changed, watch

from benchmarks.bot_speed import measure
from benchmarks.rlbot_packets import FIELD, order_of, packet_of
from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.deploy.rocket_league.decider import CarDecider
from nemesis.deploy.rocket_league.launch import open_bot
from nemesis.deploy.rocket_league.packets import directions, pad_order, seats_of
from nemesis.games.rocket_league import resets
from nemesis.games.rocket_league.actions import ACTIONS, NEUTRAL
from nemesis.games.rocket_league.arena.meshes import find_meshes, use_meshes
from nemesis.games.rocket_league.arena.rocketsim import rocketsim
from nemesis.games.rocket_league.game import open_game
from nemesis.games.rocket_league.pool import Matches, RocketLeaguePool
from nemesis.games.rocket_league.settings import RocketLeagueSettings
from nemesis.games.rocket_league.views import CARS_AT, PADS_AT, car_columns, cars_of
from nemesis.play.players import Choices
from nemesis.policies.build import build_policy
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import PlayStyle
from nemesis.storage.policies import load_policy
from nemesis.storage.policy_files import read_header, save_policy

logging.getLogger().setLevel(logging.WARNING)  # the package of RLBot lets everything be logged
ROOT = Path(__file__).parents[2]
EXACT = ("present", "position", "velocity", "spin", "boost", "demolished", "supersonic")
LIKELIEST = PlayStyle(temperature=0)


class Told:
    """A player that plays given actions (decision,), and keeps what it saw."""

    def __init__(self, actions) -> None:
        self.actions = list(actions)
        self.views: list = []
        self.matches: list[int] = []
        self.forgot = 0

    def act(self, decisions) -> Choices:
        assert len(decisions) == 1
        self.views.append(decisions.view[0])
        self.matches.append(int(decisions.match[0]))
        nothing = np.zeros(1, dtype=np.float32)
        return Choices(np.array([self.actions[len(self.views) - 1]]), nothing, nothing)

    def forget(self, slot) -> None:
        self.forgot += len(slot)


class Match:
    """The match in the first slot of a pool, whose packets go to cars: functions from a packet to an answer."""

    def __init__(self, pool, cars=()) -> None:
        self.frame = 1000
        self.packets: list = []
        self.applied: list = []  # the controls of all cars in the tick before each packet but the first
        self.answers: list = []
        self._cars = cars
        self._arena = watch(pool._simulation, self._tick)
        self._report()

    def _tick(self) -> None:
        self.frame += 1
        controls = [car.get_controls() for car in self._arena.cars]
        names = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")
        self.applied.append([[float(getattr(one, name)) for name in names] for one in controls])
        self._report()

    def _report(self) -> None:
        packet = packet_of(self._arena, self.frame)
        self.packets.append(packet)
        self.answers.append([car(flat.GamePacket.unpack(packet.pack())) for car in self._cars])


def a_state(cars: int = 2, **settings):
    """An arena at a kick-off."""
    pool = open_game(f"{cars // 2}v{cars // 2}", RocketLeagueSettings(**settings)).paired_pool(1, 0)
    return pool._simulation._playing[0]


def policy_file(path: Path, game_name: str = "rocket_league:2v2", width: int = 32, **settings) -> Path:
    """A policy with a memory that plays different actions in different states."""
    game = open_game(game_name.partition(":")[2], RocketLeagueSettings(**settings))
    config = PolicyConfig(width=width, layers=1, memory="lstm")
    torch.manual_seed(0)
    policy = build_policy(game, config)
    torch.nn.init.normal_(policy.heads.action.linear.weight)
    about = {"decisions": 1234, "config": {"game": game_name, "rocket_league": settings}}
    save_policy(path, policy, config, game, about, LIKELIEST)
    return path


@pytest.fixture(scope="module")
def bot_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    policy = policy_file(folder / "policy.safetensors", tick_skip=6, action_delay=2)
    assert main(["export", "rlbot", str(policy), str(folder / "Bot")]) == 0
    return folder / "Bot"


class Compared(NamedTuple):
    """What cars saw in matches: in the pool, and in packets."""

    pool: list  # of each match (decision, seat, place, field)
    packets: list

    def apart(self, *names: str):
        """How far some fields of cars are apart, as one array."""
        both = zip(self.pool, self.packets, strict=True)
        return np.concatenate(
            [np.abs(one - other)[..., car_columns(name)].ravel() for one, other in both for name in names]
        )


def compare(pool, settings: RocketLeagueSettings, matches: int, draw) -> Compared:
    """Play matches of a pool with the actions (decision, seat) that are drawn for a number of cars."""
    compared = Compared([], [])
    for _ in range(matches):
        waiting, _ = pool.recv()
        cars, number, seen = len(waiting), waiting.match[0], []
        actions = draw(cars)
        told = [Told(actions[:, seat]) for seat in range(cars)]
        deciders = [CarDecider(told[seat], FIELD, index, settings) for index, seat in enumerate(order_of(cars))]
        match = Match(pool, [decider.action for decider in deciders])
        while waiting.match[0] == number:
            seen.append(waiting.view)
            pool.send(actions[len(seen) - 1])
            waiting, _ = pool.recv()
        ours, theirs = np.array([one.views[: len(seen)] for one in told]).swapaxes(0, 1), np.array(seen)
        assert (ours[..., :CARS_AT] == theirs[..., :CARS_AT]).all()
        assert (ours[..., PADS_AT:] == theirs[..., PADS_AT:]).all()
        # What was answered to a packet is what the simulator did in the next tick.
        answers = np.array(match.answers)[:-1, np.argsort(order_of(cars))]
        assert (ACTIONS[answers] == np.array(match.applied)).all()
        compared.pool.append(cars_of(theirs))
        compared.packets.append(cars_of(ours))
    return compared


@pytest.mark.parametrize(
    ("game", "settings"),
    [
        ("1v1", {}),
        ("2v2", {"action_delay": 3}),
        ("3v3", {"tick_skip": 5, "action_delay": 12}),
        ("mixed", {"sizes": [0, 1, 0]}),
    ],
)
def test_a_car_sees_and_does_in_packets_what_it_sees_and_does_in_training(game, settings):
    generator, settings = np.random.default_rng(0), RocketLeagueSettings(match_seconds=3, **settings)
    pool = open_game(game, settings).pool(1, seed=3)
    compared = compare(pool, settings, 4, lambda cars: generator.integers(0, len(ACTIONS), (100, cars)))
    assert not compared.apart(*EXACT).any()
    contacts, rotations = compared.apart("on_ground", "can_flip"), compared.apart("forward", "up")
    print(f"{contacts.sum():.0f} of {contacts.size} contacts differ, rotations by at most {rotations.max():.1e}")
    assert rotations.mean() < 1e-6
    assert rotations.max() < 1e-3  # angles say little about a car that points straight up
    assert contacts.mean() < 2e-3  # wheels may lose contact a tick earlier or later in a jump


def test_a_demolished_car_is_seen_as_in_training():
    def ram(cars, generator):
        start = resets.kickoff(cars, generator)
        start.ball[:6] = [3500, 0, 93, 0, 1, 0]
        start.car[0] = [0, -1500, 17, 0, 2290, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 100, 1]
        start.car[1] = [0, 0, 17, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 100, 1]
        return start

    boosting = int(np.flatnonzero((ACTIONS == [1, 0, 0, 0, 0, 0, 1, 0]).all(axis=1))[0])
    settings = RocketLeagueSettings(match_seconds=5)
    pool = RocketLeaguePool(Matches(np.array([1.0, 0, 0]), ram, 2), settings, 1, 0)
    compared = compare(pool, settings, 1, lambda _: np.tile([boosting, NEUTRAL], (100, 1)))
    assert not compared.apart(*EXACT).any()
    assert 0 < compared.packets[0][..., car_columns("demolished")].mean() < 1
    assert 0 < compared.packets[0][..., car_columns("supersonic")].mean() < 1


def test_rotations_are_those_of_rocketsim():
    angles = np.random.default_rng(0).uniform([-1.5, -3.1, -3.1], [1.5, 3.1, 3.1], (100, 3))
    forward, up = directions(angles)
    for (pitch, yaw, roll), one, other in zip(angles.tolist(), forward, up, strict=True):
        matrix = rocketsim().Angle(yaw, pitch, roll).as_rot_mat()
        assert one == pytest.approx(matrix.forward.as_numpy(), abs=1e-6)
        assert other == pytest.approx(matrix.up.as_numpy(), abs=1e-6)
    assert directions(np.array([[np.pi / 2, 0, 0]]))[0][0] == pytest.approx([0, 0, 1])  # nose straight up
    assert directions(np.array([[0, 0, np.pi / 2]]))[1][0] == pytest.approx([0, 1, 0])  # tilted right, as +y is right


def test_every_bot_of_a_match_acts_as_its_policy_does_in_training(bot_folder: Path):
    policy, settings = load_policy(bot_folder / "policy.safetensors"), RocketLeagueSettings(tick_skip=6, action_delay=2)
    pool = open_game("2v2", settings).pool(1, seed=5)
    bots = []
    for index in range(4):
        bot = open_bot(bot_folder)
        bot.field_info, bot.index, bot.team = FIELD, index, index // 2
        bot.initialize()
        bots.append(bot)
    match = Match(pool, [bot.get_output for bot in bots])
    state, chosen = None, []
    for _ in range(40):
        waiting, _ = pool.recv()
        action, state = policy.act(waiting.view, waiting.mask, state)
        chosen.append(action)
        pool.send(action)
    assert waiting.match[0] == 0
    assert len(np.unique(chosen)) > 5
    answers = [[_row(one) for one in row] for row in match.answers[:-1]]
    assert (np.array(answers)[:, np.argsort(order_of(4))] == np.array(match.applied)).all()


def _row(state: flat.ControllerState) -> list[float]:
    return [
        *(state.throttle, state.steer, state.pitch, state.yaw, state.roll),
        *(float(one) for one in (state.jump, state.boost, state.handbrake)),
    ]


def test_the_written_bot_plays_over_the_connection_of_rlbot(bot_folder: Path):
    policy, settings = load_policy(bot_folder / "policy.safetensors"), RocketLeagueSettings(tick_skip=6, action_delay=2)
    pool = open_game("2v2", settings).pool(1, seed=8)
    match, seat, state = Match(pool), 3, None
    for _ in range(25):
        waiting, _ = pool.recv()
        action, state = policy.act(waiting.view, waiting.mask, state)
        pool.send(action)
    server, index = Server(), order_of(4).index(seat)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "RLBOT_SERVER_PORT": str(server.port)}
    bot = subprocess.Popen(
        [sys.executable, "bot.py"], cwd=bot_folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.accept().agent_id == "nemesis/Bot"
        one = load_player_config(bot_folder / "bot.toml", 1)
        server.send(flat.MatchConfiguration(player_configurations=[flat.PlayerConfiguration(one.variety, 1, 77)]))
        server.send(FIELD)
        server.send(flat.ControllableTeamInfo(1, [flat.ControllableInfo(index, 77)]))
        assert isinstance(server.receive(), flat.InitComplete)
        answers = []
        for packet in match.packets[:-1]:
            server.send(packet)
            answers.append(server.receive())
        server.send(flat.DisconnectSignal())
        said = bot.communicate(timeout=LIMIT)[1]
    finally:
        bot.kill()
        server.close()
    assert {one.player_index for one in answers} == {index}
    assert ([_row(one.controller_state) for one in answers] == np.array(match.applied)[:, seat]).all()
    assert f"trained for rocket_league:2v2 in the arena {find_meshes()}" in said
    assert "error" not in said.lower()


def test_the_time_of_decisions_is_measured(capfd: pytest.CaptureFixture[str]):
    figures = measure(2, packets=5, seed=0)
    assert (figures["cars"], figures["decisions"]) == (2, 5)
    assert figures["median_ms"] <= figures["slowest_ms"]
    assert "ERROR" not in capfd.readouterr().err  # of a bot that cannot play the match


def test_the_exported_folder_is_what_rlbot_needs(bot_folder: Path):
    assert sorted(path.name for path in bot_folder.iterdir()) == [
        *("bot.py", "bot.toml", "loadout.toml", "policy.safetensors")
    ]
    for team in (0, 1):
        bot = load_player_config(bot_folder / "bot.toml", team).variety
        assert (bot.name, bot.agent_id, Path(bot.root_dir)) == ("Bot", "nemesis/Bot", bot_folder)
        assert bot.run_command.endswith("bot.py")
        assert bot.loadout.car_id == 23  # an Octane, as RocketSim's cars are
    settings = tomllib.loads((bot_folder / "bot.toml").read_text(encoding="utf-8"))
    assert settings["details"]["tags"] == ["teamplay"]
    assert settings["details"]["description"].startswith("A policy for rocket_league:2v2 after 1,234 decisions")
    header = read_header(bot_folder / "policy.safetensors")
    assert header.style == LIKELIEST  # as the policy had it
    assert header.world == f"the arena {find_meshes()}"


def test_an_export_says_where_the_policy_was_trained_and_keeps_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = policy_file(tmp_path / "policy.safetensors", "rocket_league:1v1", meshes="computed")
    (tmp_path / "empty").mkdir()
    assert main(["export", "rlbot", str(file), str(tmp_path / "empty"), "--temperature", "0.5"]) == 0
    world = f"the arena {find_meshes('computed')}"
    assert f"a bot for RLBot 5 with a policy for rocket_league:1v1 after 1,234 decisions, trained in {world}." in (
        capfd.readouterr().out
    )
    header = read_header(tmp_path / "empty" / "policy.safetensors")
    assert header.world == world
    assert header.style == PlayStyle(temperature=0.5)


def test_what_cannot_be_exported_is_said_and_nothing_is_overwritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "bot.py").write_text("mine")
    file = policy_file(tmp_path / "policy.safetensors")
    assert main(["export", "rlbot", str(file), str(tmp_path / "mine")]) == 2
    assert "mine already exists" in capfd.readouterr().err
    assert (tmp_path / "mine" / "bot.py").read_text() == "mine"
    assert main(["export", "rlbot", "shipped:gen1ou", str(tmp_path / "new")]) == 2
    assert "pokemon:gen1ou cannot be exported as rlbot" in capfd.readouterr().err
    assert main(["export", "rlbot", str(file), str(tmp_path / "policy.safetensors" / "new")]) == 2
    assert "cannot be written" in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "policy.safetensors"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("sys.modules['rlbot'] = None", "The bot needs the package rlbot; install it with"),
        ("sys.modules['nemesis'] = None", "The bot needs Nemesis; install it with"),
    ],
)
def test_a_bot_that_cannot_start_says_why(bot_folder: Path, code: str, sentence: str):
    script = f"import runpy, sys; {code}; runpy.run_path('bot.py', run_name='__main__')"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=bot_folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_with_the_policy_of_another_game_is_refused(bot_folder: Path, tmp_path: Path):
    (tmp_path / "bot.toml").write_bytes((bot_folder / "bot.toml").read_bytes())
    shipped = ROOT / "nemesis" / "shipped" / "gen1ou.safetensors"
    (tmp_path / "policy.safetensors").write_bytes(shipped.read_bytes())
    with pytest.raises(UserError, match="plays pokemon:gen1ou, not rocket_league:mixed"):
        open_bot(tmp_path)


def test_a_field_or_a_match_that_the_policy_cannot_play_is_said_once(
    bot_folder: Path, caplog: pytest.LogCaptureFixture
):
    bot = open_bot(bot_folder)
    bot.field_info, bot.index = FIELD, 0
    bot.initialize()
    arena = a_state(6)
    for frame in range(3):
        packet = packet_of(arena, frame)
        packet = changed(packet, players=[*packet.players, packet.players[0]])
        assert _row(bot.get_output(packet)) == [0] * 8
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert said == ["A side has 4 cars; the policy plays with at most 3 a side, so its car stands still."]
    bot.field_info = flat.FieldInfo()
    with pytest.raises(SystemExit):
        bot.initialize()
    assert "standard soccar maps only" in caplog.records[-1].getMessage()
    with pytest.raises(UserError, match="this field has 33 boost pads, and not their 34"):
        pad_order(flat.FieldInfo(boost_pads=FIELD.boost_pads[1:]))
    moved = [flat.BoostPad(flat.Vector3(0, 0, 0)), *FIELD.boost_pads[1:]]
    with pytest.raises(UserError, match="standard soccar maps only"):
        pad_order(flat.FieldInfo(boost_pads=moved))


def test_sides_may_have_different_numbers_of_cars():
    arena, told = a_state(6), Told([0])
    packet = packet_of(arena, 0)
    packet = changed(packet, players=[packet.players[0], *packet.players[3:]])
    assert seats_of(packet).tolist() == [0, 1, 3, 5]
    CarDecider(told, FIELD, 2, RocketLeagueSettings()).action(packet)
    assert cars_of(told.views[0])[:, 0].tolist() == [1, 1, 1, 1, 0, 0]


def test_a_car_decides_after_missed_packets_and_repeats_its_action_in_between():
    arena, told = a_state(), Told([10, 20, 30, 40])
    decider = CarDecider(told, FIELD, 0, RocketLeagueSettings(tick_skip=8))
    frames = [50, 51, 51, 57, 58, 70, 77, 78]
    assert [decider.action(packet_of(arena, frame)) for frame in frames] == [10, 10, 10, 10, 20, 30, 30, 40]


def test_nothing_is_done_while_the_ball_is_not_in_play_and_a_new_match_begins_afterwards():
    arena, told = a_state(), Told(range(10, 30))
    decider, phases = CarDecider(told, FIELD, 0, RocketLeagueSettings(tick_skip=2)), flat.MatchPhase

    def play(frame, phase=phases.Active, score=(0, 0)):
        forgot, action = told.forgot, decider.action(packet_of(arena, frame, phase, score))
        return action, told.forgot > forgot

    assert play(10, phases.Countdown) == (NEUTRAL, True)
    assert play(11, phases.Kickoff) == (10, False)
    assert play(13) == (11, False)
    assert play(15, phases.Paused) == (NEUTRAL, False)  # the match goes on later
    assert play(17) == (12, False)
    assert play(18, phases.GoalScored, (1, 0)) == (NEUTRAL, True)
    assert play(19, phases.Replay, (1, 0)) == (NEUTRAL, True)
    assert play(20, phases.Kickoff, (1, 0)) == (13, False)
    assert play(22, score=(1, 1)) == (14, True)  # a goal without a pause
    assert play(3, score=(0, 0)) == (15, True)  # the game starts again
    assert play(4, phases.Ended) == (NEUTRAL, True)
    assert play(5, phases.Inactive) == (NEUTRAL, True)
    first, second, third, after_goal, *_ = told.views
    assert not first[-8:].any()
    assert (second[-8:] == ACTIONS[10]).all()
    assert (third[-8:] == ACTIONS[11]).all()
    assert not after_goal[-8:].any()
    assert told.matches[0] == told.matches[2] < told.matches[3] < told.matches[4]
    assert decider.action(changed(packet_of(arena, 30), balls=[])) == NEUTRAL


def test_a_car_that_fell_may_flip_and_one_that_jumped_long_ago_may_not():
    arena, told = a_state(), Told([0] * 9)
    decider = CarDecider(told, FIELD, 0, RocketLeagueSettings(tick_skip=1))
    air, jumping = flat.AirState.InAir, flat.AirState.Jumping
    cases = [  # air state, has jumped, has double jumped, has dodged, dodge timeout; whether on the ground, can flip
        (air, False, False, False, -1, (0, 1)),
        (air, True, False, False, 0.6, (0, 1)),
        (air, True, False, False, -1, (0, 0)),
        (air, True, True, False, 0.6, (0, 0)),
        (flat.AirState.Dodging, True, False, True, 0.6, (0, 0)),
        (flat.AirState.OnGround, False, False, False, -1, (1, 1)),
        (jumping, True, False, False, -1, (1, 1)),  # the wheels still have contact
        (jumping, True, False, False, -1, (0, 1)),
    ]
    for number, (state, jumped, doubled, dodged, timeout, (on_ground, can_flip)) in enumerate(cases):
        packet = packet_of(arena, 10 * number)
        jump = {"air_state": state, "has_jumped": jumped, "has_double_jumped": doubled, "has_dodged": dodged}
        car = changed(packet.players[0], **jump, dodge_timeout=timeout)
        decider.action(changed(packet, players=[car, packet.players[1]]))
        car = cars_of(told.views[-1])[0]
        seen = (car[car_columns("on_ground")].item(), car[car_columns("can_flip")].item())
        assert seen == (on_ground, can_flip), number


@pytest.fixture(scope="module", autouse=True)
def _meshes() -> None:
    use_meshes(find_meshes())
