"""Build a validated config from a nested mapping and dotted overrides, with readable errors."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined

from nemesis.core.config.errors import problem_sentence, shown, unknown_settings
from nemesis.core.config.fields import Group, default_of, group_of
from nemesis.core.errors import UserError

M = TypeVar("M", bound=BaseModel)

_PROBLEMS_SHOWN = 5


class ConfigError(UserError, ValueError):
    """Settings that do not make a valid config, one line per problem."""


def build_config(model: type[M], data: Mapping[str, Any], overrides: Sequence[str] = ()) -> M:
    """Return the model built from data with overrides `a.b.c=value` on top.

    A value is parsed as JSON, or kept as text if it is not JSON. It replaces the value at its key. A key below a
    setting in its short form, such as `learning_rate.end=1e-5` over `learning_rate: 3e-4`, expands it first. Below a
    setting that is missing in data, it changes one part of the default. An override that selects another alternative
    of a union (`learner.algorithm=ppo`) drops the keys of data that only the previous alternative has. Keys
    given by overrides are never dropped, and none may be given twice. Values are validated once all keys are settings.
    """
    merged = _plain(data)
    assignments, problems = _read_overrides(overrides)
    # A group comes before what is below it, and the alternative of a union before the keys and defaults that it has.
    for keys, value in sorted(assignments, key=lambda one: (len(one[0]), not _selects_alternative(model, one[0]))):
        try:
            _assign(model, merged, keys, value)
        except ConfigError as error:
            problems.append(str(error))
    if unknown := unknown_settings(model, merged):
        raise ConfigError(_summary(problems + unknown))
    try:
        config = model.model_validate(merged)
    except ValidationError as error:
        problems += [problem_sentence(model, merged, details) for details in error.errors()]
    if problems:
        raise ConfigError(_summary(problems))
    return config


def override_paths(overrides: Sequence[str]) -> list[str]:
    """Return the path of every setting that overrides set; `a={"b": 1}` sets a.b."""
    assignments, _ = _read_overrides(overrides)
    return [".".join(path) for assignment in assignments for path in _paths(*assignment)]


def merged(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested data with nested changes on top."""
    result = _plain(data)
    for key, change in changes.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(change, Mapping):
            result[key] = merged(before, change)
        else:
            result[key] = change
    return result


def paths(data: Mapping[str, Any]) -> list[str]:
    """Return the path of every single value of nested data."""
    return [".".join(path) for path in _paths((), data)]


def _read_overrides(overrides: Sequence[str]) -> tuple[list[tuple[list[str], Any]], list[str]]:
    """Return the keys and values of overrides, and a sentence about each that is wrong."""
    assignments: list[tuple[list[str], Any]] = []
    problems: list[str] = []
    seen: set[tuple[str, ...]] = set()  # keys of overrides, and of the single values below them
    for text in overrides:
        key, equals, value = text.partition("=")
        keys = key.strip().split(".")
        if not equals or not all(keys):
            problems.append(f"{shown(text)} is not an override. Write KEY=VALUE, with dots between nested keys.")
            continue
        try:
            parsed = _parse(value)
        except ConfigError as error:
            problems.append(f"{key.strip()}: {error}")
            continue
        paths = {tuple(keys), *_paths(keys, parsed)}
        problems += [f"{'.'.join(path)} is given twice; give it once." for path in sorted(paths & seen)]
        seen |= paths
        assignments.append((keys, parsed))
    return assignments, problems


def _paths(keys: Sequence[str], value: Any) -> Iterator[tuple[str, ...]]:
    """Yield the keys of every single value below some keys."""
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _paths((*keys, key), below)
    else:
        yield tuple(keys)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _plain(value) if isinstance(value, Mapping) else value for key, value in data.items()}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except ConfigError:
        raise
    except (ValueError, RecursionError):
        return text


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ConfigError(f"{shown(repeated)} is given twice in its value; give it once.")
    return found


def _selects_alternative(model: type[BaseModel], keys: Sequence[str]) -> bool:
    field = model.model_fields.get(keys[0])
    group = group_of(field) if field else None
    if group is None or len(keys) == 1:
        return False
    if len(keys) == 2:
        return keys[1] == group.discriminator
    return any(_selects_alternative(below, keys[1:]) for below in group.models.values())


def _assign(
    model: type[BaseModel] | None, target: dict[str, Any], keys: Sequence[str], value: Any, at: str = ""
) -> None:
    key, *rest = keys
    if not rest:
        target[key] = value
        return
    field = model.model_fields.get(key) if model else None
    group = group_of(field) if field else None
    present = target.get(key, default_of(field) if field else {})
    opened = _opened(group, present)
    if opened is None and group is None:
        raise ConfigError(f"{at}{'.'.join(keys)} is not a setting: {at}{key} is a single value.")
    if opened is None:
        return  # the value itself is invalid, and validation reports it
    target[key] = opened
    if group and rest == [group.discriminator]:
        former, chosen = group.of(opened), group.select(value)
        if former and chosen:
            for name in (opened.keys() & former.model_fields.keys()) - chosen.model_fields.keys():
                del opened[name]
    _assign(group.of(opened) if group else None, opened, rest, value, f"{at}{key}.")


def _opened(group: Group | None, value: Any) -> dict[str, Any] | None:
    """Return the value as a mapping whose keys can be set one by one, or None if it cannot be converted."""
    if isinstance(value, Mapping):
        return dict(value)
    if group is None:
        return None
    if value is None or value is PydanticUndefined:
        return {}
    if not isinstance(value, BaseModel):
        model = group.of({})
        try:
            value = model.model_validate(value) if model else None
        except ValidationError:
            return None
    if value is None:
        return None
    # Unset fields are excluded, so that another alternative of the union uses its own defaults.
    opened: dict[str, Any] = value.model_dump(exclude_unset=True)
    if group.discriminator:
        opened[group.discriminator] = getattr(value, group.discriminator)
    return opened


def _summary(problems: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    hidden = len(distinct) - _PROBLEMS_SHOWN
    return "\n".join(distinct[:_PROBLEMS_SHOWN] + ([f"And {hidden} more."] if hidden > 0 else []))
