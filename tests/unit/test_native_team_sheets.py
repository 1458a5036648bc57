"""Packed teams as the native engine reads them: as Showdown does, and none that only Showdown plays."""

import pytest

from nemesis.games.pokemon.native.team_sheets import TEAM_BYTES, TeamSheetError, team_sheet

TAUROS = "Tauros|||NoAbility|BodySlam,Earthquake|Serious|252,,252,,,|N||||"
MEMBER_BYTES = 23


def members(packed):
    sheet = team_sheet(packed)
    assert len(sheet) == TEAM_BYTES
    return [sheet[1 + MEMBER_BYTES * place :][:MEMBER_BYTES] for place in range(sheet[0])]


def test_a_member_has_its_numbers_moves_and_spread():
    (tauros,) = members(TAUROS)
    assert tauros[:7] == bytes([128, 100, 2, 34, 89, 0, 0])  # species, level, moves
    assert tauros[7:13] == bytes([31] * 6)
    assert tauros[13:19] == bytes([252, 0, 252, 0, 0, 0])
    assert tauros[19:] == bytes(4)  # no nature, the first name, no gender


def test_absent_and_short_lists_of_evs_and_ivs_are_read_as_showdown_reads_them():
    (tauros,) = members("Tauros|||NoAbility|BodySlam|||M|,3,,x||50|")
    assert tauros[1] == 50
    assert tauros[7:13] == bytes([31, 3, 31, 0, 0, 0])
    assert tauros[13:19] == bytes(6)
    assert tauros[22] == 1


def test_natures_raise_and_lower_stats_even_here():
    (adamant,) = members(TAUROS.replace("Serious", "Adamant"))
    assert adamant[19:21] == bytes([1, 3])


def test_equal_nicknames_have_equal_numbers_of_at_most_twenty_characters():
    longer = [f"A name of twenty len{end}|tauros||NoAbility|BodySlam||,,,,,1|N||||" for end in ("gth", "th")]
    other = "Bully|tauros||NoAbility|BodySlam||,,,,,1|N||||"
    assert [member[21] for member in members("]".join([other, *longer, other]))] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("packed", "problem"),
    [
        ("Tauros", "is not a Pokémon of a packed team"),
        (TAUROS.replace("Tauros", "Miltank"), "Miltank is not a Pokémon of Gen 1"),
        (TAUROS.replace("Earthquake", "Curse"), "Curse is not a move of Gen 1"),
        (TAUROS.replace("|||NoAbility", "||leftovers|NoAbility"), "has an item, an ability or a gender"),
        (TAUROS.replace("NoAbility", "Intimidate"), "has an item, an ability or a gender"),
        (TAUROS.replace("BodySlam,Earthquake", "Surf,Rest,Toxic,Bide,Rage"), "has 5 moves"),
        (TAUROS.replace("|N||||", "|N|||101|"), "levels from 1 to 100, not 101"),
        ("]".join([TAUROS] * 7), "has 7 Pokémon"),
    ],
)
def test_teams_that_only_showdown_plays_are_refused(packed, problem):
    with pytest.raises(TeamSheetError, match=problem):
        team_sheet(packed)
