"""View records: they hold what a careful player knows, and nothing that is hidden from the seat."""

import json
import random
import re
import subprocess
from typing import Any

import pytest
from traces import TIMES, seeded, team_pastes, trace, with_teams

from nemesis.games.pokemon.dex.tables import vocabulary
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.views import layout

EVERY_KIND = [
    ("gen1ou", "sets", False, 12),
    ("gen4randombattle", "generated", False, 6),
    ("gen7randombattle", "generated", False, 6),
    ("gen9ou", "sets", False, 12),
    ("gen9randombattle", "generated", False, 12),
    ("gen9randomdoublesbattle", "generated", False, 12),
    ("gen9vgc2025regi", "generated", False, 12),
    ("gen9vgc2025regi", "sets", True, 12),
    ("gen9championsvgc2026regma", "sets", False, 8),
    ("gen9customgame", "wild", False, 6),
    ("gen9doublescustomgame", "wild", False, 6),
]


@pytest.mark.parametrize(("battle_format", "teams", "sheets", "count"), EVERY_KIND)
def test_a_view_needs_only_what_the_seat_was_told_and_is_the_same_from_either_side(
    battle_format: str, teams: str, sheets: bool, count: int
):
    plan = with_teams(battle_format, count) if teams == "sets" else seeded(count, teams)
    battles = trace(battle_format, plan, sheets=sheets, prints=["followed", "mirrored"])
    for battle in battles:
        assert battle["unknown"] == {}
        for decision in battle["decisions"]:
            where = f"battle {battle['seed']}, seat {decision['seat']}, turn {decision['turn']}"
            assert decision["followed"] == decision["view"], f"fed with the seat's own messages: {where}"
            assert decision["mirrored"] == decision["view"], f"with seats exchanged: {where}"
    assert sum(len(battle["decisions"]) for battle in battles) > 20 * len(battles)


STATS_ONLY = ("evs", "nature")
NOT_ON_A_SHEET = (*STATS_ONLY,)
NOT_AT_PREVIEW = (*STATS_ONLY, "item", "move", "tera")


@pytest.mark.parametrize(
    ("battle_format", "teams", "sheets", "hidden"),
    [
        ("gen1ou", "gen1ou", False, ("move", "member")),
        ("gen9ou", "gen9ou", False, NOT_AT_PREVIEW),
        ("gen9randombattle", "gen9ou", False, (*NOT_AT_PREVIEW, "member")),
        ("gen9vgc2025regi", "gen9vgc2025regi", False, NOT_AT_PREVIEW),
        ("gen9vgc2025regi", "gen9vgc2025regi", True, NOT_ON_A_SHEET),
    ],
)
def test_what_is_hidden_does_not_change_a_view(battle_format: str, teams: str, sheets: bool, hidden: tuple[str, ...]):
    """Two battles that differ in one hidden thing of the foe look the same while the seat receives the same."""
    pastes, choose = team_pastes(teams), random.Random(battle_format)
    battles: list[dict[str, Any]] = []
    for seed in range(1, 40 * TIMES + 1):
        own, foe = choose.sample(pastes, 2)
        other = changed(foe, hidden[seed % len(hidden)], pastes, choose)
        battles += [{"seed": seed, "teams": (own, foe)}, {"seed": seed, "teams": (own, other)}]
    traces = trace(battle_format, battles, sheets=sheets, turn_limit=12, prints=["known"])
    same, told_apart = 0, 0
    for one, other in zip(traces[::2], traces[1::2], strict=True):
        seen, seen_otherwise = ([d for d in battle["decisions"] if d["seat"] == 0] for battle in (one, other))
        for first, second in zip(seen, seen_otherwise, strict=False):
            if first["known"] != second["known"]:
                told_apart += 1
                break
            assert first["view"] == second["view"], f"battle {one['seed']}, turn {first['turn']}"
            same += 1
    assert same > 4 * len(traces) / 2
    assert told_apart > len(traces) / 10  # or nothing hidden was changed


def changed(paste: str, what: str, pastes: list[str], choose: random.Random) -> str:
    """Change one thing of one Pokémon, and no lead."""
    sets = [text for text in re.split(r"\n\s*\n", paste.strip()) if text]
    place = choose.randrange(1, len(sets))
    if what == "member":
        present = {species(text) for text in sets}
        others = [
            text for other in pastes for text in re.split(r"\n\s*\n", other.strip()) if species(text) not in present
        ]
        sets[place] = choose.choice(others)
    else:
        sets[place] = CHANGES[what](sets[place], choose)
    return "\n\n".join(sets)


def species(text: str) -> str:
    return re.split(r" @|\n", text)[0].split("(")[0].strip()


def with_line(text: str, start: str, line: str) -> str:
    kept = [part for part in text.splitlines() if not part.startswith(start)]
    return "\n".join([kept[0], line, *kept[1:]])


def other_item(text: str, choose: random.Random) -> str:
    first, *rest = text.splitlines()
    items = [item for item in ("Lum Berry", "Shell Bell", "Iron Ball", "Mental Herb") if item not in first]
    return "\n".join([f"{first.split(' @')[0]} @ {choose.choice(items)}", *rest])


def other_move(text: str, choose: random.Random) -> str:
    lines = text.splitlines()
    moves = [place for place, line in enumerate(lines) if line.startswith("-")]
    new = [move for move in ("Body Slam", "Rest", "Substitute", "Double-Edge", "Toxic") if f"- {move}" not in text]
    lines[choose.choice(moves)] = f"- {choose.choice(new)}"
    return "\n".join(lines)


CHANGES = {
    "evs": lambda text, choose: with_line(
        text, "EVs:", f"EVs: {4 * choose.randrange(1, 60)} HP / {4 * choose.randrange(60)} SpD"
    ),
    "nature": lambda text, choose: re.sub(
        r"\w+ Nature", choose.choice(["Lax Nature", "Rash Nature", "Hasty Nature"]), text
    ),
    "tera": lambda text, choose: with_line(text, "Tera Type:", f"Tera Type: {choose.choice(['Bug', 'Ice', 'Rock'])}"),
    "item": other_item,
    "move": other_move,
}


def run_script(script: str, **given: Any) -> "subprocess.CompletedProcess[str]":
    node = find_node("bundled")
    command = [node.node, "--input-type=module", "--eval", f"const given = {json.dumps(given)};\n{script}"]
    return subprocess.run(command, cwd=installed_host(node), capture_output=True, text=True, check=False)


def test_a_line_that_nobody_knows_is_counted_and_not_fatal():
    script = """
        import { loadSimulator } from './simulator.js';
        import { Tracker } from './tracker/tracker.js';
        const tracker = new Tracker(loadSimulator({ overlay: false }).Dex.mod('gen9'));
        const lines = ['|-newthing|p1a: Pikachu', '|turn|3', '|-newthing|p2a: Pikachu'];
        tracker.read(lines, 0, lines.length);
        process.stdout.write(JSON.stringify([tracker.turn, [...tracker.unknown]]));
    """
    assert json.loads(run_script(script).stdout) == [3, [["-newthing", 2]]]


@pytest.mark.parametrize(
    ("old", "new", "complaint"), [("wish", "hope", "lacks fields"), ("", "luck", "does not write")]
)
def test_a_layout_with_other_fields_is_refused(old: str, new: str, complaint: str):
    script = """
        import { viewWriter } from './view/writer.js';
        viewWriter(given.layout, given.vocabulary);
    """
    other = layout.for_host()
    fields = other["blocks"]["side"]["fields"]
    fields[new] = fields.pop(old, [0, 1])
    result = run_script(script, layout=other, vocabulary=vocabulary().for_host())
    assert result.returncode != 0
    assert complaint in result.stderr
    assert (old or new) in result.stderr
