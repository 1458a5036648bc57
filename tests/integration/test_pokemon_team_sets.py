"""Team sets with the simulator's own validator: valid teams, error messages, and all shipped teams."""

import json
import subprocess
from pathlib import Path

import pytest

from nemesis.cli import main
from nemesis.core.errors import UserError
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.node import find_node, installed_host
from nemesis.games.pokemon.teams import team_sets as teams
from nemesis.games.pokemon.teams.team_sets import load_team_set, shipped_sets, validate_teams

MAIN_FORMATS = ("gen1ou", "gen9ou", "gen9vgc2025regi")
# Larger sets that may be next to the checkout, and the minimum fraction of each that must be valid.
LARGER_SETS = Path(__file__).parents[3] / "shared" / "data" / "teams"
LARGER = {
    "gen1ou_competitive": ("gen1ou", 1.0),
    "gen1ou_replays": ("gen1ou", 1.0),
    "gen9vgc_reg_c": ("gen9vgc2023regc", 0.9),
    "gen9vgc_reg_f": ("gen9vgc2024regg", 0.99),
    "gen9vgc_reg_g": ("gen9vgc2024regg", 0.99),
    "gen9vgc_reg_h": ("gen9vgc2024regg", 0.99),
    "gen9vgc_reg_i": ("gen9vgc2025regi", 0.99),
}

DONDOZO = """\
Tiny (Dondozo) @ Leftovers
Ability: Unaware
Tera Type: Grass
EVs: 252 HP / 252 Def / 4 SpD
Impish Nature
- Wave Crash
- Body Press
- Rest
- Sleep Talk
"""
DONDOZO_PACKED = (
    "Tiny|Dondozo|Leftovers|Unaware|WaveCrash,BodyPress,Rest,SleepTalk|Impish|252,,252,,4,||||100|255,,,,,Grass"
)


@pytest.fixture(scope="module")
def check():
    return WarmHosts("bundled").check_teams


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def problems(check, battle_format, text):
    (answer,) = check(battle_format, [text])
    assert "packed" not in answer
    return answer["problems"]


def test_paste_packed_and_json_are_the_same_team(check):
    as_json = json.dumps(
        [
            {
                "name": "Tiny",
                "species": "Dondozo",
                "item": "Leftovers",
                "ability": "Unaware",
                "moves": ["Wave Crash", "Body Press", "Rest", "Sleep Talk"],
                "nature": "Impish",
                "evs": {"hp": 252, "def": 252, "spd": 4},
                "teraType": "Grass",
            }
        ]
    )
    texts = [DONDOZO, DONDOZO_PACKED, as_json, DONDOZO.replace("\n", "\r\n"), f"\ufeff\n{DONDOZO}\n\n"]
    answers = check("gen9ou", texts)
    assert {answer["packed"] for answer in answers} == {
        "Tiny|Dondozo|Leftovers|Unaware|WaveCrash,BodyPress,Rest,SleepTalk|Impish|252,,252,,4,|||||,,,,,Grass"
    }
    assert check("gen9ou", [answers[0]["packed"]]) == [answers[0]]


def test_validator_completes_teams_for_the_format(check):
    (old,) = check("gen1ou", ["Tauros\n- Body Slam"])
    assert old["packed"] == "Tauros|||NoAbility|BodySlam|Serious|252,252,252,252,252,252|N||||"
    (champion,) = check("gen9championsvgc2026regma", [_shipped("gen9championsvgc2026regma", "charizard-sun")])
    assert "Charizard||CharizarditeY|SolarPower|HeatWave,SolarBeam,WeatherBall,Protect" in champion["packed"]
    assert champion["packed"].count("]") == 5


def _shipped(name, stem):
    return (Path(teams.__file__).with_name("sets") / name / f"{stem}.txt").read_text()


@pytest.mark.parametrize("name", shipped_sets())
def test_every_shipped_team_is_valid_and_unique(check, name):
    loaded = load_team_set(name, None, "train", check)
    members = [frozenset(team.split("]")) for team in loaded.packed]
    assert len(set(members)) == len(members) >= (12 if name in MAIN_FORMATS else 4)
    assert all(len(each) == 6 for each in members)


def test_errors_name_file_pokemon_and_the_validators_sentence(check, tmp_path):
    (tmp_path / "bad.txt").write_text(DONDOZO.replace("Wave Crash", "Spore").replace("Leftovers", "Leftovrs"))
    (tmp_path / "uber.txt").write_text("Mewtwo\nAbility: Pressure\nEVs: 1 HP\n- Psychic\n")
    (tmp_path / "good.txt").write_text(DONDOZO)
    with pytest.raises(UserError) as error:
        load_team_set("gen9ou", tmp_path, "all", check)
    assert str(error.value).splitlines() == [
        f"2 of 3 teams of {tmp_path} cannot be used in gen9ou:",
        str(tmp_path / "bad.txt"),
        '  Dondozo: "leftovrs" is an invalid item.',
        str(tmp_path / "uber.txt"),
        "  Mewtwo is tagged Uber, which is banned.",
    ]
    (tmp_path / "bad.txt").write_text(DONDOZO.replace("Wave Crash", "Spore"))
    with pytest.raises(UserError, match="Dondozo: Spore is banned by Sleep Moves Clause"):
        load_team_set("gen9ou", tmp_path / "bad.txt", "all", check)


def in_node(script):
    """Run a module beside the host and return the JSON that it prints."""
    found = find_node("bundled")
    command = [found.node, "--input-type=module", "--eval", script]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, cwd=installed_host(found))
    return json.loads(outcome.stdout)


def test_results_equal_those_of_a_server(check):
    """A server unpacks a team, validates it and packs it again. The teams here are also of other formats."""
    packed = [load_team_set(name, None, "all", check).packed[0] for name in shipped_sets()]
    for battle_format in ("gen9ou", "gen9vgc2024regg", "gen1ou"):
        ours = check(battle_format, packed)
        theirs = in_node(
            "import showdown from 'pokemon-showdown';"
            "const { Teams, TeamValidator } = showdown;"
            f"const answers = {json.dumps(packed)}.map((text) => {{"
            "  const team = Teams.unpack(text);"
            f"  const problems = TeamValidator.get('{battle_format}').validateTeam(team, {{}});"
            "  return problems?.length ? { problems } : { packed: Teams.pack(team) };"
            "});"
            "process.stdout.write(JSON.stringify(answers));"
        )
        assert [each.get("packed") for each in ours] == [each.get("packed") for each in theirs]
        our_problems, their_problems = (
            [problem for each in side for problem in each.get("problems", [])] for side in (ours, theirs)
        )
        assert len(our_problems) == len(their_problems) > 0
        assert all(
            mine == own or mine.endswith(f": {own}") for mine, own in zip(our_problems, their_problems, strict=True)
        )


def test_team_clauses_are_checked(check):
    assert problems(check, "gen9ou", f"{DONDOZO}\n{DONDOZO}")[0].startswith("You are limited to one of each Pokémon")
    three = _shipped("gen9vgc2025regi", "zacian-kyogre-goodstuff").replace(
        "Landorus @ Life Orb\nAbility: Sheer Force", "Groudon @ Life Orb\nAbility: Drought"
    )
    assert any("restricted" in problem.lower() for problem in problems(check, "gen9vgc2025regi", three))
    assert problems(check, "gen9randombattle", DONDOZO)[0] == "This format doesn't let you use your own team."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "There is no Pokémon in this team."),
        ("   \n\n", "There is no Pokémon in this team."),
        ("Tauros|", "This packed team is damaged or cut short."),
        ("[{", "This looks like JSON but cannot be read"),
        ("{}", "must be a list"),
        ("[1, null]", "lacks its moves"),
        ('[{"species": {"a": 1}, "moves": ["rest"]}]', "field of the wrong type"),
        ('[{"species": "Tauros", "moves": "rest", "name": 5}]', "field of the wrong type"),
        ('[{"__proto__": {"species": "Tauros"}, "moves": []}]', ""),
        ("<html>\n<body>", "does not exist"),
        ("x" * 70_000, "longer than 65536 characters"),
        ("A|" * 14_000, "Your team is over 25KB"),
        ("Tauros\n\n" * 40, "You may only bring up to 6"),
        ("constructor\n- __proto__", ""),
        (">eval process.exit(1)", "does not exist"),
        ("\x00\x1b[31m\ud7ff", "does not exist"),
    ],
)
def test_malformed_texts_get_a_message(check, text, message):
    for battle_format in ("gen9ou", "gen1ou"):
        found = problems(check, battle_format, text)
        assert any(message in problem for problem in found), found


def test_nickname_cannot_inject_another_pokemon(check):
    (answer,) = check("gen9ou", [DONDOZO.replace("Tiny", "a|]Mewtwo||b")])
    assert answer["packed"].count("]") == 0
    assert "|Dondozo|" in answer["packed"]


def test_unknown_format_is_an_error(check):
    with pytest.raises(UserError, match="There is no format gen99ou"):
        check("gen99ou", [DONDOZO])


@pytest.mark.parametrize("name", LARGER)
def test_larger_sets_load(check, name):
    battle_format, minimum = LARGER[name]
    file = LARGER_SETS / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip("the larger sets are not available")
    validated = validate_teams(battle_format, file, check)
    valid = sum(team.packed is not None for team in validated)
    print(f"{name}: {valid} of {len(validated)} valid in {battle_format}")
    assert valid >= minimum * len(validated)


def test_command_validates_teams(tmp_path, capfd):
    (tmp_path / "bad.txt").write_text("Mewtwo\nAbility: Pressure\nEVs: 1 HP\n- Psychic\n")
    capfd.readouterr()
    assert main(["teams", "check", "gen9ou"]) == 0
    printed = capfd.readouterr()
    assert printed.err.startswith("Reading teams of gen9ou …\n")
    assert "gen9ou: 14 of 14 teams are valid in gen9ou" in printed.out
    assert main(["teams", "check", "gen9ou", "gen9ou", str(tmp_path / "bad.txt")]) == 1
    text = capfd.readouterr().out
    assert f"{tmp_path / 'bad.txt'}: 0 of 1 teams are valid in gen9ou" in text
    assert "Mewtwo is tagged Uber, which is banned." in text
    assert main(["teams", "check", "gen9oo"]) == 2
    assert "Did you mean gen9ou" in capfd.readouterr().err
