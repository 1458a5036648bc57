"""Plug-ins: code by name as `module:attribute`, for games, scripted players, learners, encoders and rewards.

A name is imported when the user gives it, on the command line or in a config file. A name that stands in an opened run,
population or policy file would run the code of that file's author, so opening one needs the user's permission.
"""

import importlib
import importlib.util
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, TypeAlias

from nemesis.core.errors import UserError

ImportPermission: TypeAlias = bool | Collection[str]
"""Which names may be imported: all, none, or those that the user has given."""

IMPORTED = "imported"
"""The tag of the alternative of a setting that code outside the package provides."""

IMPORT_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
"""What module:attribute looks like, for the checks of settings."""


def is_import(name: str) -> bool:
    """Return whether a name has the form module:attribute."""
    module, _, attribute = name.partition(":")
    return bool(module) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def import_attribute(name: str) -> Any:
    """Return what `module:attribute` names; the working directory counts as a place of modules."""
    if not is_import(name):
        raise UserError(f"'{name}' is not the name of code; write it as module:attribute.")
    module, _, attribute = name.partition(":")
    package, here = module.partition(".")[0], str(Path.cwd())
    # A module that is loaded may have no spec, such as the __main__ of a script.
    if here not in sys.path and package not in sys.modules and importlib.util.find_spec(package) is None:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            raise UserError(
                f"There is no module '{module}' for {name}; install it, or run this from the folder it is in."
            ) from error
        raise UserError(f"{name} cannot be imported: it needs the module '{missing}', which is missing.") from error
    except Exception as error:
        raise UserError(f"{name} cannot be imported: {type(error).__name__}: {error}.") from error
    try:
        return getattr(found, attribute)
    except AttributeError:
        raise UserError(f"The module '{module}' has no attribute '{attribute}', which {name} names.") from None


def check_imports(where: object, names: Iterable[str], *, allowed: ImportPermission) -> None:
    """Raise unless the user allows all code that something opened names."""
    permitted = (lambda _: allowed) if isinstance(allowed, bool) else allowed.__contains__
    named = [name for name in dict.fromkeys(names) if not permitted(name)]
    if named:
        raise UserError(
            f"{where} names code to import: {', '.join(named)}. Importing it runs it; if you trust it, pass "
            "--allow-imports (in Python: allow_imports=True)."
        )
