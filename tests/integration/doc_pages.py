"""The pages of the documentation, and a reader who tries what they say, from top to bottom.

Commands are run in this process, shortened to seconds. What cannot be run in a test is checked instead: targets of
make, arguments of benchmarks and of torchrun, extras of pip, tests by path.
"""

import argparse
import contextlib
import importlib
import io
import os
import re
import shlex
import sys
import tempfile
import tomllib
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from torch.distributed.run import parse_args as parse_torchrun

from nemesis.cli import main
from nemesis.core.config import build_config
from nemesis.games.registry import GROUP
from nemesis.presets import load_preset, preset_names
from nemesis.storage.policies import policy_path
from nemesis.storage.policy_files import read_header
from nemesis.training.config import RunConfig

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "results.md"),
]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENT_WITH_NAME = re.compile(r"# (\w+\.(?:py|yaml))\n")

# What makes commands short. A setting or option of the page gives way to the one here.
_SHORT_BATTLES = {"pokemon.hosts": "1", "pokemon.turn_limit": "10"}
_SHORT_DRIVES = {"rocket_league.match_seconds": "3"}
_SHORT_RUN = {"updates": "1", "evaluation.matches": "0", "tracking.tensorboard": "false"}
_SMALL_BATCHES = {"collection.slots": "8", "collection.decisions": "64", "collection.actors": "0"}
_SHORT_SETTINGS = {
    "train": _SHORT_RUN | _SMALL_BATCHES,
    "exploit": _SHORT_RUN | {"exploiter.matches": "10"},
}
_SHORT_PSRO = {"iterations": "1", "updates": "1", "matches": "2"} | {
    f"training.{key}": value for key, value in (_SMALL_BATCHES | {"tracking.tensorboard": "false"}).items()
}
_SHORT_OPTIONS = {"evaluate": {"--matches": "2"}, "collect": {"--matches": "4"}}
_FEW_GROUPS = {"data.validation": "0.5"}  # for runs on the few replays of the reader


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int  # of the page, from 1

    @property
    def file(self) -> str | None:
        """The name of the file that the block is, by its first line."""
        named = _COMMENT_WITH_NAME.match(self.text)
        return named[1] if named else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 2) for match in _FENCED.finditer(text)]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def nemesis(arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command; returns its exit code and all that it printed."""
    with io.StringIO() as printed, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        return main(list(arguments)), printed.getvalue()


class Reader:
    """Tries the blocks of a page in the working directory, in order, in one Python session."""

    def __init__(self, page: Path) -> None:
        self._page = page
        self._session: dict[str, Any] = {"__name__": "__main__"}
        self._runners: dict[str, Callable[[Block], None]] = {
            "sh": self._commands,
            "console": self._console,
            "python": self._python,
            "yaml": self._settings,
            "toml": self._entry_point,
            "text": lambda _: None,
        }

    def try_all(self) -> None:
        found = blocks(self._page)
        for block in found:
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
        for block in found:
            if not block.file:
                assert block.language in self._runners, f"{self._page}:{block.line}: a block of '{block.language}'"
                self._runners[block.language](block)

    def _commands(self, block: Block) -> None:
        for number, line in enumerate(block.text.splitlines(), start=block.line):
            if words := shlex.split(line, comments=True):
                try:
                    _command(words)
                except (Exception, SystemExit) as error:
                    raise AssertionError(f"{self._page}:{number}: {line}\n{error}") from error

    def _console(self, block: Block) -> None:
        """Run a command as it stands, and compare what it prints with the page."""
        command, _, expected = block.text.partition("\n")
        program, *arguments = shlex.split(command.removeprefix("$ "))
        assert program == "nemesis"
        printed = nemesis(arguments)[1].splitlines(keepends=True)
        lasting = [line for line in printed if not line.endswith(" …\n")]  # a terminal removes the status
        assert "".join(lasting) == expected, f"{self._page}:{block.line}"

    def _python(self, block: Block) -> None:
        # Empty lines, so that a traceback has the lines of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(self._page), "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, self._session)

    def _settings(self, block: Block) -> None:
        build_config(RunConfig, {"game": "pokemon:gen1ou", **yaml.safe_load(block.text)})

    def _entry_point(self, block: Block) -> None:
        assert tomllib.loads(block.text)["project"]["entry-points"].keys() == {GROUP}


def _command(words: Sequence[str]) -> None:
    """Run or check one command of a page."""
    variables = [word.partition("=")[0] for word in words if re.match(r"[A-Z_]+=", word)]
    program, *arguments = words[len(variables) :]
    match Path(program).name:
        case "nemesis" if arguments[0] == "watch":
            watch(arguments[1:])
        case "nemesis":
            code, printed = nemesis(shortened(arguments))
            assert code == 0, printed
        case "torchrun":
            started = parse_torchrun(arguments)
            assert started.module
            _command([started.training_script, *started.training_script_args])
        case "make":
            (target,) = arguments
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        case "python":
            assert arguments[0] == "-m"
            check_arguments(*arguments[1:])
        case "pytest":
            files = [ROOT / argument for argument in arguments if argument.startswith("tests")]
            assert files
            assert all(path.exists() for path in files)
            assert all(variable in files[0].read_text(encoding="utf-8") for variable in variables)
        case "pip":
            check_extras(arguments[-1])
        case _:
            raise ValueError(f"No test knows how to run {program}.")


def watch(arguments: Sequence[str]) -> None:
    """Watch a run until the browser is to be opened; its matches are as short as those of `nemesis collect`."""

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webbrowser, "open", interrupt)
        code, printed = nemesis(["watch", *shortened(["collect", *arguments])[1:]])
    assert code == 130, printed


def shortened(arguments: Sequence[str]) -> list[str]:
    """Return a command that does the same in seconds."""
    command, *rest = arguments
    settings = dict(_SHORT_SETTINGS.get(command, {}))
    options = _SHORT_OPTIONS.get(command, {})
    games = [_game_of(word) for word in rest] if command in ("train", "evaluate", "collect") else []
    if any("pokemon:" in game for game in games):
        settings |= _SHORT_BATTLES
    elif any("rocket_league:" in game for game in games):
        settings |= _SHORT_DRIVES
    elif command == "evaluate":
        options = {}  # small games are measured exactly
    elif any("openspiel:" in game for game in games):
        settings.pop("evaluation.matches", None)  # for the same reason
    if command == "psro" and rest[0] in preset_names():
        battles = _SHORT_BATTLES if "pokemon:" in _game_of(rest[0]) else {}
        settings |= _SHORT_PSRO | {f"training.{key}": value for key, value in battles.items()}
    if command == "resume":
        settings["updates"] = str(_config(rest[0])["updates"] + 1)
        if "--checkpoint" in rest:
            rest[rest.index("--checkpoint") + 1] = "1"
    if any(word.startswith("data.sources=") for word in rest):
        settings |= _FEW_GROUPS
    rest = [word for word in rest if word.partition("=")[0] not in settings]
    for option, value in options.items():
        if option in rest:
            place = rest.index(option)
            rest[place : place + 2] = []
        rest += [option, value]
    if command == "train" and not {"--run", "--dry-run"} & {*rest}:
        rest += ["--run", str(Path(tempfile.mkdtemp(dir=Path.cwd()), "run"))]  # nothing on the page can use this run
        if not any(word.startswith(("policy.", "opponents.")) for word in rest):
            settings |= {"policy.size": "nano"}
    return [command, *rest, *(f"{key}={value}" for key, value in settings.items())]


def _game_of(word: str) -> str:
    """Return the game of a preset, run or policy that a word of a command names; the word if it names none."""
    if "=" in word:
        return word
    if word.startswith("shipped:"):
        word = str(policy_path(word))
    if word in preset_names() or word.endswith(".yaml"):
        return str(load_preset(word)["game"])
    if word.endswith(".safetensors"):
        return read_header(Path(word)).game
    return str(_config(word).get("game", word))


def _config(run: str) -> dict[str, Any]:
    """Return the settings of a run; none if there is no such run."""
    file = Path(run, "config.yaml")
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}


class _ParsedError(Exception):
    """The arguments of a program are right."""


def check_arguments(module: str, *arguments: str) -> None:
    """Raise unless a module of benchmarks takes the arguments; nothing is measured."""
    parse = argparse.ArgumentParser.parse_args

    def parse_only(parser: argparse.ArgumentParser, *_: object) -> None:
        parse(parser, list(arguments))
        raise _ParsedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
        with pytest.raises(_ParsedError):
            importlib.import_module(module).main()


def check_extras(requirement: str) -> None:
    """Raise unless an installation of this package names extras that it has."""
    named = re.fullmatch(r"(?:\.|nemesis-rl)\[([\w,-]+)\]", requirement)
    assert named, requirement
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(named[1].split(",")) <= project["optional-dependencies"].keys()


@contextlib.contextmanager
def working_directory(folder: Path) -> Iterator[None]:
    """Work in a folder; afterwards, modules that were imported from it are forgotten."""
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
