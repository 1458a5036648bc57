"""Checks of the native engine while it is used: some of its matches are replayed on Showdown and compared.

A thread replays them beside the pool, which never waits for it. A difference stops nothing: it is logged with the
recording of its match, and counted.
"""

import hashlib
import json
import logging
import queue
import threading
from typing import Any

import numpy as np

from nemesis.core.errors import UserError
from nemesis.core.game import CheckCounts, EndReason
from nemesis.games.pokemon.hosts.host_process import Ended, HostError, Setting
from nemesis.games.pokemon.hosts.warm_hosts import WarmHosts
from nemesis.games.pokemon.native.arena_memory import Arena
from nemesis.games.pokemon.native.recordings import choice_bytes, seed_number, setup_bytes

_log = logging.getLogger(__name__)

_MOST_WAITING = 100  # matches to be checked; further ones are left out
_DIGEST = 16  # hexadecimal digits of the hash of a round
_DIFFERENT = (
    "A battle of the native engine differs from Showdown's: %s. Play with pokemon.engine=showdown, and report it with "
    "this recording: %s"
)
_ROUND_END = ("winner", "reason")
_COMPARED = (EndReason.PLAYED, EndReason.TIE, EndReason.TURN_LIMIT)
_ACTION_BITS = 31

Job = tuple[Setting, Ended]


class Checks:
    """Replays one match in so many on Showdown."""

    def __init__(self, showdown: WarmHosts, every: int) -> None:
        """Check the matches whose seed is a multiple of `every`, so that it does not matter where they are played."""
        self._showdown = showdown
        self._every = every
        self._jobs: queue.Queue[Job] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._counts = CheckCounts()

    def offer(self, setting: Setting, ended: Ended) -> None:
        """Check a match that ended, if its turn has come."""
        seed = ended.recording["setup"]["seed"]
        if not self._every or seed_number(seed) % self._every or ended.reason not in _COMPARED:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="checks of the native engine", daemon=True)
            self._thread.start()
        try:
            self._jobs.put_nowait((setting, ended))
        except queue.Full:
            _log.info("A match is not checked, because %d others wait for it.", _MOST_WAITING)

    def take_counts(self) -> CheckCounts:
        """Return how many matches were checked since the last call, and how many differ."""
        with self._lock:
            counts, self._counts = self._counts, CheckCounts()
        return counts

    def wait(self) -> None:
        """Wait until all matches that were offered are checked."""
        self._jobs.join()

    def _work(self) -> None:
        while True:
            setting, ended = self._jobs.get()
            try:
                found = difference(self._showdown, setting, ended)
                with self._lock:
                    before = self._counts
                    self._counts = CheckCounts(before.checked + 1, before.different + bool(found))
                if found:
                    _log.error(_DIFFERENT, found, json.dumps(ended.recording))
            except (HostError, UserError) as error:
                _log.info("A match could not be checked on Showdown. %s", error)  # as when the process ends meanwhile
            finally:
                self._jobs.task_done()


def difference(showdown: WarmHosts, setting: Setting, ended: Ended) -> str:
    """Return how a match on the native engine differs from its replay on Showdown, or an empty text."""
    (host,) = showdown.take([Setting(setting.format, 1, setting.sheets, setting.turn_limit)])
    try:
        theirs = host.ask("digest", recording=ended.recording)
    finally:
        showdown.give_back(host)
    ours = rounds(setting, ended.recording)
    for number, (one, other) in enumerate(zip(ours, theirs["rounds"], strict=False)):
        if one != other:
            return f"the decisions of round {number} are not the same"
    result = theirs["result"] or {}
    if len(ours) != len(theirs["rounds"]) or any(result.get(name) != getattr(ended, name) for name in _ROUND_END):
        ends = f"after {len(ours)} rounds, won by {ended.winner}; on Showdown after {len(theirs['rounds'])}: {result}"
        return f"it ended {ends}"
    return ""


def rounds(setting: Setting, recording: dict[str, Any]) -> list[str]:
    """Return a hash of the decisions of each round of a recorded match, as a Node host does."""
    arena = Arena(1, setting.turn_limit)
    choices = np.frombuffer(choice_bytes(recording["choices"]), np.uint8)
    actions, made = np.zeros(0, np.int64), 0
    setups = [setup_bytes(setting.format, 0, recording["setup"])]
    digests: list[str] = []
    while True:
        views, masks, ended = arena.step(actions, setups)
        if ended or not len(views) or made >= len(choices):
            return digests
        digest = hashlib.sha256()
        for seat, view, mask in zip(arena.seat[: len(views)].tolist(), views, masks, strict=True):
            digest.update(bytes((seat,)) + view.astype("<i2").tobytes() + mask.tobytes())
        digests.append(digest.hexdigest()[:_DIGEST])
        actions, setups = (choices[made : made + len(views)] & _ACTION_BITS).astype(np.int64), []
        made += len(views)
