"""Usage statistics: counts add up in any order, and the totals have a fixed order."""

from itertools import permutations

from nemesis.games.pokemon.replays.usage import total_usage

PARTS = [
    {"snorlax": {"moves": {"bodyslam": 2, "rest": 1}, "item": {"leftovers": 1}}},
    {
        "snorlax": {"moves": {"rest": 1, "amnesia": 3}, "item": {"sitrusberry": 1}},
        "chansey": {"ability": {"healer": 1}},
    },
    {"snorlax": {"moves": dict.fromkeys("abcdefghij", 1)}},
]


def test_totals_do_not_depend_on_the_order():
    found = [total_usage(order) for order in permutations(PARTS)]
    assert all(one == found[0] for one in found)
    assert list(found[0]) == ["chansey", "snorlax"]
    assert list(found[0]["snorlax"]["moves"].items())[:4] == [("amnesia", 3), ("bodyslam", 2), ("rest", 2), ("a", 1)]
    assert [list(one["snorlax"]["moves"]) for one in found] == [list(found[0]["snorlax"]["moves"])] * len(found)
    assert found[0]["snorlax"]["item"] == {"leftovers": 1, "sitrusberry": 1}
    assert found[0]["chansey"] == {"ability": {"healer": 1}}


def test_rare_values_are_left_out():
    usage = total_usage([{"snorlax": {"moves": {"rest": 2, **{f"move{number}": 1 for number in range(100)}}}}])
    moves = usage["snorlax"]["moves"]
    assert len(moves) == 64
    assert moves["rest"] == 2
