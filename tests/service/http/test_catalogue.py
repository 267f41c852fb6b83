"""Items and users over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from faircascade.policies import CascadeHybrid, Random
from faircascade.service.http.schemas import Item, ItemPage, User
from faircascade.service.service import Service
from tests.service.http.applications import Client, app_of, calling, new_service

FEATURES = [0.1, 0.2, 0.3, 0.4]


def test_the_catalogue_is_listed_in_pages(client: Client) -> None:
    pages = [
        ItemPage.model_validate(client.get(f"/v1/items?offset={at}&limit=5").json(), strict=True)
        for at in (0, 5, 10, 15)
    ]
    assert [len(page.items) for page in pages] == [5, 5, 2, 0]
    assert "".join(item.item for page in pages for item in page.items) == "abcdefghijkl"
    assert {page.total for page in pages} == {12}


def test_an_item_is_added_then_replaced_then_removed(client: Client) -> None:
    added = client.put("/v1/items/new", {"features": FEATURES, "merit": 2, "group": "x"})
    assert added.status_code == 201
    assert added.json() == {
        "item": "new",
        "features": FEATURES,
        "merit": 2.0,
        "popularity": 0.0,
        "group": "x",
        "supplier": None,
        "topics": [],
        "attributes": {},
    }
    changed = client.put("/v1/items/new", {"features": FEATURES[::-1]})
    assert changed.status_code == 200
    assert changed.json() == added.json() | {"features": FEATURES[::-1]}
    assert client.get("/v1/items/new").json() == changed.json()
    assert client.delete("/v1/items/new").status_code == 204
    assert client.get("/v1/items/new").status_code == 404
    assert client.delete("/v1/items/new").status_code == 404


def test_an_item_has_a_popularity_which_stays_if_left_out(client: Client) -> None:
    client.put("/v1/items/a", {"features": FEATURES, "popularity": 120})
    assert client.put("/v1/items/a", {"features": FEATURES}).json()["popularity"] == 120.0
    answer = client.put("/v1/items/a", {"features": FEATURES, "popularity": -1})
    assert answer.json()["detail"] == "body.popularity must be at least 0, got -1"


def test_items_have_topics_where_all_others_have(tmp_path: Path) -> None:
    with calling(app_of(new_service(tmp_path, policy=CascadeHybrid()))) as client:
        given = {"features": FEATURES, "topics": [0.0, 0.25, 1.0]}
        added = client.put("/v1/items/new", given)
        assert added.status_code == 201
        assert client.get("/v1/items/new").json() == added.json()
        assert {name: added.json()[name] for name in given} == given
        refused = [
            ({"features": FEATURES}, "must have 3 entries, got 0"),
            ({"features": FEATURES, "topics": [1, 1]}, "must have 3 entries, got 2"),
            (given | {"topics": [0, 0, 1.5]}, "must be at most 1, got 1.5"),
            (given | {"topics": [-0.5, 0, 1]}, "must be at least 0, got -0.5"),
        ]
        for body, said in refused:
            answer = client.put("/v1/items/other", body)
            assert answer.status_code == 422
            assert answer.json()["detail"].startswith("body.topics")
            assert answer.json()["detail"].endswith(said)
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
        assert schemas["ItemBody"]["required"] == ["features", "topics"]
        assert len(schemas["ItemBody"]["examples"][0]["topics"]) == 3


def test_items_have_no_topics_where_no_others_have(client: Client) -> None:
    answer = client.put("/v1/items/new", {"features": FEATURES, "topics": [1]})
    assert answer.json()["detail"] == "body.topics must have 0 entries, got 1"
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["ItemBody"]["required"] == ["features"]


def test_an_empty_label_takes_the_label_away(client: Client) -> None:
    before = client.get("/v1/items/a").json()
    assert (before["group"], before["supplier"]) == ("jazz", "blue")
    after = client.put("/v1/items/a", {"features": FEATURES, "group": ""}).json()
    assert (after["group"], after["supplier"]) == (None, "blue")
    client.post("/v1/items", {"items": [{"item": "a", "features": FEATURES, "supplier": ""}]})
    assert client.get("/v1/items/a").json()["supplier"] is None


def test_items_are_put_all_together_or_not_at_all(client: Client) -> None:
    good, bad = {"item": "x", "features": FEATURES}, {"item": "y", "features": FEATURES[:3]}
    answer = client.post("/v1/items", {"items": [good, bad]})
    assert answer.json()["detail"] == "body.items.1.features must have 4 entries, got 3"
    assert client.get("/v1/items").json()["total"] == 12
    answer = client.post("/v1/items", {"items": [good, good]})
    assert answer.json() == {"changed": 1, "total": 13}


@pytest.mark.parametrize("item", ["a/b", "/", "é", "a b", "?", "#", "%", ".", "a\\b", "x" * 256])
def test_an_item_may_have_any_name_that_is_text(client: Client, item: str) -> None:
    assert client.post("/v1/items", {"items": [{"item": item, "features": FEATURES}]}).is_success
    path = "/v1/items/" + "".join(f"%{byte:02X}" for byte in item.encode())
    assert Item.model_validate(client.get(path).json()).item == item
    assert client.delete(path).status_code == 204


@pytest.mark.parametrize("item", ["", "x" * 257, "%00", "a%7F"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_name_that_no_item_can_have_is_refused(client: Client, method: str, item: str) -> None:
    body = {"features": FEATURES} if method == "PUT" else None
    answer = client.request(method, f"/v1/items/{item}", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "path.item")


def test_the_last_item_stays(tmp_path: Path) -> None:
    with calling(app_of(new_service(tmp_path), items=1)) as client:
        answer = client.delete("/v1/items/a")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (409, "path.item")


def test_a_user_can_be_seen_and_forgotten(client: Client) -> None:
    assert client.get("/v1/users/ann").status_code == 404
    clicked, shown, open_ = (client.recommend("ann") for _ in range(3))
    client.learn(clicked["impression_id"], clicked_positions=[2, 3])
    client.learn(shown["impression_id"])
    user = User.model_validate(client.get("/v1/users/ann").json(), strict=True)
    assert (user.recommendations, user.feedback, user.impressions_kept) == (3, 2, 3)
    assert user.preferences is not None
    assert len(user.preferences) == 4
    assert [
        (i.answered, i.clicked_position, i.clicked_positions, i.shown) for i in user.impressions
    ] == [(False, None, None, None), (True, None, [], 3), (True, 2, [2, 3], 2)]
    assert user.impressions[0].items == [entry["item"] for entry in open_["items"]]
    assert user.impressions[0].time == "2023-11-14T22:13:20.000Z"
    assert client.delete("/v1/users/ann").status_code == 204
    assert client.get("/v1/users/ann").status_code == 404
    assert client.learn(open_["impression_id"]).status_code == 404


def test_a_policy_that_learns_nothing_has_no_preferences(tmp_path: Path) -> None:
    service: Service = new_service(tmp_path, policy=Random())
    with calling(app_of(service)) as client:
        client.learn(client.recommend("ann")["impression_id"], clicked_position=1)
        user = client.get("/v1/users/ann").json()
    assert (user["preferences"], user["feedback"], user["recommendations"]) == (None, 0, 1)
