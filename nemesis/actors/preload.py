"""Imported by the fork server, so that actors start with everything loaded.

The fork server has nothing to save, so it skips the normal interpreter shutdown, which would take more than a second
after the run has ended. It was started with signals blocked; from here on it ignores them, and so do its children.
"""

import atexit
import os
import signal

from nemesis.actors import actor, inference  # noqa: F401  used by its children
from nemesis.actors.child_process import ignore_signals
from nemesis.core.interrupts import SIGNALS

ignore_signals()
signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

atexit.register(os._exit, 0)  # registered last, it runs first
