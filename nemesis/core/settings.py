"""What all models of settings have in common."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Settings that never change, take no unknown key and no infinite number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
