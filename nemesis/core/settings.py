"""The base class of all config models."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Settings(BaseModel):
    """Immutable settings that reject unknown keys and infinite numbers.

    Their validator is built when something is first validated, because that takes long. So that no import builds it,
    settings that are the default of others are made without validation, with `model_construct`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def _listed(value: Any) -> Any:
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Several names, also accepted as one comma-separated string."""
