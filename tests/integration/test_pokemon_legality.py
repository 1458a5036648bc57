"""Legal masks and choices against the simulator: random battles in which every kind of action is tried.

`NEMESIS_LEGALITY_BATTLES=200 pytest tests/integration/test_pokemon_legality.py` plays so many battles of each kind.
"""

import json
import os
import subprocess

import numpy as np
import pytest

from nemesis.core.masks import unpack_mask
from nemesis.games.pokemon import node
from nemesis.games.pokemon.formats import find_format
from nemesis.games.pokemon.views.actions import TURNS, action_space

BATTLES = int(os.environ.get("NEMESIS_LEGALITY_BATTLES", "1"))
FORMATS = [
    "gen1ou", *(f"gen{number}randombattle" for number in range(1, 10)), "gen9ou", "gen9bssregi", "gen9nationaldex",
    "gen8nationaldex", "gen9vgc2023regc", "gen9vgc2024regg", "gen9vgc2025regi", "gen9championsvgc2026regma",
    "gen9championsvgc2026regmb", "gen9randomdoublesbattle", "gen9doublesou", "gen8doublesou", "gen8vgc2022",
    "gen7doublesou", "gen7vgc2019", "gen5doublesou", "gen4doublesou", "gen3doublesou",
]  # fmt: skip


@pytest.fixture(scope="module")
def ask():
    found = node.find_node("bundled")
    command = [found.node, node.installed_host(found) / "tools/legality.js"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(**job):
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def shape(format_id):
    found = find_format(format_id)
    return {"format": found.id, "slots": found.slots, "brought": found.brought}


@pytest.mark.parametrize("source", ["generated", "wild"])
@pytest.mark.parametrize("format_id", FORMATS)
def test_simulator_agrees_in_random_battles(ask, format_id, source):
    report = ask(**shape(format_id), source=source, battles=BATTLES, seed=len(format_id), turns=40, joint=5)
    assert report["problems"] == []
    assert report["decisions"] > 10 * BATTLES
    assert min(report["legal"], report["illegal"]) > report["decisions"]


def member(species, ability, item, *moves, **more):
    return {"name": species, "species": species, "ability": ability, "item": item, "moves": moves, "level": 50, **more}


BOMBS = [member(name, "Levitate", "", "memento", "uturn", "tackle") for name in ("Weezing", "Koffing", "Gengar")]
COMMANDERS = [
    member("Dondozo", "Unaware", "Leftovers", "orderup", "waterfall", "protect", "rest"),
    member("Tatsugiri", "Commander", "Choice Scarf", "icywind", "muddywater", "helpinghand", "endure"),
    *BOMBS[:2],
]
REVIVERS = [
    member("Pawmot", "Iron Fist", "Life Orb", "revivalblessing", "tackle", "protect", "allyswitch"),
    member("Rabsca", "Synchronize", "Leftovers", "revivalblessing", "psychic", "protect", "uturn"),
    *BOMBS,
    member("Zoroark", "Illusion", "Focus Sash", "memento", "darkpulse", "allyswitch", "uturn"),
]
TRAPPERS = [
    member("Gothitelle", "Shadow Tag", "Leftovers", "psychic", "protect", "trickroom", "taunt"),
    member("Dugtrio", "Arena Trap", "Choice Band", "earthquake", "rockslide", "memento", "uturn"),
    member("Magnezone", "Magnet Pull", "Assault Vest", "thunderbolt", "flashcannon", "voltswitch", "thunderwave"),
    member("Corviknight", "Pressure", "Shed Shell", "bravebird", "ironhead", "roost", "uturn"),
]
IMPRISONERS = [
    member("Starmie", "Natural Cure", "", "imprison", "psychic", "protect", "surf"),
    member("Slowbro", "Own Tempo", "Choice Specs", "imprison", "psychic", "slackoff", "surf"),
    member("Latias", "Levitate", "Leftovers", "imprison", "psychic", "protect", "recover"),
    member("Mew", "Synchronize", "", "imprison", "psychic", "protect", "surf"),
]
LOCKED = [
    member("Dragonite", "Inner Focus", "Choice Band", "outrage", "hyperbeam", "encore", "fly"),
    member("Venusaur", "Chlorophyll", "", "solarbeam", "petaldance", "taunt", "pollenpuff"),
    member("Clefable", "Unaware", "Assault Vest", "calmmind", "softboiled", "encore", "thunderwave"),
    member("Snorlax", "Immunity", "Choice Scarf", "rollout", "gigaimpact", "uproar", "curse"),
]
WRAPPERS = [member("Dragonite", "", "", "wrap", "thunderwave"), member("Cloyster", "", "", "clamp", "withdraw")]
SLEEPERS = [
    member("Venusaur", "", "", "sleeppowder", "razorleaf", "hyperbeam", "bide"),
    member("Gengar", "", "", "hypnosis", "nightshade", "dig", "metronome"),
]
GIANTS = [
    member("Charizard", "Blaze", "Choice Specs", "blastburn", "airslash", "heatwave", "helpinghand", gigantamax=True),
    member("Lapras", "Water Absorb", "Assault Vest", "icebeam", "hydropump", "protect", "surf", gigantamax=True),
    member("Grimmsnarl", "Prankster", "Light Clay", "taunt", "spiritbreak", "encore", "reflect", gigantamax=True),
    member("Togekiss", "Serene Grace", "Life Orb", "dazzlinggleam", "followme", "airslash", "imprison"),
]
SPECTACLE = [
    member(
        "Necrozma-Dusk-Mane", "Prism Armor", "Ultranecrozium Z", "photongeyser", "earthquake", "protect", "calmmind"
    ),
    member("Charizard", "Blaze", "Charizardite Y", "heatwave", "solarbeam", "airslash", "protect"),
    member("Garchomp", "Rough Skin", "Groundium Z", "earthquake", "dragonclaw", "sandattack", "swordsdance"),
    member("Metagross", "Clear Body", "Metagrossite", "ironhead", "zenheadbutt", "explosion", "protect"),
    member("Gengar", "Cursed Body", "Ghostium Z", "shadowball", "curse", "destinybond", "disable"),
    member("Audino", "Healer", "Normalium Z", "helpinghand", "acupressure", "healpulse", "tackle"),
]

SCENES = {
    "Commander": ("gen9vgc2025regi", COMMANDERS, ["commanding", "aim normal"]),
    "revival of four": ("gen9vgc2025regi", REVIVERS, ["reviving", "fainted slot", "two forced, one left"]),
    "revival of six": ("gen9doublesou", REVIVERS, ["reviving", "two forced"]),
    "revival of the only one left": ("gen9doublesou", REVIVERS[:3], ["reviving the only one"]),
    "revival in singles": ("gen9ou", REVIVERS, ["reviving"]),
    "traps": ("gen9ou", TRAPPERS, ["maybeTrapped", "refused"]),
    "traps in doubles": ("gen9doublesou", TRAPPERS, ["maybeTrapped", "trapped", "refused"]),
    "traps of old": ("gen3ou", TRAPPERS[:3], ["maybeTrapped", "refused"]),
    "Imprison": ("gen9ou", IMPRISONERS, ["maybeDisabled", "refused"]),
    "Imprison in doubles": ("gen9vgc2025regi", IMPRISONERS, ["maybeDisabled", "refused"]),
    "Imprison of old": ("gen4doublesou", IMPRISONERS, ["maybeDisabled", "refused"]),
    "locked moves": ("gen9ou", LOCKED, ["outrage", "recharge", "solarbeam", "struggle", "locked"]),
    "locked moves in doubles": ("gen9vgc2025regi", LOCKED, ["outrage", "recharge", "solarbeam", "struggle", "locked"]),
    "wrapping": ("gen1ou", WRAPPERS, ["fight", "maybeLocked"]),
    "sleep and Bide": ("gen1ou", SLEEPERS, ["fight", "bide", "recharge"]),
    "dynamax": ("gen8battlestadiumsingles", GIANTS, ["canDynamax", "dynamaxed"]),
    "dynamax in doubles": ("gen8vgc2022", GIANTS, ["canDynamax", "dynamaxed"]),
    "Z-moves and megas": ("gen7doublesou", SPECTACLE, ["canZMove", "canMegaEvo", "canUltraBurst", "aim adjacentAlly"]),
    "team of two": ("gen9vgc2025regi", BOMBS[:2], ["preview of 2"]),
    "team of three": ("gen9vgc2025regi", BOMBS, ["preview of 3", "two forced, one left"]),
    "team of five": ("gen9doublesou", REVIVERS[:5], ["preview of 5"]),
    "lone Pokémon": ("gen9ou", BOMBS[:1], ["preview of 1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_simulator_agrees_in_rare_situations(ask, name):
    format_id, team, wanted = SCENES[name]
    report = ask(**shape(format_id), teams=[team, team], battles=max(BATTLES, 5), seed=1, turns=20, joint=5)
    assert report["problems"] == []
    seen = {*report["seen"], *(["refused"] if report["refusals"] else [])}
    assert {*wanted} <= seen


def request_of(slots, members=6, **more):
    """A request in which each slot may do anything."""
    moves = [{"id": f"move{number}", "target": "normal"} for number in range(4)]
    pokemon = [{"condition": "10/10"} for _ in range(members)]
    return {"active": [{"moves": moves, "canMegaEvo": True}] * slots, "side": {"pokemon": pokemon}} | more


@pytest.mark.parametrize(("slots", "brought"), [(1, 6), (1, 3), (2, 4), (2, 6)])
def test_host_and_tables_mean_the_same(ask, slots, brought):
    space = action_space(slots, brought)
    (answer,) = ask(slots=slots, brought=brought, requests=[request_of(slots)], worded=True)
    assert answer["choices"] == [space.choice(index, "mega") for index in range(space.size)]
    assert len(answer["packed"]) == -(-space.size // 8)


def shuffled(request, order):
    """The same request with its Pokémon, and with them their slots, in another order."""
    places = [place for place in np.argsort(order) if place < len(request["side"]["pokemon"])]
    slots = [place for place in places if place < 2]
    result = request | {"side": {"pokemon": [request["side"]["pokemon"][place] for place in places]}}
    for key in ("active", "forceSwitch"):
        if key in request:
            result[key] = [request[key][slot] for slot in slots[: len(request[key])]]
    return result


@pytest.mark.parametrize(("slots", "brought"), [(1, 6), (2, 4), (2, 6)])
def test_permuted_mask_is_the_mask_of_the_permuted_request(ask, slots, brought):
    space = action_space(slots, brought)
    generator = np.random.default_rng(0)
    requests, permuted_requests, orders, places = [], [], [], []
    for number in range(120):
        phase = ["preview", "turn", "revival"][number % 3]
        members = 6 if slots == 1 or phase == "preview" else brought
        group = np.zeros(6) if phase == "preview" else np.repeat([0, 1, 2], [slots, members - slots, 6 - members])
        order = np.argsort(np.argsort(group + generator.random(6)))
        request = request_of(slots, members)
        for member in request["side"]["pokemon"][1:]:
            member["condition"] = "0 fnt" if generator.random() < 0.4 and phase != "preview" else "10/10"
        targets = np.array(["normal", "self", "adjacentAlly", "adjacentAllyOrSelf", "adjacentFoe"])
        request["active"] = [
            {"moves": [{"id": "x", "target": target} for target in generator.choice(targets, 4)], "trapped": trapped}
            for trapped in generator.random(slots) < 0.3
        ]
        if phase == "preview":
            request = {"teamPreview": True, "side": request["side"]}
        if phase == "revival":
            request["side"]["pokemon"][0]["reviving"] = True
            request = {"forceSwitch": [True, False][:slots], "side": request["side"]}
        requests.append(json.loads(json.dumps(request, default=bool)))
        permuted_requests.append(shuffled(requests[-1], order))
        orders.append(order)
        fainted = [pokemon["condition"] == "0 fnt" for pokemon in request["side"]["pokemon"]]
        fainted += [False] * (6 - len(fainted))
        places.append(space.switch_places(np.array([fainted]), np.array([phase == "revival"]))[0])
    answers = ask(slots=slots, brought=brought, requests=[*requests, *permuted_requests])
    masks = unpack_mask(np.array([answer["packed"] for answer in answers], np.uint8), space.size)
    assert masks[:120].any(axis=1).mean() > 0.8
    permuted, _ = space.permute(np.array(orders), masks[:120], np.zeros(120, np.int64), np.array(places))
    assert (permuted == masks[120:]).all()


def test_choices_are_read_however_they_are_worded(ask):
    request = request_of(2, 4)
    request["active"] = [
        {"moves": [{"id": "hiddenpower", "target": "normal"}, {"id": "protect", "target": "self"}]},
        {"moves": [{"id": "willowisp", "target": "normal"}]},
    ]
    request["active"][0]["canTerastallize"] = "Fire"
    wanted = {
        "move 1 +1 terastallize, switch 3": 45 * 8 + 42,
        "move Hidden Power Fire 1 terastal, switch 3": 45 * 8 + 42,
        "move hiddenpower terastallize +1,switch 3": 45 * 8 + 42,
        "move protect -1, move Will-O-Wisp -1": 45 * 12 + 1,
        "move 2, move 1": -1,
        "move 2, move 1 -2": -1,
        "move 2 mega, move 1 +2": -1,
        "move 5, move 1 +2": -1,
        "switch 3, switch 3": -1,
        "switch 3": -1,
        "team 1234": -1,
    }
    (answer,) = ask(slots=2, brought=4, requests=[request], choices=list(wanted))
    assert dict(zip(wanted, answer["indices"], strict=True)) == wanted
    request["side"]["pokemon"][0]["condition"] = "0 fnt"
    (answer,) = ask(slots=2, brought=4, requests=[request], choices=["move 1 +2", "pass, switch 4"])
    assert answer["indices"] == [45 * 44 + 4, 45 * 44 + 43]
    preview = {"teamPreview": True, "side": request_of(2)["side"]}
    (answer,) = ask(slots=2, brought=4, requests=[preview], choices=["team 2, 1, 6, 3", "team 2163", "team 21"])
    assert answer["indices"] == [TURNS + 2, TURNS + 2, TURNS]
    (answer,) = ask(slots=1, brought=3, requests=[preview], choices=["team 412", "team 421", "team 4", "team 456"])
    assert answer["indices"] == [17, 17, 17, -1]


def test_choosing_both_slots_keeps_one_gimmick_of_a_kind(ask):
    request = request_of(2, 4)
    request["active"] = [
        {"moves": [{"id": "x", "target": "self"}], "canMegaEvo": True},
        {"moves": [{"id": "y", "target": "self"}], "canZMove": [{"target": "normal"}]},
    ]
    both, mega_and_z = 45 * 7 + 7, 45 * 7 + 5 + 3
    twins = request | {"active": [request["active"][0]] * 2}
    answers = ask(slots=2, brought=4, requests=[request, twins])
    mixed, same = unpack_mask(np.array([answer["packed"] for answer in answers], np.uint8), action_space(2, 4).size)
    assert mixed[mega_and_z]
    assert not same[both]
    assert same[45 * 7 + 2]
    assert same[45 * 2 + 7]
