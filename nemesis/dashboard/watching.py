"""Watches a run: plays matches of every new checkpoint and serves them, until it is interrupted."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from nemesis.core.progress import clear
from nemesis.dashboard.match_server import MatchServer
from nemesis.evaluation.newest_matches import NewestMatches, WatchedMatch, WatchOptions

_INTERVAL = 2.0  # seconds between two looks for a new checkpoint


def watch(
    run: Path, options: WatchOptions, port: int, *, on_ready: Callable[[str], None], on_update: Callable[[int], None]
) -> NoReturn:
    """Serve matches of a run; `on_ready` gets the address with the first of them, `on_update` each update played."""
    newest = NewestMatches(run, options)
    ready = False
    with MatchServer(str(run), port) as server:

        def add(match: WatchedMatch) -> None:
            nonlocal ready
            server.add(match)
            if not ready:
                ready = True
                on_ready(server.address)

        while True:
            update = newest.play(add)
            if update is not None:
                on_update(update)
            clear()
            time.sleep(_INTERVAL)
