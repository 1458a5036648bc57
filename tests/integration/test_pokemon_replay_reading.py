"""Public logs read as decisions: what was chosen is told exactly or not at all, and no log can do harm."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from benchmarks.replay_fuzz import fuzz
from benchmarks.replay_round_trip import play, round_trip
from nemesis.core.errors import UserError
from nemesis.core.game import BoolArray
from nemesis.games import open_game
from nemesis.games.pokemon.actions import OPTIONS, PASS, SWITCH, action_space
from nemesis.games.pokemon.dex import vocabulary
from nemesis.games.pokemon.game import PokemonGame
from nemesis.games.pokemon.layout import FOE, OWN, POKEMON, STATUSES, cut
from nemesis.games.pokemon.replay_reading import Guessed, Read, ReplayBattle, ReplayError, ReplayReader, SeatDecisions
from nemesis.games.pokemon.replay_usage import Usage

SHEETS = (
    "Incineroar||SafetyGoggles|Intimidate|FakeOut,FlareBlitz,PartingShot,KnockOff|||M|||50|,,,,,Ghost]"
    "Rillaboom||AssaultVest|GrassySurge|FakeOut,GrassyGlide,WoodHammer,Uturn|||M|||50|,,,,,Fire]"
    "Amoonguss||RockyHelmet|Regenerator|Spore,RagePowder,PollenPuff,Protect|||M|||50|,,,,,Water]"
    "Flutter Mane||ChoiceSpecs|Protosynthesis|Moonblast,ShadowBall,DazzlingGleam,IcyWind||||||50|,,,,,Fairy]"
    "Whimsicott||FocusSash|Prankster|Tailwind,Encore,Moonblast,HelpingHand|||M|||50|,,,,,Ghost]"
    "Pawmot||LifeOrb|VoltAbsorb|RevivalBlessing,CloseCombat,DoubleShock,Protect|||M|||50|,,,,,Fire"
)
NAMES = ("Incineroar", "Rillaboom", "Amoonguss", "Flutter Mane", "Whimsicott", "Pawmot")
DETAILS = {name: f"{name}, L50" + ("" if name == "Flutter Mane" else ", M") for name in NAMES}
SPACE = action_space(2, 4)


def switch(ident: str, name: str, condition: str = "100/100", cause: str = "") -> str:
    return f"|switch|{ident}: {name}|{DETAILS[name]}|{condition}{cause}"


def vgc_log(*turns: list[str], leads: tuple[str, str, str, str] = NAMES[:2] + NAMES[2:4], end: str = "|win|One") -> str:
    """Return a log of a battle between two times the same team; each of the turns follows one that is announced."""
    lines = ["|gametype|doubles", "|player|p1|One|1|1500", "|player|p2|Other|2|1600", "|gen|9"]
    lines += ["|tier|[Gen 9] VGC 2025 Reg I (Bo3)", "|rated|", "|clearpoke"]
    lines += [f"|poke|{seat}|{DETAILS[name]}|" for seat in ("p1", "p2") for name in NAMES]
    lines += ["|teampreview|4", f"|showteam|p1|{SHEETS}", f"|showteam|p2|{SHEETS}", "|", "|t:|1", "|start"]
    lines += [switch(ident, name) for ident, name in zip(("p1a", "p1b", "p2a", "p2b"), leads, strict=True)]
    for number, turn in enumerate(turns, start=1):
        lines += [f"|turn|{number}", "|", "|t:|2", *turn]
    return "\n".join([*lines, "|", end])


def done(*turn: str) -> list[str]:
    return [*turn, "|", "|upkeep"]


@pytest.fixture(scope="module")
def reader() -> Iterator[ReplayReader]:
    game = open_game("pokemon:gen9vgc2025regi")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as opened:
        yield opened


def read(reader: ReplayReader, log: str) -> ReplayBattle:
    (battle,) = reader.read([("one", log)])
    assert isinstance(battle, ReplayBattle), battle
    return battle


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


def possible(decisions: SeatDecisions) -> BoolArray:
    return np.unpackbits(decisions.possible, axis=1, count=SPACE.size).view(np.bool_)


@pytest.mark.parametrize(
    ("battle_format", "battles", "known"), [("gen1ou", 8, 0.9), ("gen9ou", 8, 0.9), ("gen9vgc2025regi", 24, 0.65)]
)
def test_battles_written_as_replays_are_read_as_they_were(battle_format: str, battles: int, known: float):
    tallies = round_trip(battle_format, battles, seed=11)
    for tally in tallies.values():
        assert tally.examples == []
        assert tally.battles >= battles
        assert tally.known / tally.decisions > known
        assert tally.masks > 0
        assert tally.possible > 0
        assert tally.impossible == 0
    assert tallies["on"].known == tallies["off"].known


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(
            done("|move|p1a: Incineroar|Fake Out|p2b: Flutter Mane", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"),
            ["move 1 +2", "move 3 +1"],
            id="moves at whom they hit",
        ),
        pytest.param(
            done(switch("p1b", "Whimsicott"), "|move|p1a: Incineroar|Knock Off|p1b: Whimsicott"),
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
            id="who flinches may have chosen anything",
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
            id="who fainted before moving",
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
def test_choices_are_told_by_what_follows(reader: ReplayReader, turn: list[str], expected: list[str | None]):
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
def test_who_is_told_to_repeat_a_move_did_not_choose_it(
    reader: ReplayReader, turn: list[str], expected: list[str | None]
):
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
def test_who_moves_asleep_or_joins_in_chose_its_move(reader: ReplayReader, turn: list[str], expected: list[str | None]):
    sheets = {"KnockOff": "SleepTalk", "FakeOut": "Round", "PartingShot": "FirePledge", "GrassyGlide": "GrassPledge"}
    log = vgc_log(done(*turn))
    for old, move in sheets.items():
        log = log.replace(old, move)
    assert words(read(reader, log), 0, 1) == expected


def slot_options(decisions: SeatDecisions | None, decision: int, slot: int) -> set[int]:
    """Return the options of a slot that may have been chosen."""
    assert decisions is not None
    assert decisions.action[decision] == -1
    return set(np.divmod(np.flatnonzero(possible(decisions)[decision]), OPTIONS)[slot].tolist())


def test_what_comes_to_hit_all_foes_may_have_been_aimed_at_the_ally(reader: ReplayReader):
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


def test_who_went_to_command_its_ally_may_have_meant_to_leave(reader: ReplayReader):
    turn = done(switch("p1b", "Whimsicott"), "|-activate|p1a: Incineroar|ability: Commander|[of] p1b: Whimsicott")
    log = vgc_log(turn).replace("SafetyGoggles|Intimidate", "SafetyGoggles|Commander")
    battle = read(reader, log.replace("Incineroar", "Tatsugiri").replace("Whimsicott", "Dondozo"))
    chosen = slot_options(battle.seats[0], 1, 0)
    assert any(SWITCH <= option < PASS for option in chosen)
    assert any(option < SWITCH for option in chosen)


def test_who_is_revived_where_it_fell_did_not_choose_to_come(reader: ReplayReader):
    turn = [
        "|-damage|p1a: Incineroar|0 fnt", "|faint|p1a: Incineroar", "|move|p1b: Pawmot|Revival Blessing|p1b: Pawmot",
        "|", "|t:|4", "|-heal|p1: Incineroar|50/100|[from] move: Revival Blessing",
        switch("p1a", "Incineroar", "50/100"), "|", "|upkeep",
    ]  # fmt: skip
    battle = read(reader, vgc_log(turn, leads=("Incineroar", "Pawmot", "Amoonguss", "Flutter Mane")))
    assert battle.problems == {}
    assert words(battle, 0, 1) == [None, "move 1"]


def test_what_is_known_of_a_choice_in_part_is_told(reader: ReplayReader):
    drawn = [
        "|move|p2a: Amoonguss|Rage Powder|p2a: Amoonguss",
        "|-singleturn|p2a: Amoonguss|move: Rage Powder",
        "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss",
        "|cant|p1b: Rillaboom|flinch",
    ]
    decisions = read(reader, vgc_log(done(*drawn))).seats[0]
    assert decisions is not None
    told, legal = possible(decisions)[1], decisions.mask[1]
    assert not (told & ~legal).any()
    first, second = (sorted(set(part.tolist())) for part in np.divmod(np.flatnonzero(told), OPTIONS))
    assert first == [0, 3, 4]  # Fake Out at its ally or either foe
    plain = {option for option in range(SWITCH) if option // 5 % 2 == 0}  # it did not switch, nor terastallize
    assert second == sorted(plain & set((np.flatnonzero(legal) % OPTIONS).tolist()))
    assert not possible(decisions)[:1, : OPTIONS * OPTIONS].any()


def test_beside_an_empty_slot_nobody_can_tell_which_foe_was_meant(reader: ReplayReader):
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


def test_who_faints_before_it_is_seen_to_go_on_may_have_been_free(reader: ReplayReader):
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


def test_what_was_chosen_is_unknown_where_the_request_is(reader: ReplayReader):
    moves = ["|move|p1a: Incineroar|Fake Out|p2b: Flutter Mane", "|move|p1b: Rillaboom|Wood Hammer|p2a: Amoonguss"]
    log = "\n".join(line for line in vgc_log(done(*moves)).split("\n") if not line.startswith("|showteam|"))
    told, shadowed = (read(reader, one).seats[0] for one in (log, log.replace("Amoonguss", "Gothitelle")))
    assert told is not None
    assert shadowed is not None
    assert (told.read[1], shadowed.read[1]) == (0, Read.REQUEST_UNSURE)
    assert told.action[1] >= 0
    assert shadowed.action[1] == -1
    assert not shadowed.possible[1].any()


def test_a_switch_in_the_middle_of_a_turn_is_a_decision_of_its_own(reader: ReplayReader):
    turn = [
        "|move|p1b: Rillaboom|U-turn|p2a: Amoonguss", "|", "|t:|3", switch("p1b", "Whimsicott", cause="|[from] U-turn"),
        "|move|p1a: Incineroar|Fake Out|p2a: Amoonguss", "|", "|upkeep",
    ]  # fmt: skip
    battle = read(reader, vgc_log(turn))
    assert words(battle, 0, 1) == ["move 1 +1", "move 4 +1"]
    assert words(battle, 0, 2) == ["pass", "switch 4"]


def test_who_is_revived_is_a_decision(reader: ReplayReader):
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


@pytest.mark.parametrize(("cure", "shown"), [(True, ["par", "par", "par", ""]), (False, ["par", "", "", ""])])
def test_who_is_cured_on_the_bench_is_ill_until_then(reader: ReplayReader, cure: bool, shown: list[str]):
    turns = [
        done("|-status|p1b: Rillaboom|par"),
        done(switch("p1b", "Whimsicott")),
        done(),
        done("|-cureteam|p1a: Incineroar|[from] move: Heal Bell") if cure else done(),
        done(switch("p1b", "Rillaboom")),
    ]
    decisions = read(reader, vgc_log(*turns)).seats[0]
    assert decisions is not None
    own = cut(decisions.view).pokemon[:, OWN]
    species = own[0, 1, POKEMON.column("base_species")]
    statuses = own[own[:, :, POKEMON.column("base_species")] == species][:, POKEMON.column("status")]
    assert [STATUSES[one] for one in statuses[2:].tolist()] == shown


def test_leads_are_known_though_not_all_were_seen(reader: ReplayReader):
    decisions = read(reader, vgc_log(done())).seats[0]
    assert decisions is not None
    assert decisions.action[0] == -1
    fitting = [SPACE.describe(int(one)) for one in np.flatnonzero(possible(decisions)[0])]
    assert fitting == [f"lead 1 and 2, back {one} and {other}" for one, other in combinations(range(3, 7), 2)]
    assert (decisions.guessed[1] & Guessed.BROUGHT > 0).tolist() == [False, False, True, True, True, True]
    swapped = done(switch("p1a", "Whimsicott"), switch("p1b", "Pawmot"))
    seen = read(reader, vgc_log(swapped)).seats[0]
    assert seen is not None
    assert SPACE.describe(int(seen.action[0])) == "lead 1 and 2, back 5 and 6"
    assert not (seen.guessed & Guessed.BROUGHT).any()


def test_who_else_was_brought_is_drawn(reader: ReplayReader):
    logs = [("one", vgc_log(done()).replace("One", f"One {number}")) for number in range(60)]
    brought = Counter[int]()
    for battle in reader.read(logs):
        assert isinstance(battle, ReplayBattle)
        for seat in battle.seats:
            assert seat is not None
            own = cut(seat.view[1]).pokemon[OWN]
            brought.update(own[: SPACE.brought, POKEMON.column("base_species")].tolist())
    assert len(brought) == len(NAMES)
    assert min(brought.values()) > 40  # who leads neither team comes with each in half of 60 battles


def test_hp_are_as_the_public_saw_them_however_the_log_shows_them(reader: ReplayReader):
    for shown, told in (
        ("50/100", (50, 100)),
        ("24/48", (24, 48)),
        ("242/484", (50, 100)),
        ("502/1004", (50, 100)),
        ("1/489", (1, 100)),
    ):
        seat = read(reader, vgc_log(done(f"|-damage|p2a: Amoonguss|{shown}"), done())).seats[0]
        assert seat is not None
        foe = cut(seat.view[2]).pokemon[FOE]
        hurt = foe[foe[:, POKEMON.column("hp")] != foe[:, POKEMON.column("max_hp")]]
        assert [tuple(row) for row in hurt[:, [POKEMON.column("hp"), POKEMON.column("max_hp")]].tolist()] == [told]


SINGLES = [
    "|gametype|singles", "|player|p1|One|1|1500", "|player|p2|Other|2|1600", "|gen|9", "|tier|TIER", "|clearpoke",
    "|poke|p1|Garchomp, M|", "|poke|p2|Skarmory, M|", "|teampreview", "|", "|t:|1", "|start",
    "|switch|p1a: Garchomp|Garchomp, M|100/100", "|switch|p2a: Skarmory|Skarmory, M|100/100", "|turn|1", "|", "|t:|2",
    "|move|p1a: Garchomp|Earthquake|p2a: Skarmory", "|move|p2a: Skarmory|Roost|p2a: Skarmory", "|", "|upkeep",
    "|turn|2", "|", "|t:|3", "|win|One",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tier", "allowed"), [("gen9ou", "[Gen 9] OU", True), ("gen9monotype", "[Gen 9] Monotype", False)]
)
def test_nobody_terastallizes_where_it_is_forbidden(name: str, tier: str, allowed: bool):
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as opened:
        decisions = read(opened, "\n".join(SINGLES).replace("TIER", tier)).seats[0]
    assert decisions is not None
    assert decisions.action[1] >= 0
    plain, gimmick = decisions.mask[1, :4], decisions.mask[1, 4:8]
    assert plain.any()
    assert gimmick.any() == allowed


@pytest.mark.parametrize(
    ("name", "obstacle"),
    [
        ("gen9nationaldex", "mega evolutions and Z-moves"),
        ("gen9natdexdraft", "mega evolutions and Z-moves"),
        ("gen9almostanyability", "abilities"),
        ("gen9balancedhackmons", "abilities"),
        ("gen8ou", "Dynamax"),
    ],
)
def test_formats_whose_rules_cannot_be_followed_are_refused(name: str, obstacle: str):
    game = open_game(f"pokemon:{name}")
    assert isinstance(game, PokemonGame)
    with closing(game.replay_reader()) as opened, pytest.raises(UserError) as refused:
        opened.read([("one", "\n".join(SINGLES))])
    assert f"Replays of {name} cannot be read: " in str(refused.value)
    assert obstacle in str(refused.value)


def test_a_forme_that_the_team_preview_hides_is_known_once_it_is_seen(reader: ReplayReader):
    coming = switch("p1a", "Pawmot").replace("Pawmot", "Urshifu-Rapid-Strike")
    for turn, hidden in ((done(), True), (done(coming), False)):
        lines = [line for line in vgc_log(turn).split("\n") if not line.startswith("|showteam|")]
        log = "\n".join(line.replace("Pawmot", "Urshifu-*") if "|poke|" in line else line for line in lines)
        decisions = read(reader, log).seats[0]
        assert decisions is not None
        assert (decisions.guessed[0] & Guessed.FORME > 0).tolist() == [False] * 5 + [hidden]


@pytest.fixture(scope="module")
def completing() -> Iterator[ReplayReader]:
    """A reader that knows what Incineroar usually has."""
    game = open_game("pokemon:gen9vgc2025regi")
    assert isinstance(game, PokemonGame)
    moves = {"fakeout": 9, "flareblitz": 8, "knockoff": 6, "partingshot": 6, "taunt": 2, "willowisp": 1}
    with closing(game.replay_reader()) as opened:
        opened.complete({"incineroar": {"moves": moves, "item": {"safetygoggles": 3, "sitrusberry": 1}}})
        yield opened


def without_sheets(log: str, name: str = "One") -> str:
    lines = [line for line in log.split("\n") if not line.startswith("|showteam|")]
    return "\n".join(lines).replace("One", name)


def test_guesses_are_drawn_as_often_as_they_are_usual(completing: ReplayReader):
    logs = [without_sheets(vgc_log(done()), f"One {number}") for number in range(200)]
    battles = completing.read([("one", log) for log in logs])
    again = completing.read([("other", log) for log in logs[::-1]])[::-1]
    items, moves = [], []
    for battle, other in zip(battles, again, strict=True):
        assert isinstance(battle, ReplayBattle)
        assert isinstance(other, ReplayBattle)
        for seat, same in zip(battle.seats, other.seats, strict=True):
            assert seat is not None
            assert same is not None
            np.testing.assert_array_equal(seat.view, same.view)
        assert battle.seats[0] is not None
        own = cut(battle.seats[0].view[1]).pokemon[OWN][0]
        items.append(vocabulary().items[own[POKEMON.column("item")] - 1])
        moves.append(frozenset(own[POKEMON.columns("moves")].tolist()))
    assert set(items) == {"safetygoggles", "sitrusberry"}
    assert 0.65 < items.count("safetygoggles") / len(items) < 0.85
    assert len(set(moves)) > 4
    assert all(len(four) == 4 for four in moves)


def test_guessed_moves_are_forbidden_as_told_ones_are(completing: ReplayReader):
    used = "|move|p1a: Incineroar|Flare Blitz|p2a: Amoonguss"
    forbidden = 0
    for number in range(8):
        log = without_sheets(vgc_log(done(used, "|-start|p1a: Incineroar|move: Taunt"), done(used)), f"One {number}")
        decisions = read(completing, log).seats[0]
        assert decisions is not None
        own = cut(decisions.view[2]).pokemon[OWN][0]
        disabled = own[POKEMON.columns("move_disabled")] > 0
        names = [vocabulary().moves[move - 1] for move in own[POKEMON.columns("moves")].tolist()]
        assert disabled.tolist() == [name in {"partingshot", "taunt", "willowisp"} for name in names]
        forbidden += int(disabled.sum())
    assert forbidden


def test_who_never_came_in_is_guessed_without_a_team_preview():
    game = open_game("pokemon:gen1ou")
    assert isinstance(game, PokemonGame)
    with TemporaryDirectory() as folder, closing(game.replay_reader()) as opened:
        _, logs = play(game, 6, 4, Path(folder))
        usage = Usage()
        usage.add(opened.usage(list(logs.values())))
        plain = opened.read([(str(match), log) for match, log in logs.items()])
        opened.complete(usage.usual())
        full = opened.read([(str(match), log) for match, log in logs.items()])
    blank = 0
    for one, other in zip(plain, full, strict=True):
        assert isinstance(one, ReplayBattle)
        assert isinstance(other, ReplayBattle)
        for before, after in zip(one.seats, other.seats, strict=True):
            assert before is not None
            assert after is not None
            views = cut(np.stack([before.view[0], after.view[0]])).pokemon[:, OWN]
            species, filled = views[:, :, POKEMON.column("base_species")]
            blank += int((species == 0).sum())
            assert (filled > 0).all()
            assert len(set(filled.tolist())) == 6
            assert set(species.tolist()) - {0} <= set(filled.tolist())
            assert (after.guessed[0] & Guessed.SPECIES > 0).sum() == (species == 0).sum()
            assert (views[1, :, POKEMON.column("max_hp")] > 0).all()
    assert blank > 0


def test_the_head_of_a_log_is_read(reader: ReplayReader):
    battle = read(reader, vgc_log(done()))
    assert (battle.winner, battle.ending, battle.rated, battle.ratings) == (0, "played", True, (1500, 1600))
    forfeited = read(reader, vgc_log(done(), end="|-message|One forfeited.\n|\n|win|Other"))
    assert (forfeited.winner, forfeited.ending) == (1, "forfeit")


@pytest.mark.parametrize(
    ("turn", "end", "ending"),
    [
        ([], "|-message|One lost due to inactivity.\n|\n|win|Other", "timer"),
        ([], "|-message|All players are inactive.\n|\n|tie", "timer"),
        ([], "|tie", "forfeit"),  # both agreed to it
        (["|faint|p1a: Incineroar"], "|tie", "forfeit"),
        (["|faint|p1a: Incineroar", "|faint|p2a: Amoonguss"], "|tie", "played"),
        (["|message|It is turn 1000. You have hit the turn limit!"], "|tie", "played"),
        ([], "|win|One", "played"),
    ],
)
def test_how_a_battle_ended_is_told(reader: ReplayReader, turn: list[str], end: str, ending: str):
    assert read(reader, vgc_log(done(*turn), end=end)).ending == ending


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", "empty log"),
        (" \n", "empty log"),
        ("|gen|9", "no winner"),
        (vgc_log(done(), end="|win|Somebody"), "no winner"),
        (vgc_log(done()).replace("Reg I", "Reg G"), "wrong format"),
        (vgc_log(done("|split|p1", "|-damage|p1a: Incineroar|88/202")), "not public"),
        (vgc_log(done("|switch|p7a: Incineroar|Incineroar|100/100")), "unreadable line"),
        (vgc_log(done("|c|" + "x" * 30_000)), "too long"),
        ("|\n" * 30_000, "too long"),
    ],
)
def test_what_cannot_be_read_has_a_named_reason(reader: ReplayReader, log: str, reason: str):
    bad, good = reader.read([("bad", log), ("good", vgc_log(done()))])
    assert isinstance(bad, ReplayError)
    assert bad.reason == reason
    assert str(bad).startswith("bad")
    assert isinstance(good, ReplayBattle)


def test_a_contradiction_is_told_by_its_cause(reader: ReplayReader):
    bound, other = (
        "|move|p2b: Flutter Mane|Moonblast|p1a: Incineroar",
        "|move|p2b: Flutter Mane|Shadow Ball|p1a: Incineroar",
    )
    battle = read(reader, vgc_log(done(bound), done(other)))
    assert battle.problems == {"a disabled move was used": 1}
    decisions = battle.seats[1]
    assert decisions is not None
    assert decisions.action[2] == -1


def test_the_seat_of_a_disguise_is_left_out(reader: ReplayReader):
    seen = vgc_log(done(switch("p2a", "Pawmot")))
    shown = read(reader, seen.replace("Pawmot", "Zoroark")).seats
    assert [seat is None for seat in shown] == [True, True]
    # Nobody hides among those of whom as many were seen as were brought.
    others = done(switch("p1a", "Whimsicott"), switch("p1b", "Amoonguss"), switch("p2a", "Incineroar"))
    clear = read(reader, vgc_log(others).replace("Pawmot", "Zoroark")).seats
    assert [seat is None for seat in clear] == [False, True]


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


def test_no_log_can_do_harm():
    figures = fuzz("gen9vgc2025regi", 200, seed=5)
    assert 0 < int(str(figures["read"])) < 200
