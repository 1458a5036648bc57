"""The one place that opens a policy: from a run, a checkpoint, a policy file, or one that comes with Nemesis.

`find_policy` says what a policy is, without its weights. `SavedPolicy.load` checks the game, the version of the view
record and the shape of every tensor before it loads them, and says in a sentence what does not fit.
"""

# ruff: noqa: PLC0415 (torch and numpy are slow to import, and finding a policy needs none of them)

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from nemesis.core.config import ConfigError, build_config
from nemesis.core.errors import UserError
from nemesis.core.plugins import ImportPermission, check_imports
from nemesis.games.config import GameConfig, game_config_of, without_technical
from nemesis.games.registry import is_imported
from nemesis.policies.config import PolicyConfig
from nemesis.policies.play_style import DEFAULT_STYLE, PlayStyle
from nemesis.storage.checkpoints import Checkpoint, CheckpointError, checkpoint_paths, load_checkpoint, newest_valid
from nemesis.storage.policy_files import SUFFIX, read_header, read_weights
from nemesis.storage.populations import is_member, member_player
from nemesis.storage.run_directory import RunDirectory

if TYPE_CHECKING:
    from torch import Tensor

    from nemesis.core.game import Game
    from nemesis.policies.policy import Policy

_log = logging.getLogger(__name__)

SHIPPED = "shipped:"  # before the name of a policy that comes with Nemesis
_SHIPPED_FOLDER = Path(__file__).parent.parent / "shipped"

Weights: TypeAlias = Literal["average", "last"]
"""Which weights of a checkpoint: the averaged ones (EMA), or those of the last update. A file has only one kind."""

DEFAULT_WEIGHTS: Weights = "average"
"""What everything that opens a checkpoint takes unless it is told otherwise; usually the stronger policy."""


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    """A policy on disk."""

    path: Path
    game: str
    policy_group: str | None  # of the game
    view_version: str
    world: str  # in which it was trained, if its game has several
    policy: PolicyConfig
    style: PlayStyle
    config: Mapping[str, Any] | None  # of the run that trained it, where that is known
    update: int | None
    decisions: int | None  # played until then
    checkpoint: Checkpoint | None  # None for a file

    def game_config(self, overrides: Sequence[str] = ()) -> GameConfig:
        """Return the game that it plays, with the settings of its run, or the defaults where those are not known."""
        config = dict(self.config or {})
        if self.checkpoint is None:
            config = without_technical(config)  # those of another machine, perhaps
        try:
            own = game_config_of(config | {"game": self.game})
        except ConfigError as error:
            raise ConfigError(
                f"{self.path} was trained with settings that do not fit its game here. {error}"
            ) from error
        return build_config(GameConfig, own.model_dump(), overrides)

    def training_config(self) -> Mapping[str, Any]:
        """Return the whole config of the run that trained it."""
        if self.config is None:
            raise UserError(
                f"{self.path} does not say with which settings it was trained; name the run or checkpoint that it is "
                "from, or export it again with `nemesis export`."
            )
        return self.config

    def load(self, game: "Game", weights: Weights = DEFAULT_WEIGHTS) -> "Policy":
        """Return the policy, ready to play the game."""
        import torch

        from nemesis.policies.build import build_policy

        self.check(game)
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn for nothing
            policy = build_policy(game, self.policy)
        loaded = self._weights(weights)
        check_shapes(f"{self.path}", policy.state_dict(), loaded)
        policy.load_state_dict(loaded)
        policy.style = self.style
        return policy.eval()

    def check(self, game: "Game") -> None:
        """Raise unless the policy can play the game here: the one it was trained on, or one of the same group."""
        spec = game.spec
        if not spec.plays_policies_of(self.game, self.policy_group):
            raise UserError(f"{self.path} plays {self.game}, not {spec.name}.")
        if self.view_version != spec.view_version:
            raise UserError(
                f"{self.path} reads another version of the view record of {spec.name} than this version of Nemesis "
                "writes; train it again, or use the version of Nemesis that it was trained with."
            )
        if self.world and self.world != spec.world:
            _log.warning("%s was trained in %s, and plays in %s here.", self.path, self.world, spec.world)

    def _weights(self, weights: Weights) -> "dict[str, Tensor]":
        if self.checkpoint is None:
            return read_weights(self.path)
        return self.checkpoint.tensors("weights" if weights == "last" else "average")


def find_policy(name: str | Path, *, allow_imports: ImportPermission = False) -> SavedPolicy:
    """Return what is known of a policy: a run (its newest valid checkpoint), a checkpoint, a file, or shipped:NAME."""
    path = policy_path(str(name))
    if path.is_dir() or (path.suffix != SUFFIX and not path.is_file()):
        return from_checkpoint(find_checkpoint(path), allow_imports=allow_imports)
    header = read_header(path)
    check_imports(path, _imports(header.game, header.policy), allowed=allow_imports)
    config = header.about.get("config")
    return SavedPolicy(
        path=path,
        game=header.game,
        policy_group=header.policy_group,
        view_version=header.view_version,
        world=header.world,
        policy=header.policy,
        style=header.style,
        config=config if isinstance(config, dict) else None,
        update=header.about.get("update"),
        decisions=header.about.get("decisions"),
        checkpoint=None,
    )


def from_checkpoint(checkpoint: Checkpoint, *, allow_imports: ImportPermission = False) -> SavedPolicy:
    """Return the policy of a checkpoint."""
    try:
        config, state = checkpoint.stage_config, checkpoint.state
        policy = build_config(PolicyConfig, config["policy"])
        check_imports(checkpoint.path, _imports(str(config["game"]), policy), allowed=allow_imports)
        view_version, decisions = str(state["view_version"]), int(state["decisions"])
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise CheckpointError(f"{checkpoint.path} is damaged: it does not describe its policy ({error}).") from error
    return SavedPolicy(
        path=checkpoint.path,
        game=str(config["game"]),
        policy_group=state.get("policy_group"),
        view_version=view_version,
        world=str(state.get("world", "")),
        policy=policy,
        style=DEFAULT_STYLE,
        config=config,
        update=checkpoint.update,
        decisions=decisions,
        checkpoint=checkpoint,
    )


def last_policies(path: Path, count: int, *, allow_imports: ImportPermission = False) -> list[SavedPolicy]:
    """Return the policies of a run's newest valid checkpoints, so many of them."""
    if path.is_file():
        raise UserError(f"{path} is one policy; an ensemble needs a run, for its last checkpoints.")
    found: list[SavedPolicy] = []
    for checkpoint in checkpoint_paths(RunDirectory.checkpoints_of(path)):
        if len(found) == count:
            break
        try:
            found.append(from_checkpoint(load_checkpoint(checkpoint), allow_imports=allow_imports))
        except CheckpointError:
            continue
    if len(found) < count:
        raise UserError(
            f"{path} has {len(found)} valid checkpoints, and {count} were asked for; "
            "ask for fewer, or train with a larger checkpoints.keep_last."
        )
    return found


def find_checkpoint(path: Path) -> Checkpoint:
    """Return the checkpoint at a path, or the newest valid one of the run at that path."""
    if (path / "manifest.json").exists():
        return load_checkpoint(path)
    return newest_valid(RunDirectory.checkpoints_of(path))[0]


def policy_path(name: str) -> Path:
    """Return where a policy is: a path, shipped:NAME for one that comes with Nemesis, DIR#NAME for a member."""
    if is_member(name):
        return Path(member_player(name))
    if not name.startswith(SHIPPED):
        return Path(name)
    path = _SHIPPED_FOLDER / f"{name.removeprefix(SHIPPED)}{SUFFIX}"
    if not path.exists():
        known = sorted(SHIPPED + file.stem for file in _SHIPPED_FOLDER.glob(f"*{SUFFIX}"))
        raise UserError(f"There is no {name}. Nemesis comes with {', '.join(known) or 'no policies'}.")
    return path


def load_policy(
    path: str | Path, weights: Weights = DEFAULT_WEIGHTS, *, allow_imports: ImportPermission = False
) -> "Policy":
    """Load a trained policy from a policy file, a checkpoint, or the newest valid checkpoint of a run.

    Nothing but the file or folder is needed; shipped:NAME is one that comes with Nemesis. Of a run or checkpoint, the
    averaged weights are loaded, as by all commands, or the last ones with `weights="last"`. `Policy.act` plays with it.
    """
    if weights not in get_args(Weights):
        raise UserError(f"weights must be one of {', '.join(get_args(Weights))}, not {weights!r}.")
    saved = find_policy(path, allow_imports=allow_imports)
    return saved.load(saved.game_config().open_game(), weights)


def take_weights(
    policy: "Policy", name: str, game: "Game", parts: Mapping[str, str], *, allow_imports: ImportPermission = False
) -> None:
    """Give a policy the weights of another one: all of them or, by their names here and there, some of its parts."""
    saved = find_policy(name, allow_imports=allow_imports)
    theirs, ours = saved.load(game).state_dict(), policy.state_dict()
    where = f"policy.init={name}"
    if not parts:
        check_shapes(where, ours, theirs)
        policy.load_state_dict(theirs)
        return
    taken: dict[str, Tensor] = {}
    for here, there in parts.items():
        found = {name: tensor for name, tensor in theirs.items() if f"{name}.".startswith(f"{there}.")}
        if not found:
            raise UserError(f"{where} has no part {there}; its parts are {_part_names(theirs)}.")
        taken |= {here + name.removeprefix(there): tensor for name, tensor in found.items()}
    own = {name: tensor for name, tensor in ours.items() if any(f"{name}.".startswith(f"{here}.") for here in parts)}
    check_shapes(where, own, taken)
    policy.load_state_dict(ours | taken)


def check_shapes(where: str, ours: "Mapping[str, Tensor]", theirs: "Mapping[str, Tensor]") -> None:
    """Raise unless both have the same tensors of the same shapes."""
    remedy = "Set policy.size and the other settings of policy as they were there"
    for name in sorted(ours.keys() ^ theirs.keys()):
        has = "it" if name in theirs else "the policy here"
        raise UserError(
            f"{where} has another shape: only {has} has {name}. {remedy}, or name parts by policy.init_parts."
        )
    for name, tensor in ours.items():
        if tensor.shape != theirs[name].shape:
            raise UserError(
                f"{where} has another shape: {name} is {tuple(theirs[name].shape)} there and {tuple(tensor.shape)} "
                f"here. {remedy}."
            )


def _imports(game: str, policy: PolicyConfig) -> list[str]:
    """Return the names of code that opening a policy imports."""
    return [*([game] if is_imported(game) else []), *([policy.encoder] if policy.encoder else [])]


def _part_names(weights: "Mapping[str, Tensor]") -> str:
    """Return the modules of a policy, down to the second level."""
    return ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in weights))
