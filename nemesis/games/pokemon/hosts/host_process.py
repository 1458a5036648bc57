"""One host process: frames over pipes, with timeouts.

A frame is a header of eight bytes (magic, kind, length of the body) and a body, little-endian; `host/frames.js` is the
other end. A host exits when its input is closed, and therefore when its parent process ends.
"""

import contextlib
import fcntl
import json
import os
import select
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from nemesis.core.errors import UserError
from nemesis.core.game import EndReason, IntArray
from nemesis.core.masks import PackedMask, packed_size
from nemesis.games.pokemon.dex import tables as dex
from nemesis.games.pokemon.formats import Format
from nemesis.games.pokemon.node import NodeSource, find_node, installed_host
from nemesis.games.pokemon.views import layout
from nemesis.games.pokemon.views.actions import action_space

PROTOCOL = 2
STEP_LIMIT = 30.0  # seconds per step, which usually takes a few hundredths of a second
SLOT_LIMIT = 0.02  # additional seconds per match of a step
ANSWER_LIMIT = 300.0  # seconds for other requests, including a start on a busy machine

_MAGIC, _CONTROL, _STEP = 0x6E6D, 1, 2
_HEAD = struct.Struct("<HHI")
_MAX_FRAME_SIZE = 1 << 28
_PIPE_SIZE = 1 << 20
_OLD_SPACE = 384  # megabytes of V8's heap limit; live objects need far less


class HostError(Exception):
    """A host died, hung or sent an invalid frame."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The battles that a host plays."""

    format: Format
    slots: int
    sheets: bool
    turn_limit: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A match that ended."""

    slot: int
    winner: int  # seat, or -1
    reason: int
    problem: str
    recording: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step: new decisions and ended matches."""

    slot: IntArray  # (n,)
    seat: IntArray  # (n,)
    view: npt.NDArray[np.int16]  # (n, view)
    mask: PackedMask  # (n, byte)
    ended: list[Ended]


class Host:
    """A Node process that plays battles."""

    def __init__(self, node: NodeSource) -> None:
        found = find_node(node)
        folder = installed_host(found)
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self._output, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [
                    str(found.node),
                    f"--max-old-space-size={_OLD_SPACE}",
                    str(folder / "main.js"),
                    str(theirs),
                ],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs,),
                start_new_session=True,  # keyboard interrupts go to the run, which ends its hosts itself
            )
        finally:
            os.close(theirs)
        assert self._process.stdin is not None  # noqa: S101
        self._input = self._process.stdin.fileno()
        for end in (self._input, self._output):
            with contextlib.suppress(OSError, AttributeError):
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        os.set_blocking(self._input, False)
        self._limit = STEP_LIMIT
        self._stepped = False
        self._answering = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def reusable(self) -> bool:
        """Whether the process is alive and has answered everything, so that another user can start it again."""
        return not self._answering and self._process.poll() is None

    def start(self, setting: Setting) -> None:
        """Set what is played; may be called repeatedly."""
        facts, sent = setting.format, layout.for_host()
        answer = self.ask(
            "start",
            protocol=PROTOCOL,
            layout=sent,
            reasons={reason.name: reason.value for reason in EndReason},
            vocabulary=dex.vocabulary().for_host(),
            format=facts.id,
            facts={"slots": facts.slots, "brought": facts.brought, "generated": facts.generated},
            slots=setting.slots,
            sheets=setting.sheets,
            turnLimit=setting.turn_limit,
        )
        if answer["layout"] != sent["version"]:
            raise HostError("The host uses another view layout than it was given.")
        self._actions = action_space(facts.slots, facts.brought).size
        if answer["actions"] != self._actions:
            raise HostError(f"The host has {answer['actions']} actions instead of {self._actions}.")
        self._limit = STEP_LIMIT + SLOT_LIMIT * setting.slots
        self._stepped = False

    def ask(self, question: str, **details: Any) -> Any:
        """Send a request that is answered in JSON."""
        self._send(_CONTROL, json.dumps({"ask": question, **details}).encode())
        _, body = self._receive(ANSWER_LIMIT, _CONTROL)
        answer = _parsed(body)
        if "error" in answer:
            raise UserError(f"The Pokémon simulator says: {answer['error']}")
        return answer["answer"]

    def read_logs(self, logs: list[str], *, played: bool) -> bytearray:
        """Read public logs; with `played`, only those of battles that were played to their end.

        `replays/reading.py` decodes the answer.
        """
        self._send(_CONTROL, json.dumps({"ask": "read", "logs": logs, "played": played}).encode())
        kind, body = self._receive(ANSWER_LIMIT, _STEP, _CONTROL)
        if kind == _STEP:
            return body
        raise UserError(f"The Pokémon simulator says: {_parsed(body).get('error')}")

    def begin_step(self, actions: IntArray, setups: list[dict[str, Any]]) -> None:
        """Answer all open decisions and start new matches; `end_step` returns the result."""
        started = json.dumps(setups).encode() if setups else b""
        self._send(_STEP, struct.pack("<i", len(actions)) + actions.astype("<i2").tobytes() + started)

    def begin_restore(self, matches: list[dict[str, Any]]) -> None:
        """Restore recorded matches; `end_step` returns their open decisions."""
        self._stepped = False
        self._send(_CONTROL, json.dumps({"ask": "restore", "matches": matches}).encode())

    def end_step(self) -> Step:
        """Wait for the next decisions and results."""
        limit = self._limit if self._stepped else ANSWER_LIMIT  # the first step loads and compiles
        _, body = self._receive(limit, _STEP)
        self._stepped = True
        try:
            return self._read_step(body)
        except (ValueError, KeyError, TypeError) as error:
            raise HostError(f"The host sent an invalid frame: {error}.") from None

    def close(self) -> None:
        """Kill the process. May be called twice."""
        if self._printed.closed:
            return
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        os.close(self._output)
        self._printed.close()

    def _read_step(self, body: bytearray) -> Step:
        rows, records = struct.unpack_from("<ii", body)
        packed = packed_size(self._actions)
        sizes = np.cumsum([8, 8 * rows, 2 * rows * layout.VIEW_SIZE, rows * packed, records])
        if rows < 0 or records < 0 or sizes[-1] != len(body):
            raise ValueError(f"{rows} decisions do not fit {len(body)} bytes")
        places = np.frombuffer(body, "<i4", 2 * rows, 8).reshape(rows, 2).astype(np.int64)
        view = np.frombuffer(body, "<i2", rows * layout.VIEW_SIZE, int(sizes[1])).reshape(rows, layout.VIEW_SIZE)
        mask = np.frombuffer(body, np.uint8, rows * packed, int(sizes[2])).reshape(rows, packed)
        ended = [Ended(**record) for record in _parsed(body[sizes[3] :])]
        return Step(places[:, 0], places[:, 1], view, mask, ended)

    def _send(self, kind: int, body: bytes) -> None:
        self._answering = True
        rest = memoryview(_HEAD.pack(_MAGIC, kind, len(body)) + body)
        deadline = monotonic() + self._limit
        while rest:
            _, ready, _ = select.select([], [self._input], [], max(deadline - monotonic(), 0))
            if not ready:
                raise HostError(f"The host read no input for {self._limit:.0f} s.{self._output_tail()}")
            try:
                rest = rest[os.write(self._input, rest) :]
            except (BrokenPipeError, OSError):
                raise HostError(f"The host has died.{self._output_tail()}") from None

    def _receive(self, limit: float, *kinds: int) -> tuple[int, bytearray]:
        deadline = monotonic() + limit
        magic, kind, length = _HEAD.unpack(self._read(_HEAD.size, deadline, limit))
        if magic != _MAGIC or length > _MAX_FRAME_SIZE:
            raise HostError("The host sent something that is not a frame.")
        body = self._read(length, deadline, limit)
        if kind not in kinds:
            raise HostError("The host answered a request with a step, or a step with something else.")
        self._answering = False
        return kind, body

    def _read(self, length: int, deadline: float, limit: float) -> bytearray:
        buffer = bytearray(length)
        rest = memoryview(buffer)
        while rest:
            ready, _, _ = select.select([self._output], [], [], max(deadline - monotonic(), 0))
            if not ready:
                raise HostError(f"The host gave no answer within {limit:.0f} s.{self._output_tail()}")
            count = os.readv(self._output, [rest])
            if count == 0:
                raise HostError(f"The host has died.{self._output_tail()}")
            rest = rest[count:]
        return buffer

    def _output_tail(self) -> str:
        """Return the end of the host's output, if any, for an error message."""
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(self._printed.tell() - 2000, 0))
        output = self._printed.read().decode(errors="replace").strip()
        return f" It printed: {output}" if output else ""


def _parsed(body: bytearray) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise HostError(f"The host's answer is not valid JSON: {error}.") from None
