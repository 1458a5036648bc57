"""What all models of settings have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Settings(BaseModel):
    """Settings that never change, take no unknown key and no infinite number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _listed(value: Any) -> Any:
    return tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Several names, which may also be given as one text with commas."""
