"""Sentences about settings that do not make a valid config: what is wrong, and what would be right."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pydantic
from pydantic import BaseModel
from pydantic_core import ErrorDetails

from nemesis.core.config.fields import Group, SettingName, entries_of, expected, group_of, property_of, setting_names
from nemesis.core.plugins import is_import

_VALUE_WIDTH = 60


# Names of the same settings in Stable-Baselines3, CleanRL, RLlib, Tianshou, Sample Factory and Acme, and earlier ones.
OTHER_NAMES: Mapping[str, str] = {
    "game": "env env_id env_name environment task",
    "updates": "total_timesteps timesteps train_for_env_steps num_updates num_iterations training_iteration max_epoch",
    "device": "cuda num_gpus",
    "threads": "num_threads torch_threads",
    "collection.slots": "num_envs n_envs num_env training_num train_num num_envs_per_worker num_envs_per_env_runner",
    "collection.decisions": "n_steps num_steps nsteps train_batch_size step_per_collect steps_per_epoch rollout_length",
    "collection.actors": "num_workers num_env_runners num_rollout_workers num_actors",
    "collection.segment": "rollout_fragment_length rollout unroll_length",
    "collection.staleness": "max_policy_lag",
    "data.buffer": "buffer_size shuffle_buffer_size replay_size",
    "data.sources": "dataset datasets dataset_path",
    "data.validation": "validation_split val_split",
    "policy.width": "hidden_size hidden_sizes hidden_dim rnn_size lstm_hidden_size net_arch fcnet_hiddens",
    "policy.layers": "num_layers n_layers rnn_num_layers n_lstm_layers depth",
    "policy.memory": "use_lstm use_rnn rnn_type recurrent use_attention",
    "policy.context": "context_length",
    "policy.value_bins": "num_atoms n_atoms",
    "policy.init": "pretrained load_path restore_path checkpoint_path",
    "learner.algorithm": "algo alg",
    "learner.learning_rate": "lr learning_rate_schedule lr_schedule anneal_lr",
    "learner.gradient_clip": "max_grad_norm max_gradient_norm grad_clip grad_norm clip_grad_norm grad_clip_norm",
    "learner.weight_decay": "l2 l2_reg",
    "learner.momentum": "adam_beta1 beta1 betas",
    "learner.value_weight": "vf_coef vf_loss_coeff value_coef value_loss_coeff value_cost baseline_cost",
    "learner.sequence_length": "max_seq_len recurrence seq_len bptt_horizon",
    "learner.average_span": "ema ema_decay polyak",
    "learner.precision": "dtype mixed_precision amp fp16 bf16",
    "learner.epochs": "n_epochs num_epochs update_epochs num_sgd_iter ppo_epochs repeat_per_collect noptepochs",
    "learner.minibatch": "batch_size minibatch_size mini_batch_size sgd_minibatch_size",
    "learner.clip": "clip_range clip_coef clip_param clip_epsilon eps_clip cliprange ppo_clip_ratio "
    "ppo_clipping_epsilon clip_ratio",
    "learner.advantage": "use_gae with_vtrace vtrace",
    "learner.discount": "gamma discount_factor discounting",
    "learner.advantage_lambda": "gae_lambda lam lambda lambda_",
    "learner.ratio_limit": "vtrace_rho vtrace_c vtrace_clip_rho_threshold",
    "learner.normalise_advantages": "norm_adv normalize_advantage normalize_advantages advantage_normalization",
    "learner.entropy_weight": "ent_coef entropy_coef entropy_coeff entropy_cost exploration_loss_coeff",
    "learner.kl_stop": "target_kl kl_target",
    "learner.target_step": "tau",
    "learner.dropout": "dropout_rate",
    "reward.kind": "reward_shaping reward_mode",
    "reward.scale": "norm_reward normalize_reward normalize_returns reward_scaling reward_scale",
    "opponents.adaptation": "curriculum",
    "exploiter.weights": "target",
    "curriculum.stages": "lessons env_task_fn",
    "evaluation.interval": "eval_freq eval_interval evaluation_interval eval_every",
    "evaluation.matches": "n_eval_episodes eval_episodes num_eval_episodes evaluation_duration episode_per_test",
    "checkpoints.interval": "save_freq save_interval save_every checkpoint_freq checkpoint_frequency",
    "checkpoints.minutes": "save_every_sec save_minutes checkpoint_minutes",
    "checkpoints.keep_last": "keep_checkpoints num_to_keep max_to_keep",
    "tracking.wandb": "track use_wandb with_wandb",
    "tracking.tensorboard": "tensorboard_log",
    "tracking.project": "wandb_project wandb_project_name",
}
_OURS = {theirs: ours for ours, names in OTHER_NAMES.items() for theirs in names.split()}


def unknown_settings(model: type[BaseModel], data: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each key that is not a setting; much sooner than validation, which needs schemas."""
    return [_unknown(model, place) for place in _unknown_places(_Place("", "", data, model, None, None))]


def problem_sentence(model: type[BaseModel], data: Mapping[str, Any], details: ErrorDetails) -> str:
    """Return what one of pydantic's errors means to the user; that keys are settings has been checked before."""
    place = _locate(model, data, details)
    kind = details["type"]
    if kind in ("value_error", "assertion_error"):
        message = str(details["ctx"]["error"]).rstrip(".")
        message += "" if message.endswith("?") else "."
        return f"{place.path}: {message}" if place.path else message
    group = group_of(place.field) if place.field else None
    if group and group.discriminator and kind in ("union_tag_invalid", "union_tag_not_found"):
        path, allowed = f"{place.path}.{group.discriminator}", "one of " + ", ".join(group.choices)
        given = place.given.get(group.discriminator)
        names = list(group.models)
    else:
        schema = property_of(place.owner, place.name)
        path, allowed, given, names = place.path, expected(place.owner, schema), place.given, schema.get("enum", [])
    if kind in ("missing", "union_tag_not_found"):
        return f"{path} is missing; it must be {allowed}."
    near = _nearest(str(given), map(str, names))
    return f"{path} must be {allowed}, not {shown(given)}." + (f" Did you mean {near}?" if near else "")


def shown(value: Any) -> str:
    """Return a value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 1] + "…"


@dataclass(frozen=True, slots=True)
class _Place:
    """The setting that an error refers to."""

    path: str
    name: str  # the last part of the path
    given: Any
    owner: type[BaseModel]  # the model that has, or should have, the name
    owner_group: Group | None
    field: pydantic.fields.FieldInfo | None


def _locate(model: type[BaseModel], data: Mapping[str, Any], details: ErrorDetails) -> _Place:
    """Return the setting at the location of an error.

    Pydantic's locations include union tags and parts of values; the path does not.
    """
    place = _Place("", "", data, model, None, None)
    parts = iter(details["loc"])
    for part in parts:
        field = place.owner.model_fields.get(str(part))
        above: Mapping[str, Any] = place.given
        given = above.get(str(part), details["input"])
        path = f"{place.path}.{part}".lstrip(".")
        place = replace(place, path=path, name=str(part), given=given, field=field)
        group = group_of(field) if field else None
        entries = entries_of(field) if field else None
        if entries and isinstance(given, Mapping) and isinstance(given.get(key := str(next(parts, ""))), Mapping):
            place = _entry(place, key, given[key], entries)
            continue
        if group is None or not isinstance(given, Mapping):
            break
        tag = next(parts, None) if group.discriminator else None
        below = group.select(tag)
        if below is None:
            break
        place = replace(place, owner=below, owner_group=group)
    return place


def _unknown_places(above: _Place) -> Iterator[_Place]:
    """Yield the keys of a group that its model does not have, and those of the groups below."""
    for name, given in above.given.items():
        field = above.owner.model_fields.get(name)
        place = replace(above, path=f"{above.path}.{name}".lstrip("."), name=name, given=given, field=field)
        if field is None:
            aliases = {field.alias for field in above.owner.model_fields.values()}
            if above.owner.model_config.get("extra") == "forbid" and name not in aliases:
                yield place
        elif isinstance(given, Mapping):
            for group in _groups_at(place, field):
                yield from _unknown_places(group)


def _groups_at(place: _Place, field: pydantic.fields.FieldInfo) -> Iterator[_Place]:
    """Yield the groups of settings that a setting has: one, one for each name of the user's, or none."""
    if entries := entries_of(field):
        for name, given in place.given.items():
            if isinstance(given, Mapping):
                yield _entry(place, name, given, entries)
    elif group := group_of(field):
        below = group.of(place.given)
        # Code outside the package has settings that no model declares.
        if below and not (group.discriminator and is_import(str(place.given.get(group.discriminator)))):
            yield replace(place, owner=below, owner_group=group)


def _entry(place: _Place, name: str, given: Mapping[str, Any], model: type[BaseModel]) -> _Place:
    group = Group({"": model}, None)
    return replace(
        place, path=f"{place.path}.{name}", name=name, given=given, owner=model, owner_group=group, field=None
    )


def _unknown(model: type[BaseModel], place: _Place) -> str:
    above = place.path.removesuffix(place.name)
    group = place.owner_group
    if group and group.discriminator:
        having = [tag for tag, other in group.models.items() if place.name in other.model_fields]
        if having:
            tags = [tag for tag, other in group.models.items() if other is place.owner]
            return f"{place.path} is a setting of {' and '.join(having)}, not of {' and '.join(tags)}."
    if ours := _by_other_name(model, place, place.name.lower().replace("-", "_")):
        here = place.owner_group is None or ours.path.rpartition(".")[2] in place.owner.model_fields
        only_for = f" (a setting of {', '.join(ours.only_for)})" if ours.only_for and not here else ""
        return f"{place.path} is called {ours.path} here{only_for}: {ours.description}."
    near = _nearest(place.name, place.owner.model_fields)
    if near is None:
        anywhere = {path.rpartition(".")[2]: path for path in reversed(setting_names(model))}
        theirs = _nearest(place.name, [*_OURS, *anywhere])
        ours = _by_other_name(model, place, theirs or "")
        above, near = "", ours.path if ours else anywhere.get(theirs or "")
    if near:
        return f"{place.path} is not a setting. Did you mean {above}{near}?"
    return f"{place.path} is not a setting. Settings there are {', '.join(place.owner.model_fields)}."


def _by_other_name(model: type[BaseModel], place: _Place, theirs: str) -> SettingName | None:
    """Return our setting that another library gives this name, preferably one beside the place."""
    ours = _OURS.get(theirs)
    if ours is None:
        return None
    names = setting_names(model)
    return names.get(place.path.removesuffix(place.name) + ours.rpartition(".")[2]) or names.get(ours)


def _nearest(name: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)
