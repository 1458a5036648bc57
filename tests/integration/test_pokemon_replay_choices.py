"""Actions are inferred from what follows in the log: exactly, in part, or not at all."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from replay_logs import SPACE, done, possible, read, switch, vgc_log, vgc_reader

from nemesis.games.pokemon.replays.reading import Read, ReplayBattle, ReplayReader, SeatDecisions
from nemesis.games.pokemon.views.actions import OPTIONS, PASS, SWITCH
from nemesis.games.pokemon.views.layout import OWN, POKEMON, POSITION, cut


@pytest.fixture(scope="module")
def reader() -> Iterator[ReplayReader]:
    with closing(vgc_reader()) as opened:
        yield opened


def words(battle: ReplayBattle, seat: int, decision: int) -> list[str | None]:
    """Return what is known of each slot's part, in Showdown's words."""
    decisions = battle.seats[seat]
    assert decisions is not None
    action = int(decisions.action[decision])
    fitting = np.array([action]) if action >= 0 else np.flatnonzero(possible(decisions)[decision])
    options = [np.unique(part) for part in np.divmod(fitting, OPTIONS)]
    parts = [int(part[0]) if len(part) == 1 else None for part in options]
    assert (action >= 0) == (None not in parts)
    pairs = [None if part is None else part * OPTIONS + part for part in parts]
    return [None if pair is None else SPACE.choice(pair).split(", ")[slot] for slot, pair in enumerate(pairs)]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            done("|move|p1a: Incineroar|Fake Out|p2b: Flutter Mane", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"),
            ["move 1 +2", "move 3 +1"],
            id="moves at whom they hit",
        ),
        pytest.param(
            done(switch("p1b", "Pawmot"), "|move|p1a: Incineroar|Knock Off|p1b: Pawmot"),
            ["move 4 -2", "switch 4"],
            id="a switch, and a move at the own slot",
        ),
        pytest.param(
            done(
                "|-terastallize|p1a: Incineroar|Ghost",
                "|move|p1a: Incineroar|Parting Shot|p2a: Amoonguss",
                "|cant|p1b: Rillaboom|flinch",
            ),
            ["move 3 +1 terastallize", None],
            id="flinching may hide any choice",
        ),
        pytest.param(
            done(
                "|move|p2a: Amoonguss|Rage Powder|p2a: Amoonguss",
                "|-singleturn|p2a: Amoonguss|move: Rage Powder",
                "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
                "|move|p1b: Rillaboom|U-turn|p2a: Amoonguss",
            ),
            [None, None],
            id="whom attention was drawn from is not known",
        ),
        pytest.param(
            done(
                "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss",
                "|-damage|p2a: Amoonguss|0 fnt",
                "|faint|p2a: Amoonguss",
                "|move|p1b: Rillaboom|Wood Hammer|p2b: Flutter Mane",
            ),
            ["move 2 +1", None],
            id="a target may have fainted before",
        ),
        pytest.param(
            done(
                "|move|p2b: Flutter Mane|Moonblast|p1a: Incineroar",
                "|-damage|p1a: Incineroar|0 fnt",
                "|faint|p1a: Incineroar",
                "|move|p1b: Rillaboom|Grassy Glide|p2b: Flutter Mane",
            ),
            [None, "move 2 +2"],
            id="fainted before moving",
        ),
        pytest.param(
            done(
                "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
                "|-start|p1b: Rillaboom|Encore",
                "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss",
            ),
            ["move 1 +1", None],
            id="an encore takes the place of the choice",
        ),
        pytest.param(
            done(
                "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
                "|move|p1b: Rillaboom|Fake Out|p2b: Flutter Mane|[from] ability: Dancer",
                "|cant|p1b: Rillaboom|move: Taunt|Grassy Glide",
            ),
            ["move 1 +1", None],
            id="a move that something else brought about is none",
        ),
    ],
)
def test_choices_are_inferred_from_what_follows(reader: ReplayReader, turn: list[str], expected: list[str | None]):
    assert words(read(reader, vgc_log(turn)), 0, 1) == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            ["|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss", "|move|p1b: Rillaboom|Grassy Glide|p2b: Flutter Mane"],
            ["move 4 -2", "move 2 +2"],
            id="before its own move",
        ),
        pytest.param(
            ["|cant|p1b: Rillaboom|par", "|move|p1b: Rillaboom|Grassy Glide|p2b: Flutter Mane"],
            ["move 4 -2", "move 2 +2"],
            id="in vain",
        ),
        pytest.param(
            ["|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss", "|cant|p1b: Rillaboom|par"],
            ["move 4 -2", None],
            id="before it could do nothing",
        ),
    ],
)
def test_a_repeated_move_was_not_chosen(reader: ReplayReader, turn: list[str], expected: list[str | None]):
    first = done("|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss")
    instruct = [
        "|move|p1a: Incineroar|Instruct|p1b: Rillaboom",
        "|-singleturn|p1b: Rillaboom|move: Instruct|[of] p1a: Incineroar",
    ]
    log = vgc_log(first, done(*instruct, *turn)).replace("KnockOff", "Instruct")
    assert words(read(reader, log), 0, 2) == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            [
                "|cant|p1a: Incineroar|slp",
                "|move|p1a: Incineroar|Sleep Talk|p1a: Incineroar",
                "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss|[from] move: Sleep Talk",
                "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss",
            ],
            ["move 4", "move 3 +1"],
            id="asleep",
        ),
        pytest.param(
            ["|cant|p1a: Incineroar|slp", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"],
            [None, "move 3 +1"],
            id="asleep and still",
        ),
        pytest.param(
            [
                "|move|p1b: Rillaboom|Round|p2a: Amoonguss",
                "|move|p1a: Incineroar|Round|p2b: Flutter Mane|[from] move: Round",
            ],
            ["move 1 +2", "move 1 +1"],
            id="joining in",
        ),
        pytest.param(
            [
                "|move|p1b: Rillaboom|Grass Pledge|p2a: Amoonguss",
                "|-waiting|p1b: Rillaboom|p1a: Incineroar",
                "|move|p1a: Incineroar|Fire Pledge|p2b: Flutter Mane|[from] move: Grass Pledge",
                "|-combine",
            ],
            ["move 3 +2", "move 2 +1"],
            id="joining in a pledge",
        ),
    ],
)
def test_sleep_talk_and_combined_moves_were_chosen(reader: ReplayReader, turn: list[str], expected: list[str | None]):
    sheets = {"KnockOff": "SleepTalk", "FakeOut": "Round", "PartingShot": "FirePledge", "GrassyGlide": "GrassPledge"}
    log = vgc_log(done(*turn))
    for old, move in sheets.items():
        log = log.replace(old, move)
    assert words(read(reader, log), 0, 1) == expected


def test_a_pokemon_that_joins_a_pledge_has_the_move(reader: ReplayReader):
    turn = done(
        "|move|p1b: Rillaboom|Grass Pledge|p2a: Amoonguss",
        "|-waiting|p1b: Rillaboom|p1a: Incineroar",
        "|move|p1a: Incineroar|Fire Pledge|p2b: Flutter Mane|[from] move: Grass Pledge",
        "|-combine",
    )
    log = "\n".join(line for line in vgc_log(turn).split("\n") if not line.startswith("|showteam|"))
    battle = read(reader, log)
    assert battle.problems == {}
    assert words(battle, 0, 1) == ["move 1 +2", "move 1 +1"]


def test_a_rampage_that_ended_unseen_may_start_again(reader: ReplayReader):
    used = "|move|p1b: Rillaboom|Outrage|p2a: Amoonguss"
    turns = [
        done("|-start|p1b: Rillaboom|confusion", used),
        *(done(line) for line in (f"{used}|[from] lockedmove", used)),
    ]
    log = vgc_log(*turns, done(f"{used}|[from] lockedmove")).replace("WoodHammer", "Outrage")
    battle = read(reader, log)
    assert battle.problems == {}
    decisions = battle.seats[0]
    assert decisions is not None
    only = cut(decisions.view).position[:, POSITION.columns("only_move")][:, 1] > 0
    assert only.tolist() == [False, False, True, False, True]


def slot_options(decisions: SeatDecisions | None, decision: int, slot: int) -> set[int]:
    """Return the options of a slot that may have been chosen."""
    assert decisions is not None
    assert decisions.action[decision] == -1
    return set(np.divmod(np.flatnonzero(possible(decisions)[decision]), OPTIONS)[slot].tolist())


def test_a_move_that_hits_all_foes_may_have_been_aimed_at_the_ally(reader: ReplayReader):
    turn = done(
        "|-terastallize|p1b: Terapagos|Stellar",
        "|detailschange|p1b: Terapagos|Terapagos-Stellar, L50, M, tera:Stellar",
        "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss",
        "|-damage|p2a: Amoonguss|0 fnt",
        "|faint|p2a: Amoonguss",
        "|move|p1b: Terapagos|Tera Starstorm|p2b: Flutter Mane",
    )
    shift = [
        "|-activate|p1b: Rillaboom|ability: Tera Shift",
        "|detailschange|p1b: Rillaboom|Terapagos-Terastal, L50, M",
    ]
    log = vgc_log(turn).replace("|turn|1", "\n".join([*shift, "|turn|1"]), 1)
    log = log.replace("Rillaboom||AssaultVest|GrassySurge|FakeOut", "Terapagos||LifeOrb|TeraShift|TeraStarstorm")
    battle = read(reader, log.replace("Rillaboom", "Terapagos"))
    ally, first, second = 1, 3, 4
    assert slot_options(battle.seats[0], 1, 1) == {5 + target for target in (ally, first, second)}


def test_a_pokemon_that_commands_its_ally_may_have_chosen_to_switch(reader: ReplayReader):
    turn = done(switch("p1b", "Whimsicott"), "|-activate|p1a: Incineroar|ability: Commander|[of] p1b: Whimsicott")
    log = vgc_log(turn).replace("SafetyGoggles|Intimidate", "SafetyGoggles|Commander")
    battle = read(reader, log.replace("Incineroar", "Tatsugiri").replace("Whimsicott", "Dondozo"))
    chosen = slot_options(battle.seats[0], 1, 0)
    assert any(SWITCH <= option < PASS for option in chosen)
    assert any(option < SWITCH for option in chosen)


def test_a_pokemon_revived_in_its_slot_was_not_switched_in_by_choice(reader: ReplayReader):
    turn = [
        "|-damage|p1a: Incineroar|0 fnt", "|faint|p1a: Incineroar", "|move|p1b: Pawmot|Revival Blessing|p1b: Pawmot",
        "|", "|t:|4", "|-heal|p1: Incineroar|50/100|[from] move: Revival Blessing",
        switch("p1a", "Incineroar", "50/100"), "|", "|upkeep",
    ]  # fmt: skip
    battle = read(reader, vgc_log(turn, leads=("Incineroar", "Pawmot", "Amoonguss", "Flutter Mane")))
    assert battle.problems == {}
    assert words(battle, 0, 1) == [None, "move 1"]


def test_a_choice_known_in_part_has_its_possible_actions(reader: ReplayReader):
    drawn = [
        "|move|p2a: Amoonguss|Rage Powder|p2a: Amoonguss",
        "|-singleturn|p2a: Amoonguss|move: Rage Powder",
        "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
        "|cant|p1b: Rillaboom|flinch",
    ]
    decisions = read(reader, vgc_log(done(*drawn))).seats[0]
    assert decisions is not None
    fitting, legal = possible(decisions)[1], decisions.mask[1]
    assert not (fitting & ~legal).any()
    first, second = (sorted(set(part.tolist())) for part in np.divmod(np.flatnonzero(fitting), OPTIONS))
    assert first == [0, 3, 4]  # Fake Out at its ally or either foe
    plain = {option for option in range(SWITCH) if option // 5 % 2 == 0}  # it did not switch, nor terastallize
    assert second == sorted(plain & set((np.flatnonzero(legal) % OPTIONS).tolist()))
    assert not possible(decisions)[:1, : OPTIONS * OPTIONS].any()


def test_the_target_is_unknown_beside_an_empty_slot(reader: ReplayReader):
    fallen = [
        "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss",
        "|-damage|p2a: Amoonguss|0 fnt",
        "|faint|p2a: Amoonguss",
    ]
    both = [*fallen, "|-damage|p2b: Flutter Mane|0 fnt", "|faint|p2b: Flutter Mane"]
    replaced = ["|", "|t:|3", switch("p2a", "Whimsicott"), switch("p2b", "Pawmot")]
    more = [
        "|move|p1a: Incineroar|Flare Blitz|p2a: Whimsicott",
        "|-damage|p2a: Whimsicott|0 fnt",
        "|faint|p2a: Whimsicott",
    ]
    last = ["|move|p1a: Incineroar|Knock Off|p2b: Pawmot", "|move|p1b: Rillaboom|U-turn|p2b: Pawmot"]
    battle = read(reader, vgc_log([*done(*both), *replaced], done(*more), done(*last)))
    either = {30 + target for target in (3, 4)}
    assert slot_options(battle.seats[0], 3, 0) == slot_options(battle.seats[0], 3, 1) == either
    assert words(battle, 1, 2) == ["switch 3", "switch 4"]


def test_a_pokemon_that_faints_before_it_repeats_its_move_may_have_been_free(reader: ReplayReader):
    outrage = "|move|p1a: Incineroar|Outrage|p2a: Amoonguss"
    fallen = ["|-damage|p1a: Incineroar|0 fnt", "|faint|p1a: Incineroar"]
    last = [*done(*fallen), "|", "|t:|3", switch("p1a", "Whimsicott")]
    log = vgc_log(done(outrage), done(f"{outrage}|[from] lockedmove"), last).replace("KnockOff", "Outrage")
    decisions = read(reader, log).seats[0]
    assert decisions is not None
    assert decisions.read[2] & Read.REQUEST_UNSURE == 0
    assert decisions.read[3] == Read.REQUEST_UNSURE
    assert decisions.action[3] == -1
    assert not decisions.possible[3].any()


def test_the_choice_is_unknown_if_the_request_is(reader: ReplayReader):
    moves = ["|move|p1a: Incineroar|Fake Out|p2b: Flutter Mane", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"]
    log = "\n".join(line for line in vgc_log(done(*moves)).split("\n") if not line.startswith("|showteam|"))
    free, shadowed = (read(reader, one).seats[0] for one in (log, log.replace("Amoonguss", "Gothitelle")))
    assert free is not None
    assert shadowed is not None
    assert (free.read[1], shadowed.read[1]) == (0, Read.REQUEST_UNSURE)
    assert free.action[1] >= 0
    assert shadowed.action[1] == -1
    assert not shadowed.possible[1].any()


def test_a_switch_in_the_middle_of_a_turn_is_a_decision_of_its_own(reader: ReplayReader):
    turn = [
        "|move|p1b: Rillaboom|U-turn|p2a: Amoonguss", "|", "|t:|3", switch("p1b", "Pawmot", cause="|[from] U-turn"),
        "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss", "|", "|upkeep",
    ]  # fmt: skip
    battle = read(reader, vgc_log(turn))
    assert words(battle, 0, 1) == ["move 1 +1", "move 4 +1"]
    assert words(battle, 0, 2) == ["pass", "switch 4"]


def test_such_a_switch_is_found_without_times_after_an_effect_has_ended(reader: ReplayReader):
    turn = [
        "|move|p1b: Rillaboom|U-turn|p2a: Amoonguss", "|", "|-end|p1b: Rillaboom|Quark Drive|[silent]",
        switch("p1b", "Whimsicott", cause="|[from] U-turn"), "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
    ]  # fmt: skip
    log = vgc_log(done(*turn)).replace("|t:|1\n", "").replace("|t:|2\n", "")
    assert words(read(reader, log), 0, 2) == ["pass", "switch 4"]


def test_a_revival_is_a_decision(reader: ReplayReader):
    first = ["|move|p2a: Amoonguss|Spore|p1b: Pawmot", "|-damage|p1a: Incineroar|0 fnt", "|faint|p1a: Incineroar"]
    revival = [
        "|move|p1b: Pawmot|Revival Blessing|p1b: Pawmot", "|", "|t:|4",
        "|-heal|p1: Incineroar|50/100|[from] move: Revival Blessing", "|", "|upkeep",
    ]  # fmt: skip
    turns = [*done(*first), "|", "|t:|3", switch("p1a", "Rillaboom")], revival, done()
    battle = read(reader, vgc_log(*turns, leads=("Incineroar", "Pawmot", "Amoonguss", "Flutter Mane")))
    revived = words(battle, 0, 4)
    assert revived[0] == "pass"
    assert battle.seats[0] is not None
    before, after = cut(battle.seats[0].view[4:6]).pokemon[:, OWN]
    place = int(str(revived[1]).removeprefix("switch ")) - 1
    assert before[place, POKEMON.column("fainted")] == 1
    assert after[place, POKEMON.column("fainted")] == 0
    assert after[place, POKEMON.column("hp")] / after[place, POKEMON.column("max_hp")] == pytest.approx(0.5, abs=0.01)


def test_contradictions_are_counted_by_cause(reader: ReplayReader):
    bound, other = (
        "|move|p2b: Flutter Mane|Moonblast|p1a: Incineroar",
        "|move|p2b: Flutter Mane|Shadow Ball|p1a: Incineroar",
    )
    battle = read(reader, vgc_log(done(bound), done(other)))
    assert battle.problems == {"a disabled move was used": 1}
    decisions = battle.seats[1]
    assert decisions is not None
    assert decisions.action[2] == -1


def test_what_the_server_may_have_chosen_is_unknown(reader: ReplayReader):
    moves = ["|move|p1a: Incineroar|Fake Out|p2b: Flutter Mane", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"]
    first = vgc_log(done(*moves), done(*moves))
    before, _, after = first.rpartition("|turn|2\n|\n|t:|2")
    for line, seconds, late in (
        ("|inactive|One has 5 seconds left.", 57, True),
        ("|inactive|One has 5 seconds left.", 40, False),
        ("|inactive|One has 10 seconds left.", 57, False),
        ("|inactive|Other has 5 seconds left.", 57, False),
    ):
        decisions = read(reader, f"{before}|turn|2\n{line}\n|\n|t:|{2 + seconds}{after}").seats[0]
        assert decisions is not None
        assert decisions.action[1] >= 0
        assert (decisions.action[2] < 0) == late
        assert (decisions.read[2] == Read.LATE) == late
        assert not decisions.possible[2].any()
