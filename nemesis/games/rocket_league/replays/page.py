"""The page that shows a recorded match: one file, which opens from disk and needs no network.

The page is the recording too: a script element of type application/json describes the frames and has them as base64 of
little-endian int16, row by row.
"""

import base64
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nemesis.core.files import replace_file
from nemesis.core.game import SIDES
from nemesis.games.rocket_league.arena import soccar
from nemesis.games.rocket_league.arena.simulation import TICKS
from nemesis.games.rocket_league.replays.frames import ARENA, CAR, FLAGS, PADS_PER_NUMBER, Field, Recording
from nemesis.games.rocket_league.state import BALL_RADIUS, BIG_PADS, PAD_POSITIONS

_VERSION = 1
_HERE = Path(__file__).parent
_SCRIPTS = ("geometry.js", "recording.js", "drawing.js", "player.js")


def write_page(recording: Recording, folder: Path, names: tuple[str, str]) -> Path:
    """Write a match, with the names of sides 0 and 1; returns the path of the page."""
    size = f"{recording.cars // SIDES}v{recording.cars // SIDES}"
    parts = {
        "title": html.escape(f"Rocket League {size}: {names[0]} vs. {names[1]}"),
        "style": _text("page.css"),
        "script": "\n".join(_text(name) for name in _SCRIPTS),
        # So that no name can end the element that the recording stands in.
        "recording": json.dumps(described(recording, names)).replace("<", "\\u003c"),
    }
    path = folder / f"{size}-{recording.match}.html"
    # In one go, so that nothing is replaced within what was filled in.
    replace_file(path, re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _text("page.html")))
    return path


def described(recording: Recording, names: tuple[str, str]) -> dict[str, Any]:
    """Return a recording as JSON, with all that is needed to read and to draw it."""
    tick, frame = recording.tick, recording.frame
    steps = np.diff(tick, prepend=tick[:1]).astype(np.int16)
    fields = (Field("ticks", 1, 1), *ARENA)  # ticks since the frame before
    return {
        "version": _VERSION,
        "match": recording.match,
        "names": list(names),
        "winner": _winner(recording),
        "cars": recording.cars,
        "frames": len(tick),
        "first_tick": int(tick[0]),
        "ticks_per_second": TICKS,
        "arena_fields": _places(fields),
        "car_fields": _places(CAR),
        "flags": list(FLAGS),
        "pads_per_number": PADS_PER_NUMBER,
        "pads": [[float(x), float(y), int(pad in BIG_PADS)] for pad, (x, y) in enumerate(PAD_POSITIONS)],
        "field": {
            "side": soccar.SIDE,
            "back": soccar.BACK,
            "corner": soccar.CORNER,
            "height": soccar.HEIGHT,
            "goal_side": soccar.GOAL_SIDE,
            "goal_height": soccar.GOAL_HEIGHT,
            "goal_back": soccar.GOAL_BACK,
        },
        "data": base64.b64encode(np.column_stack([steps, frame]).astype("<i2").tobytes()).decode("ascii"),
    }


def _places(fields: Sequence[Field]) -> dict[str, dict[str, int]]:
    """Return where each field stands, from the start of its part."""
    starts = np.cumsum([0, *(field.size for field in fields[:-1])]).tolist()
    return {
        field.name: {"at": at, "size": field.size, "scale": field.scale}
        for field, at in zip(fields, starts, strict=True)
    }


def _winner(recording: Recording) -> int | None:
    """Return the side that scored: the ball is behind the goal line of the other one only then."""
    y = recording.frame[-1, 1] / ARENA[0].scale
    return (0 if y > 0 else 1) if abs(y) > soccar.BACK + BALL_RADIUS else None


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
