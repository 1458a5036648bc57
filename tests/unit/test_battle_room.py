"""A battle as its messages tell it: when a decision is due, what was refused, and which endings count."""

import json
from typing import Any

import pytest

from nemesis.core.game import EndReason
from nemesis.deploy.pokemon.battle_room import BattleRoom


def request(number: int, **more: Any) -> str:
    return "|request|" + json.dumps({"rqid": number, "side": {"id": "p2", "pokemon": []}, "active": [], **more})


@pytest.fixture
def room() -> BattleRoom:
    room = BattleRoom("battle-gen1ou-1", "Nemesis")
    room.read(["|init|battle", "|player|p1|Rival|1|", "|player|p2|Nemesis|2|", "|start", "|turn|1"])
    return room


def test_a_decision_is_due_when_a_request_has_come(room: BattleRoom):
    assert room.request is None
    room.read([request(3)])
    assert room.seat == 1
    assert room.take_unread()[-1] == "|turn|1"
    assert room.answer("move 1") == "/choose move 1|3"
    assert room.request is None


def test_lines_are_handed_over_once(room: BattleRoom):
    room.take_unread()
    room.read(["|move|p1a: A|Surf|p2a: B", "|turn|2"])
    assert room.take_unread() == ["|move|p1a: A|Surf|p2a: B", "|turn|2"]
    assert room.take_unread() == []


def test_nothing_is_due_while_the_other_decides(room: BattleRoom):
    room.read([request(4, wait=True)])
    assert room.request is None


def test_a_refused_choice_is_asked_again_and_counted(room: BattleRoom):
    room.read([request(3)])
    room.answer("switch 2")
    room.read(["|error|[Unavailable choice] Can't switch: The active Pokémon is trapped"])
    assert room.request is None  # the changed request is on its way
    room.read([request(4, update=True)])
    assert (room.request is not None, room.refusals) == (True, 1)
    room.answer("move 1")
    room.read(["|turn|2", request(5)])
    assert room.refusals == 0


def test_a_choice_that_is_no_choice_is_asked_again(room: BattleRoom):
    room.read([request(3)])
    room.answer("move 9")
    room.read(["|error|[Invalid choice] Can't move: Your A doesn't have a move 9"])
    assert (room.request is not None, room.refusals) == (True, 1)


def test_an_answer_that_came_too_late_is_no_refusal(room: BattleRoom):
    room.read([request(3)])
    room.answer("move 1")
    room.read(["|error|[Invalid choice] Sorry, too late to make a different move; the next turn has already started"])
    assert (room.request, room.refusals) == (None, 0)


@pytest.mark.parametrize(
    ("lines", "earned", "reason"),
    [
        (["|win|Nemesis"], 1, EndReason.PLAYED),
        (["|win|Rival"], -1, EndReason.PLAYED),
        (["|tie"], 0, EndReason.TIE),
        (["|-message|Rival forfeited.", "|win|Nemesis"], 0, EndReason.FORFEIT),
        (["|-message|Rival lost due to inactivity.", "|win|Nemesis"], 0, EndReason.FORFEIT),
    ],
)
def test_only_what_ended_by_play_is_won(room: BattleRoom, lines: list[str], earned: int, reason: EndReason):
    room.read([request(3), *lines])
    assert (room.earned, room.end_reason, room.request) == (earned, reason, None)


def test_it_is_seen_when_the_rival_leaves_and_comes_back(room: BattleRoom):
    room.read(["|player|p1|"])
    assert room.opponent_left
    room.read(["|player|p1|Rival|1|"])
    assert not room.opponent_left
