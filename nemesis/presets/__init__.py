"""Presets: YAML configs to start from. The first line of each is a comment that describes it."""

import difflib
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from nemesis.core.errors import UserError

_FOLDER = Path(__file__).parent
_SUFFIX = ".yaml"


class PresetError(UserError):
    """A preset, or another YAML file of the user, that does not exist or cannot be read."""


class _RepeatedKeyError(yaml.MarkedYAMLError):
    """A mapping that has a key twice."""


class _Loader(yaml.SafeLoader):
    """A YAML loader that refuses repeated keys, and reads 3e-4 as a number, which YAML 1.1 reads as text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[str, int] = {}  # of keys
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    problem = f"{key.value} is given twice, first in line {lines[key.value]}; give it once"
                    raise _RepeatedKeyError(problem=problem, problem_mark=key.start_mark)
                lines[key.value] = line
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {key: list(value) for key, value in yaml.SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), "-+.0123456789"
)


def preset_names() -> list[str]:
    return sorted(file.stem for file in _FOLDER.glob(f"*{_SUFFIX}"))


def preset_summary(name: str) -> str:
    """Return the sentence on the first line of a preset."""
    first = _file(name).read_text(encoding="utf-8").partition("\n")[0]
    return re.sub(":$", ".", first.removeprefix("#").strip())  # where commands follow


def load_preset(name_or_path: str | Path) -> dict[str, Any]:
    """Return the settings of a preset, or of a YAML file."""
    file = _file(str(name_or_path))
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PresetError(f"{name_or_path} cannot be read: {reason}.") from error
    content = parse_yaml(text, name_or_path)
    if not isinstance(content, dict):
        kind = "empty" if content is None else f"a {type(content).__name__}"
        raise PresetError(f"{name_or_path} must contain settings as KEY: VALUE lines, but it is {kind}.")
    return content


def parse_yaml(text: str, name: str | Path) -> Any:
    """Return the content of a YAML file of this name that a person wrote."""
    try:
        return _Loader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a ValueError is a date such as 2024-99-99
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        what = problem if isinstance(error, _RepeatedKeyError) else f"not valid YAML, {problem}"
        raise PresetError(f"{name}{line}: {what}.") from error


def dump_yaml(mapping: Mapping[str, Any]) -> str:
    """Return the mapping as YAML, its order kept."""
    return yaml.safe_dump(dict(mapping), sort_keys=False, allow_unicode=True)


def _file(name_or_path: str) -> Path:
    names = preset_names()
    if name_or_path in names:
        return _FOLDER / (name_or_path + _SUFFIX)
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return path
    if path.suffix in (".yaml", ".yml") or path.name != name_or_path:
        raise PresetError(f"There is no file {name_or_path}.")
    near = difflib.get_close_matches(name_or_path, names, n=1)
    question = f" Did you mean {near[0]}?" if near else ""
    raise PresetError(f"{name_or_path} is not a preset.{question} Use one of {', '.join(names)}, or a YAML file.")
