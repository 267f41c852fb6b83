"""The strength of fair policies: declared by a part, found in a policy, halved until it fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import faircascade as fc
from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.tuning.bounds import Bound
from faircascade.experiment.tuning.proposals import CLOSE, Bisection
from faircascade.experiment.tuning.search import Search
from faircascade.experiment.tuning.strength import find_strength
from faircascade.experiment.tuning.trial import Trial
from faircascade.policies import Policy
from faircascade.registry import build, components
from faircascade.rerankers import FairCo
from tests.experiment.specs import TUNE

FAIR = (
    *("fairco", "p-mmf", "frank-wolfe", "min-share", "calibrated", "mmr", "xquad"),
    *("exposure-charge", "merit-draws", "ears"),
)
WITHIN = TUNE[: TUNE.index("[tune]")] + '[tune]\npolicy = 0\nfairest_within = "2%"\n'


@pytest.mark.parametrize("name", FAIR)
def test_every_fair_reranker_says_what_buys_fairness_with_clicks(name: str) -> None:
    found = find_strength(fc.LinUCB(reranker=name))
    assert found is not None
    dotted, strength = found
    assert dotted == f"reranker.{strength.parameter}"
    for value in (strength.weakest, strength.strongest):
        build("reranker", name, {strength.parameter: value})  # both ends are allowed


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (fc.FairXLinUCB(), "sharpness"),
        (fc.FairXTS(), "sharpness"),
        (fc.EARSLinUCB(), "tolerance"),
        (fc.EALinUCB(), "gamma"),
        (fc.EALinUCB(reranker="fairco"), "reranker.strength"),
        (fc.LinUCB(), None),
        (fc.Random(), None),
    ],
)
def test_the_strength_of_a_part_comes_before_the_policys_own(
    policy: Policy, name: str | None
) -> None:
    found = find_strength(policy)
    assert (found and found[0]) == name


def test_who_has_a_strength_has_the_parameter() -> None:
    for kind in ("policy", "reranker"):
        for cls in components(kind).values():
            if cls.strength_range is not None:
                assert cls.strength_range.parameter in {
                    p.name for p in fc.registry.parameters_of(cls)
                }


@dataclass
class Costs:
    """A policy whose cost in clicks rises with the logarithm of its strength."""

    least: float
    most: float

    def of(self, strength: float) -> float:
        share = (math.log(strength) - math.log(1e-9)) / -math.log(1e-9)
        return self.least + (self.most - self.least) * share


def bisected(cost: Callable[[float], float], start: float = 0.01, trials: int = 8) -> list[Trial]:
    bound = Bound.of("clicks >= -2%")
    table = WITHIN.replace(
        'name = "linucb"\nalpha = 0.25',
        f'name = "linucb"\nreranker = {{name = "fairco", strength = {start}}}',
    )
    search = Search.of(Spec.parse(table))
    assert search.strength == FairCo.strength_range
    assert search.bounds == (bound,)
    proposals = Bisection(search.candidates, search.strength, search.bounds)
    found: list[Trial] = []
    while len(found) < trials and (values := proposals.next()) is not None:
        own = 1.0 - cost(values["reranker.strength"])
        excess = bound.excess(own, 1.0)
        found.append(Trial(number=len(found) + 1, values=values, means={}, excesses=(excess,)))
        proposals.tell(found[-1])
    return found


@given(st.floats(0.0, 0.01), st.floats(0.05, 0.5), st.floats(-8.0, -0.5))
def test_eight_trials_come_near_to_the_bound(least: float, most: float, start: float) -> None:
    costs = Costs(least, most)
    trials = bisected(costs.of, start=float(f"{10**start:.3g}"))
    assert trials[0].values["reranker.strength"] == pytest.approx(10**start, rel=0.01)
    kept = [costs.of(t.values["reranker.strength"]) for t in trials if t.is_feasible]
    step = (most - least) / 2 ** (len(trials) - 2)
    assert max(kept) >= 0.02 - max(step, 0.02 * CLOSE) - 1e-6


def test_a_search_ends_when_the_bound_is_nearly_used_up() -> None:
    trials = bisected(lambda _: 0.019)
    assert len(trials) == 1


def test_where_even_the_weakest_costs_too_much_the_search_says_so_and_ends() -> None:
    """The fourth trial is the weakest value."""
    trials = bisected(lambda _: 0.1)
    assert [t.values["reranker.strength"] for t in trials][-1] == 1e-9
    assert len(trials) == 4
    assert not any(t.is_feasible for t in trials)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('"2"', 'must be a share of the clicks between 0% and 100%, like "2%", got .2.'),
        ('"150%"', "between 0% and 100%"),
        ('"0%"', "between 0% and 100%"),
    ],
)
def test_a_share_of_the_clicks_is_one(written: str, message: str) -> None:
    text = WITHIN.replace('"2%"', written).replace("policy = 0", "policy = 1")
    with pytest.raises(SpecError, match=message):
        Search.of(Spec.parse(text))


def test_a_policy_without_a_strength_needs_a_table_to_search() -> None:
    with pytest.raises(SpecError, match="linucb, which has no strength"):
        Search.of(Spec.parse(WITHIN))


def search_of(policy: str, **tune: Any) -> Search:
    return Search.of(Spec.parse(WITHIN.replace("policy = 0", policy)), **tune)


def test_the_fairest_is_the_most_equal_unless_another_metric_is_named() -> None:
    assert (search_of("policy = 1").metric, search_of("policy = 1").maximize) == (
        "equality_b",
        True,
    )
    assert search_of('policy = 1\nmaximize = "worst_tenth"').metric == "worst_tenth"
