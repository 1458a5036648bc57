"""Settings of all tests."""

import os

# Tests run in as many processes as there are cores. More threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What tests write need not survive a power failure. A descriptor that cannot be synced is still an error.
os.fsync = os.fstat
