"""Which formats the native engine plays: those whose rules in battle it follows."""

from nemesis.games.pokemon.formats import Format

_SLEEP_CLAUSE, _FREEZE_CLAUSE = 1, 2  # RULE_… of engine/battle.h
RULES = _SLEEP_CLAUSE | _FREEZE_CLAUSE  # of all formats below, with HP as percentages and without team preview
_TEAMS_GIVEN, _TEAMS_RANDOM_BATTLE, _TEAMS_CHALLENGE_CUP = range(3)  # TEAMS_… of arena/random_teams.h
_GENERATORS = {"gen1randombattle": _TEAMS_RANDOM_BATTLE, "gen1challengecup": _TEAMS_CHALLENGE_CUP}
_GIVEN = ("gen1ou", "gen1ubers", "gen1uu", "gen1nu", "gen1pu", "gen1zu", "gen1lc", "gen1tradebacksou")
NATIVE_FORMATS = (*_GENERATORS, *_GIVEN)


def is_native(battle_format: Format) -> bool:
    """Return whether the native engine plays a format."""
    return battle_format.id in NATIVE_FORMATS


def teams_from(battle_format: Format) -> int:
    """Return which generator draws the teams of a format."""
    return _GENERATORS.get(battle_format.id, _TEAMS_GIVEN)
