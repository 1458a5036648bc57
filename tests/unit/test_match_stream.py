"""A stream of matches: pairs of players meet on both sides, and are open only while they play."""

import numpy as np
from duel import Duel

from nemesis.core.game import EndReason
from nemesis.play.match_stream import FinishedMatches, MatchStream
from nemesis.play.named_players import open_player
from nemesis.play.play_options import PlayOptions
from nemesis.play.players import Player

NAMES = ["timid", "bold", "random"]


def stream_of(game: Duel, slots: int = 6, seed: int = 0) -> MatchStream:
    def open_numbered(number: int) -> Player:
        return open_player(game, NAMES[number], slots, number, PlayOptions())

    return MatchStream(game, open_numbered, slots, seed)


def played(stream: MatchStream) -> FinishedMatches:
    parts = []
    while stream.left:
        parts.append(stream.step())
    return FinishedMatches.concatenate(parts)


def test_every_pair_meets_once_on_each_side_and_the_stronger_wins():
    with stream_of(Duel()) as stream:
        stream.add([(0, 1)] * 10 + [(2, 1)] * 5)
        matches = played(stream)
    assert len(matches) == 30
    assert len(np.unique(matches.match)) == 30
    for first, second, count in ((0, 1, 10), (2, 1, 5)):
        own = matches.at(np.flatnonzero((matches.first == first) & (matches.second == second)))
        assert np.bincount(own.side).tolist() == [count, count]
        assert (np.bincount(own.match // 2)[np.unique(own.match // 2)] == 2).all()
    against_timid = matches.returns[matches.first == 0]
    assert (against_timid == -1).all()  # timid never strikes
    assert (matches.decisions > 0).all()


def test_players_are_open_only_while_they_are_needed():
    with stream_of(Duel(), slots=2) as stream:
        stream.add([(0, 1), (2, 1)])
        assert stream.open_players == 0
        most = 0
        while stream.left:
            stream.step()
            most = max(most, stream.open_players)
        assert most >= 2
        assert stream.open_players == 0


def test_what_is_dropped_is_not_played_and_what_has_begun_is_played_to_its_end():
    with stream_of(Duel(), slots=4) as stream:
        stream.add([(0, 1)] * 50)
        stream.step()
        begun = stream.left - stream.queued
        assert 0 < begun < 100
        assert stream.drop_queue() == 100 - begun
        assert len(played(stream)) == begun
        stream.add([(2, 1)])
        assert (played(stream).first == 2).all()


def test_matches_that_the_simulator_loses_are_handed_over_as_such():
    with stream_of(Duel(lost=range(2, 5))) as stream:
        stream.add([(0, 1)] * 5)
        matches = played(stream)
    assert sorted(matches.match[matches.end_reason == EndReason.HOST_LOST].tolist()) == [2, 3, 4]
    assert len(matches) == 10
