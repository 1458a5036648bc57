"""Converts battles that were read to the matches that a dataset import takes, or says why one is not used."""

from nemesis.core.replays import ReplayEpisode, ReplayError, ReplayMatch
from nemesis.games.pokemon.replays.reading import Read, ReplayBattle, SeatDecisions, guessed_numbers
from nemesis.games.pokemon.views.layout import PHASES, POSITION


def to_match(battle: ReplayBattle) -> ReplayMatch | ReplayError:
    """Return a battle as a match."""
    seats = {number: seat for number, seat in enumerate(battle.seats) if seat is not None}
    rated_to_end = battle.rated and battle.ending == "played"

    def error(reason: str, message: str) -> ReplayError:
        return ReplayError(battle.id, reason, message, rated_to_end=rated_to_end)

    if battle.unknown:
        return error("unknown protocol line", f"It has '{next(iter(battle.unknown))}', which is not supported.")
    if not seats:
        return error("both seats in disguise", "Both seats may have had a Zoroark in disguise.")
    if not all(_has_turn(seat) for seat in seats.values()):
        return error("too short", "It has no turn.")
    if not all(seat.packed.any(axis=1).all() for seat in seats.values()):
        return error("contradiction", "It has a decision without a legal action.")
    return ReplayMatch(
        id=battle.id,
        players=battle.players,
        rated=battle.rated,
        ending=battle.ending,
        episodes=tuple(_episode(battle, number, seat) for number, seat in seats.items()),
        seats_left_out=len(battle.seats) - len(seats),
        request_unsure=sum(_count(seat, Read.REQUEST_UNSURE) for seat in seats.values()),
        late=sum(_count(seat, Read.LATE) for seat in seats.values()),
        illegal=battle.problems,
    )


def _episode(battle: ReplayBattle, number: int, seat: SeatDecisions) -> ReplayEpisode:
    drawn = battle.winner < 0
    return ReplayEpisode(
        seat=number,
        result=0.0 if drawn else 1.0 if battle.winner == number else -1.0,
        rating=battle.ratings[number] or float("nan"),
        view=seat.view,
        mask=seat.packed,
        action=seat.action,
        possible=seat.possible,
        guessed=guessed_numbers(seat.view, seat.guessed),
        tick=seat.tick,
    )


def _has_turn(seat: SeatDecisions) -> bool:
    return bool((seat.view[:, POSITION.column("phase")] == PHASES.index("turn")).any())


def _count(seat: SeatDecisions, flag: Read) -> int:
    return int((seat.read & flag > 0).sum())
