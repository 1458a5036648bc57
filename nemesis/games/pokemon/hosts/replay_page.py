"""Saved replays: finished battles as HTML pages.

A page is like those of Pokémon Showdown: it contains the battle's log and loads Showdown's replay viewer from the
network. Without a network, the page shows the battle as text.
"""

import html
import json
import re
from pathlib import Path

from nemesis.core.files import WriteError
from nemesis.games.pokemon.formats import Format

_PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>{title}</title>
<style>
html, body {{ font-family: Verdana, sans-serif; font-size: 10pt; margin: 0; padding: 0; }}
body {{ padding: 12px 0; }}
h1, .transcript {{ max-width: 1180px; margin: 0 auto 12px; }}
.wrapper {{ max-width: 1180px; margin: 0 auto; }}
.transcript h2 {{ font-size: 10pt; margin: 12px 0 2px; }}
.transcript p {{ margin: 0; }}
</style>
<h1>{title}</h1>
<div class="wrapper replay-wrapper">
<input type="hidden" name="replayid" value="{identity}">
<div class="battle"></div><div class="battle-log"></div>
<div class="replay-controls"></div><div class="replay-controls-2"></div>
<script type="text/plain" class="battle-log-data">{log}</script>
</div>
<details class="transcript" open><summary>The battle as text</summary>
{transcript}
</details>
<script src="https://play.pokemonshowdown.com/js/replay-embed.js"></script>
"""


def write_replay(battle_format: Format, log: list[str], match: int, folder: Path, names: tuple[str, str]) -> Path:
    """Write a battle as a page, and as JSON in Showdown's replay format; return the path of the page."""
    identity = f"{battle_format.id}-{match}"
    lines = [_named(line, names) for line in log]
    text = "\n".join(lines)
    page = folder / f"{identity}.html"
    content = _PAGE.format(
        title=html.escape(f"{battle_format.name}: {names[0]} vs. {names[1]}"),
        identity=html.escape(identity),
        log=text.replace("</", "<\\/"),
        transcript=_transcript(lines),
    )
    record = {"id": identity, "format": battle_format.name, "players": list(names), "log": text}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(content, encoding="utf-8")
        page.with_suffix(".json").write_text(json.dumps(record), encoding="utf-8")
    except OSError as error:
        raise WriteError(page, error) from error
    return page


def _named(line: str, names: tuple[str, str]) -> str:
    """Replace the names of seats by those of the players."""
    for number, name in enumerate(names, start=1):
        clean = re.sub(r"[|\s]+", " ", name).strip()
        if line.startswith(f"|player|p{number}|"):
            return line.replace(f"Seat {number}", clean, 1)
        if line == f"|win|Seat {number}":
            return f"|win|{clean}"
    return line


_SENTENCES = {  # by kind of protocol line, with its parts
    "turn": "<h2>Turn {0}</h2>",
    "move": "<p>{0} used {1}.</p>",
    "switch": "<p>{0} came in ({1}, {2}).</p>",
    "drag": "<p>{0} was dragged in ({1}, {2}).</p>",
    "faint": "<p>{0} fainted.</p>",
    "cant": "<p>{0} could not move ({1}).</p>",
    "-damage": "<p>{0} is down to {1}.</p>",
    "-heal": "<p>{0} is back up to {1}.</p>",
    "-status": "<p>{0} has {1}.</p>",
    "-crit": "<p>A critical hit on {0}!</p>",
    "-supereffective": "<p>It is super effective on {0}.</p>",
    "-terastallize": "<p>{0} terastallized: {1}.</p>",
    "-mega": "<p>{0} mega evolved.</p>",
    "win": "<h2>{0} won.</h2>",
    "tie": "<h2>The battle is a draw.</h2>",
}


def _transcript(lines: list[str]) -> str:
    """Return the battle as short sentences."""
    sentences = []
    for line in lines:
        _, kind, *parts = [*line.split("|"), "", "", "", ""]
        if kind in _SENTENCES:
            sentences.append(_SENTENCES[kind].format(*(html.escape(part) for part in parts)))
    return "\n".join(sentences)
