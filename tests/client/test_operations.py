"""What each call asks of the service and makes of its answer, with the service's own schemas."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from faircascade.client import (
    CatalogueChange,
    Client,
    Feedback,
    Item,
    RecommendationRequest,
    ServiceError,
)
from faircascade.service.http import schemas
from tests.client.examples import IMPRESSION, RECEIPT, example
from tests.client.server import Server, does_nothing, refuses, says, shows_a_page

STRANGE_IDS = [
    "a/b",
    "a b",
    "ü",
    "a?b",
    "a%2Fb",
    "a#b",
    "a+b",
    "/",
    "../x",
    ".",
    "..",
    "\U0001d11e",
    "a;b",
]


def test_a_recommendation_is_an_impression(server: Server, client: Any) -> None:
    server.will(says(example(schemas.Recommendation)))
    assert client.recommend("user-7", k=3, candidates={"song-3": 1}, exclude=["x"]) == IMPRESSION
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "v1/recommendations")
    assert schemas.RecommendationRequest.model_validate(seen.body) == schemas.RecommendationRequest(
        user="user-7", k=3, candidates=["song-3"], exclude=["x"]
    )


def test_no_candidates_means_all_and_an_empty_list_means_none(server: Server, client: Any) -> None:
    server.will(says(example(schemas.Recommendation)), says(example(schemas.Recommendation)))
    client.recommend("u")
    client.recommend("u", candidates=[])
    assert server.seen[0].body == {"user": "u", "k": 10}
    assert server.seen[1].body == {"user": "u", "k": 10, "candidates": []}


@pytest.mark.parametrize(
    ("arguments", "named", "expected"),
    [
        ([IMPRESSION, 2], {}, {"clicked_position": 2}),
        ([IMPRESSION], {"clicked": np.int64(2)}, {"clicked_position": 2}),
        ([IMPRESSION, [2, 1]], {}, {"clicked_positions": [2, 1]}),
        ([IMPRESSION], {"clicked": np.array([1, 2])}, {"clicked_positions": [1, 2]}),
        ([IMPRESSION, ()], {}, {"clicked_positions": []}),
        (["1f-Zq3vT0kX5mE"], {"clicked_item": "song-8"}, {"clicked_item": "song-8"}),
        ([IMPRESSION], {"shown": 4}, {"shown": 4}),
        (
            [IMPRESSION, 2],
            {"values": {np.int64(2): {"watch_seconds": np.float64(95)}, 4: {"purchase": 1}}},
            {
                "clicked_position": 2,
                "values": [
                    {"position": 2, "watch_seconds": 95.0},
                    {"position": 4, "purchase": 1.0},
                ],
            },
        ),
        ([IMPRESSION], {}, {}),
    ],
)
def test_feedback_names_positions_an_item_or_no_click(
    server: Server, client: Any, arguments: Any, named: Any, expected: Any
) -> None:
    server.will(says(example(schemas.FeedbackReceipt)))
    assert client.feedback(*arguments, **named) == RECEIPT
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "v1/feedback")
    assert seen.body == {"impression_id": "1f-Zq3vT0kX5mE"} | expected
    schemas.FeedbackRequest.model_validate(seen.body)


def test_a_receipt_has_the_values_that_were_sent(server: Server, client: Any) -> None:
    document = example(schemas.FeedbackReceipt)
    server.will(says(document | {"values": [{"position": 2, "watch_seconds": 95.0}]}))
    assert client.feedback(IMPRESSION, 2).values == {2: {"watch_seconds": 95.0}}


def test_a_batch_gives_errors_in_the_place_of_what_failed(server: Server, client: Any) -> None:
    problem = example(schemas.Problem)
    server.will(
        says(
            {
                "results": [
                    {"status": 200, "recommendation": example(schemas.Recommendation)},
                    {"status": 422, "problem": problem},
                ]
            }
        ),
        says(
            {
                "results": [
                    {"status": 409, "problem": problem | {"status": 409}, "receipt": None},
                    {"status": 200, "receipt": example(schemas.FeedbackReceipt), "problem": None},
                ]
            }
        ),
    )
    shown, refused = client.recommend_many(
        [RecommendationRequest("user-7", k=3), RecommendationRequest("u", k=0)]
    )
    assert shown == IMPRESSION
    assert isinstance(refused, ServiceError)
    assert refused.errors[0].field == "body.k"
    conflict, receipt = client.feedback_many([Feedback(shown, clicked=1), Feedback("x", clicked=2)])
    assert conflict.status == 409
    assert receipt == RECEIPT
    assert [seen.path for seen in server.seen] == ["v1/recommendations/batch", "v1/feedback/batch"]
    assert server.seen[0].body["requests"][0] == {"user": "user-7", "k": 3}
    schemas.FeedbackBatch.model_validate(server.seen[1].body)


def test_an_empty_batch_asks_nothing(server: Server, client: Any) -> None:
    assert client.recommend_many([]) == []
    assert client.feedback_many(iter(())) == []
    assert not server.seen


def test_a_batch_with_a_result_too_few_is_refused(server: Server, client: Any) -> None:
    server.will(says({"results": []}))
    with pytest.raises(ServiceError, match="Unexpected Answer"):
        client.recommend_many([RecommendationRequest("u")])


def test_items_are_put_with_rows_of_an_array(server: Server, client: Any) -> None:
    server.will(says({"changed": 2, "total": 12}))
    rows = np.array([[0.5, -0.25], [1, 2]], dtype=np.float32)
    items = [
        Item("a", rows[0], merit=np.float64(0.2), group="jazz", supplier="", popularity=3),
        Item("b", rows[1]),
    ]
    assert client.put_items(items) == CatalogueChange(changed=2, total=12)
    [seen] = server.seen
    assert (seen.method, seen.path) == ("POST", "v1/items")
    batch = schemas.ItemBatch.model_validate(seen.body)
    first = {"features": [0.5, -0.25], "merit": 0.2, "popularity": 3.0}
    first |= {"group": "jazz", "supplier": ""}
    assert batch.items[0] == schemas.NewItem.model_validate({"item": "a"} | first)
    assert seen.body["items"][1] == {"item": "b", "features": [1.0, 2.0]}


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_an_id_arrives_as_it_is_whatever_it_holds(server: Server, client: Any, id: str) -> None:
    server.will(says(example(schemas.Item) | {"item": id}), does_nothing, does_nothing)
    assert client.item(id).id == id
    assert client.remove_item(id) is None
    assert client.erase_user(id) is None
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("GET", f"v1/items/{id}"),
        ("DELETE", f"v1/items/{id}"),
        ("DELETE", f"v1/users/{id}"),
    ]


def test_a_path_before_the_service_stays_in_front(server: Server, connect: Any) -> None:
    server.will(says({"name": "ealinucb"}), says({"name": "ealinucb"}))
    connect(server.url + "/shop/recs/").policy()
    connect(server.url + "/").policy()
    assert [seen.path for seen in server.seen] == ["shop/recs/v1/policy", "v1/policy"]


def test_items_go_through_all_pages(server: Server, client: Any) -> None:
    entry = example(schemas.Item)
    pages = [["a", "b"], ["c", "d"], ["e"]]
    server.will(
        *(says({"total": 5, "items": [entry | {"item": id} for id in page]}) for page in pages)
    )
    items = list(client.items(page=2))
    assert [item.id for item in items] == list("abcde")
    numbers = {name: tuple(entry[name]) for name in ("features", "topics")}
    expected = Item(
        "a",
        merit=entry["merit"],
        group=entry["group"],
        supplier="blue",
        popularity=120.0,
        attributes=entry["attributes"],
        **numbers,
    )
    assert items[0] == expected
    queries = [{"offset": str(offset), "limit": "2"} for offset in (0, 2, 4)]
    assert [seen.query for seen in server.seen] == queries


def test_items_end_with_an_empty_page_though_more_were_promised(
    server: Server, client: Any
) -> None:
    server.will(says({"total": 5, "items": []}))
    assert list(client.items()) == []


def test_documents_come_as_they_are(server: Server, client: Any) -> None:
    asked = [
        (client.user, ["u/1"], {}, "v1/users/u/1", {}),
        (client.policy, [], {}, "v1/policy", {}),
        (client.exposure, [], {}, "v1/exposure", {"window": "24h"}),
        (client.exposure, ["all"], {"limit": 3}, "v1/exposure", {"window": "all", "limit": "3"}),
        (client.exposure_history, ["1h"], {}, "v1/exposure/history", {"window": "1h"}),
        (
            client.exposure_items,
            ["7d"],
            {"by": "group", "order": "under", "offset": 20, "limit": 10},
            "v1/exposure/items",
            {"window": "7d", "by": "group", "order": "under", "offset": "20", "limit": "10"},
        ),
    ]
    server.will(*(says({"number": number}) for number in range(len(asked))))
    for number, (call, arguments, named, path, query) in enumerate(asked):
        assert call(*arguments, **named) == {"number": number}
        seen = server.seen[-1]
        assert (seen.method, seen.path, seen.query) == ("GET", path, query)


def test_policies_and_experiments_are_changed_by_name(server: Server, client: Any) -> None:
    shares = {"default": 0.5, "fairer": 0.5}
    plan = {"shares": shares, "control": "default", "level": 0.95, "relevant": 0.03}
    calls = [
        (client.policies, [], {}, "GET", "policies", None),
        (
            client.put_policy,
            ["fairer", "linucb", {"alpha": 0.5}],
            {"knowledge": "new"},
            "PUT",
            "policies/fairer",
            {"policy": "linucb", "parameters": {"alpha": 0.5}, "knowledge": "new"},
        ),
        (
            client.put_policy,
            ["fairer", "linucb"],
            {},
            "PUT",
            "policies/fairer",
            {"policy": "linucb", "parameters": {}},
        ),
        (client.choose_version, ["a", "1b"], {}, "PUT", "policies/a/version", {"version": "1b"}),
        (client.shadow, ["a"], {}, "GET", "policies/a/shadow", None),
        (client.put_shadow, ["a", 1], {}, "PUT", "policies/a/shadow", {"share": 1.0}),
        (
            client.begin_experiment,
            ["test", shares],
            {},
            "PUT",
            "experiments/test",
            plan | {"first_look": 0},
        ),
        (client.experiment, ["test"], {}, "GET", "experiments/test", None),
        (
            client.ramp_experiment,
            ["test", shares],
            {},
            "PUT",
            "experiments/test/shares",
            {"shares": shares},
        ),
        (client.stop_experiment, ["t"], {}, "PUT", "experiments/t/state", {"state": "stopped"}),
        (client.resume_experiment, ["t"], {}, "PUT", "experiments/t/state", {"state": "running"}),
    ]
    server.will(*(says({"number": number}) for number in range(len(calls))))
    for number, (call, arguments, named, method, path, body) in enumerate(calls):
        assert call(*arguments, **named) == {"number": number}
        seen = server.seen[-1]
        assert (seen.method, seen.path, seen.body) == (method, f"v1/{path}", body)
    schemas.PolicyBody.model_validate(server.seen[1].body)
    schemas.ExperimentBody.model_validate(server.seen[6].body)


def test_the_kill_switch_is_its_policy_or_none(server: Server, client: Any) -> None:
    server.will(*(says({"policy": policy}) for policy in (None, "random", None)))
    assert client.kill_switch() is None
    assert client.put_kill_switch("random") == "random"
    assert client.put_kill_switch(None) is None
    assert [seen.body for seen in server.seen] == [None, {"policy": "random"}, {"policy": None}]


def test_what_has_ended_or_is_removed_leaves_no_document(server: Server, client: Any) -> None:
    server.will(does_nothing, does_nothing, says(example(schemas.Experiments)))
    assert client.end_experiment("test") is None
    assert client.remove_policy("fairer") is None
    assert [one["name"] for one in client.experiments()] == ["fairer-home"]
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("DELETE", "v1/experiments/test"),
        ("DELETE", "v1/policies/fairer"),
        ("GET", "v1/experiments"),
    ]


def test_ready_is_true_or_says_what_is_wrong(server: Server, client: Any, connect: Any) -> None:
    server.will(
        says({"status": "ready", "checks": {"store": "ok"}}),
        says({"status": "not ready", "checks": {"store": "cannot be reached"}}, 503),
        shows_a_page(503),
        refuses(504, "Gateway Timeout"),
    )
    assert client.ready()
    waiting = client.ready()
    assert not waiting
    assert waiting.checks == {"store": "cannot be reached"}
    assert "proxy" in client.ready().checks["service"]
    assert "Gateway Timeout" in client.ready().checks["service"]
    nowhere = connect("http://127.0.0.1:1").ready()
    assert not nowhere
    assert "could not connect" in nowhere.checks["service"]


def test_a_service_with_more_to_say_is_understood(server: Server, client: Any) -> None:
    server.will(says(example(schemas.Recommendation) | {"news": 1}))
    assert client.recommend("user-7") == IMPRESSION


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.item(""), "item must not be empty"),
        (lambda c: c.erase_user(""), "user must not be empty"),
        (lambda c: c.item(7), "item must be text, got 7"),
        (lambda c: c.experiment(""), "name must not be empty"),
        (lambda c: c.recommend("u", candidates="abc"), "candidates must be a list of ids"),
        (lambda c: c.recommend("u", exclude="abc"), "exclude must be a list of ids"),
        (lambda c: c.recommend("u", k=2.5), "k must be a whole number, got 2.5"),
        (lambda c: c.feedback("x", clicked="song"), "got 'song'; give an item as clicked_item="),
        (lambda c: c.feedback("x", clicked=[1, "2"]), "clicked must be a whole number, got '2'"),
        (lambda c: c.feedback(ServiceError(404, "Not Found", "x")), "impression must be one"),
        (
            lambda c: c.put_items([Item("a", [float("nan")])]),
            "features of item 'a' must be finite, got nan",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_before_it_is_sent(
    server: Server, client: Any, call: Any, message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(client)
    assert not server.seen


def test_help_shows_what_a_method_takes_and_does() -> None:
    shown = inspect.signature(Client.recommend)
    assert list(shown.parameters) == [
        "self",
        "user",
        "k",
        "candidates",
        "exclude",
        "where",
        "at_most",
        "pinned",
        "user_labels",
    ]
    with Client("http://127.0.0.1") as client:
        assert next(iter(inspect.signature(client.recommend).parameters)) == "user"
    assert Client.recommend.__doc__.startswith("Return a slate")
