"""Names for components: lookups, mistakes, specs."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest

from faircascade import registry
from faircascade.errors import ParameterError
from faircascade.exploration import UCB
from faircascade.metrics import Metric
from faircascade.policies import Bandit, EALinUCB, LinUCB
from faircascade.rewards import ExposureAware, Linear


def test_an_unknown_name_is_answered_with_what_there_is() -> None:
    with pytest.raises(
        ValueError,
        match=r"policy must be one of \d+ names \(did you mean 'linucb'\?\), got 'linucd'",
    ):
        registry.lookup("policy", "linucd")


def test_a_name_with_parameters_is_answered_with_the_name_alone() -> None:
    with pytest.raises(ValueError, match=r"mean 'linucb'\?\), got 'linucb\(alpha=1\)'"):
        registry.lookup("policy", "linucb(alpha=1)")


def test_an_unknown_parameter_is_answered_with_a_suggestion() -> None:
    with pytest.raises(
        ValueError, match=r"policy 'linucb' has no parameter 'alfa' \(did you mean 'alpha'\?\)"
    ):
        registry.build("policy", "linucb", {"alfa": 1})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "wide"}, "alpha must be a number, got 'wide'"),
        ({"alpha": True}, "alpha must be a number, got True"),
        ({"alpha": None}, "alpha must be a number, got None"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        registry.build("policy", "linucb", parameters)


def test_a_name_cannot_be_taken_twice() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Other(Metric):
        def measure(self, record: object) -> float:
            return 0.0

    with pytest.raises(ValueError, match="metric 'clicks' is already"):
        registry.register("clicks")(Other)


def test_a_class_without_a_room_is_refused() -> None:
    class Homeless(registry.Component):
        pass

    with pytest.raises(TypeError, match="Homeless must derive from the base class of its room"):
        registry.register("x")(Homeless)


def test_nested_components_round_trip() -> None:
    policy = Bandit(
        exploration=UCB(alpha=2.0),
        reward=ExposureAware(weight=Linear(beta=0.2), gamma=0.1, reading="reference"),
    )
    spec = registry.to_spec(policy)
    assert spec["reward"]["weight"] == {"name": "linear", "beta": 0.2}
    assert registry.from_spec("policy", spec) == policy


def test_a_table_without_a_name_is_for_the_default_part() -> None:
    policy = registry.from_spec("policy", {"name": "bandit", "exploration": {"alpha": 2}})
    assert policy == Bandit(exploration=UCB(alpha=2.0))


@pytest.mark.parametrize("name", ["most-popular", "most_popular"])
def test_a_name_may_be_written_with_a_dash_or_an_underscore(name: str) -> None:
    assert registry.build("policy", name).name == "most-popular"
    assert registry.from_spec("policy", {"name": name}).name == "most-popular"


def test_parts_can_be_given_by_name() -> None:
    policy = Bandit(exploration="ucb", reward=ExposureAware(weight="linear"))
    assert policy == Bandit(exploration=UCB(), reward=ExposureAware(weight=Linear()))
    assert Bandit(exploration={"name": "ucb", "alpha": 0.5}).exploration == UCB(alpha=0.5)
    for wrong in ({"reward": UCB()}, {"exploration": UCB}, {"reward": ExposureAware}):
        with pytest.raises(ParameterError) as told:
            Bandit(**wrong)
        assert told.value.name == next(iter(wrong))


def test_recipes_are_equal_by_their_parameters() -> None:
    assert LinUCB(alpha=1) == LinUCB(alpha=1.0)
    assert EALinUCB(weight=[1, 2]) == EALinUCB(weight=(1.0, 2.0))
    assert EALinUCB(weight="log") != EALinUCB(weight="rbp")
    assert EALinUCB(weight="rbp") == EALinUCB(weight="rbp", beta=0.9)


def test_an_entry_point_brings_components_in(monkeypatch, tmp_path) -> None:
    (tmp_path / "plug.py").write_text(
        "from dataclasses import dataclass\n"
        "from faircascade.metrics import Metric\n"
        "from faircascade.registry import register\n"
        "@register('plugged')\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Plugged(Metric):\n"
        "    'A metric from elsewhere.'\n"
        "    title = 'Plugged'\n"
        "    def measure(self, record):\n"
        "        return 1.0\n"
    )
    info = tmp_path / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[faircascade.components]\nplug = plug\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.discovery.import_rooms.cache_clear()
    try:
        assert registry.build("metric", "plugged").measure(None) == 1.0
    finally:
        registry.names.registered["metric"].pop("plugged", None)


@pytest.mark.parametrize("kind", registry.kinds())
def test_help_explains_every_parameter_that_has_a_description(kind: str) -> None:
    for cls in registry.components(kind).values():
        for parameter in registry.parameters_of(cls):
            assert not parameter.description or f"{parameter.name}: " in (cls.__doc__ or "")


def test_help_of_a_bandit_lists_its_parts() -> None:
    for parameter in registry.parameters_of(Bandit):
        parts = registry.components(parameter.kind).items()
        built_in = [name for name, cls in parts if cls.__module__.startswith("faircascade.")]
        said = " ".join((Bandit.__doc__ or "").split())
        assert re.search(rf"{parameter.name}: {', '.join(built_in)}(?! ?,)", said)


def test_help_explains_every_parameter_of_a_policy() -> None:
    for parameter in registry.parameters_of(EALinUCB):
        assert parameter.description
        assert f"{parameter.name}: " in (EALinUCB.__doc__ or "")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"name": "bandit", "reward": {"name": "exposure-aware", "gamma": -1}}, "reward.gamma"),
        ({"name": "bandit", "reward": {"name": "exposure-aware", "gama": 1}}, "reward.gama"),
        ({"name": "bandit", "reward": {"name": "none"}}, "reward.name"),
        ({"name": "bandit", "reward": {"gamma": 1}}, "reward.gamma"),
        ({"name": "bandit", "reward": {"name": 3}}, "reward.name"),
        (
            {"name": "bandit", "reward": {"name": "exposure-aware", "weight": {"name": "custom"}}},
            "reward.weight.weights",
        ),
        (
            {"name": "bandit", "reward": {"name": "exposure-aware", "weight": "custom"}},
            "reward.weight.weights",
        ),
        ({"name": "ealinucb", "weight": "custom"}, "weight.weights"),
        ({"name": "ealinucb", "weight": {"name": "custom"}}, "weight.weights"),
        ({"name": "bandit", "reward": "none"}, "reward"),
        ({"name": "bandit", "reward": 3}, "reward"),
    ],
)
def test_an_error_inside_a_part_has_a_dotted_name(spec: dict, name: str) -> None:
    with pytest.raises(ParameterError) as error:
        registry.from_spec("policy", spec)
    assert error.value.name == name
    assert pickle.loads(pickle.dumps(error.value)).name == name


def test_values_are_checked_and_normalised_on_every_route() -> None:
    for made in (
        LinUCB(alpha=1),
        registry.build("policy", "linucb", {"alpha": 1}),
        registry.from_spec("policy", {"name": "linucb", "alpha": np.int64(1)}),
    ):
        assert type(made.alpha) is float
    with pytest.raises(ParameterError, match="alpha must be a number, got 'wide'"):
        LinUCB(alpha="wide")
