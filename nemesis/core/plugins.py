"""Plug-ins: code by name as `module:attribute`, for games, scripted opponents, learners, encoders and rewards.

A name is imported when the user gives it, on the command line or in a config file. A name that stands in an opened run,
population or policy file would run the code of whoever wrote that file, so opening one needs the user's permission.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nemesis.core.errors import UserError


def is_import(name: str) -> bool:
    """Return whether a name has the form module:attribute."""
    module, _, attribute = name.partition(":")
    return bool(module) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def import_attribute(name: str) -> Any:
    """Return what `module:attribute` names; the working directory counts as a place of modules."""
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


def check_imports(where: object, names: Iterable[str], *, allowed: bool) -> None:
    """Raise unless the user allows the code that something opened names."""
    named = [name for name in dict.fromkeys(names) if is_import(name)]
    if named and not allowed:
        raise UserError(
            f"{where} names code to import: {', '.join(named)}. Importing it runs it; if you trust it, pass "
            "--allow-imports (in Python: allow_imports=True)."
        )
