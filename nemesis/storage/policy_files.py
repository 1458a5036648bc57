"""A policy in one file: its weights as safetensors, and in their header what it takes to build the network again.

Members of a population, exports and the policies that come with Nemesis are such files. Nothing is ever unpickled.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from nemesis.core.config import build_config
from nemesis.core.errors import UserError
from nemesis.core.files import sync
from nemesis.core.game import Game, OpponentModelGame
from nemesis.play.players import DEFAULT_STYLE, PlayStyle
from nemesis.policies.config import PolicyConfig
from nemesis.policies.policy import Policy

FORMAT = 2
SUFFIX = ".safetensors"
SHIPPED = "shipped:"  # before the name of a policy that comes with Nemesis
_KEY = "nemesis"
_SHIPPED_FOLDER = Path(__file__).parent.parent / "shipped"


@dataclass(frozen=True, slots=True)
class PolicyHeader:
    """What a file says about its policy."""

    game: str
    view_version: str  # the version of the view record that it reads
    policy: PolicyConfig
    style: PlayStyle  # in which it plays unless told otherwise
    about: dict[str, Any]  # whatever else whoever saved it wants to be known

    def check(self, path: Path, game: Game) -> None:
        """Raise unless the policy can play the game here."""
        spec = game.spec
        if self.game != spec.name:
            raise UserError(f"{path} plays {self.game}, not {spec.name}.")
        if self.view_version != spec.view_version:
            raise UserError(
                f"{path} reads another version of the view record of {spec.name} than this version of Nemesis writes; "
                "train it again, or use the version of Nemesis that it was trained with."
            )


def policy_path(name: str) -> Path:
    """Return where a policy file, checkpoint or run is: a path, or shipped:NAME for one that comes with Nemesis."""
    if not name.startswith(SHIPPED):
        return Path(name)
    path = _SHIPPED_FOLDER / f"{name.removeprefix(SHIPPED)}{SUFFIX}"
    if not path.exists():
        known = sorted(SHIPPED + file.stem for file in _SHIPPED_FOLDER.glob(f"*{SUFFIX}"))
        raise UserError(f"There is no {name}. Nemesis comes with {', '.join(known) or 'no policies'}.")
    return path


def new_policy(game: Game, config: PolicyConfig) -> Policy:
    """Return a policy for the game, its weights drawn from torch's global generator."""
    opponent_model_head = game.opponent_model_head if isinstance(game, OpponentModelGame) else None
    return Policy(game.encoder, game.action_head, config, opponent_model_head)


def save_policy(
    path: Path,
    policy: Policy,
    config: PolicyConfig,
    game: Game,
    about: dict[str, Any],
    style: PlayStyle = DEFAULT_STYLE,
) -> None:
    """Write a policy; the file appears whole or not at all."""
    spec = game.spec
    head = {
        "format": FORMAT,
        "game": spec.name,
        "view_version": spec.view_version,
        "policy": config.model_dump(mode="json", exclude={"init", "init_parts"}),
        "style": asdict(style),
        "about": about,
    }
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in policy.state_dict().items()}
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        safetensors.torch.save_file(weights, temporary, {_KEY: json.dumps(head)})
        sync(temporary)
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"The policy {path} could not be written ({error}); free or repair the disk.") from error


def read_header(path: Path) -> PolicyHeader:
    """Read what a file says about its policy, without the weights."""
    try:
        with safe_open(path, "pt") as file:
            head = json.loads((file.metadata() or {})[_KEY])
        if head["format"] != FORMAT:
            raise UserError(f"{path} has format {head['format']}, and this version of Nemesis reads {FORMAT}.")
        policy = build_config(PolicyConfig, head["policy"])
        style = PlayStyle(**head.get("style", {}))
        return PolicyHeader(str(head["game"]), str(head["view_version"]), policy, style, dict(head["about"]))
    except FileNotFoundError as error:
        raise UserError(f"There is no policy at {path}.") from error
    except (OSError, SafetensorError, ValidationError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"{path} is not a policy file of Nemesis, or it is damaged ({error}).") from error


def style_of(path: Path) -> PlayStyle:
    """Return the style of a policy file; checkpoints and runs have none of their own, and play as they are."""
    return read_header(path).style if path.is_file() else DEFAULT_STYLE


def load_policy_file(path: Path, game: Game) -> Policy:
    """Return the policy of a file, ready to play."""
    facts = read_header(path)
    facts.check(path, game)
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
        policy = new_policy(game, facts.policy)
    try:
        policy.load_state_dict(safetensors.torch.load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UserError(f"The weights in {path} do not fit the policy that it describes ({error}).") from error
    return policy.eval()
