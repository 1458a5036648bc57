"""`nemesis config`: presets and settings."""

# ruff: noqa: PLC0415 (torch and pydantic are slow to import, so what needs them is imported when a command runs)

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nemesis.cli.status import output
from nemesis.core.progress import report

if TYPE_CHECKING:
    from nemesis.core.config import FieldInfo
    from nemesis.training.config import RunConfig


def show(preset: str, /, *overrides: str) -> None:
    """Print a preset with overrides and all defaults, as YAML.

    Args:
        preset: name of a preset, or a YAML file
        overrides: settings to change, as KEY=VALUE
    """
    output(resolved_yaml(resolve(preset, overrides)), end="")


def list_presets() -> None:
    """List the presets."""
    from nemesis.presets import preset_names, preset_summary

    names = preset_names()
    width = max(map(len, names), default=0)
    for name in names:
        print(f"{name:{width}}  {preset_summary(name)}")


def fields(prefix: str = "", /) -> None:
    """List the settings with type, default and meaning.

    Args:
        prefix: only settings that start with it, such as learner.magnet
    """
    from nemesis.core.config import ConfigError, describe
    from nemesis.training.config import RunConfig

    settings = [setting for setting in describe(RunConfig) if setting.path.startswith(prefix)]
    if not settings:
        raise ConfigError(
            f"No setting starts with {prefix}. The top-level settings are {', '.join(RunConfig.model_fields)}."
        )
    print("\n\n".join(map(_field_text, settings)))


def schema() -> None:
    """Print the JSON schema of a config file, for editors."""
    from nemesis.core.config import json_schema
    from nemesis.training.config import RunConfig

    print(json.dumps(json_schema(RunConfig), indent=2))


def resolve(preset: str, overrides: Sequence[str]) -> "RunConfig":
    """Return the config of a preset with overrides."""
    from nemesis.core.config import build_config
    from nemesis.presets import load_preset
    from nemesis.training.config import RunConfig

    return build_config(RunConfig, load_preset(preset), overrides)


def resolved_yaml(config: "RunConfig") -> str:
    """Return the config as YAML, with the size of its policy in the first line."""
    from nemesis.presets import dump_yaml

    game = config.open_game()
    report("Importing PyTorch")
    from nemesis.policies.build import count_parameters

    settings: dict[str, Any] = config.model_dump(mode="json")
    return f"# policy: {count_parameters(game, config.policy):,} parameters\n{dump_yaml(settings)}"


def _field_text(setting: "FieldInfo") -> str:
    default = "required" if setting.default is None else f"default {setting.default}"
    only_for = f" [{', '.join(setting.only_for)} only]" if setting.only_for else ""
    return f"{setting.path}{only_for}: {setting.type}; {default}\n    {setting.description}"
