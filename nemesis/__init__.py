"""Nemesis trains agents for two-player games with hidden information, and proves how exploitable they are."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nemesis.storage.policies import load_policy

__all__ = ["load_policy"]


def __getattr__(name: str) -> Any:
    """Import torch only once something needs it, so that the command line starts at once."""
    if name == "load_policy":
        from nemesis.storage.policies import load_policy  # noqa: PLC0415

        return load_policy
    raise AttributeError(f"module 'nemesis' has no attribute '{name}'")
