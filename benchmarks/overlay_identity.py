"""Whether the overlaid simulator behaves exactly like the stock one: seeded random battles in both are compared.

Compared are every log line except time stamps, every request of both seats, the whole final state and that of the
random number generator. Every third battle uses teams drawn from the whole dex, to reach rare effects. Any difference
is shown and fails the command.
"""

import json
import subprocess
from typing import Any

from benchmarks.report import MeasurementError, option_parser, print_table, run, write_figures
from nemesis.games.pokemon.node import find_node, installed_host

BATTLES, QUICK_BATTLES = 2000, 60


def main() -> None:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--battles", type=int, metavar="N", help=f"number of battles (default: {BATTLES})")
    parser.add_argument("--formats", nargs="+", metavar="F", help="Showdown format ids (default: some of each kind)")
    options = parser.parse_args()
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    found = compare(battles, options.seed, options.formats)
    rows = [
        {"format": name, "battles": counts["battles"], "lines": counts["lines"], "failed_in_both": counts["failures"]}
        for name, counts in found["formats"].items()
    ]
    print_table(f"Stock and overlaid simulator, {sum(row['battles'] for row in rows)} battles", rows)
    if options.json:
        write_figures(options.json, found)
    if found["difference"]:
        raise MeasurementError(f"The simulators differ: {json.dumps(found['difference'], indent=2)}")


def compare(battles: int, seed: int, formats: list[str] | None) -> dict[str, Any]:
    """Return the compared battles by format, and the first difference or None."""
    node = find_node("bundled")
    command = [
        str(node.node),
        str(installed_host(node) / "tools/identity.js"),
        "--battles",
        str(battles),
        "--seed",
        str(seed),
    ]
    if formats:
        command += ["--formats", ",".join(formats)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise MeasurementError(f"The comparison failed: {outcome.stderr.strip()[-2000:]}") from None
    return found


if __name__ == "__main__":
    run(main)
