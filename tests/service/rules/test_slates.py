"""Slates of the service are those of an obvious implementation: filter, rank everything, walk."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.exploration import UCB, Epsilon, Thompson
from faircascade.policies import Bandit, LinUCB, Policy
from faircascade.policies.topical import CascadeLSB
from faircascade.policies.yardsticks import MostPopular, Random
from faircascade.rerankers import (
    EARS,
    Discount,
    ExposureCharge,
    LoggedRandomisation,
    MeritDraws,
    Reorder,
)
from faircascade.service import catalogue_scoring, pool_quotas
from faircascade.service.catalogue import segment
from faircascade.service.event_log.notes import LOGGED
from faircascade.service.messages import (
    FeedbackRequest,
    ItemChange,
    RecommendationRequest,
    Refused,
)
from faircascade.service.rules.rules import Rules
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import UserStates
from tests.service.rules.slow import Oracle, expected
from tests.service.stores.memory_store import MemoryStore

DIM, TOPICS = 3, 2
EXAMPLES = 70
USERS = st.sampled_from(["new", "newer", "ann"])
POLICIES: list[Policy] = [
    LinUCB(),
    Bandit(exploration=UCB(alpha=50.0), reranker=EARS(tolerance=0.5)),
    Bandit(reranker=Reorder(ledger="user")),
    Bandit(reranker=Reorder(ledger="global")),
    Bandit(reranker=LoggedRandomisation(share=0.9, shortlist=6)),
    Bandit(exploration=Thompson()),
    Bandit(reranker=Discount()),
    Bandit(reranker=MeritDraws(sharpness=3.0)),
    Bandit(reranker=ExposureCharge(eta=0.1)),
    Bandit(exploration=Epsilon(epsilon=0.5)),
    CascadeLSB(),
    Random(),
    MostPopular(),
]
PRICES = st.sampled_from([1.0, 2.5, 20.0])


def catalogue(seed: int, count: int) -> list[ItemChange]:
    """Return items of which several have the same features, groups and attributes."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(int(rng.integers(1, count + 1)), DIM))

    def some(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    def attributes() -> dict[str, Any]:
        tags = [tag for tag in ("sale", "new", "a|b") if rng.random() < 0.3]
        found = {
            "price": some(None, 1.0, 2.5, 20.0),
            "tags": tags or None,
            "sold": some(None, True, False),
            "language": some(None, "de", "en"),
        }
        return {name: value for name, value in found.items() if value is not None}

    return [
        ItemChange(
            item=f"i{n}",
            features=kinds[n % len(kinds)],
            topics=rng.uniform(size=TOPICS),
            merit=some(1.0, 2.0, 7.0),
            popularity=some(0.0, 3.0, 9.0),
            group=some("", "jazz", "pop", "jazz|pop", "rock"),
            supplier=some("", "jazz", "pop", "jazz|pop", "rock"),
            attributes=attributes(),
        )
        for n in range(count)
    ]


TEXTS = {
    "any": st.lists(st.sampled_from(["de", "fr", "jazz", "sale", "new", "pop"]), min_size=1),
    "not": st.lists(st.sampled_from(["de", "jazz", "sale"]), min_size=1) | st.just("jazz"),
    "known": st.booleans(),
}
NUMBERS = {
    **dict.fromkeys(("at_least", "at_most", "above", "below"), PRICES),
    "any": st.lists(PRICES, min_size=1),
    "known": st.booleans(),
}


def _condition(operators: dict[str, Any], plain: Any) -> Any:
    some = st.fixed_dictionaries({}, optional=operators).filter(bool)
    return plain | some


CONDITIONS = {
    "price": _condition(NUMBERS, PRICES),
    "popularity": _condition({n: NUMBERS[n] for n in ("at_least", "below")}, PRICES),
    "merit": _condition({n: NUMBERS[n] for n in ("above", "at_most")}, PRICES),
    "language": _condition(TEXTS, st.sampled_from(["de", "xx"])),
    "tags": _condition({**TEXTS, "all": TEXTS["any"]}, st.sampled_from(["sale", "a|b"])),
    "group": _condition(TEXTS, st.sampled_from(["jazz", "pop"])),
    "supplier": _condition({**TEXTS, "all": TEXTS["any"]}, st.just("rock")),
    "sold": _condition({"known": st.booleans(), "not": st.booleans()}, st.booleans()),
}
QUOTAS = st.fixed_dictionaries(
    {}, optional={"group": st.integers(1, 3), "supplier": st.integers(1, 2)}
)


@st.composite
def rules(draw: st.DrawFn, names: list[str], have: set[str], k: int | None) -> dict[str, Any]:
    """Return rules, of a request if there is a k, about attributes that items have."""
    usable = [name for name in CONDITIONS if name in have]
    about = draw(st.lists(st.sampled_from(usable), max_size=2, unique=True))
    given: dict[str, Any] = {"at_most": draw(st.just({}) | QUOTAS)}
    if about:
        given["where"] = {name: draw(CONDITIONS[name]) for name in about}
    positions = draw(st.lists(st.integers(1, k or 6), max_size=3, unique=True))
    pinned = draw(st.permutations([*names, "unknown"]))
    given["pinned"] = [
        {"item": item, "position": position}
        for item, position in zip(pinned, positions, strict=False)
    ]
    return given


class Watched(MemoryStore):
    """Remembers what it said of users."""

    last: UserStates | None = None

    async def begin_round(self, users: Any, *, accounts: bool = False) -> UserStates:
        self.last = await super().begin_round(users, accounts=accounts)
        return self.last


@given(
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 2**16),
    count=st.integers(2, 40),
    data=st.data(),
)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@pytest.mark.parametrize(("size", "ahead"), [(8, 1), (8, 4), (16_384, 4)])
def test_slates_are_those_of_the_slow_way(
    policy: Policy,
    seed: int,
    count: int,
    data: st.DataObject,
    size: int,
    ahead: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segment, "SIZE", size)
    monkeypatch.setattr(catalogue_scoring, "AHEAD", ahead)  # a front that has to be extended
    monkeypatch.setattr(pool_quotas, "AHEAD", max(ahead, 2))
    items = catalogue(seed, count)
    names = [item.item for item in items]
    have = {"group", "supplier", "merit", "popularity", *(a for i in items for a in i.attributes)}
    house = data.draw(st.just({}) | rules(names, have, None), label="rules of the house")
    asked = []
    for user in data.draw(st.lists(USERS, min_size=2, max_size=5)):
        k = data.draw(st.integers(1, 6))
        some = st.lists(st.sampled_from(names), max_size=12, unique=True)
        asked.append(
            RecommendationRequest(
                user=user,
                k=k,
                exclude=data.draw(some),
                candidates=data.draw(st.none() | some),
                **data.draw(rules(names, have, k)),
            )
        )
    asyncio.run(_compare(policy, items, house, asked))


async def _compare(
    policy: Policy, items: list[ItemChange], house: Any, asked: list[RecommendationRequest]
) -> None:
    store = Watched()
    limits = ServiceSettings(rules=Rules.model_validate(house), event_log=True)
    service = Service(policy, store, dim=DIM, topics=TOPICS, settings=limits, seed=3)
    plain = Service(policy, store, dim=DIM, topics=TOPICS, seed=3)
    await plain.start()
    await plain.put_items(items)
    await plain.store.remove_items(["i1"])
    await plain.follow_catalogue()
    items_now = {item.item: item for item in items if item.item != "i1"}
    for user in ("ann", "bob"):
        for _ in range(2):
            (shown,) = await plain.recommend([RecommendationRequest(user=user, k=3)])
            answer = FeedbackRequest(impression_id=shown.impression_id, clicked_position=1)
            await plain.learn([answer])
    await plain.exposure.catch_up(store)
    await service.start()
    for request in asked:  # one by one and, below, all at once
        (found,) = await service.recommend([request])
        await _check(service, store, request, found, items_now, house)
    together = await service.recommend(asked)
    for found in together:
        if not isinstance(found, Refused):
            (alone,) = await store.impressions([found.impression_id])
            assert found.items == service.catalogue.names(alone.slots)
    await service.stop()


async def _check(
    service: Service,
    store: Watched,
    request: RecommendationRequest,
    found: Any,
    items: dict[str, ItemChange],
    house: Any,
) -> None:
    units = service.exposure.units_of(service.catalogue.slots)
    assert store.last is not None
    where = [one for one in (house.get("where"), _plain(request)) if one]
    quotas = dict(house.get("at_most", {}))
    for column, most in request.at_most.items():
        quotas[column] = min(most, quotas.get(column, most))
    pins = {pin.position: pin.item for pin in request.pinned}
    for pin in house.get("pinned", []):
        free = pin["position"] not in pins and pin["position"] <= request.k
        if free and pin["item"] not in {one.item for one in request.pinned}:
            pins[pin["position"]] = pin["item"]
    oracle = Oracle(service.policy, service.catalogue, store.last, units, service.seed)
    if isinstance(found, Refused):
        slate = ([], [], None)
        if "is not an attribute" in found.message:  # the item that had it is gone
            return
        slate = expected(oracle, request, items, where, quotas, pins)
        assert not slate[0], found
        return
    names, scores, known = expected(oracle, request, items, where, quotas, pins)
    assert list(found.items) == names
    assert list(found.scores) == scores
    (kept,) = await store.impressions([found.impression_id])
    features = np.array([[*items[n].features, *items[n].topics] for n in names])
    assert np.array_equal(kept.features, features)
    pinned = [n for n, score in enumerate(scores, start=1) if score is None]
    assert kept.note.get("pinned", []) == pinned
    noted = kept.note[LOGGED]
    assert ("scores" in noted) is (not pinned)
    if pinned == list(range(1, len(names) + 1)):
        assert set(noted.get("cascade_propensity", ())) <= {1.0}
    elif known is None:
        assert "cascade_propensity" not in noted
    else:
        given, so_far, place = [], 1.0, 0
        single = None if known.item_position is None else []
        for score in scores:
            if score is not None:
                so_far = float(known.cascade[0, place])
            given.append(so_far)
            if single is not None:
                single.append(1.0 if score is None else float(known.item_position[0, place]))
            place += score is not None
        assert np.allclose(noted["cascade_propensity"], given, rtol=1e-9)
        if single is not None:
            assert np.allclose(noted["item_position_propensity"], single, rtol=1e-9)


def _plain(request: RecommendationRequest) -> dict[str, Any] | None:
    if not request.where:
        return None
    return {name: condition.given for name, condition in request.where.items()}
