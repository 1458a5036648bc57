"""Settings: merging presets with overrides, the sentences of errors, and what help says."""

import json
import subprocess
import sys
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from nemesis.core.config import ConfigError, FieldInfo, build_config, describe, json_schema
from nemesis.core.config.errors import OTHER_NAMES
from nemesis.core.errors import UserError
from nemesis.core.schedule import Schedule
from nemesis.presets import PresetError, dump_yaml, load_preset
from nemesis.training.config import AnyLearnerConfig, RunConfig


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Collection(Settings):
    slots: int = Field(64, ge=1, le=4096, description="matches at a time")
    decisions: int = Field(1024, ge=1, description="decisions per update")

    @model_validator(mode="after")
    def _enough_decisions(self) -> "Collection":
        if self.decisions < self.slots:
            raise ValueError("decisions must be at least slots")
        return self


class Ppo(Settings):
    algorithm: Literal["ppo"] = Field("ppo", description="how the policy is improved")
    learning_rate: Schedule = Field(Schedule(start=3e-4, end=3e-4), description="step size")
    clip: float = Field(0.2, gt=0, lt=1, description="trust region")


class Rnad(Settings):
    algorithm: Literal["rnad"] = Field("rnad", description="how the policy is improved")
    learning_rate: Schedule = Field(Schedule(start=3e-4, end=3e-4), description="step size")
    temperature: Schedule = Field(Schedule(start=0.1, end=0.01, shape="exponential"), description="pull to the magnet")
    form: Literal["magnet", "reward"] = Field("magnet", description="how the reference enters")


class Run(Settings):
    game: str = Field(description="the game to learn")
    updates: int = Field(100, ge=1, description="length of the run")
    threads: int | Literal["auto"] = Field("auto", description="threads of torch")
    resume: bool = Field(False, description="go on")
    width: int | None = Field(None, ge=8, multiple_of=8, description="features")
    layers: list[int] = Field([64, 64], description="widths")
    parameters: dict[str, int] = Field({}, description="parameters of the game")
    collection: Collection = Field(Collection(slots=32), description="how matches are played")
    learner: Annotated[Ppo | Rnad, Field(discriminator="algorithm")] = Field(Rnad(), description="the algorithm")


RNAD_PRESET = {
    "game": "kuhn",
    "learner": {"algorithm": "rnad", "learning_rate": 3e-4, "temperature": 0.05, "form": "reward"},
}


def build(*overrides: str, **data: Any) -> Run:
    return build_config(Run, {"game": "kuhn", **data}, overrides)


def problems(*overrides: str, **data: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        build(*overrides, **data)
    return str(caught.value).splitlines()


def test_an_override_changes_one_leaf_and_leaves_its_siblings():
    config = build("collection.slots=8", collection={"slots": 16, "decisions": 512})
    assert config.collection == Collection(slots=8, decisions=512)


def test_an_override_below_a_group_that_the_preset_leaves_out_keeps_the_default_of_its_siblings():
    assert build("collection.decisions=99").collection == Collection(slots=32, decisions=99)
    assert build("learner.form=reward").learner == Rnad(form="reward")


def test_the_mapping_given_is_not_changed():
    data = {"game": "kuhn", "collection": {"slots": 16}}
    build_config(Run, data, ["collection.slots=8", "learner.learning_rate.end=0"])
    assert data == {"game": "kuhn", "collection": {"slots": 16}}


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("updates=7", 7),
        ("updates=2e3", 2000),
        ("resume=true", True),
        ("layers=[1, 2]", [1, 2]),
        ('parameters={"sides": 4}', {"sides": 4}),
        ("parameters.sides=4", {"sides": 4}),
        ("game=a=b", "a=b"),
        ("game=openspiel:leduc_poker", "openspiel:leduc_poker"),
        ("threads=auto", "auto"),
        ("learner.learning_rate=3e-4", Rnad(learning_rate=Schedule(start=3e-4, end=3e-4))),
    ],
)
def test_values_are_json_or_else_text(override: str, value: object):
    field = override.partition("=")[0].partition(".")[0]
    assert getattr(build(override), field) == value


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("updates=1", "updates=2"), "updates is given twice; give it once."),
        (('collection={"slots": 4}', "collection.slots=8"), "collection.slots is given twice; give it once."),
        (("parameters=null", 'parameters={"a": 1}'), "parameters is given twice; give it once."),
        (('parameters={"a": 1, "a": 2}',), 'parameters: "a" is given twice in its value; give it once.'),
    ],
)
def test_a_setting_is_given_once(overrides: tuple[str, ...], sentence: str):
    assert sentence in problems(*overrides)


@pytest.mark.parametrize("order", [1, -1])
def test_a_group_and_what_is_below_it_come_in_any_order(order: int):
    config = build(*["learner.clip=0.1", 'learner={"algorithm": "ppo", "learning_rate": 1e-3}'][::order])
    assert config.learner == Ppo(clip=0.1, learning_rate=Schedule(start=1e-3, end=1e-3))


@pytest.mark.parametrize("preset", [{}, {"learner": {"algorithm": "rnad", "learning_rate": 3e-4}}])
def test_a_constant_opens_into_a_schedule(preset: dict[str, Any]):
    config = build("learner.learning_rate.end=1e-5", "learner.learning_rate.shape=cosine", **preset)
    assert config.learner.learning_rate == Schedule(start=3e-4, end=1e-5, shape="cosine")


def test_a_part_of_a_schedule_that_is_the_default_can_be_changed():
    assert build("learner.temperature.end=0.001").learner == Rnad(
        temperature=Schedule(start=0.1, end=0.001, shape="exponential")
    )


def test_another_algorithm_drops_the_keys_of_the_preset_that_it_does_not_have():
    config = build_config(
        Run, RNAD_PRESET | {"learner": {**RNAD_PRESET["learner"], "learning_rate": 1e-3}}, ["learner.algorithm=ppo"]
    )
    assert config.learner == Ppo(learning_rate=Schedule(start=1e-3, end=1e-3))


def test_another_algorithm_takes_overrides_of_its_own_keys_in_any_order():
    config = build_config(Run, RNAD_PRESET, ["learner.clip=0.1", "learner.algorithm=ppo"])
    assert config.learner == Ppo(clip=0.1)


def test_another_algorithm_does_not_drop_what_the_user_gave():
    with pytest.raises(ConfigError, match=r"^learner\.form is a setting of rnad, not of ppo\.$"):
        build_config(Run, RNAD_PRESET, ["learner.form=magnet", "learner.algorithm=ppo"])


def test_another_algorithm_does_not_hide_a_misspelt_key_of_the_preset():
    preset = {"game": "kuhn", "learner": {"algorithm": "rnad", "learning_rat": 1}}
    with pytest.raises(ConfigError, match=r"^learner\.learning_rat is not a setting"):
        build_config(Run, preset, ["learner.algorithm=ppo"])


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("learner.learning_rat=1", "learner.learning_rat is not a setting. Did you mean learner.learning_rate?"),
        ("lerner.form=magnet", "lerner is not a setting. Did you mean learner?"),
        ("slots=4", "slots is not a setting. Did you mean collection.slots?"),
        ("collection.zzz=4", "collection.zzz is not a setting. Settings there are slots, decisions."),
        ("learner.clip=0.1", "learner.clip is a setting of ppo, not of rnad."),
        ("updates.end=4", "updates.end is not a setting: updates is a single value."),
        (
            "learner.learning_rate.stat=1",
            "learner.learning_rate.stat is not a setting. Did you mean learner.learning_rate.start?",
        ),
        ("collection.slots=0", "collection.slots must be a whole number from 1 to 4,096, not 0."),
        ("updates=0", "updates must be a whole number of at least 1, not 0."),
        ("updates=many", 'updates must be a whole number of at least 1, not "many".'),
        ("updates=", 'updates must be a whole number of at least 1, not "".'),
        ("threads=many", 'threads must be a whole number or auto, not "many".'),
        ("width=12", "width must be a whole number of at least 8, a multiple of 8 or null, not 12."),
        ("resume=3", "resume must be true or false, not 3."),
        ("game=3", "game must be text, not 3."),
        ('layers=[1, "wide"]', 'layers must be a list, each a whole number, not [1, "wide"].'),
        ("collection=3", "collection must be a group of settings, not 3."),
        ("learner=ppo", 'learner must be a group of settings, not "ppo".'),
        ("learner.form=rewards", 'learner.form must be one of magnet, reward, not "rewards". Did you mean reward?'),
        ("learner.algorithm=rnat", 'learner.algorithm must be one of ppo, rnad, not "rnat". Did you mean rnad?'),
        ('learner={"form": "magnet"}', "learner.algorithm is missing; it must be one of ppo, rnad."),
        (
            "learner.learning_rate=fast",
            "learner.learning_rate must be a number of at least 0, or a schedule of start, end, shape, warmup, "
            'not "fast".',
        ),
        ("learner.learning_rate.end=-1", "learner.learning_rate.end must be a number of at least 0, not -1."),
        (
            "learner.temperature.end=0",
            "learner.temperature: an exponential schedule needs a start and an end above zero.",
        ),
        ("collection.decisions=3", "collection: decisions must be at least slots."),
        ("updates", '"updates" is not an override. Write KEY=VALUE, with dots between nested keys.'),
        ("a..b=3", '"a..b=3" is not an override. Write KEY=VALUE, with dots between nested keys.'),
    ],
)
def test_a_problem_is_one_sentence(override: str, sentence: str):
    assert problems(override) == [sentence]


@pytest.mark.parametrize(
    ("override", "ours"),
    [
        ("learner.gamma=0.9", "learner.discount here: γ of the returns."),
        ("lr=1e-3", "learner.learning_rate here: "),
        ("exploiter.learner.ent_coef=0.1", "exploiter.learner.entropy_weight here: weight of the entropy bonus"),
        ("learner.n-envs=8", "collection.slots here: concurrent matches per process."),
        ("total_timesteps=1e6", "updates here: number of updates of the run."),
        ("learner.tau=0.1", "learner.target_step here (a setting of offline): "),
    ],
)
def test_a_name_of_another_library_is_translated(override: str, ours: str):
    with pytest.raises(ConfigError) as caught:
        build_config(RunConfig, {"game": "openspiel:kuhn_poker"}, [override])
    assert str(caught.value).startswith(f"{override.partition('=')[0]} is called {ours}")


def test_names_of_other_libraries_stand_for_one_setting_that_exists():
    assert OTHER_NAMES.keys() <= {setting.path for setting in describe(RunConfig)}
    names = [name for others in OTHER_NAMES.values() for name in others.split()]
    assert len(set(names)) == len(names)


def test_open_ranges_are_explained():
    sentence = "learner.clip must be a number above 0 and below 1, not 1."
    assert problems("learner.algorithm=ppo", "learner.clip=1") == [sentence]


def test_a_missing_setting_is_reported():
    with pytest.raises(ConfigError, match=r"^game is missing; it must be text\.$"):
        build_config(Run, {})


def test_a_wrong_short_form_below_which_something_is_set_is_reported_once():
    preset = {"learner": {"algorithm": "rnad", "learning_rate": "fast"}}
    (problem,) = problems("learner.learning_rate.end=0", **preset)
    assert problem.startswith("learner.learning_rate must be a number")


def test_all_problems_are_reported_up_to_five():
    assert problems("updates", "resume=3", "learner.form=3") == [
        '"updates" is not an override. Write KEY=VALUE, with dots between nested keys.',
        "resume must be true or false, not 3.",
        "learner.form must be one of magnet, reward, not 3.",
    ]
    many = problems(*(f"wrong{letter}=1" for letter in "abcdefg"))
    assert len(many) == 6
    assert many[-1] == "And 2 more."


def test_a_wrong_key_is_reported_before_a_validator_is_built():
    script = (
        "from nemesis.core.config import ConfigError, build_config\n"
        "from nemesis.training.config import RunConfig\n"
        "try:\n"
        "    build_config(RunConfig, {'game': 'openspiel:kuhn_poker'}, ['learner.gama=0.9'])\n"
        "except ConfigError:\n"
        "    assert not RunConfig.__pydantic_complete__\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_settings_of_code_outside_the_package_are_no_wrong_keys():
    data = {"game": "openspiel:kuhn_poker", "learner": {"algorithm": "my_module:Learner", "own": 3}}
    assert build_config(RunConfig, data).learner.settings == {"own": 3}


def test_defaults_are_valid():
    learners = get_args(get_args(AnyLearnerConfig)[0])
    required = {"algorithm": "imported", "name": "my_module:Learner"}
    for learner in [{"algorithm": model.model_fields["algorithm"].default} for model in learners[:-1]] + [required]:
        config = build_config(RunConfig, {"game": "openspiel:kuhn_poker", "learner": learner})
        assert build_config(RunConfig, config.model_dump()) == config


def test_a_long_value_is_cut():
    (problem,) = problems("updates=" + "x" * 500)
    assert len(problem) < 130


def test_config_errors_are_meant_for_the_user():
    assert issubclass(ConfigError, UserError)
    assert issubclass(ConfigError, ValueError)


def test_describe_lists_every_setting_with_type_default_and_description():
    settings = {setting.path: setting for setting in describe(Run)}
    assert settings["game"] == FieldInfo("game", "text", None, "the game to learn")
    assert settings["collection.slots"] == FieldInfo(
        "collection.slots", "whole number from 1 to 4,096", "32", "matches at a time"
    )
    assert settings["learner.algorithm"] == FieldInfo(
        "learner.algorithm", "one of ppo, rnad", "rnad", "how the policy is improved"
    )
    assert settings["learner.temperature"] == FieldInfo(
        "learner.temperature",
        "number of at least 0, or a schedule of start, end, shape, warmup",
        "0.1 → 0.01, exponential",
        "pull to the magnet",
        ("rnad",),
    )
    assert settings["resume"].default == "false"


def test_describe_lists_what_algorithms_share_once():
    paths = [setting.path for setting in describe(Run)]
    assert len(paths) == len(set(paths))
    assert next(setting for setting in describe(Run) if setting.path == "learner.learning_rate").only_for == ()


def test_the_schema_takes_the_short_form_of_a_schedule():
    schedule = json_schema(Run)["$defs"]["Schedule"]
    assert [option["type"] for option in schedule["anyOf"]] == ["number", "object"]
    assert json.loads(json.dumps(json_schema(Run))) == json_schema(Run)


def test_a_preset_file_of_the_user_is_read_as_people_write_yaml(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("game: kuhn\nupdates: 1e3\nlearner: {algorithm: rnad, learning_rate: 3e-4}\n")
    config = build_config(Run, load_preset(file))
    assert config.updates == 1000
    assert config.learner.learning_rate.start == 3e-4


def test_yaml_keeps_order_and_values():
    data = {"seed": 1, "game": "kuhn", "learner": {"rate": 1e-05, "name": "π"}}
    text = dump_yaml(data)
    assert text.startswith("seed: 1\ngame: kuhn\n")
    assert "π" in text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("game: kuhn\nlearner: [1\n", "line 3: not valid YAML"),
        ("- 1\n", "must contain settings as KEY: VALUE lines, but it is a list."),
        ("", "must contain settings as KEY: VALUE lines, but it is empty."),
        ("game: kuhn\nupdates: 1\nupdates: 2\n", ", line 3: updates is given twice, first in line 2; give it once."),
        ("learner:\n  clip: 1\n  clip: 2\n", ", line 3: clip is given twice, first in line 2; give it once."),
        ("seed: 2024-99-99\n", "not valid YAML, month must be in 1..12."),
    ],
)
def test_a_broken_preset_file_is_named(tmp_path, content: str, sentence: str):
    file = tmp_path / "mine.yaml"
    file.write_text(content)
    with pytest.raises(PresetError) as caught:
        load_preset(file)
    assert str(file) in str(caught.value)
    assert sentence in str(caught.value)


def test_a_preset_file_that_is_not_there_is_named():
    with pytest.raises(PresetError, match=r"^There is no file nowhere/mine\.yaml\.$"):
        load_preset("nowhere/mine.yaml")
