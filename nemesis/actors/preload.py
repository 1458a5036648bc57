"""Imported by the fork server, so that actors start with everything loaded.

The fork server has nothing to save, so it skips the normal interpreter shutdown, which would take more than a second
after the run has ended.
"""

import atexit
import os

from nemesis.actors import actor, inference  # noqa: F401  used by its children

atexit.register(os._exit, 0)  # registered last, it runs first
