"""Filters, pins and quotas over HTTP."""

from __future__ import annotations

from tests.service.http.applications import Client

FEATURES = [0.1, 0.2, 0.3, 0.4]


def put(client: Client, item: str, **attributes: object) -> None:
    body = {"features": FEATURES, "attributes": attributes}
    assert client.put(f"/v1/items/{item}", body).status_code in (200, 201)


def test_items_keep_attributes_and_requests_filter_by_them(client: Client) -> None:
    put(client, "a", price=3, tags=["sale", "new", "sale"], gone="x")
    put(client, "b", price=30, tags=["sale"])
    put(client, "a", gone=None)
    attributes = client.get("/v1/items/a").json()["attributes"]
    assert attributes == {"price": 3.0, "tags": ["sale", "new"]}
    where = {"price": {"at_most": 20}, "tags": {"any": ["sale"]}}
    shown = client.post("/v1/recommendations", {"user": "ann", "k": 3, "where": where})
    assert [entry["item"] for entry in shown.json()["items"]] == ["a"]


def test_a_filter_on_what_no_item_has_is_a_conflict_in_a_batch_too(client: Client) -> None:
    wrong = {"user": "ann", "where": {"colour": "red"}}
    alone = client.post("/v1/recommendations", wrong)
    assert alone.status_code == 409
    assert alone.json()["detail"].startswith("body.where.colour is not an attribute of any item")
    both = {"requests": [wrong, {"user": "ann", "k": 1, "at_most": {"supplier": 1}}]}
    results = client.post("/v1/recommendations/batch", both).json()["results"]
    assert [one["status"] for one in results] == [409, 200]


def test_a_pinned_item_has_no_score(client: Client) -> None:
    body = {"user": "ann", "k": 2, "pinned": [{"item": "l", "position": 2}]}
    items = client.post("/v1/recommendations", body).json()["items"]
    assert items[1] == {"item": "l", "score": None}
    assert items[0]["score"] is not None


def test_an_attribute_of_another_kind_is_a_conflict(client: Client) -> None:
    put(client, "a", price=3)
    other = client.put("/v1/items/b", {"features": FEATURES, "attributes": {"price": "low"}})
    assert other.status_code == 409
    assert "attributes.price is number for other items, got text" in other.json()["detail"]
    wrong = client.put("/v1/items/b", {"features": FEATURES, "attributes": {"price": {"a": 1}}})
    assert wrong.status_code == 422
