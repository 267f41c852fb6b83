"""Summaries agree with the library's metrics, and have the form of the API."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.metrics.diversity import Coverage
from faircascade.metrics.exposure import exposure_p, lorenz
from faircascade.metrics.fairness import EqualityB, EqualityP, EquityB, EquityP
from faircascade.rerankers.ledger import UNIT
from faircascade.service.exposure import ExposureSnapshot, Recipients
from faircascade.service.exposure.counters import Counters
from faircascade.service.exposure.shares import leading
from faircascade.service.exposure.summary import exposure, history, item_exposure
from faircascade.service.http import schemas
from tests.service.exposure.events import (
    NOW,
    Unshown,
    answered,
    catalogue,
    events_at,
    listed,
    record_of,
    told,
)

GROUPS = ["jazz", "folk|jazz", "rock", "jazz", "folk", "rock|folk|jazz", "rock", "pop"]
SUPPLIERS = ["s", None, "t", "t|u", None, "s", "t", "u"]
many = st.lists(events_at(st.floats(NOW - 50, NOW), partly=False), max_size=25)

NOBODY = Recipients(slots=np.empty(0, dtype=np.int32), ids=(), merit=np.empty(0))
"""A catalogue without items."""


def snapshot_of(events) -> ExposureSnapshot:
    account = Counters()
    account.count(events, NOW, NOBODY)
    account.advance(NOW, NOBODY)
    return account.snapshot("1h", NOW)


@given(st.lists(st.tuples(st.permutations(range(8)), st.integers(1, 8), st.booleans())))
def test_slates_that_were_partly_shown_count_as_shorter_ones(slates) -> None:
    items = catalogue(8)
    events = []
    for slots, seen, told_now in slates:
        unshown = Unshown(NOW, seen, list(slots[seen:]))
        answer = told(NOW, unshown=unshown) if seen < 8 else answered(NOW)
        events += [listed(NOW, *slots), *([answer] if told_now else [])]
    shorter = [listed(NOW, *slots[: seen if said else 8]) for slots, seen, said in slates]
    found, wanted = (exposure(snapshot_of(some), items) for some in (events, shorter))
    assert found["fairness"] == wanted["fairness"]
    assert found["lorenz"] == wanted["lorenz"]
    assert (found["positions"], found["positions_shown"]) == (8 * len(slates), wanted["positions"])


@given(many)
def test_fairness_is_what_the_metrics_say(events) -> None:
    items = catalogue(8)
    record = record_of(events, items, k=5)
    found = exposure(snapshot_of(events), items)["fairness"]
    exact = {"equality_b": EqualityB(), "equity_b": EquityB(), "coverage": Coverage()}
    for name, metric in exact.items():
        value = metric.measure(record)
        assert found[name] == (None if math.isnan(value) else value)
    for name, metric in {"equality_p": EqualityP(), "equity_p": EquityP()}.items():
        value = metric.measure(record)
        wanted = None if math.isnan(value) else pytest.approx(value, abs=4 * UNIT)
        assert found[name] == wanted


@given(many)
def test_groups_are_what_the_metrics_add_up(events) -> None:
    items = catalogue(8, groups=GROUPS)
    record = record_of(events, items, k=5)
    names, added = record.by_group(GROUPS)
    found = {
        recipient["name"]: recipient for recipient in exposure(snapshot_of(events), items)["groups"]
    }
    assert sorted(found) == list(names)
    everything = exposure_p(record).sum()
    for place, name in enumerate(names):
        recipient = found[name]
        assert recipient["items"] == sum(name in label.split("|") for label in GROUPS)
        assert recipient["appearances"] == added.appearances[place].sum()
        assert recipient["clicks"] == added.item_clicks[place].sum()
        assert recipient["exposure"] == pytest.approx(exposure_p(added)[place], abs=200 * UNIT)
        assert recipient["merit_share"] == pytest.approx(added.merit[place] / items.merit.sum())
        share = exposure_p(added)[place] / everything if everything else 0.0
        assert recipient["exposure_share"] == pytest.approx(share, abs=4 * UNIT)
        assert recipient["ratio"] == pytest.approx(
            recipient["exposure_share"] / recipient["merit_share"]
        )


@given(many, st.integers(0, 8), st.integers(1, 4))
def test_every_summary_has_the_form_of_the_api(events, m, limit) -> None:
    items = catalogue(m, first=2, groups=GROUPS[:m], suppliers=SUPPLIERS[:m])
    account = Counters()
    account.count(events, NOW, items)
    account.advance(NOW + 200, items)
    for name in ("all", "1h", "24h", "7d"):
        snapshot = account.snapshot(name, NOW + 200)
        schemas.Exposure.model_validate(exposure(snapshot, items, limit), strict=True)
        json.dumps(exposure(snapshot, items, limit), allow_nan=False)
        for order in ("over", "under", "clicks"):
            page = item_exposure(snapshot, items, order, 1, limit)
            schemas.ItemExposure.model_validate(page, strict=True)
            assert (page["total"], len(page["items"])) == (m, min(limit, max(m - 1, 0)))
    for name in ("1h", "24h", "7d"):
        schemas.History.model_validate(
            history(account.timeline(name, NOW + 200), items), strict=True
        )


def test_several_clicks_of_a_slate_are_all_counted() -> None:
    events = [listed(NOW, 0, 1, 2), answered(NOW, 0, 2), listed(NOW, 0, 1, 2), answered(NOW)]
    found = exposure(snapshot_of(events), catalogue(3), limit=3)
    assert (found["answers"], found["clicks"], found["clicked"]) == (2, 2, 1)
    assert found["click_rate"] == 1.0
    by_item = {one["name"]: one["clicks"] for one in found["over_exposed"]}
    by_item |= {one["name"]: one["clicks"] for one in found["under_exposed"]}
    assert by_item == {"item-0": 1, "item-1": 0, "item-2": 1}


def test_a_summary_by_hand() -> None:
    items = Recipients(
        slots=np.array([0, 1, 2]),
        ids=["a", "b", "c"],
        merit=np.array([1.0, 2.0, 1.0]),
        suppliers=["x", "x|y", None],
    )
    # a: twice first = 2; b: once third = 1/2; slot 7 was removed, and had position 2 twice
    events = [listed(NOW, 0, 7), listed(NOW, 0, 7, 1), answered(NOW, 0), answered(NOW, 7)]
    found = exposure(snapshot_of([*events, answered(NOW)]), items, limit=2)
    assert found["window"] == {
        "name": "1h",
        "since": "2023-11-14T21:14:00.000Z",
        "until": "2023-11-14T22:13:20.000Z",
    }
    assert (found["recommendations"], found["answers"], found["clicks"]) == (2, 3, 2)
    assert (found["clicked"], found["click_rate"]) == (2, 2 / 3)
    assert found["items"] == 3
    assert found["fairness"]["coverage"] == 2 / 3
    a = {
        "name": "a",
        "items": 1,
        "appearances": 2,
        "exposure": 2.0,
        "handed_out": 2,
        "exposure_handed_out": 2.0,
        "clicks": 1,
        "exposure_share": 0.8,
        "merit_share": 0.25,
        "ratio": 3.2,
    }
    b = a | {"name": "b", "appearances": 1, "exposure": 0.5, "clicks": 0}
    b |= {"handed_out": 1, "exposure_handed_out": 0.5}
    b |= {"exposure_share": 0.2, "merit_share": 0.5, "ratio": 0.4}
    c = a | {"name": "c", "appearances": 0, "exposure": 0.0, "clicks": 0}
    c |= {"handed_out": 0, "exposure_handed_out": 0.0}
    c |= {"exposure_share": 0.0, "merit_share": 0.25, "ratio": 0.0}
    assert found["over_exposed"] == [a]
    assert found["under_exposed"] == [c, b]
    assert found["groups"] == []
    x = a | {"name": "x", "items": 2, "appearances": 3, "exposure": 2.5, "exposure_share": 1.0}
    x |= {"handed_out": 3, "exposure_handed_out": 2.5}
    x |= {"merit_share": 0.75, "ratio": 1 / 0.75}
    assert found["suppliers"] == [x, b | {"name": "y"}]
    assert found["lorenz"] == {
        "items": [0.0, 1 / 3, 2 / 3, 1.0],
        "exposure_b": [0.0, 0.0, 1 / 3, 1.0],
        "exposure_p": [0.0, 0.0, 0.2, 1.0],
        "exposure_pm": [0.0, 0.0, 0.25 / 2.25, 1.0],
    }


def test_where_nothing_was_shown_shares_are_zero_and_nothing_is_measured() -> None:
    found = exposure(snapshot_of([]), catalogue(3), limit=5)
    assert found["click_rate"] is None
    assert found["fairness"] == {
        "equality_b": None,
        "equality_p": None,
        "equity_b": None,
        "equity_p": None,
        "coverage": 0.0,
    }
    assert found["lorenz"]["exposure_b"] is found["lorenz"]["exposure_pm"] is None
    assert found["over_exposed"] == found["under_exposed"] == []


def test_a_catalogue_without_items_has_a_summary() -> None:
    found = exposure(snapshot_of([listed(NOW, 1)]), NOBODY)
    assert (found["recommendations"], found["items"]) == (1, 0)
    assert set(found["fairness"].values()) == {None}
    assert found["over_exposed"] == found["groups"] == []


def test_items_that_were_added_later_count_as_never_shown() -> None:
    events = [listed(NOW, 0, 1)]
    assert exposure(snapshot_of(events), catalogue(2))["fairness"]["coverage"] == 1.0
    found = exposure(snapshot_of(events), catalogue(8))
    assert found["fairness"]["coverage"] == 0.25
    assert found["under_exposed"][0]["appearances"] == 0


def test_ties_are_in_the_order_of_exposure_merit_and_id() -> None:
    items = Recipients(
        slots=np.arange(6),
        ids=["f", "e", "d", "c", "b", "a"],
        merit=np.array([1.0, 2.0, 1.0, 1.0, 2.0, 1.0]),
    )
    # f and d: exposure 1 for merit 1; e: 2 for 2; c, b, a: nothing
    snapshot = snapshot_of([listed(NOW, 0), listed(NOW, 2), listed(NOW, 1), listed(NOW, 1)])
    found = exposure(snapshot, items, limit=6)
    assert [recipient["name"] for recipient in found["over_exposed"]] == ["e", "d", "f"]
    assert [recipient["name"] for recipient in found["under_exposed"]] == ["b", "a", "c"]
    for order, names in {"over": "edfabc", "under": "bacedf"}.items():
        listed_items = item_exposure(snapshot, items, order, 0, 6)["items"]
        assert "".join(recipient["name"] for recipient in listed_items) == names


def test_pages_of_items_follow_each_other() -> None:
    items = catalogue(8)
    snapshot = snapshot_of([listed(NOW, 1, 2, 3), listed(NOW, 1), answered(NOW, 3)])
    for order in ("over", "under", "clicks"):
        whole = item_exposure(snapshot, items, order, 0, 8)["items"]
        pages = [item_exposure(snapshot, items, order, at, 3)["items"] for at in (0, 3, 6, 9)]
        assert [recipient for page in pages for recipient in page] == whole
    most = item_exposure(snapshot, items, "clicks", 0, 1)["items"]
    assert [(recipient["name"], recipient["clicks"]) for recipient in most] == [("item-3", 1)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30), st.integers(0, 40))
def test_what_leads_is_the_begin_of_a_full_sort(pairs, limit) -> None:
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    last = np.random.default_rng(len(pairs)).permutation(len(pairs))
    full = np.lexsort([last, pairs[:, 1], pairs[:, 0]])
    found = leading(limit, pairs[:, 0], pairs[:, 1], last)
    assert found.tolist() == full[:limit].tolist()


@pytest.mark.parametrize("m", [1, 2, 99, 100, 101, 1000, 2810])
def test_a_lorenz_curve_has_few_points_at_even_distances(m: int) -> None:
    rng = np.random.default_rng(m)
    slates = [listed(NOW, *rng.choice(m, min(m, 5), replace=False)) for _ in range(300)]
    items = catalogue(m)
    curve = exposure(snapshot_of(slates), items)["lorenz"]
    full = lorenz(record_of(slates, items, k=5).appearances.sum(axis=1).astype(float))
    assert len(curve["items"]) == min(m, 100) + 1
    assert np.ptp(np.diff(curve["items"])) <= 1 / m + 1e-12
    at = np.rint(np.array(curve["items"]) * m).astype(int)
    np.testing.assert_array_equal(curve["exposure_b"], full[1][at])
    for name in ("exposure_b", "exposure_p", "exposure_pm"):
        assert (curve[name][0], curve[name][-1]) == (0.0, 1.0)
        assert (np.diff(curve[name]) >= 0).all()


def test_extreme_merit_gives_numbers_that_json_knows() -> None:
    items = Recipients(
        slots=np.arange(3),
        ids=["a", "b", "c"],
        merit=np.array([1.7e308, 1.7e308, 5e-324]),
        groups=["g", "g", "h"],
    )
    found = exposure(snapshot_of([listed(NOW, 2, 1), listed(NOW, 2)]), items)
    json.dumps(found, allow_nan=False)
    assert found["over_exposed"][0]["name"] == "c"
    assert found["fairness"]["equality_b"] is not None


def test_history_shows_each_step_and_measures_what_is_not_settled() -> None:
    items = catalogue(4)
    account = Counters()
    account.count([listed(NOW - 600, 0, 1, 2, 3), answered(NOW - 600, 1)], NOW - 600, items)
    account.count([listed(NOW, 0)], NOW, items)
    found = history(account.timeline("1h", NOW), items)
    assert found["step_seconds"] == 60
    past, last = found["moments"][-11], found["moments"][-1]
    assert (past["recommendations"], past["answers"], past["click_rate"]) == (1, 1, 1.0)
    assert past["fairness"]["equality_b"] == past["fairness"]["coverage"] == 1.0
    assert last["fairness"]["equality_b"] == last["fairness"]["coverage"] == 0.25
    assert (last["until"], last["click_rate"]) == (found["window"]["until"], None)
    idle = found["moments"][0]
    assert (idle["recommendations"], idle["fairness"]["equality_b"]) == (0, None)


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="merit must be one for each of the 2 items, got 3"):
        Recipients(slots=np.arange(2), ids=["a", "b"], merit=np.ones(3))
