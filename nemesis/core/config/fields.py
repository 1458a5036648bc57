"""The settings of a config model: its groups of settings, what their values may be, and the help about them.

Help texts and error messages are both generated from the JSON schema of the model. Ranges and allowed values in them
are therefore always those that are validated.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from nemesis.core.plugins import IMPORTED, is_import
from nemesis.core.schedule import Schedule

ENTRY = "NAME"
"""Stands for any name of the user's in the path of a setting."""

_TYPE_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a group of settings",
    "string": "text",
}


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One setting, as shown in the help."""

    path: str
    type: str
    default: str | None  # None: it is required
    description: str
    only_for: tuple[str, ...] = ()  # the alternatives of a union that have it; empty: all


def describe(model: type[BaseModel]) -> list[FieldInfo]:
    """Return every setting below the model, in order. Settings shared by all alternatives of a union appear once."""
    return list(_describe(model, "", None))


@dataclass(frozen=True, slots=True)
class SettingName:
    """The name of a setting, without what its value may be."""

    path: str
    description: str
    only_for: tuple[str, ...] = ()  # the alternatives of a union that have it; empty: all


def setting_names(model: type[BaseModel]) -> dict[str, SettingName]:
    """Return the names of all settings below the model by path; much sooner than `describe`, which needs schemas."""
    names: dict[str, SettingName] = {}
    for name, field in model.model_fields.items():
        group = group_of(field)
        if group is None or Schedule in group.models.values():
            names[name] = SettingName(name, field.description or "")
            entries = entries_of(field)
            for path, below in setting_names(entries).items() if entries else ():
                names[f"{name}.{ENTRY}.{path}"] = replace(below, path=f"{name}.{ENTRY}.{path}")
            continue
        within = {tag: setting_names(inner) for tag, inner in group.models.items()}
        for path in dict.fromkeys(path for inner in within.values() for path in inner):
            tags = tuple(tag for tag, inner in within.items() if path in inner)
            description = within[tags[0]][path].description
            only_for = () if len(tags) == len(within) else tags
            names[f"{name}.{path}"] = SettingName(f"{name}.{path}", description, only_for)
    return names


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
class Group:
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


def group_of(field: pydantic.fields.FieldInfo) -> Group | None:
    """Return the models below a setting; None for one that is a single value."""
    options = list(_options(field.annotation))
    models = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
    marks = [option for option in options if isinstance(option, pydantic.fields.FieldInfo)]
    discriminator = next((mark.discriminator for mark in (field, *marks) if mark.discriminator), None)
    if isinstance(discriminator, str):
        tagged = {str(tag): model for model in models for tag in get_args(model.model_fields[discriminator].annotation)}
        return Group(tagged, discriminator)
    return Group({"": models[0]}, None) if len(models) == len(options) - len(marks) == 1 else None


def entries_of(field: pydantic.fields.FieldInfo) -> type[BaseModel] | None:
    """Return the model of each entry of a setting that has groups of settings by names of the user's; else None."""
    if get_origin(field.annotation) is not dict:
        return None
    _, model = get_args(field.annotation)
    is_group = isinstance(model, type) and issubclass(model, BaseModel) and model is not Schedule
    return model if is_group else None


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


def default_of(field: pydantic.fields.FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def property_of(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Return the JSON schema of a setting."""
    found: dict[str, Any] = _schema(model)["properties"][name]
    return found


def expected(model: type[BaseModel], schema: Mapping[str, Any]) -> str:
    """Describe the allowed values, as a phrase that follows "must be"."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name == Schedule.__name__:
            number = expected(Schedule, property_of(Schedule, "start"))
            return f"{number}, or a schedule of {', '.join(Schedule.model_fields)}"
        return expected(model, _schema(model)["$defs"][name])
    if "anyOf" in schema:
        return " or ".join(expected(model, option) for option in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        allowed = [str(value) for value in schema.get("enum", [schema.get("const")])]
        return "one of " + ", ".join(allowed) if len(allowed) > 1 else allowed[0]
    text = _TYPE_NAMES.get(schema.get("type", "object"), "a value") + _range(schema)
    if "multipleOf" in schema:
        text += f", a multiple of {_number(schema['multipleOf'])}"
    if isinstance(each := schema.get("additionalProperties"), Mapping):
        text += f", each {expected(model, each)}"
    if "items" in schema:
        text += f", each {expected(model, schema['items'])}"
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
        default = getattr(instance, name) if instance else default_of(field)
        group = group_of(field)
        if group is None or Schedule in group.models.values():
            text = expected(model, property_of(model, name)).removeprefix("a ")
            yield FieldInfo(path, text, _default_text(default), field.description or "")
            if entries := entries_of(field):
                yield from _describe(entries, f"{path}.{ENTRY}.", None)
        elif group.discriminator is None:
            for below in group.models.values():
                yield from _describe(below, f"{path}.", default if isinstance(default, below) else None)
        else:
            yield from _describe_union(group, group.discriminator, f"{path}.", default)


def _describe_union(group: Group, discriminator: str, prefix: str, default: Any) -> Iterator[FieldInfo]:
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
