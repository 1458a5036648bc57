"""Commands of the family: `nemesis teams`, and its rows of `nemesis doctor`."""

# ruff: noqa: PLC0415 (what is slow to import is imported when a command runs)


def check(battle_format: str, /, *sources: str) -> int:
    """Check teams with the simulator's own validator.

    Args:
        battle_format: such as gen9ou
        sources: files or folders of teams, or names of shipped sets; the format's set by default
    """
    from nemesis.core.progress import clear, report

    report(f"Reading teams of {battle_format}")
    from nemesis.games.pokemon.formats import find_format
    from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
    from nemesis.games.pokemon.teams.team_files import TeamError
    from nemesis.games.pokemon.teams.team_sets import problem_lines, validate_teams

    known = find_format(battle_format).id
    hosts = WarmHosts("bundled")
    all_valid = True
    for source in sources or (known,):
        try:
            validated = validate_teams(known, source, hosts.check_teams)
        except TeamError as error:
            clear()
            print(error)
            all_valid = False
            continue
        invalid = [each for each in validated if each.problems]
        clear()
        print(f"{source}: {len(validated) - len(invalid)} of {len(validated)} teams are valid in {known}")
        for line in problem_lines(invalid):
            print(f"  {line}")
        all_valid = all_valid and not invalid
    return 0 if all_valid else 1


def checks() -> list[tuple[str, str]]:
    """Return the rows of `nemesis doctor` about the simulators."""
    from nemesis.games.pokemon.native import engine

    problem = engine.library_problem()
    native = f"missing, so Gen 1 is played on Showdown, slowly. {problem}" if problem else "ready, for Gen 1"
    return [("Pokémon simulator", _simulator_state()), ("native engine", native)]


def _simulator_state() -> str:
    from nemesis.core.errors import UserError
    from nemesis.games.pokemon.node import find_node, is_installed, node_version

    try:
        node = find_node("bundled")
        state = "ready" if is_installed() else "not installed yet; the first battle or `make` installs it"
    except UserError as error:
        return str(error)
    return f"{state}, Node {node_version(node)}"
