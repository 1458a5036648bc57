"""`nemesis teams`: what the simulator's validator says of teams."""

# ruff: noqa: PLC0415 (what is slow to import is imported when the command runs)


def check(battle_format: str, /, *sources: str) -> int:
    """Check teams with the simulator's own validator.

    Args:
        battle_format: such as gen9ou
        sources: files or folders of teams, or names of sets that ship; the format's own set unless given
    """
    from nemesis.games.pokemon.formats import find_format
    from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
    from nemesis.games.pokemon.teams.team_sets import problem_lines, validate_teams

    known = find_format(battle_format).id
    warm_hosts = WarmHosts("bundled")
    all_valid = True
    for source in sources or (known,):
        judged = validate_teams(known, source, warm_hosts.check_teams)
        bad = [each for each in judged if each.problems]
        print(f"{source}: {len(judged) - len(bad)} of {len(judged)} teams are valid in {known}")
        for line in problem_lines(bad):
            print(f"  {line}")
        all_valid = all_valid and not bad
    return 0 if all_valid else 1
