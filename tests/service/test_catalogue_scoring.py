"""Slates that are put together from segments are those that the policy makes of all items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.exploration import UCB, Epsilon, Thompson
from faircascade.policies import Bandit, LinUCB, Policy
from faircascade.random import keys_of
from faircascade.rerankers import (
    EARS,
    Discount,
    ExposureCharge,
    Identity,
    LoggedRandomisation,
    MeritDraws,
    Reorder,
)
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue import segment
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue_scoring import CatalogueJob
from faircascade.service.new_users import NewUsers
from faircascade.service.stores.base import StoredItem
from faircascade.service.stores.item_columns import ItemColumns
from faircascade.types import Feedback, Items, Users

DIM = 4
SEED = 3
POLICIES = [
    LinUCB(),
    Bandit(exploration=UCB(alpha=0.0)),
    Bandit(exploration=UCB(alpha=50.0), reranker=EARS(tolerance=0.5)),
    Bandit(reranker=Reorder(ledger="user")),
    Bandit(reranker=Reorder(ledger="global")),
    Bandit(reranker=LoggedRandomisation(share=0.9, shortlist=6)),
    Bandit(exploration=Thompson(), reranker=Discount()),
    Bandit(exploration=Thompson()),
    Bandit(reranker=Discount()),
    Bandit(reranker=MeritDraws(sharpness=3.0)),
]
WAYS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SIZE", 8)


def catalogue_of(features: np.ndarray, removed: Sequence[int] = (), merit_of: int = 3) -> Catalogue:
    stored = [
        StoredItem(
            id=f"i{slot}",
            features=row,
            slot=slot,
            merit=1.0 + slot % merit_of,
            removed=slot in removed,
        )
        for slot, row in enumerate(features)
    ]
    return Catalogue.empty(features.shape[1]).changed(ItemColumns.of(stored, features.shape[1]))


def plain_slates(
    policy: Policy,
    catalogue: Catalogue,
    users: Sequence[str],
    sums: np.ndarray,
    rounds: np.ndarray,
    k: int,
    without: np.ndarray,
    accounts: Sequence[dict[int, int]],
    units: np.ndarray,
) -> tuple[list[list[int]], list[list[float]], np.ndarray]:
    """Return slots, scores and features of what the policy itself recommends."""
    whole = catalogue.items
    items = Items(
        ids=whole.ids.copy(),
        features=np.ascontiguousarray(whole.features),
        eligible=whole.eligible,
        merit=whole.merit,
        popularity=whole.popularity,
        topics=whole.topics,
    )
    vars(items)["keys"] = keys_of(catalogue.names(catalogue.slots))
    ledger = None
    if policy.ledger_scope == "global":
        ledger = policy.ledger_of(items, units[None].copy())
    if policy.ledger_scope == "user":
        owed = np.array([[a.get(slot, 0) for slot in items.ids.tolist()] for a in accounts])
        ledger = policy.ledger_of(items, owed)
    state = policy.from_sums(Users(ids=np.array(users)), sums, items.dim, ledger=ledger)
    pool = items.among(np.setdiff1d(np.arange(len(items)), without))
    slates = policy.recommend(state, slice(None), pool, k, round=rounds, seed=SEED)
    return (
        items.ids[slates.items].tolist(),
        slates.scores.tolist(),
        items.features[slates.items],
    )


def compare(
    policy: Policy,
    catalogue: Catalogue,
    sums: np.ndarray,
    lengths: Sequence[int],
    without: Sequence[np.ndarray],
    seed: int = 0,
) -> None:
    """Compare one job for all users with the policy's own slates of each."""
    draw = np.random.default_rng(seed)
    n, m = len(sums), len(catalogue)
    users = [f"user {n}" for n in range(n)]
    rounds = draw.integers(1, 9, size=n)
    gains = exposure_units(5)
    slots = catalogue.slots.tolist()
    accounts = [
        {int(slot): int(draw.choice(gains)) for slot in draw.choice(slots, size=min(m, 5))}
        for _ in range(n)
    ]
    units = draw.choice(gains, size=m) * draw.integers(0, 4, size=m)
    lengths = [min(k, m - len(out)) for k, out in zip(lengths, without, strict=True)]
    job = CatalogueJob(
        policy=policy,
        users=users,
        sums=sums,
        rounds=rounds,
        accounts=accounts,
        seed=SEED,
        catalogue=catalogue,
        new_users=NewUsers(policy, SEED),
        lengths=lengths,
        without=without,
        units=units,
    )
    for user, slate in enumerate(job.run()):
        one = slice(user, user + 1)
        slots_, scores, features = plain_slates(
            policy,
            catalogue,
            users[one],
            sums[one],
            rounds[one],
            lengths[user],
            without[user],
            accounts[one],
            units,
        )
        assert slate.slots.tolist() == slots_[0]
        assert slate.scores == scores[0]
        assert np.array_equal(slate.features, features[0])


def learned(policy: Policy, features: np.ndarray, users: int, seed: int) -> np.ndarray:
    """Return sums of users of whom some are new and others have clicked."""
    draw = np.random.default_rng(seed)
    blank = policy.from_sums(
        Users(ids=np.array(["x"])),
        np.zeros((1, 1 + DIM + DIM * (DIM + 1) // 2)),
        DIM,
    )
    sums = np.repeat(policy.sums(blank), users, axis=0)
    for user in range(users):
        for _ in range(int(draw.integers(0, 4))):
            shown = draw.choice(len(features), size=min(4, len(features)), replace=False)[None]
            clicks = np.zeros(shown.shape, dtype=bool)
            clicks[0, int(draw.integers(0, shown.shape[1]))] = draw.random() < 0.7
            sums[user] += policy.increments(
                Feedback(
                    items=shown,
                    features=features[shown],
                    clicks=clicks,
                    shown=np.array([shown.shape[1]]),
                    topics=np.zeros((*shown.shape, 0)),
                )
            )[0]
    return sums


def rows_of(kind: str, items: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(items, DIM))
    if kind == "unit":
        rows /= np.linalg.norm(rows, axis=1)[:, None]
    if kind == "few":  # many ties
        rows = rows[draw.integers(0, 4, size=items) % items]
    if kind == "close":  # apart by less than single precision tells
        rows = rows[:1] + 1e-9 * rows
    if kind == "wild":
        rows *= 10.0 ** draw.integers(-6, 4, size=items)[:, None]
    return rows


@given(
    policy=st.sampled_from(POLICIES),
    kind=st.sampled_from(["unit", "plain", "few", "close", "wild"]),
    items=st.integers(2, 60),
    users=st.integers(1, 12),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
@settings(WAYS, max_examples=150)
def test_slates_are_those_of_the_policy(
    policy: Policy, kind: str, items: int, users: int, seed: int, data: st.DataObject
) -> None:
    features = rows_of(kind, items, seed)
    removed = data.draw(st.sets(st.integers(0, items - 1), max_size=items - 1))
    catalogue = catalogue_of(features, removed)
    m = len(catalogue)
    without = [
        np.array(sorted(data.draw(st.sets(st.integers(0, m - 1), max_size=m - 1))), dtype=np.int64)
        for _ in range(users)
    ]
    lengths = [data.draw(st.integers(1, 7)) for _ in range(users)]
    compare(policy, catalogue, learned(policy, features, users, seed), lengths, without, seed)


@pytest.mark.parametrize("kind", ["unit", "few", "close"])
@pytest.mark.parametrize("policy", [POLICIES[0], POLICIES[2], POLICIES[7], POLICIES[8]])
def test_large_catalogues_too(kind: str, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "SIZE", 2_000)
    features = rows_of(kind, 11_000, 5)
    catalogue = catalogue_of(features, removed=range(0, 11_000, 7))
    draw = np.random.default_rng(1)
    without = [np.sort(draw.choice(len(catalogue), n, replace=False)) for n in (0, 3, 400) * 4]
    sums = learned(policy, features, 12, 2)
    compare(policy, catalogue, sums, [10, 1, 20] * 4, without)
    compare(policy, catalogue, sums[:1], [10], without[:1])


def test_a_shortlist_larger_than_what_is_left_is_all_of_it() -> None:
    policy = Bandit(reranker=LoggedRandomisation(share=0.9, shortlist=50))
    features = rows_of("unit", 20, 1)
    without = [np.arange(n) for n in (0, 5, 17)]
    compare(policy, catalogue_of(features), learned(policy, features, 3, 1), [3, 3, 3], without)


def test_changes_of_the_catalogue_reach_new_users() -> None:
    policy, features = LinUCB(), rows_of("plain", 30, 2)
    first = catalogue_of(features)
    remembered = NewUsers(policy, SEED)
    for catalogue in (first, catalogue_of(features, removed=[1, 2]), first):
        best = remembered.shortlist(catalogue, 3, np.uint64(5), np.empty(0, np.int64))
        items = catalogue.items
        exact = np.sqrt((items.features**2).sum(axis=1))
        assert best.rows.tolist() == np.argsort(-exact)[:3].tolist()


@pytest.mark.parametrize(
    "policy",
    [
        Bandit(exploration=Epsilon()),
        Bandit(reranker=ExposureCharge()),
        type("MyUCB", (LinUCB,), {"recommend": lambda *_, **__: None})(),
        Bandit(reranker=type("Mine", (Identity,), {})()),
        Bandit(exploration=type("Mine", (UCB,), {})()),
    ],
)
def test_what_may_depend_on_the_whole_pool_is_left_to_the_policy(policy: Policy) -> None:
    assert not policy.itemwise


def test_a_segment_that_seems_near_and_is_not_adds_nothing() -> None:
    """Single precision cannot tell these items apart, and exact scores can."""
    features = np.tile([[1.0, 0.0, 0.0, 0.0]], (40, 1)) * (1.0 - 2e-9 * np.arange(40)[:, None])
    policy = Bandit(exploration=UCB(alpha=0.0))
    sums = learned(policy, features, 9, 1)
    compare(policy, catalogue_of(features), sums, [3] * 9, [np.arange(n) for n in range(9)])
