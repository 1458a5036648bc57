"""Imported by the fork server, so that actors start with everything loaded.

The fork server has nothing to save. A normal interpreter shutdown would take more than a second, in which it would
outlive a run that was killed, so it exits at once.
"""

import atexit
import os

from nemesis.actors import actor, inference  # noqa: F401  what its children run

atexit.register(os._exit, 0)  # registered last, it runs first
