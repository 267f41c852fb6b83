"""Exposure over HTTP, as the schemas say."""

from __future__ import annotations

import pytest

from faircascade.service.http.schemas import Exposure, History, ItemExposure
from faircascade.service.service import Service
from tests.service.http.applications import Client


@pytest.fixture
def shown(client: Client, service: Service) -> Client:
    """A client of a service that has handed out some slates."""
    for user in ("ann", "bob", "cas"):
        client.learn(client.recommend(user)["impression_id"], clicked_position=1)
    client.recommend("dan")
    client.run(service.exposure.catch_up, service.store)
    return client


@pytest.mark.parametrize("window", ["all", "1h", "24h", "7d"])
def test_exposure_is_summed_up_for_every_window(shown: Client, window: str) -> None:
    answer = shown.get(f"/v1/exposure?window={window}&limit=2")
    summary = Exposure.model_validate(answer.json(), strict=True)
    assert (summary.recommendations, summary.answers, summary.clicks) == (4, 3, 3)
    assert summary.window.name == window
    assert len(summary.over_exposed) == len(summary.under_exposed) == 2
    assert {recipient.name for recipient in summary.groups} == {"jazz", "pop"}
    assert len(summary.suppliers) == 2
    more = Exposure.model_validate(shown.get(f"/v1/exposure?window={window}").json())
    assert {recipient.name for recipient in more.suppliers} == {"blue", "red", "green"}
    assert more.suppliers[:2] == summary.suppliers
    exposure = [recipient.exposure for recipient in more.suppliers]
    assert exposure == sorted(exposure, reverse=True)


def test_exposure_before_the_first_slate_is_null_rather_than_an_error(client: Client) -> None:
    for window in ("all", "1h"):
        summary = Exposure.model_validate(client.get(f"/v1/exposure?window={window}").json())
        assert (summary.click_rate, summary.fairness["equality_b"]) == (None, None)


@pytest.mark.parametrize("order", ["over", "under", "clicks"])
def test_items_are_listed_by_their_exposure(shown: Client, order: str) -> None:
    answer = shown.get(f"/v1/exposure/items?window=1h&order={order}&offset=1&limit=3")
    page = ItemExposure.model_validate(answer.json(), strict=True)
    assert (page.total, len(page.items)) == (12, 3)
    whole = shown.get(f"/v1/exposure/items?window=1h&order={order}").json()
    assert answer.json()["items"] == whole["items"][1:4]


@pytest.mark.parametrize("order", ["over", "under", "clicks"])
@pytest.mark.parametrize(("by", "names"), [("group", 2), ("supplier", 3)])
def test_groups_and_suppliers_are_listed_some_at_a_time(
    shown: Client, order: str, by: str, names: int
) -> None:
    path = f"/v1/exposure/items?window=all&by={by}&order={order}"
    whole = ItemExposure.model_validate(shown.get(path).json(), strict=True)
    assert whole.total == len({recipient.name for recipient in whole.items}) == names
    assert sum(recipient.items for recipient in whole.items) == 12
    field = "clicks" if order == "clicks" else "ratio"
    values = [getattr(recipient, field) for recipient in whole.items]
    assert values == sorted(values, reverse=order != "under")
    page = ItemExposure.model_validate(shown.get(f"{path}&offset=1&limit=1").json())
    assert (page.total, page.items) == (names, whole.items[1:2])


@pytest.mark.parametrize("window", ["1h", "24h", "7d"])
def test_history_goes_step_by_step(shown: Client, window: str) -> None:
    history = History.model_validate(
        shown.get(f"/v1/exposure/history?window={window}").json(), strict=True
    )
    assert sum(moment.recommendations for moment in history.moments) == 4


def test_history_has_no_window_without_a_begin(client: Client) -> None:
    answer = client.get("/v1/exposure/history?window=all")
    assert answer.json()["detail"] == "query.window must be one of '1h', '24h' or '7d', got 'all'"
