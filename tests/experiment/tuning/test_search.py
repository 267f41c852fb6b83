"""The [tune] table: what it may say, and mistakes told before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from faircascade.experiment.spec import Spec
from faircascade.experiment.spec.errors import SpecError
from faircascade.experiment.tuning.bounds import Bound
from faircascade.experiment.tuning.candidates import policy_of
from faircascade.experiment.tuning.ranges import Choices, NumberRange
from faircascade.experiment.tuning.search import Search
from tests.experiment.specs import TUNE


def search(text: str = TUNE, *settings: str) -> Search:
    return Search.of(Spec.parse(text, where="mine.toml", settings=settings))


def test_a_table_says_what_to_search_and_for_what() -> None:
    found = search()
    assert (found.metric, found.maximize) == ("equality_p", True)
    assert found.bounds == (Bound("clicks", ">=", -3.0, True),)
    assert (found.trials, found.seeds, found.rounds, found.sampler_seed) == (6, (101, 102), 30, 0)
    assert found.candidates.ranges == {
        "weight": Choices(("log", "rbp")),
        "gamma": NumberRange(1e-4, 0.1, log=True),
        "alpha": NumberRange(0.05, 1.0),
        "beta": NumberRange(0.1, 0.9, step=0.1),
    }
    assert found.metrics == ("equality_p", "clicks")


def test_what_is_not_said_has_a_default() -> None:
    text = TUNE.replace("trials = 6\nseeds = [101, 102]\n", "")
    found = search(text.replace('subject_to = "clicks >= -3%"\n', ""))
    assert (found.trials, found.bounds) == (30, ())
    assert found.seeds == (1_000_001, 1_000_002, 1_000_003)  # far from those of the comparison
    assert search(TUNE.replace("[101, 102]", "4")).seeds[-1] == 1_000_004


def test_bounds_can_be_several() -> None:
    text = TUNE.replace('"clicks >= -3%"', '["clicks >= -3%", "regret <= 9.5"]')
    assert [str(bound) for bound in search(text).bounds] == ["clicks >= -3%", "regret <= 9.5"]


def test_a_policy_is_known_by_its_number() -> None:
    assert search(TUNE, "tune.policy=1").candidates.written["name"] == "ealinucb"


def test_trials_can_be_set_from_outside() -> None:
    assert Search.of(Spec.parse(TUNE), trials=3).trials == 3
    with pytest.raises(ValueError, match="trials must be at least 1, got 0"):
        Search.of(Spec.parse(TUNE), trials=0)


def test_values_for_every_policy_are_as_if_written_there() -> None:
    found = search(TUNE.replace("[[policies]]", "[every_policy]\nsigma = 2.0\n\n[[policies]]", 1))
    assert policy_of(found.candidates.entry(found.candidates.start)).sigma == 2.0


def test_a_number_goes_only_with_names_that_have_it() -> None:
    """The weight "log" has no beta, "rbp" has."""
    candidates = search().candidates
    values = {"gamma": 0.01, "alpha": 0.5}
    assert candidates.has({**values, "weight": "rbp", "beta": 0.3})
    assert candidates.has({**values, "weight": "log"})
    assert not candidates.has({**values, "weight": "log", "beta": 0.3})
    assert not candidates.has({**values, "weight": "rbp"})
    assert not candidates.has({**values, "weight": "rbp", "beta": 0.35})  # between two steps
    assert not candidates.has({**values, "weight": "linear"})


def test_a_written_value_gives_way_where_names_rule_it_out() -> None:
    """Written is rbp with a beta; with log that beta must go, and with rbp it is what is tried."""
    candidates = search(TUNE.replace('weight = "log"', 'weight = "rbp"\nbeta = 0.7')).candidates
    assert candidates.start["beta"] == 0.7
    assert policy_of(candidates.entry({"weight": "log"})).beta is None
    assert policy_of(candidates.entry({"weight": "rbp", "beta": 0.2})).beta == 0.2


def test_parameters_of_parts_of_a_policy_can_be_searched() -> None:
    text = TUNE.replace('name = "ealinucb"\nweight = "log"', 'name = "bandit"\nreward = "standard"')
    text = text.replace('policy = "ealinucb"', 'policy = "bandit"')
    text = text[: text.index("[tune.search]")]
    text += "[tune.search]\nexploration.alpha = {low = 0.1, high = 0.3}\n"
    candidates = search(text).candidates
    assert candidates.start == {"exploration.alpha": 0.25}
    policy = policy_of(candidates.entry({"exploration.alpha": 0.2}))
    assert (policy.exploration.name, policy.exploration.alpha) == ("ucb", 0.2)
    with pytest.raises(SpecError, match=r"mine\.toml:33: exploration\.alpha must be >= 0"):
        search(text.replace("low = 0.1", "low = -0.1"))


def test_the_end_of_a_range_is_a_step() -> None:
    found = search(TUNE.replace("high = 0.9, step", "high = 0.95, step"))
    assert found.candidates.ranges["beta"] == NumberRange(0.1, 0.9, step=0.1)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('policy = "ealinucb"', 'policy = "ealinucbb"', 26, "did you mean 'ealinucb'"),
        ('policy = "ealinucb"', "policy = 2", 26, "or its number from 0, got 2"),
        ('policy = "ealinucb"', "policy = true", 26, "got True"),
        ('policy = "ealinucb"', "", 25, "policy"),
        ("maximize =", "maximise =", 27, "did you mean 'maximize'"),
        ('"equality_p"', '"equality"', 27, "did you mean 'equality_p'"),
        ('"equality_p"', '"regret"', 27, "use minimize"),
        ("maximize =", "minimize =", 27, "use maximize"),
        ('maximize = "equality_p"', "", 25, "maximize"),
        ("clicks >= -3%", "clicks > -3%", 28, "a bound must be like"),
        ("clicks >= -3%", "clikcs >= -3%", 28, "did you mean 'clicks'"),
        ('"clicks >= -3%"', '["clicks >= -3%", 4]', 28, "subject_to must be"),
        ('"clicks >= -3%"', "3", 28, "subject_to must be"),
        ("trials = 6", "trials = 0", 29, "trials must be at least 1"),
        ("trials = 6", 'trials = "six"', 29, "trials must be a whole number"),
        ("[101, 102]", "[2, 101]", 30, "seeds must not be among those of .run."),
        ("[101, 102]", "[101, 101]", 30, "seeds must be at least one and distinct"),
        ("[101, 102]", '"few"', 30, "seeds must be"),
        ("[101, 102]", "0", 30, "seeds must be at least one"),
        ("trials = 6", "rounds = 31", 29, "rounds must be at most 30"),
        ("trials = 6", "sampler_seed = -1", 29, "sampler_seed must be at least 0"),
        ("alpha = {low", "alhpa = {low", 34, "did you mean 'alpha'"),
        ("alpha = {low = 0.05", "alpha = {low = 2", 34, "low must be at most high"),
        ("alpha = {low = 0.05", "alpha = {low = -1", 34, "alpha must be >= 0, got -1"),
        ("alpha = {low = 0.05", "alpha = {low = nan", 34, "low must be a finite number"),
        ("alpha = {low = 0.05,", "alpha = {", 34, "must say its low"),
        ("alpha = {low = 0.05, high = 1.0}", "alpha = 3", 34, "a range must be like"),
        ("alpha = {low = 0.05, high", "alpha = {low = 0.05, hihg", 34, "did you mean 'high'"),
        ("1e-4, high = 0.1", "0, high = 0.1", 33, "low must be above 0 if log is true"),
        ("log = true", "log = 1", 33, "log must be true or false"),
        ("log = true", "log = true, step = 0.1", 33, "step must be left out"),
        ("step = 0.1", "step = 0", 36, "step must be above 0"),
        ("beta = {low = 0.1", "beta = {low = -0.1", 36, "beta must be in .0, 1. for rbp"),
        ('["log", "rbp"]', '["log", "rpb"]', 35, "did you mean 'rbp'"),
        ('["log", "rbp"]', '["log", [1, 2]]', 35, "must cover all 3 positions"),
        ('["log", "rbp"]', "[]", 35, "at least one value"),
        ('["log", "rbp"]', '["log", "log"]', 35, "choices must be distinct"),
        ('choices = ["log", "rbp"]', 'choices = ["log"], low = 1', 35, "has no parameter 'low'"),
        ("k = 3", "k.grid = [3, 4]", 9, "one environment"),
        ("users = 20", "users.grid = [20, 30]", 5, "one environment"),
        ('weight = "log"', 'weight.grid = ["log", "rbp"]', 23, "not a grid"),
    ],
)
def test_a_mistake_is_told_with_the_line_and_what_was_meant(
    old: str, new: str, line: int, message: str
) -> None:
    assert old in TUNE
    with pytest.raises(SpecError, match=message) as error:
        search(TUNE.replace(old, new, 1))
    assert str(error.value).startswith(f"mine.toml:{line}: ")


def test_mistakes_about_the_table_as_a_whole() -> None:
    without = TUNE[: TUNE.index("[tune]")]
    with pytest.raises(SpecError, match=r"mine\.toml: the spec must have the table \[tune\]"):
        search(without)
    with pytest.raises(SpecError, match=r"mine\.toml:25: \[tune.search\] must name"):
        search(
            TUNE[: TUNE.index("[tune.search]")].replace('policy = "ealinucb"', 'policy = "linucb"')
        )
    twice = TUNE.replace("[tune]", '[[policies]]\nname = "ealinucb"\nweight = "rbp"\n\n[tune]')
    with pytest.raises(SpecError, match=r"mine\.toml:30: .* several times.* 1 or 2"):
        search(twice)
    with pytest.raises(SpecError, match=r"--set run.rounds=0: rounds must be at least 1 to tune"):
        search(TUNE, "run.rounds=0")
    with pytest.raises(SpecError, match=r"mine\.toml:30: seeds must not"):
        search(TUNE, "run.seeds=[101]")
    shared = TUNE.replace(
        "[[policies]]", "[every_policy]\nsigma.grid = [1.0, 2.0]\n\n[[policies]]", 1
    )
    with pytest.raises(SpecError, match=r"mine\.toml:18: .* not a grid"):
        search(shared)


def test_the_example_of_the_docs_can_be_searched() -> None:
    page = Path(__file__).parents[3] / "docs/how-to/tuning.md"
    text = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    found = search(text)
    assert (found.trials, len(found.candidates.ranges)) == (20, 4)


def test_the_metric_may_be_typed_with_a_dash() -> None:
    assert Search.of(Spec.parse(TUNE, settings=["tune.maximize=equality-p"])).metric == "equality_p"
