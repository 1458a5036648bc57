"""Writes a policy as a bot of RLBot 5: a folder with its code, its settings, its car and its policy file."""

import json
import tempfile
from pathlib import Path

from nemesis.games.rocket_league.game import MIXED
from nemesis.storage.policy_export import PolicyExport

POLICY, SETTINGS, LOADOUT, CODE = "policy.safetensors", "bot.toml", "loadout.toml", "bot.py"

_CODE = '''"""A bot of RLBot 5, exported by Nemesis. It plays with the policy beside this file."""

import sys
from pathlib import Path

try:
    from nemesis.deploy.rocket_league.launch import run_bot
except ModuleNotFoundError as error:
    if not str(error.name).startswith("nemesis"):
        raise
    sys.exit("The bot needs Nemesis; install it with `pip install 'nemesis-rl[rlbot]'`.")

if __name__ == "__main__":
    run_bot(Path(__file__).parent)
'''

_SETTINGS = """[settings]
agent_id = {agent_id}
name = {name}
loadout_file = "{loadout}"
# Name another Python here if Nemesis is installed there, such as that of a virtual environment.
run_command = "python {code}"
run_command_linux = "python3 {code}"

[details]
description = {description}
developer = "Nemesis"
language = "Python"
tags = {tags}
"""

_LOADOUT = """# An Octane, because matches in training are played with its hitbox.
[blue_loadout]
car_id = 23

[orange_loadout]
car_id = 23
"""


def export(policy: PolicyExport, folder: Path) -> str:
    """Write the folder, which is new or empty, whole or not at all; returns a sentence about it."""
    saved, folder = policy.saved, folder.absolute()
    size = saved.game.partition(":")[2]
    tags = [*(["1v1"] if size in ("1v1", MIXED) else []), *([] if size == "1v1" else ["teamplay"])]
    age = "" if saved.decisions is None else f" after {saved.decisions:,} decisions"
    settings = _SETTINGS.format(
        agent_id=_text(f"nemesis/{folder.name}"),
        name=_text(folder.name),
        loadout=LOADOUT,
        code=CODE,
        description=_text(f"A policy for {saved.game}{age}, trained in {saved.world}."),
        tags=json.dumps(tags),
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary, folder.name)
        made.mkdir()
        policy.save(made / POLICY)
        for name, text in ((CODE, _CODE), (SETTINGS, settings), (LOADOUT, _LOADOUT)):
            (made / name).write_text(text, encoding="utf-8")
        if folder.exists():
            folder.rmdir()  # it is empty
        made.rename(folder)
    return f"{folder}: a bot for RLBot 5 with a policy for {saved.game}{age}, trained in {saved.world}."


def _text(words: str) -> str:
    """Return a text as TOML writes it."""
    return json.dumps(words, ensure_ascii=False)
