"""Configs: from settings to a validated model, sentences about what is wrong, and help about what there is."""

from nemesis.core.config.build import ConfigError, build_config, merged, override_paths, paths
from nemesis.core.config.fields import FieldInfo, describe, json_schema, setting_names

__all__ = [
    "ConfigError",
    "FieldInfo",
    "build_config",
    "describe",
    "json_schema",
    "merged",
    "override_paths",
    "paths",
    "setting_names",
]
