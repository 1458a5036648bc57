"""The curriculum: by which rule the stage of a run changes, what goes on and what is refused."""

import json
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import torch
from duel import Duel
from rich.console import Console

from nemesis.cli import main
from nemesis.core.config import ConfigError, build_config, describe
from nemesis.core.errors import UserError
from nemesis.core.family import Family
from nemesis.evaluation.run_evaluation import RunEvaluator, Standing
from nemesis.games import registry
from nemesis.policies.policy import Policy
from nemesis.population.league import REGISTRY, open_league
from nemesis.storage.checkpoints import checkpoint_of
from nemesis.storage.policies import find_checkpoint, find_policy, load_policy
from nemesis.storage.policy_files import read_header
from nemesis.storage.state_tree import unflatten_state
from nemesis.training.config import RunConfig, resumed_config
from nemesis.training.curriculum import Curriculum
from nemesis.training.curriculum_config import CurriculumConfig
from nemesis.training.loop import resume, train
from nemesis.training.run import Run

torch.set_num_threads(1)

STRONG, WEAK, MIDDLE = Standing(0.9, 400, 1500.0), Standing(0.1, 400, 900.0), Standing(0.4, 400, 1200.0)


def three_stages(**first: object) -> Curriculum:
    stages = {"one": {"settings": {}, **first}, "two": {"settings": {}, "fall_back": 0.2}, "three": {"settings": {}}}
    return Curriculum(build_config(CurriculumConfig, {"stages": stages}))


def stages_after(curriculum: Curriculum, standings: Sequence[Standing | None]) -> list[str | None]:
    """Return the stage after each of some evaluations."""
    stages = []
    for update, standing in enumerate(standings):
        curriculum.count(update, standing)
        curriculum.move(update)
        stages.append(curriculum.stage)
    return stages


def test_a_stage_is_passed_by_two_evaluations_in_a_row():
    assert stages_after(three_stages(), [STRONG, STRONG, STRONG, STRONG]) == ["one", "two", "two", "three"]
    assert stages_after(three_stages(), [STRONG, MIDDLE, STRONG, MIDDLE, STRONG, STRONG]) == ["one"] * 5 + ["two"]
    assert stages_after(three_stages(evaluations=1), [MIDDLE, STRONG]) == ["one", "two"]


@pytest.mark.parametrize(
    "standing",
    [
        Standing(0.59, 400, 1500.0),
        Standing(0.9, 400, 1399.0),
        Standing(0.9, 400, None),
        Standing(0.59, 400, 1399.0),
        None,
    ],
)
def test_a_stage_is_passed_by_win_rate_and_rating_only_together_and_never_by_time(standing: Standing | None):
    assert set(stages_after(three_stages(), [standing] * 1000)) == {"one"}


def test_the_goals_themselves_are_enough():
    assert stages_after(three_stages(), [Standing(0.6, 400, 1400.0)] * 2) == ["one", "two"]
    without_rating = {"win_rate": 0.6, "rating": None}
    assert stages_after(three_stages(advance=without_rating), [Standing(0.6, 400, None)] * 2) == ["one", "two"]


def test_a_run_falls_back_by_two_evaluations_in_a_row_and_must_pass_again():
    up = [STRONG, STRONG]
    assert stages_after(three_stages(), [*up, WEAK, MIDDLE, WEAK, WEAK]) == ["one", *["two"] * 4, "one"]
    assert stages_after(three_stages(), [*up, WEAK, WEAK, STRONG, STRONG])[-2:] == ["one", "two"]
    assert set(stages_after(three_stages(), [WEAK] * 9)) == {"one"}
    assert set(stages_after(three_stages(), [*up, *up, *[WEAK] * 9])[3:]) == {"three"}  # it has no fall_back


def test_win_rates_between_falling_back_and_passing_change_nothing():
    noisy = [Standing(rate, 400, 1500.0) for rate in (0.2, 0.59, 0.3, 0.5) * 20]
    assert set(stages_after(three_stages(), [STRONG, STRONG, *noisy])[1:]) == {"two"}


def test_evaluations_of_one_stage_do_not_count_in_the_next():
    curriculum = three_stages(evaluations=1)
    assert stages_after(curriculum, [STRONG, STRONG]) == ["two", "two"]
    assert curriculum.metrics() == {"curriculum/stage": 2, "curriculum/passed": 1, "curriculum/failed": 0}


def test_a_restored_curriculum_goes_on_where_it_was():
    standings = [STRONG, STRONG, WEAK, WEAK, STRONG, STRONG, MIDDLE, STRONG, STRONG]
    straight = three_stages()
    expected = stages_after(straight, standings)
    for cut in range(len(standings)):
        before = three_stages()
        stages = stages_after(before, standings[:cut])
        after = three_stages()
        after.restore(before.stage or "", json.loads(json.dumps(before.state())))
        for update, standing in enumerate(standings[cut:], start=cut):
            after.count(update, standing)
            after.move(update)
            stages.append(after.stage)
        assert stages == expected
        assert after.transitions == straight.transitions


SETTINGS = {
    "game": "duel:plain",
    "updates": 8,
    "collection": {"slots": 24, "decisions": 300},
    "policy": {"width": 16, "layers": 1},
    "learner": {"algorithm": "ppo", "learning_rate": 0.02, "entropy_weight": 0.01},
    "evaluation": {"interval": 2, "matches": 60, "weights": "last", "opponents": ["random"], "anchors": {"timid": 900}},
    "opponents": {"shares": {"self": 0.5, "past": 0.5}, "past_interval": 1, "rotation": 1},
    "exploiter": {"interval": 2, "updates": 2, "decisions": 100, "matches": 10},
    "checkpoints": {"interval": 1, "keep_last": 20},
    "tracking": {"tensorboard": False},
    "curriculum": {
        "stages": {
            "easy": {"settings": {"reward": {"kind": "dense"}}, "advance": {"win_rate": 0.8, "rating": 1200}},
            "hard": {
                "settings": {
                    "game": "duel:long",
                    "collection": {"slots": 16},
                    "learner": {"entropy_weight": 0.02},
                    "opponents": {"shares": {"scripted": 0.25}, "scripted": ["bold"]},
                    "evaluation": {"opponents": ["timid", "bold"]},
                }
            },
        }
    },
}
PASSED_AT = 4


@pytest.fixture(scope="module", autouse=True)
def duels() -> Iterator[dict[str, Duel]]:
    """Two games that share policies, in the second of which some matches are voided, and one that shares none."""
    games = {"plain": Duel(), "long": Duel(lost=range(0, 100_000, 9)), "alone": Duel()}
    for name, game in games.items():
        game.spec = replace(game.spec, name=f"duel:{name}", policy_group=None if name == "alone" else "duel")
        game.anchors = {"random": 1000.0, "bold": 1300.0}  # type: ignore[attr-defined]
    families = {**registry.families(), "duel": Family("duel", "plain", "duel:open_named")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "families", lambda: families)
        patch.setattr(sys.modules["duel"], "open_named", lambda name, _: games[name], raising=False)
        yield games


def config(*overrides: str) -> RunConfig:
    return build_config(RunConfig, SETTINGS, overrides)


def trained(path: Path, *overrides: str) -> str:
    """Take a run to its end and return what it printed."""
    output = StringIO()
    train(config(*overrides), path, Console(file=output, width=200), open_league)
    return output.getvalue()


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run through both stages that was never interrupted, and what it printed."""
    path = tmp_path_factory.mktemp("runs") / "straight"
    return path, trained(path)


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def assert_ends_alike(one: Path, other: Path, update: int) -> None:
    """Compare everything that two runs have learned, and what they measured."""
    for name in ("weights", "average", "optimiser", "learner", "source", "matchmaker"):
        files = [run / "checkpoints" / f"update-{update:08d}" / f"{name}.safetensors" for run in (one, other)]
        assert files[0].read_bytes() == files[1].read_bytes(), name
    ours, theirs = (checkpoint_of(run / "checkpoints", update).state for run in (one, other))
    for name in ("stage", "curriculum", "learned", "decisions", "matches"):
        assert ours[name] == theirs[name], name
    figures = [
        {
            (line["update"], name): value
            for line in lines(run)
            for name, value in line.items()
            if name.startswith(("collection/", "evaluation/", "curriculum/"))
        }
        for run in (one, other)
    ]
    assert figures[0] == figures[1]


def test_a_run_passes_a_stage_at_the_second_evaluation_in_a_row_that_reaches_both_goals(straight: tuple[Path, str]):
    path, _ = straight
    reached = [
        line["evaluation/win_rate"] >= 0.8 and line["evaluation/rating"] >= 1200
        for line in lines(path)
        if "evaluation/rating" in line
    ]
    assert reached[: PASSED_AT // 2 + 1] == [False, True, True]
    stages = {line["update"]: line["curriculum/stage"] for line in lines(path)}
    assert stages == {update: 1 if update <= PASSED_AT else 2 for update in range(9)}


def test_the_run_directory_and_the_display_tell_what_happened(straight: tuple[Path, str]):
    path, text = straight
    (sentence,) = re.findall(r"note: (Stage easy .*)", text)
    assert re.fullmatch(
        r"Stage easy passed at update 4 \(win rate \d+\.\d% \[\d+\.\d% to \d+\.\d% of 60\], "
        r"rating 1,\d{3} \[1,\d{3} to [12],\d{3}\]\); the run goes on in stage hard\.",
        sentence,
    )
    assert sentence in (path / "run.log").read_text()
    assert "| stage 1 of 2: easy, passed " in text
    assert re.search(
        r"evaluation at update 4: .*win_rate \d+\.\d% \(95 % interval \d+\.\d% to \d+\.\d% of 60 matches; ", text
    )
    assert "| stage 2 of 2: hard |" in text
    assert "Stages: easy until update 4, then hard." in text
    assert re.search(r"evaluation at update 6: .*rating [\d,]+ \(95 % interval [\d,]+ to [\d,]+; first", text)
    assert re.search(r"Rating: [\d,]+ \(95 % interval [\d,]+ to [\d,]+\) at update 6 → ", text)
    (transition,) = checkpoint_of(path / "checkpoints", 8).state["curriculum"]["transitions"]
    assert (transition["update"], transition["before"], transition["after"]) == (4, "easy", "hard")


def test_each_stage_is_played_and_measured_with_its_settings(straight: tuple[Path, str], duels: dict[str, Duel]):
    path, _ = straight
    measured = {line["update"]: line.keys() for line in lines(path)}
    assert "evaluation/win_rate_against_random" in measured[4]
    assert "evaluation/win_rate_against_bold" not in measured[4]
    assert {"evaluation/win_rate_against_timid", "evaluation/win_rate_against_bold"} <= measured[6]
    assert "evaluation/win_rate_against_random" not in measured[6]
    counts = [(line["collection/decisions"], line["collection/voided"]) for line in lines(path)[1:]]
    assert counts == sorted(counts)
    assert [voided > 0 for _, voided in counts] == [False] * PASSED_AT + [True] * 4  # only in the second game
    assert all(pool.closed for game in duels.values() for pool in game.pools)


def test_frozen_policies_of_an_earlier_stage_stay_opponents(straight: tuple[Path, str]):
    path, _ = straight
    members = {one["name"]: one for one in json.loads((path / REGISTRY).read_text())["members"]}
    assert members.keys() == {"bold", *(f"past-{update:08d}" for update in range(1, 9))}
    games = {name: read_header(path / "members" / f"{name}.safetensors").game for name in members if name != "bold"}
    assert games == {name: "duel:plain" if int(name[-8:]) <= PASSED_AT else "duel:long" for name in games}
    earlier = "opponents/member_share/past-0000000"
    shares = [name for line in lines(path) if line["update"] > PASSED_AT for name in line if name.startswith(earlier)]
    assert any(int(name[-1]) <= PASSED_AT for name in shares)


def test_an_exploiter_of_an_earlier_stage_does_not_go_on(straight: tuple[Path, str]):
    before, after = (checkpoint_of(straight[0] / "checkpoints", update) for update in (3, PASSED_AT))
    exploiters = [
        unflatten_state(one.tensors("matchmaker"), one.state["matchmaker"])["exploiters"] for one in (before, after)
    ]
    assert exploiters[0]["target"] == "members/target-00000002.safetensors"
    assert exploiters[1]["target"] is None
    assert exploiters[1]["version"] > exploiters[0]["version"]


def test_a_checkpoint_plays_the_game_of_its_stage(straight: tuple[Path, str], capfd: pytest.CaptureFixture[str]):
    path, _ = straight
    before, after = (path / "checkpoints" / f"update-{update:08d}" for update in (PASSED_AT - 1, 8))
    assert (find_policy(before).game, find_policy(after).game) == ("duel:plain", "duel:long")
    assert find_policy(after).game_config().game == "duel:long"
    assert main(["evaluate", str(path), "--matches", "10"]) == 0
    text = capfd.readouterr().out
    for row in (
        "game .* duel:long",
        "against bold, last weights",
        r"rating, averaged weights .*\d+ ± \d+ Elo, \d+ matches",
    ):
        assert re.search(row, text), row
    assert "random" not in text


@pytest.mark.parametrize("update", [3, PASSED_AT, 5])
def test_a_run_that_is_continued_in_any_stage_ends_like_one_that_was_never_interrupted(
    straight: tuple[Path, str], tmp_path: Path, update: int
):
    resume(
        straight[0],
        checkpoint=update,
        new=tmp_path / "branch",
        console=Console(file=StringIO()),
        open_matchmaker=open_league,
    )
    assert_ends_alike(straight[0], tmp_path / "branch", 8)


def test_an_interrupted_evaluation_is_repeated_since_it_may_pass_the_stage(
    straight: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    evaluate, evaluations = RunEvaluator.evaluate, 0

    def interrupted(evaluator: RunEvaluator, last: Policy, average: Policy) -> dict[str, float]:
        nonlocal evaluations
        evaluations += 1
        if evaluations == 3:
            signal.raise_signal(signal.SIGTERM)
        return evaluate(evaluator, last, average)

    with monkeypatch.context() as patch:
        patch.setattr(RunEvaluator, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path)
    saved = find_checkpoint(tmp_path)
    assert (saved.update, saved.state["stage"]) == (PASSED_AT, "easy")
    resume(tmp_path, console=Console(file=StringIO()), open_matchmaker=open_league)
    assert_ends_alike(straight[0], tmp_path, 8)


def test_a_run_goes_back_and_forth_where_the_rules_say_so(tmp_path: Path, duels: dict[str, Duel]):
    rules = {"easy": ["advance.win_rate=0.01", "advance.rating=null", "evaluations=1"], "hard": ["fall_back=0.999"]}
    overrides = [f"curriculum.stages.{stage}.{rule}" for stage, settings in rules.items() for rule in settings]
    text = trained(tmp_path, "updates=5", "evaluation.interval=1", "curriculum.stages.hard.evaluations=2", *overrides)
    assert [line["curriculum/stage"] for line in lines(tmp_path)] == [1, 2, 2, 1, 2, 2]
    assert "Stage hard failed at update 2 (win rate " in text
    assert "Stages: easy until update 0, hard until update 2, easy until update 3, then hard." in text
    plain, long = ([pool for pool in duels[name].pools if pool.slots in (16, 24)] for name in ("plain", "long"))
    assert plain[-1]._seed != plain[-2]._seed != long[-1]._seed  # each begins new matches


def test_thresholds_may_change_when_a_run_is_resumed_and_stages_may_not():
    saved = config().model_dump(mode="json")
    assert resumed_config(saved, ["curriculum.stages.easy.advance.rating=1100"]).curriculum.stages["easy"].advance
    stages = ("curriculum.stages.easy.settings.reward.kind=sparse", 'curriculum.stages.new={"settings": {}}')
    for setting in (*stages, "learner.learning_rate.end=0.1", "reward.weights.hp=1"):
        with pytest.raises(ConfigError, match=r"cannot change when a run is resumed"):
            resumed_config(saved, [setting])


def test_the_help_shows_what_a_stage_has():
    defaults = {setting.path: setting.default for setting in describe(RunConfig)}
    assert defaults["curriculum.stages.NAME.settings"] is None  # required
    assert defaults["curriculum.stages.NAME.advance.win_rate"] == "0.6"
    assert defaults["curriculum.stages.NAME.advance.rating"] == "1400.0"
    assert defaults["curriculum.stages.NAME.evaluations"] == "2"


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("easy.settings.policy.width=8", "curriculum.stages.easy.settings.policy.width cannot differ between stages."),
        ("easy.settings.learner.algorithm=rnad", "curriculum.stages.easy.settings.learner.algorithm cannot differ"),
        (
            "hard.settings.reward.kind=some",
            "curriculum.stages.hard.settings: reward.kind must be one of sparse, dense, ",
        ),
        ("hard.settings.rewards.kind=dense", "curriculum.stages.hard.settings: rewards is not a setting. Did you mean"),
        ("hard.settings.evaluation.matches=0", "evaluation.matches=0, so the stage hard of the curriculum could not"),
        ("easy.advance.win_rat=1", "curriculum.stages.easy.advance.win_rat is not a setting. Did you mean curriculum."),
        ("easy.evaluations=0", "curriculum.stages.easy.evaluations must be a whole number of at least 1, not 0."),
        ("easy.fall_back=0.5", "stages.easy is the first, so it has none to go back to; leave out its fall_back."),
        ("easy.fall_back=0.8", "curriculum.stages.easy: fall_back=0.8 must be less than advance.win_rate=0.8."),
        ("easy.advance=null", "stages.easy.advance is null, so no later stage is ever reached."),
        ("hard.advance.rating=1", "stages.hard is the last, so it is never passed; leave out its advance."),
        ("hart.fall_back=0.5", "curriculum.stages.hart.settings is missing; it must be a group of settings."),
    ],
)
def test_wrong_stages_are_explained(override: str, sentence: str):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        config(f"curriculum.stages.{override}")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("hard.settings.game=duel:alone", "A policy of duel:plain does not play duel:alone; only games of one group"),
        ("hard.settings.evaluation.opponents=bald", "duel:long has no opponent called 'bald'."),
        ("hard.settings.evaluation.anchors.bald=1", "duel:long has no opponent called 'bald'."),
        ("hard.settings.opponents.scripted=bald", "duel:long has no opponent called 'bald'."),
        ("hard.settings.reward.weights.mp=1", "reward.weights.mp is not a"),
        ("hard.settings.game=openspiel:kuhn_poker", "A policy of duel:plain does not play openspiel:kuhn_poker"),
    ],
)
def test_every_stage_is_checked_before_a_run_begins(tmp_path: Path, override: str, sentence: str):
    overrides = [f"curriculum.stages.{override}", "curriculum.stages.hard.settings.reward.kind=dense"]
    with pytest.raises(UserError, match=f"^Stage hard of the curriculum: {re.escape(sentence)}"):
        Run(config(*overrides), tmp_path, open_league)


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        ("goofspiel", "advance.rating=1400 needs an opponent with a known rating, and none of random has one; "),
        ("kuhn_poker", "openspiel:kuhn_poker is measured exactly, without matches, so it has no win rate."),
    ],
)
def test_evaluations_must_measure_what_the_rule_needs(tmp_path: Path, game: str, sentence: str):
    stages = 'curriculum.stages={"one": {"settings": {}}, "two": {"settings": {}}}'
    with pytest.raises(UserError, match=f"^Stage one of the curriculum: {re.escape(sentence)}"):
        Run(config(f"game=openspiel:{game}", "evaluation.anchors={}", stages), tmp_path, open_league)


def test_policies_play_games_of_their_group_only(
    straight: tuple[Path, str], duels: dict[str, Duel], capfd: pytest.CaptureFixture[str]
):
    path, _ = straight
    first = path / "members" / "past-00000001.safetensors"
    assert find_policy(first).load(duels["long"]).state_dict().keys() == load_policy(first).state_dict().keys()
    with pytest.raises(UserError, match=r"past-00000001.safetensors plays duel:plain, not duel:alone"):
        find_policy(first).load(duels["alone"])
    players = [str(first), str(path)]
    assert main(["evaluate", *players, "--matches", "2"]) == 2
    assert "say which they play with --game." in capfd.readouterr().err
    assert main(["evaluate", *players, "--matches", "2", "--game", "duel:long"]) == 0
