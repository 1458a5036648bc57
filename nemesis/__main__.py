"""`python -m nemesis`, as torchrun starts it."""

import sys

from nemesis.cli import main

sys.exit(main())
