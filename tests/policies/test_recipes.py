"""Recipes: what they are short for, with any re-ranker."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade import registry
from faircascade.engine import simulate
from faircascade.exploration import UCB
from faircascade.policies import (
    Bandit,
    EAEpsilonGreedy,
    EALinTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    Policy,
)
from faircascade.registry import from_spec, to_spec
from faircascade.rerankers import EARS, ExposureCharge, Identity, MeritDraws, Reorder, Reranker
from tests.environments import small_environment

RECIPES = [LinUCB, LinTS, EpsilonGreedy, EALinUCB, EALinTS, EAEpsilonGreedy]
RERANKERS = [
    Identity(),
    EARS(tolerance=0.3),
    EARS(tolerance=1.0),
    MeritDraws(sharpness=20.0),
    ExposureCharge(eta=0.05),
    ExposureCharge(eta=0.05, ledger="global"),
    Reorder(),
    Reorder(ledger="global"),
]


@pytest.mark.parametrize(
    ("recipe", "reranker"),
    [
        (EARSLinUCB(), EARS(patience=0.9, tolerance=0.05)),
        (EARSLinUCB(patience=0.5, tolerance=1.0), EARS(patience=0.5, tolerance=1.0)),
        (FRMLinUCB(), MeritDraws(sharpness=400.0)),
        (FRMLinUCB(variant="merit-draws", sharpness=7.0), MeritDraws(sharpness=7.0)),
        (FRMLinUCB(variant="exposure-charge"), ExposureCharge(eta=0.001, ledger="user")),
        (
            FRMLinUCB(variant="exposure-charge", eta=0.2, ledger="global"),
            ExposureCharge(eta=0.2, ledger="global"),
        ),
        (FRMLinUCB(variant="reorder"), Reorder(ledger="user")),
        (FRMLinUCB(variant="reorder", ledger="global"), Reorder(ledger="global")),
    ],
    ids=lambda part: repr(part),
)
def test_the_baselines_of_the_paper_are_linucb_with_a_reranker(
    recipe: Policy, reranker: Reranker
) -> None:
    assert recipe.parts == LinUCB(reranker=reranker).parts == Bandit(reranker=reranker).parts


def test_parameters_of_the_bandit_reach_it_through_the_baselines() -> None:
    common = {"alpha": 0.5, "ridge": 2.0, "sigma": 3.0, "reading": "reference"}
    plain = LinUCB(**common).parts
    assert plain.exploration == UCB(alpha=0.5)
    for recipe in (EARSLinUCB(**common), FRMLinUCB(**common)):
        composed = recipe.parts
        assert (composed.estimator, composed.exploration, composed.reward) == (
            plain.estimator,
            plain.exploration,
            plain.reward,
        )


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
@pytest.mark.parametrize("name", list(registry.components("reranker")))
def test_a_reranker_is_given_by_name_or_as_a_component(recipe: type[Policy], name: str) -> None:
    component = registry.build("reranker", name)
    if component.needs_fixed_ranking and recipe().parts.exploration.is_random:
        with pytest.raises(ValueError, match="leaves nothing to chance"):
            recipe(reranker=name)
        return
    by_name, as_it_is = recipe(reranker=name), recipe(reranker=component)
    assert by_name == as_it_is
    assert by_name.parts.reranker == component
    assert Bandit(reranker=name) == Bandit(reranker=component)
    plain = recipe().label
    for policy in (by_name, Bandit(reranker=name)):
        assert policy.label.endswith(f" + {name}") == (name != "identity")
    assert by_name.label.startswith(plain)


@pytest.mark.parametrize(
    "recipe", [LinTS, EpsilonGreedy, EALinUCB], ids=lambda recipe: recipe.__name__
)
@pytest.mark.parametrize("reranker", RERANKERS, ids=lambda reranker: repr(reranker))
def test_any_recipe_runs_with_any_reranker(recipe: type[Policy], reranker: Reranker) -> None:
    env = small_environment(users=4, items=20, k=4)
    result = simulate(env, recipe(reranker=reranker), rounds=30, seed=2)
    assert result.record.appearances.sum(axis=0).tolist() == [4 * 30] * 4
    assert result.record.appearances.sum(axis=1).max() <= 4 * 30  # once a slate
    assert result.record.item_clicks.sum() == result.record.clicks
    assert result.state.learned.updates.sum() == 4 * 30
    slates = recipe(reranker=reranker).recommend(
        result.state, slice(None), env.items.pool, 4, round=31, seed=2
    )
    assert all(len(set(row)) == 4 for row in slates.items.tolist())
    assert np.isfinite(slates.scores).all()


@pytest.mark.parametrize(
    "policy",
    [
        EARSLinUCB(patience=0.4, tolerance=0.3),
        FRMLinUCB(variant="exposure-charge", eta=0.3, ledger="global"),
        FRMLinUCB(variant="reorder"),
        LinUCB(alpha=0.1, reranker=EARS(tolerance=0.2)),
        EALinTS(weight=(1, 2, 3), reranker=MeritDraws(sharpness=3)),
        EpsilonGreedy(reranker="exposure-charge"),
        Bandit(reranker=Reorder(ledger="global")),
    ],
    ids=lambda policy: policy.label,
)
def test_policies_round_trip_through_a_spec(policy: Policy) -> None:
    spec = to_spec(policy)
    assert from_spec("policy", spec) == policy
    assert to_spec(from_spec("policy", spec)) == spec


def test_labels_name_the_reranker() -> None:
    assert EARSLinUCB().label == "EARSLinUCB"
    assert FRMLinUCB(variant="reorder").label == "FRMLinUCB reorder"
    assert LinUCB().label == "LinUCB"
    assert LinUCB(reranker="ears").label == "LinUCB + ears"
    assert EALinUCB(weight="rbp", reranker="merit-draws").label == "EALinUCB rbp + merit-draws"
    assert Bandit(reranker="reorder").label == "Bandit ucb standard + reorder"


def test_only_an_account_of_all_users_is_shared() -> None:
    assert not LinUCB().shares
    for policy in (
        EARSLinUCB(),
        FRMLinUCB(),
        FRMLinUCB(variant="exposure-charge"),
        LinTS(reranker="ears"),
    ):
        assert not policy.shares
    for variant in ("exposure-charge", "reorder"):
        assert FRMLinUCB(variant=variant, ledger="global").shares
    assert EALinUCB(reranker=Reorder(ledger="global")).shares


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: FRMLinUCB(variant="fair"),
            "variant must be one of merit-draws",
        ),
        (lambda: FRMLinUCB(sharpness=-1.0), "sharpness must be >= 0, got -1.0"),
        (lambda: FRMLinUCB(variant="exposure-charge", eta=-1.0), "eta must be >= 0, got -1.0"),
        (
            lambda: FRMLinUCB(variant="exposure-charge", ledger="all"),
            "ledger must be one of user, global, got 'all'",
        ),
        (
            lambda: FRMLinUCB(variant="reorder", ledger="all"),
            "ledger must be one of user, global, got 'all'",
        ),
        (lambda: EARSLinUCB(patience=0.0), r"patience must be in \(0, 1\], got 0.0"),
        (lambda: EARSLinUCB(tolerance=2.0), "tolerance must be between 0 and 1, got 2.0"),
        (
            lambda: LinUCB(reranker="eers"),
            r"reranker must be one of .* \(did you mean 'ears'\?\), got 'eers'",
        ),
        (
            lambda: LinUCB(reranker=UCB()),
            "reranker must be a reranker",
        ),
        (
            lambda: Bandit(reranker=EARS),
            "reranker must be a reranker",
        ),
    ],
)
def test_wrong_parameters_are_named_at_once(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("variant", "options", "message"),
    [
        ("merit-draws", {"eta": -1.0}, "eta must be >= 0, got -1.0"),
        ("merit-draws", {"ledger": "all"}, "ledger must be one of user, global, got 'all'"),
        ("exposure-charge", {"sharpness": -1.0}, "sharpness must be >= 0, got -1.0"),
        ("reorder", {"eta": -1.0}, "eta must be >= 0, got -1.0"),
    ],
)
def test_wrong_parameters_are_named_even_if_the_variant_does_not_use_them(
    variant: str, options: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FRMLinUCB(variant=variant, **options)
