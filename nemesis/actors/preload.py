"""Imported by the process that others are forked from, so that they start with everything loaded.

That process has nothing to save. Taking down what it has imported takes more than a second, in which it would outlive
a run that was killed; so it does without.
"""

import atexit
import os

from nemesis.actors import actor as actor_process  # noqa: F401  what its children run
from nemesis.actors import inference  # noqa: F401  what its children run

atexit.register(os._exit, 0)  # registered last, it comes first
