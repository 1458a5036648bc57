"""Build a validated config from a nested mapping and dotted overrides, with readable errors.

Error messages and help texts are both generated from the JSON schema of the model. Ranges and allowed values in them
are therefore always those that are validated.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticUndefined

from nemesis.core.errors import UserError
from nemesis.core.plugins import IMPORTED, is_import
from nemesis.core.schedule import Schedule

M = TypeVar("M", bound=BaseModel)

_PROBLEMS_SHOWN = 5
_VALUE_WIDTH = 60
_TYPE_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a group of settings",
    "string": "text",
}


class ConfigError(UserError, ValueError):
    """Settings that do not make a valid config, one line per problem."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One setting, as shown in the help."""

    path: str
    type: str
    default: str | None  # None: it is required
    description: str
    only_for: tuple[str, ...] = ()  # the alternatives of a union that have it; empty: all


def build_config(model: type[M], data: Mapping[str, Any], overrides: Sequence[str] = ()) -> M:
    """Return the model built from data with overrides `a.b.c=value` on top.

    A value is parsed as JSON, or kept as text if it is not JSON. It replaces the value at its key. A key below a
    setting in its short form, such as `learning_rate.end=1e-5` over `learning_rate: 3e-4`, expands it first. Below a
    setting that is missing in data, it changes one part of the default. An override that selects another alternative
    of a union (`learner.algorithm=ppo`) drops the keys of data that only the previous alternative has. Keys
    given by overrides are never dropped.
    """
    merged = _plain(data)
    problems = []
    assignments = []
    for text in overrides:
        key, equals, value = text.partition("=")
        keys = key.strip().split(".")
        if equals and all(keys):
            assignments.append((keys, _parse(value)))
        else:
            problems.append(f"{_shown(text)} is not an override. Write KEY=VALUE, with dots between nested keys.")
    # The alternative of a union decides which keys and defaults there are, so it is set before anything below it.
    for keys, value in sorted(assignments, key=lambda assignment: not _selects_alternative(model, assignment[0])):
        try:
            _assign(model, merged, keys, value)
        except ConfigError as error:
            problems.append(str(error))
    try:
        config = model.model_validate(merged)
    except ValidationError as error:
        problems += [_sentence(model, merged, details) for details in error.errors()]
    if problems:
        raise ConfigError(_summary(problems))
    return config


def describe(model: type[BaseModel]) -> list[FieldInfo]:
    """Return every setting below the model, in order. Settings shared by all alternatives of a union appear once."""
    return list(_describe(model, "", None))


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of what `build_config` accepts, including short forms."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    if Schedule.__name__ in definitions:
        long = definitions[Schedule.__name__]
        short = {key: long["properties"]["start"][key] for key in ("type", "minimum")}
        definitions[Schedule.__name__] = {"anyOf": [short, {**long, "required": ["start"]}]}
    return schema


@dataclass(frozen=True, slots=True)
class _Group:
    """The models of a setting with nested settings: one, or one per tag of a discriminated union."""

    models: Mapping[str, type[BaseModel]]
    discriminator: str | None

    def select(self, tag: object) -> type[BaseModel] | None:
        if self.discriminator is None:
            return next(iter(self.models.values()))
        return self.models.get(str(tag)) or (self.models.get(IMPORTED) if is_import(str(tag)) else None)

    @property
    def choices(self) -> list[str]:
        """The tags as the user writes them."""
        return ["module:attribute" if tag == IMPORTED else tag for tag in self.models]

    def of(self, settings: Mapping[str, Any]) -> type[BaseModel] | None:
        return self.select(settings.get(self.discriminator) if self.discriminator else None)


def _group(field: pydantic.fields.FieldInfo) -> _Group | None:
    options = list(_options(field.annotation))
    models = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
    marks = [option for option in options if isinstance(option, pydantic.fields.FieldInfo)]
    discriminator = next((mark.discriminator for mark in (field, *marks) if mark.discriminator), None)
    if isinstance(discriminator, str):
        tagged = {str(tag): model for model in models for tag in get_args(model.model_fields[discriminator].annotation)}
        return _Group(tagged, discriminator)
    return _Group({"": models[0]}, None) if len(models) == len(options) - len(marks) == 1 else None


def _options(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Union, UnionType):
        for option in get_args(annotation):
            yield from _options(option)
    elif get_origin(annotation) is Annotated:
        option, *marks = get_args(annotation)
        yield from _options(option)
        yield from marks
    elif annotation is not NoneType:
        yield annotation


def _default(field: pydantic.fields.FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _plain(value) if isinstance(value, Mapping) else value for key, value in data.items()}


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _selects_alternative(model: type[BaseModel], keys: Sequence[str]) -> bool:
    field = model.model_fields.get(keys[0])
    group = _group(field) if field else None
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
    group = _group(field) if field else None
    present = target.get(key, _default(field) if field else {})
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


def _opened(group: _Group | None, value: Any) -> dict[str, Any] | None:
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


@dataclass(frozen=True, slots=True)
class _Place:
    """The setting that an error refers to."""

    path: str
    name: str  # the last part of the path
    given: Any
    owner: type[BaseModel]  # the model that has, or should have, the name
    owner_group: _Group | None
    field: pydantic.fields.FieldInfo | None


def _locate(model: type[BaseModel], data: Mapping[str, Any], details: ErrorDetails) -> _Place:
    """Return the setting at the location of an error.

    Pydantic's locations include union tags and parts of values; the path does not.
    """
    place = _Place("", "", data, model, None, None)
    parts = iter(details["loc"])
    for part in parts:
        field = place.owner.model_fields.get(str(part))
        above: Mapping[str, Any] = place.given
        given = above.get(str(part), details["input"])
        path = f"{place.path}.{part}".lstrip(".")
        place = replace(place, path=path, name=str(part), given=given, field=field)
        group = _group(field) if field else None
        if group is None or not isinstance(given, Mapping):
            break
        tag = next(parts, None) if group.discriminator else None
        below = group.select(tag)
        if below is None:
            break
        place = replace(place, owner=below, owner_group=group)
    return place


def _sentence(model: type[BaseModel], data: Mapping[str, Any], details: ErrorDetails) -> str:
    place = _locate(model, data, details)
    kind = details["type"]
    if kind == "extra_forbidden":
        return _unknown(model, place)
    if kind in ("value_error", "assertion_error"):
        message = str(details["ctx"]["error"]).rstrip(".")
        return f"{place.path}: {message}." if place.path else f"{message}."
    group = _group(place.field) if place.field else None
    if group and group.discriminator and kind in ("union_tag_invalid", "union_tag_not_found"):
        path, allowed = f"{place.path}.{group.discriminator}", "one of " + ", ".join(group.choices)
        given = place.given.get(group.discriminator)
        names = list(group.models)
    else:
        schema = _property(place.owner, place.name)
        path, allowed, given, names = place.path, _expected(place.owner, schema), place.given, schema.get("enum", [])
    if kind in ("missing", "union_tag_not_found"):
        return f"{path} is missing; it must be {allowed}."
    near = _nearest(str(given), map(str, names))
    return f"{path} must be {allowed}, not {_shown(given)}." + (f" Did you mean {near}?" if near else "")


def _unknown(model: type[BaseModel], place: _Place) -> str:
    above = place.path.removesuffix(place.name)
    group = place.owner_group
    if group and group.discriminator:
        having = [tag for tag, other in group.models.items() if place.name in other.model_fields]
        if having:
            tags = [tag for tag, other in group.models.items() if other is place.owner]
            return f"{place.path} is a setting of {' and '.join(having)}, not of {' and '.join(tags)}."
    near = _nearest(place.name, place.owner.model_fields)
    if near is None:
        anywhere = {setting.path.rpartition(".")[2]: setting.path for setting in reversed(describe(model))}
        above, near = "", anywhere.get(_nearest(place.name, anywhere) or "")
    if near:
        return f"{place.path} is not a setting. Did you mean {above}{near}?"
    return f"{place.path} is not a setting. Settings there are {', '.join(place.owner.model_fields)}."


def _summary(problems: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    hidden = len(distinct) - _PROBLEMS_SHOWN
    return "\n".join(distinct[:_PROBLEMS_SHOWN] + ([f"And {hidden} more."] if hidden > 0 else []))


def _nearest(name: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 1] + "…"


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _property(model: type[BaseModel], name: str) -> dict[str, Any]:
    found: dict[str, Any] = _schema(model)["properties"][name]
    return found


def _expected(model: type[BaseModel], schema: Mapping[str, Any]) -> str:
    """Describe the allowed values, as a phrase that follows "must be"."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name == Schedule.__name__:
            number = _expected(Schedule, _property(Schedule, "start"))
            return f"{number}, or a schedule of {', '.join(Schedule.model_fields)}"
        return _expected(model, _schema(model)["$defs"][name])
    if "anyOf" in schema:
        return " or ".join(_expected(model, option) for option in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        allowed = [str(value) for value in schema.get("enum", [schema.get("const")])]
        return "one of " + ", ".join(allowed) if len(allowed) > 1 else allowed[0]
    text = _TYPE_NAMES.get(schema.get("type", "object"), "a value") + _range(schema)
    if "multipleOf" in schema:
        text += f", a multiple of {_number(schema['multipleOf'])}"
    if isinstance(each := schema.get("additionalProperties"), Mapping):
        text += f", each {_expected(model, each)}"
    if "items" in schema:
        text += f", each {_expected(model, schema['items'])}"
    if "pattern" in schema:
        text += f" that matches {schema['pattern']}"
    return text


def _range(schema: Mapping[str, Any]) -> str:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    bounds = (("at least", low), ("above", above), ("at most", high), ("below", below))
    text = " and ".join(f"{word} {_number(bound)}" for word, bound in bounds if bound is not None)
    return (" of " if text.startswith("at") else " ") + text if text else ""


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _describe(model: type[BaseModel], prefix: str, instance: BaseModel | None) -> Iterator[FieldInfo]:
    for name, field in model.model_fields.items():
        path = prefix + name
        default = getattr(instance, name) if instance else _default(field)
        group = _group(field)
        if group is None or Schedule in group.models.values():
            text = _expected(model, _property(model, name)).removeprefix("a ")
            yield FieldInfo(path, text, _default_text(default), field.description or "")
        elif group.discriminator is None:
            for below in group.models.values():
                yield from _describe(below, f"{path}.", default if isinstance(default, below) else None)
        else:
            yield from _describe_union(group, group.discriminator, f"{path}.", default)


def _describe_union(group: _Group, discriminator: str, prefix: str, default: Any) -> Iterator[FieldInfo]:
    having: dict[FieldInfo, list[str]] = {}
    for tag, model in group.models.items():
        for setting in _describe(model, prefix, default if isinstance(default, model) else None):
            having.setdefault(setting, []).append(tag)
    path = prefix + discriminator
    description = next((setting.description for setting in having if setting.path == path), "")
    chosen = str(getattr(default, discriminator)) if isinstance(default, BaseModel) else None
    yield FieldInfo(path, "one of " + ", ".join(group.choices), chosen, description)
    for setting, tags in having.items():
        if setting.path != path:
            yield replace(setting, only_for=() if len(tags) == len(group.models) else tuple(tags))


def _default_text(value: Any) -> str | None:
    if value is PydanticUndefined:
        return None
    if isinstance(value, Schedule):
        return f"{value.start:g}" if value.start == value.end else f"{value.start:g} → {value.end:g}, {value.shape}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
