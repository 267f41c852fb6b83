"""Which items a metric is taken over: all of the catalogue, or those that can be recommended."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.engine import Result, simulate
from faircascade.engine.result import eligible_metrics, item_metrics
from faircascade.environment import Environment
from faircascade.metrics import ItemMetric
from faircascade.policies import LinUCB, Random
from faircascade.registry import build, components

OVER = [name for name, kind in components("metric").items() if issubclass(kind, ItemMetric)]


def environment(items: int = 30, ineligible: int = 10) -> Environment:
    """The last items cannot be recommended; with `ineligible=0` they are not there."""
    rng = np.random.default_rng(3)
    features = rng.uniform(0.1, 0.6, size=(30, 3))[:items]
    env = Environment.from_arrays(
        features,
        np.random.default_rng(4).uniform(0.1, 0.6, size=(8, 3)),
        k=3,
        merit=np.linspace(0.1, 1.0, 30)[:items],
        popularity=np.arange(30.0)[:items],
        groups={"half": np.array(["a", "b"])[np.arange(items) % 2]},
    )
    env.items.eligible[items - ineligible :] = False
    return env


@pytest.fixture(scope="module")
def result() -> Result:
    return simulate(environment(), LinUCB(), rounds=20, seed=1, engine="loop")


@pytest.fixture(scope="module")
def without(result: Result) -> Result:
    """The same run in a catalogue of the eligible items alone."""
    return simulate(environment(20, 0), LinUCB(), rounds=20, seed=1, engine="loop")


@pytest.mark.parametrize("name", OVER)
def test_over_eligible_is_as_if_the_others_were_not_there(
    name: str, result: Result, without: Result
) -> None:
    assert result.measure(name, over="eligible") == pytest.approx(without.metrics[name], rel=1e-12)
    assert result.measure(name, over="catalogue") == result.metrics[name]
    assert without.measure(name, over="eligible") == without.metrics[name]
    assert result.curves[f"eligible.{name}"][-1] == result.measure(name, over="eligible")


@pytest.mark.parametrize("name", ["equality_b", "equity_p"])
def test_groups_add_up_the_items_that_count(name: str, result: Result, without: Result) -> None:
    found = result.measure(name, group="half", over="eligible")
    assert found == pytest.approx(without.measure(name, group="half"), rel=1e-12)


def test_the_metrics_of_users_are_not_about_items() -> None:
    assert set(components("metric")) - set(OVER) == {"clicks", "clicked", "regret"}
    with pytest.raises(ValueError, match="over must be one of catalogue, eligible, got 'all'"):
        build("metric", "equality_b", {"over": "all"})
    with pytest.raises(ValueError, match="over must be one of"):
        build("metric", "tail_share", {"over": "all"})


def test_nothing_is_measured_twice_where_all_items_are_eligible(without: Result) -> None:
    assert eligible_metrics(without.env) == {}
    assert not any(name.startswith("eligible.") for name in without.curves)
    assert list(item_metrics()) == OVER


def test_random_slates_are_even_over_what_can_be_shown() -> None:
    """The more slates the closer to 1; over the catalogue never above the share of eligible."""
    env = environment()
    result = simulate(env, Random(), rounds=400, seed=2, engine="loop")
    assert result.measure("equality_b", over="eligible") > 0.95
    assert result.equality_b == pytest.approx(
        result.measure("equality_b", over="eligible") * 20 / 30
    )
