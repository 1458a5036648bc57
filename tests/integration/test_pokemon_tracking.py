"""Tricky things that a careful player keeps track of, each in a short battle on the real simulator."""

from typing import Any

import pytest
from traces import View, trace

from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.layout import FOE, OWN

TURN, FORCED_SWITCH = layout.PHASES.index("turn"), layout.PHASES.index("forced_switch")


def pokemon(species: str, *moves: str, item: str = "", ability: str = "", extra: str = "") -> str:
    held = f"{species} @ {item}" if item else species
    lines = [held, f"Ability: {ability}" if ability else "", extra, *(f"- {move}" for move in moves)]
    return "\n".join(line for line in lines if line)


def play(
    own: list[str],
    foe: list[str],
    choices: list[tuple[str, str]],
    battle_format: str = "gen9ou",
    sheets: bool = False,
    turns: int = 0,
) -> list[list[View]]:
    """Play until the choices of both seats are used up; '' means that a seat has nothing to choose.

    Returns the views of the own seat and of the foe's.
    """
    scripts = [[choice for choice in script if choice] for script in zip(*choices, strict=True)]
    teams = ["\n\n".join(own), "\n\n".join(foe)]
    plan = {"seed": 5, "teams": teams, "choices": scripts}
    battle = trace(battle_format, [plan], sheets=sheets, turn_limit=turns or len(choices))[0]
    assert battle["unknown"] == {}
    views: list[list[View]] = [[], []]
    for decision in battle["decisions"]:
        seat = decision["seat"]
        if len(views[seat]) <= len(scripts[seat]):
            views[seat].append(View(decision["view"]))
    return views


def active(members: list[Any]) -> Any:
    return next(member for member in members if member["active"])


BLISSEY = pokemon("Blissey", "Calm Mind", "Seismic Toss", "Soft-Boiled", "Hyper Voice", ability="Healer")
CORVIKNIGHT = pokemon("Corviknight", "Roost", "Body Press", "U-turn", "Defog", ability="Pressure")
SKARMORY = pokemon("Skarmory", "Roost", "Spikes", "Whirlwind", "Body Press", ability="Sturdy")


def test_a_disguise_and_its_fall():
    zoroark = pokemon("Zoroark", "Nasty Plot", "Dark Pulse", "U-turn", "Taunt", ability="Illusion", item="Leftovers")
    choices = [("team 12", "team 12"), ("move 1", "move 1"), ("move 4", "move 4")]
    own, foe = play([zoroark, CORVIKNIGHT], [BLISSEY, SKARMORY], choices)
    assert own[2].team[0].species == "zoroark"
    assert own[2].team[0].boosts == {"spa": 2}
    assert own[2].team[0].ids("types", "types") == ["dark"]
    assert own[2].own("corviknight")["active"] == 0
    assert active(foe[2].foes).species == "corviknight"
    assert active(foe[2].foes).moves == ["nastyplot"]
    wearer, copied = foe[3].foe("zoroark"), foe[3].foe("corviknight")
    assert active(foe[3].foes) is wearer
    assert set(wearer.moves) == {"nastyplot", "taunt"}
    assert wearer.boosts == {"spa": 2}
    assert wearer.id("abilities", "ability") == "illusion"
    assert 0 < wearer["hp"] < 100
    assert (copied["hp"], copied["seen"], copied.moves) == (100, 0, [])


def test_ditto_becomes_its_foe_and_itself_again():
    ditto = pokemon("Ditto", "Transform", ability="Imposter", item="Choice Scarf")
    choices = [("team 12", "team 12"), ("move 2", "move 4"), ("move 1", "switch 2"), ("move 1", "move 1")]
    own, _ = play([BLISSEY, CORVIKNIGHT], [ditto, SKARMORY], choices)
    copy = own[1].foe("ditto")
    assert copy.species == "blissey"
    assert copy.moves == own[1].team[0].moves
    assert list(copy["max_pp"]) == [5] * 4
    assert "transform" in copy.volatiles
    assert copy.ids("types", "types") == ["normal"]
    assert own[2].foe("ditto")["pp"][3] == 4  # it used Hyper Voice
    back = own[3].foe("ditto")
    assert (back.species, back.moves, back.volatiles) == ("ditto", [], set())


def test_ally_switch_exchanges_slots_with_all_that_belongs_to_them():
    swapper = pokemon("Cresselia", "Ally Switch", "Calm Mind", "Moonlight", ability="Levitate")
    choices = [("team 12", "team 12"), ("move 2, move 1", "move 1, move 1"), ("move 1, move 2 1", "move 1, move 1")]
    own, foe = play([swapper, BLISSEY], [BLISSEY, SKARMORY], choices, "gen9doublesou")
    assert [member["active"] for member in own[2].team[:2]] == [1, 2]
    assert own[3].own("cresselia")["active"] == foe[3].foe("cresselia")["active"] == 2
    assert foe[3].foe("cresselia").boosts == {"spa": 1, "spd": 1}
    assert foe[3].foe("blissey")["active"] == 1


def test_knock_off_and_trick_tell_of_items():
    thief = pokemon("Grimmsnarl", "Trick", "Knock Off", "Bulk Up", ability="Frisk", item="Choice Band")
    rich = pokemon("Blissey", "Calm Mind", "Soft-Boiled", ability="Healer", item="Leftovers")
    choices = [("team 12", "team 12"), ("move 1", "move 1"), ("move 1", "move 1"), ("move 2", "move 1")]
    own, foe = play([thief, CORVIKNIGHT], [rich, SKARMORY], choices[:2])
    assert own[1].foe("blissey").id("items", "item") == "leftovers"  # Frisk
    assert foe[1].foe("grimmsnarl").id("abilities", "ability") == "frisk"
    assert own[2].foe("blissey").id("items", "item") == "choiceband"
    assert own[2].foe("blissey").id("items", "last_item") == "leftovers"
    assert foe[2].foe("grimmsnarl").id("items", "item") == "leftovers"
    assert foe[2].own("blissey")["item_revealed"] == 1
    choices = [("team 12", "team 12"), ("move 2", "move 1")]
    own, foe = play([thief, CORVIKNIGHT], [rich, SKARMORY], choices)
    robbed = own[2].foe("blissey")
    assert layout.ITEM_STATES[robbed["item_state"]] == "none"
    assert robbed.id("items", "last_item") == "leftovers"
    assert foe[2].own("blissey").id("items", "last_item") == "leftovers"


def test_revival_blessing_counts_the_revived_again():
    healer = pokemon("Pawmot", "Revival Blessing", "Protect", ability="Iron Fist")
    martyr = pokemon("Skarmory", "Memento", "Roost", ability="Sturdy")
    choices = [
        ("team 123", "team 12"),
        ("move 1", "move 3"),
        ("switch 2", ""),
        ("move 1", "move 1"),
        ("switch 2", ""),
        ("move 2", "move 1"),
    ]
    own, foe = play([martyr, healer, CORVIKNIGHT], [BLISSEY, SKARMORY], choices)
    assert own[2].position["phase"] == FORCED_SWITCH
    assert own[2].sides[OWN]["left"] == 2
    reviving = own[4].position
    assert (reviving["phase"], list(reviving["reviving"]), list(reviving["must_switch"])) == (
        FORCED_SWITCH,
        [1, 0],
        [1, 0],
    )
    assert own[5].sides[OWN]["left"] == 3
    revived = foe[3].foe("skarmory")
    assert (revived["fainted"], revived["hp"]) == (0, 50)
    assert foe[3].sides[FOE]["left"] == 3


def test_commander_is_seen_by_both():
    tatsugiri = pokemon("Tatsugiri", "Draco Meteor", "Protect", ability="Commander")
    dondozo = pokemon("Dondozo", "Wave Crash", "Protect", ability="Unaware")
    choices = [("team 12", "team 12"), ("pass, move 2", "move 1, move 1")]
    own, foe = play([tatsugiri, dondozo], [BLISSEY, SKARMORY], choices, "gen9doublesou")
    for pair in (own[1].team, foe[1].foes):
        assert pair[0].volatiles == {"commanding"}
        assert pair[1].volatiles == {"commanded"}
        assert pair[1].boosts == dict.fromkeys(layout.STATS, 2)


def test_baton_pass_hands_boosts_and_substitute_on():
    passer = pokemon("Espeon", "Calm Mind", "Substitute", "Baton Pass", ability="Synchronize")
    choices = [
        ("team 12", "team 12"),
        ("move 1", "move 1"),
        ("move 2", "move 1"),
        ("move 3", "move 1"),
        ("switch 2", ""),
    ]
    own, foe = play([passer, CORVIKNIGHT], [BLISSEY, SKARMORY], choices, "gen9nationaldex")
    heir = foe[4].foe("corviknight")
    assert heir.boosts == {"spa": 1, "spd": 1}
    assert "substitute" in heir.volatiles
    assert active(own[5].team).boosts == {"spa": 1, "spd": 1}
    assert foe[4].foe("espeon").boosts == {}


def test_zero_to_hero():
    palafin = pokemon("Palafin", "Flip Turn", "Jet Punch", ability="Zero to Hero")
    choices = [("team 12", "team 12"), ("switch 2", "move 1"), ("switch 2", "move 1")]
    own, foe = play([palafin, CORVIKNIGHT], [BLISSEY, SKARMORY], choices)
    assert foe[1].foe("palafin").species == "palafin"
    assert foe[2].foe("palafin").species == own[2].own("palafin").species == "palafinhero"
    assert active(foe[3].foes).species == active(own[3].team).species == "palafinhero"


def test_terastallization_changes_types_and_spends_the_gimmick():
    dragonite = pokemon("Dragonite", "Dragon Dance", "Roost", ability="Multiscale", extra="Tera Type: Steel")
    choices = [("team 12", "team 12"), ("move 1 terastallize", "move 1")]
    own, foe = play([dragonite, CORVIKNIGHT], [BLISSEY, SKARMORY], choices)
    assert layout.GIMMICKS[own[1].position["gimmick"][0]] == "terastallize"
    assert own[1].team[0].id("types", "tera_type") == "steel"
    assert foe[1].foe("dragonite").id("types", "tera_type") == ""
    assert (own[2].sides[OWN]["gimmick_used"], own[2].sides[FOE]["gimmick_used"]) == (1, 0)
    assert own[2].position["gimmick"][0] == 0
    for member in (own[2].team[0], foe[2].foe("dragonite")):
        assert member["terastallized"] == 1
        assert member.ids("types", "types") == ["steel"]
        assert member.id("types", "tera_type") == "steel"


def test_mega_evolution_changes_species_ability_and_reveals_the_stone():
    kangaskhan = pokemon("Kangaskhan", "Return", "Earthquake", ability="Scrappy", item="Kangaskhanite")
    choices = [("team 12", "team 12"), ("move 2 mega", "move 1"), ("switch 2", "move 1")]
    mawile = pokemon("Mawile", "Swords Dance", "Play Rough", ability="Intimidate")
    own, foe = play([kangaskhan, mawile], [BLISSEY, SKARMORY], choices, "gen6ou")
    assert layout.GIMMICKS[own[1].position["gimmick"][0]] == "mega"
    for member in (
        own[2].own("kangaskhan"),
        foe[2].foe("kangaskhan"),
        own[3].own("kangaskhan"),
        foe[3].foe("kangaskhan"),
    ):
        assert member.species == "kangaskhanmega"
        assert member.id("abilities", "ability") == "parentalbond"
        assert member.id("items", "item") == "kangaskhanite"
    assert own[2].sides[OWN]["gimmick_used"] == 1


@pytest.mark.parametrize(("item", "turns"), [("Light Clay", 8), ("Leftovers", 5)])
def test_only_the_owner_knows_how_long_a_screen_lasts(item: str, turns: int):
    setter = pokemon("Blissey", "Light Screen", "Calm Mind", ability="Healer", item=item)
    thief = pokemon("Skarmory", "Spikes", "Knock Off", ability="Sturdy")
    choices = [
        ("team 12", "team 12"),
        ("move 1", "move 1"),
        ("move 2", "move 1"),
        ("move 2", "move 2"),
        ("move 2", "move 1"),
    ]
    own, foe = play([setter, CORVIKNIGHT], [thief, CORVIKNIGHT], choices)
    place = layout.SIDE_CONDITIONS.index("lightscreen")

    def lasts(view: View, which: int) -> tuple[int, int]:
        side = view.sides[which]
        return side["turns_least"][place], side["turns_most"][place]

    assert lasts(own[2], OWN) == (turns - 1, turns - 1)
    assert lasts(own[3], OWN) == (turns - 2, turns - 2)
    if item == "Light Clay":
        assert lasts(foe[2], FOE) == (4, 7)
        assert lasts(foe[3], FOE) == (3, 6)
    assert lasts(foe[4], FOE) == (turns - 3, turns - 3)  # the item was knocked off


def test_counters_of_sleep_and_poison():
    sleeper = pokemon("Blissey", "Rest", "Calm Mind", "Heal Bell", ability="Healer")
    poisoner = pokemon("Gliscor", "Toxic", "Protect", ability="Hyper Cutter")
    turns = [("move 2", "move 1"), ("move 2", "move 2"), ("switch 2", "move 2"), ("switch 2", "move 2")]
    own, foe = play([sleeper, CORVIKNIGHT], [poisoner, SKARMORY], [("team 12", "team 12"), *turns])
    for views, members in ((own, "own"), (foe, "foe")):
        poisoned = [getattr(view, members)("blissey") for view in views[2:]]
        assert [layout.STATUSES[member["status"]] for member in poisoned] == ["tox"] * 4
        assert [member["status_turns"] for member in poisoned] == [1, 2, 0, 1]
    turns = [("move 1", "move 1"), ("move 2", "move 2"), ("move 2", "move 2"), ("move 2", "move 2")]
    own, foe = play(
        [sleeper, CORVIKNIGHT], [poisoner, SKARMORY], [("team 12", "team 12"), ("move 2", "move 1"), *turns]
    )
    for views, members in ((own, "own"), (foe, "foe")):
        asleep = [getattr(view, members)("blissey") for view in views[3:]]
        assert [layout.STATUSES[member["status"]] for member in asleep] == ["slp", "slp", "slp", ""]
        assert [member["status_turns"] for member in asleep] == [0, 1, 2, 0]


def test_pressure_and_the_bench_are_counted_in_pp():
    choices = [("team 12", "team 12"), ("move 1", "move 1"), ("switch 2", "move 1"), ("move 1", "move 1")]
    own, foe = play([BLISSEY, SKARMORY], [CORVIKNIGHT, SKARMORY], choices)
    assert own[1].foe("corviknight").id("abilities", "ability") == "pressure"
    for view in own[2:]:
        assert view.own("blissey")["pp"][0] == 32 - 1  # Calm Mind aims at nobody
    choices = [("team 12", "team 12"), ("move 2", "move 1"), ("switch 2", "move 1"), ("move 1", "move 1")]
    own, foe = play([BLISSEY, SKARMORY], [CORVIKNIGHT, SKARMORY], choices)
    for view in own[2:]:
        assert view.own("blissey")["pp"][1] == 32 - 2
    assert foe[3].foe("blissey")["pp"][0] == 32 - 2
    assert foe[3].foe("blissey").moves == ["seismictoss"]


def test_what_both_sides_did_last_turn():
    choices = [("team 12", "team 12"), ("move 2", "move 2"), ("switch 2", "move 1")]
    own, _ = play([BLISSEY, SKARMORY], [CORVIKNIGHT, SKARMORY], choices)
    mine, theirs = own[2].sides[OWN], own[2].sides[FOE]
    kinds = [layout.ACTION_KINDS[side["last_kind"][0]] for side in (mine, theirs)]
    assert kinds == ["move", "move"]
    assert (mine["last_target"][0], theirs["last_target"][0]) == (3, 1)
    assert sorted([mine["last_order"][0], theirs["last_order"][0]]) == [1, 2]
    assert theirs["last_outcome"][0] == 1 << layout.OUTCOMES.index("super_effective")  # Body Press on Blissey
    assert layout.ACTION_KINDS[own[3].sides[OWN]["last_kind"][0]] == "switch"


def test_delayed_moves_count_down():
    seer = pokemon("Slowking", "Future Sight", "Wish", "Calm Mind", ability="Own Tempo")
    choices = [
        ("team 12", "team 12"),
        ("move 1", "move 1"),
        ("move 2", "move 1"),
        ("move 3", "move 1"),
        ("move 3", "move 1"),
    ]
    own, foe = play([seer, SKARMORY], [BLISSEY, SKARMORY], choices)
    assert [int(view.sides[FOE]["future_move"][0]) for view in own[1:]] == [0, 2, 1, 0, 0]
    assert [int(view.sides[OWN]["wish"][0]) for view in own[1:]] == [0, 0, 1, 0, 0]
    assert [int(view.sides[OWN]["future_move"][0]) for view in foe[1:]] == [0, 2, 1, 0, 0]


def test_protecting_again_and_again_is_counted():
    shield = pokemon("Gliscor", "Protect", "Toxic", ability="Hyper Cutter")
    choices = [("team 12", "team 12"), ("move 1", "move 2"), ("move 2", "move 1"), ("move 1", "move 1")]
    own, foe = play([shield, SKARMORY], [BLISSEY, SKARMORY], choices)
    assert foe[2].foe("gliscor").counters["stall"] == 1
    assert "stall" not in foe[3].foe("gliscor").volatiles
    assert own[4].team[0].counters["stall"] == 1
    blocked = layout.OUTCOMES.index("protected")
    assert int(own[2].sides[FOE]["last_outcome"][0]) == 1 << blocked


def test_sheets_tell_all_but_stats_and_those_left_at_home_are_still_shown():
    team = [
        pokemon(name, "Protect", "Substitute", item=item, ability=ability, extra="Level: 50\nTera Type: Fairy")
        for name, item, ability in [
            ("Blissey", "Leftovers", "Healer"),
            ("Corviknight", "Lum Berry", "Pressure"),
            ("Skarmory", "Rocky Helmet", "Sturdy"),
            ("Gliscor", "Toxic Orb", "Poison Heal"),
            ("Slowking", "Sitrus Berry", "Own Tempo"),
            ("Espeon", "Focus Sash", "Magic Bounce"),
        ]
    ]
    choices = [("team 6312", "team 1234"), ("move 1, move 1", "move 1, move 1")]
    own, _ = play(team, team, choices, "gen9vgc2025regi", sheets=True)
    preview, first = own[0], own[1]
    assert layout.PHASES[preview.position["phase"]] == "preview"
    for member, item in zip(preview.foes, ["leftovers", "lumberry", "rockyhelmet", "toxicorb"], strict=False):
        assert member.id("items", "item") == item
        assert member.moves == ["protect", "substitute"]
        assert member.id("types", "tera_type") == "fairy"
        assert layout.BROUGHT[member["brought"]] == "unknown"
        assert not member["stats"].any()
    assert [member.species for member in first.team] == [
        "espeon",
        "skarmory",
        "blissey",
        "corviknight",
        "gliscor",
        "slowking",
    ]
    assert [layout.BROUGHT[member["brought"]] for member in first.team] == ["yes"] * 4 + ["no"] * 2
    assert [layout.BROUGHT[member["brought"]] for member in first.foes] == ["yes"] * 2 + ["unknown"] * 4
    assert (first.sides[FOE]["team_size"], first.sides[FOE]["brought_size"], first.sides[FOE]["left"]) == (6, 4, 4)
    closed, _ = play(team, team, choices, "gen9vgc2025regi")
    assert all(member.moves == [] and not member["item"] for member in closed[0].foes)


@pytest.mark.parametrize(("first", "second"), [("Round", "Round"), ("Grass Pledge", "Fire Pledge")])
def test_who_joins_in_a_move_pays_for_its_own(first: str, second: str):
    own = [
        pokemon("Rillaboom", first, "Protect", "Wood Hammer", "U-turn", ability="Overgrow", item="Choice Scarf"),
        pokemon("Incineroar", second, "Fake Out", "Knock Off", "Parting Shot", ability="Blaze"),
    ]
    foe = [pokemon(name, "Calm Mind", "Protect", "Soft-Boiled", "Helping Hand") for name in ("Blissey", "Chansey")]
    choices = [("team 12", "team 12"), ("move 1 1, move 1 2", "move 1, move 3")]
    _, seen = play(own, foe, choices, "gen9doublesou")
    joining = seen[2].foe("incineroar")
    assert joining.moves == [second.replace(" ", "").lower()]
    assert joining["pp"][0] == joining["max_pp"][0] - 1
