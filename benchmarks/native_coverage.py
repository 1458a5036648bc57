"""Which lines of the native Gen 1 engine the proof of identity reaches, and whether its draws fall on both sides.

The engine is compiled with counters, all kinds of battles are compared with Showdown as by benchmarks.native_identity,
and gcov tells what was never run. A draw site is a line that asks the generator; where it decides something, it has
to have gone each way. Needs gcc.
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.markup import escape

from benchmarks.native_identity import KINDS
from benchmarks.report import MeasurementError, option_parser, print_table, progress, run, write_figures
from nemesis.games.pokemon.native import build

BATTLES, QUICK_BATTLES = 300, 20
LONG_PART = 10  # long battles have that many times more turns
ENGINE = build.FOLDER / "engine"
DRAW = re.compile(r"\b(chance|below|between|sort_listeners)\(b,")
ALWAYS = re.compile(r"if \(tie\)")  # both clauses are in force in all formats that are compared
# What hardly any battle reaches: errors of Showdown, and more lines than a turn can have.
UNREACHED = re.compile(r"fail_battle|log->count = ")


def main() -> None:
    """Measure the coverage."""
    parser = option_parser(__doc__ or "")
    parser.add_argument("--battles", type=int, metavar="N", help=f"number of battles of each kind (default: {BATTLES})")
    options = parser.parse_args()
    battles = options.battles or (QUICK_BATTLES if options.quick else BATTLES)
    with tempfile.TemporaryDirectory() as folder:
        library = compile_counting(Path(folder))
        for kind in KINDS:
            progress(f"comparing {kind}")
            compare(library, kind, max(1, battles // LONG_PART) if kind == "long" else battles, options.seed)
        files = read_counts(Path(folder))
    lines, draws = rows_of(files)
    print_table("Lines of the engine that ran", lines)
    print_table("Draws from the generator", draws)
    if options.json:
        write_figures(options.json, {"lines": lines, "draws": draws})
    lacking = [f"{row['file']}:{row['line']}: {row['code']}" for row in draws if row["lacking"]]
    if lacking and not options.quick:
        raise MeasurementError("Some draws never ran or fell on one side only:\n" + "\n".join(lacking))


def compile_counting(folder: Path) -> Path:
    """Compile the engine with counters into a folder."""
    library = folder / "counting.so"
    sources = [str(path) for path in sorted(ENGINE.rglob("*.c"))]
    command = ["gcc", "-std=c99", "-O0", "--coverage", "-fPIC", "-ffp-contract=off", "-shared", f"-I{build.FOLDER}"]
    done = subprocess.run([*command, "-o", library.name, *sources, "-lm"], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise MeasurementError(f"gcc could not compile the engine: {done.stderr.decode()[-2000:]}")
    return library


def compare(library: Path, kind: str, battles: int, seed: int) -> None:
    """Compare battles in a process of its own, which writes its counts when it ends."""
    command = [sys.executable, "-m", "benchmarks.native_identity", "--overlay", "--library", str(library)]
    command += ["--kinds", kind, "--battles", str(battles), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"{done.stdout[-4000:]}{done.stderr[-4000:]}")


def read_counts(folder: Path) -> list[dict[str, Any]]:
    """Return gcov's counts of the engine's own files."""
    notes = [path.name for path in folder.glob("*.gcda")]
    gcov = shutil.which("gcov") or "gcov"
    command = [gcov, "--json-format", "--branch-probabilities", *notes]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    reports = [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.gcov.json.gz"))]
    files = {entry["file"]: entry for report in reports for entry in report["files"] if entry["file"].endswith(".c")}
    return [files[name] for name in sorted(files)]


def rows_of(files: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return one row for each file, and one for each line that draws."""
    lines, draws = [], []
    for entry in files:
        path = Path(entry["file"])
        code = path.read_text(encoding="utf-8").splitlines()
        known = {line["line_number"]: line for line in entry["lines"]}
        idle = [number for number, line in known.items() if not line["count"]]
        unexpected = [number for number in idle if not UNREACHED.search(code[number - 1])]
        run_lines = len(known) - len(idle)
        lines.append({"file": path.name, "lines": len(known), "run": run_lines, "never": _list(unexpected)})
        for number, line in known.items():
            if DRAW.search(code[number - 1]) and not code[number - 1].startswith(("void", "static")):
                counts = [branch["count"] for branch in line["branches"]]
                draws.append(_draw_row(path.name, number, code[number - 1].strip(), line["count"], counts))
    return lines, draws


def _draw_row(file: str, number: int, code: str, count: int, branches: list[int]) -> dict[str, Any]:
    lacking = count == 0 or (0 in branches and not ALWAYS.search(code))
    row = {"file": file, "line": number, "code": escape(code), "run": count, "sides": _list(branches)}
    return {**row, "lacking": "yes" if lacking else ""}


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


if __name__ == "__main__":
    run(main)
