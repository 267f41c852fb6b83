"""Slates and feedback over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from faircascade.service.http.schemas import (
    FeedbackReceipt,
    FeedbackResults,
    Recommendation,
    RecommendationResults,
)
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from tests.service.http.applications import Client, app_of, calling, new_service


def test_a_slate_has_distinct_items_best_first_and_says_which_policy_made_it(
    client: Client, service: Service
) -> None:
    answer = Recommendation.model_validate(client.recommend(k=5), strict=True)
    assert len({entry.item for entry in answer.items}) == 5
    scores = [entry.score for entry in answer.items]
    assert scores == sorted(scores, reverse=True)
    assert (answer.policy.name, answer.policy.version) == ("ealinucb", service.version)


def test_a_slate_of_ten_is_given_if_nothing_else_is_asked_for(client: Client) -> None:
    answer = client.post("/v1/recommendations", {"user": "ann"})
    assert len(answer.json()["items"]) == 10


def test_candidates_and_exclude_limit_the_choice(client: Client) -> None:
    answer = client.recommend(k=9, candidates=["a", "b", "c"], exclude=["b", "no such item"])
    assert {entry["item"] for entry in answer["items"]} == {"a", "c"}


def test_whole_numbers_may_be_written_with_a_fraction_of_nothing(client: Client) -> None:
    assert client.post("/v1/recommendations", {"user": "ann", "k": 3.0}).status_code == 200
    assert client.post("/v1/recommendations", {"user": "ann", "k": 3.5}).status_code == 422


def test_feedback_is_learned_and_shows_in_the_next_slate(client: Client) -> None:
    first = client.recommend(k=3)
    receipt = client.learn(first["impression_id"], clicked_position=2)
    assert FeedbackReceipt.model_validate(receipt.json(), strict=True) == FeedbackReceipt(
        impression_id=first["impression_id"],
        clicked_position=2,
        clicked_item=first["items"][1]["item"],
        clicked_positions=[2],
        clicked_items=[first["items"][1]["item"]],
        shown=2,
        values=[],
    )
    assert client.recommend(k=3)["items"] != first["items"]


def test_a_click_can_be_given_by_its_item(client: Client) -> None:
    first = client.recommend(k=3)
    receipt = client.learn(first["impression_id"], clicked_item=first["items"][2]["item"])
    assert receipt.json()["clicked_position"] == 3


def test_a_slate_may_have_several_clicks(client: Client) -> None:
    first = client.recommend(k=4)
    items = [entry["item"] for entry in first["items"]]
    receipt = client.learn(first["impression_id"], clicked_positions=[4, 2])
    assert receipt.json() == {
        "impression_id": first["impression_id"],
        "clicked_position": 2,
        "clicked_item": items[1],
        "clicked_positions": [2, 4],
        "clicked_items": [items[1], items[3]],
        "shown": 2,  # what comes after the first click is not seen, as this policy has it
        "values": [],
    }
    again = client.learn(first["impression_id"], clicked_positions=[2, 4])
    assert again.json() == receipt.json()
    other = client.learn(first["impression_id"], clicked_positions=[2, 3])
    assert other.status_code == 409


@pytest.mark.parametrize(
    ("answer", "field", "said"),
    [
        ({"clicked_positions": [1, 1]}, "clicked_positions", "must name each position once"),
        ({"clicked_positions": [0]}, "clicked_positions.0", "must be at least 1"),
        ({"clicked_positions": [1, 4]}, "clicked_positions", "must be between 1 and 3, got 4"),
        ({"clicked_positions": [1, 3], "shown": 2}, "shown", "must be at least 3"),
        ({"clicked_positions": 1}, "clicked_positions", "must be a list"),
        ({"clicked_positions": ["1"]}, "clicked_positions.0", "must be a whole number"),
        (
            {"clicked_positions": [1], "clicked_position": 1},
            "clicked_positions",
            "must be left out where clicked_position is given",
        ),
        (
            {"clicked_positions": [], "clicked_item": "a"},
            "clicked_item",
            "must be left out where clicked_positions is given",
        ),
        (
            {"clicked_position": 1, "clicked_item": "a"},
            "clicked_item",
            "must be left out where clicked_position is given",
        ),
        ({"clicked_positions": [1] * 1000}, "clicked_positions", "must have at most"),
    ],
)
def test_wrong_clicks_are_refused_in_a_line(client: Client, answer, field, said: str) -> None:
    name = client.recommend(k=3)["impression_id"]
    refused = client.learn(name, **answer)
    assert refused.status_code == 422
    (problem,) = refused.json()["errors"]
    assert problem["field"].endswith(field)
    assert said in problem["message"]
    assert client.learn(name, clicked_positions=[1, 3]).status_code == 200  # it is still open


def test_no_click_is_an_answer_too(client: Client) -> None:
    receipt = client.learn(client.recommend(k=3)["impression_id"], shown=2)
    assert receipt.json() | {"impression_id": ""} == {
        "impression_id": "",
        "clicked_position": None,
        "clicked_item": None,
        "clicked_positions": [],
        "clicked_items": [],
        "shown": 2,
        "values": [],
    }


def test_the_same_feedback_again_is_answered_to_the_byte(client: Client) -> None:
    name = client.recommend()["impression_id"]
    first, second = (client.learn(name, clicked_position=1) for _ in range(2))
    assert (first.status_code, first.content) == (second.status_code, second.content)


def test_a_batch_of_requests_is_answered_in_order_each_by_itself(client: Client) -> None:
    requests = [
        {"user": "ann", "k": 2},
        {"user": "bob", "candidates": ["nothing"]},
        {"user": "cas", "k": 3, "candidates": ["a", "b", "c", "nothing"]},
        {"user": "dan", "exclude": list("abcdefghijkl")},
    ]
    answer = client.post("/v1/recommendations/batch", {"requests": requests})
    assert answer.status_code == 200
    results = RecommendationResults.model_validate(answer.json(), strict=True).results
    assert [result.status for result in results] == [200, 409, 200, 409]
    assert results[2].recommendation is not None
    assert (results[2].recommendation.user, len(results[2].recommendation.items)) == ("cas", 3)
    assert results[1].problem is not None
    assert results[1].problem.detail == ("body.requests.1.candidates leave no item to recommend")


def test_a_batch_of_feedback_is_answered_in_order_each_by_itself(client: Client) -> None:
    name, other = (client.recommend(user)["impression_id"] for user in ("ann", "bob"))
    feedback = [
        {"impression_id": name, "clicked_position": 1},
        {"impression_id": "1-nothing"},
        {"impression_id": name, "clicked_position": 2},
        {"impression_id": name, "clicked_position": 1},
        {"impression_id": other, "clicked_position": 99},
    ]
    answer = client.post("/v1/feedback/batch", {"feedback": feedback})
    assert answer.status_code == 200
    results = FeedbackResults.model_validate(answer.json(), strict=True).results
    assert [result.status for result in results] == [200, 404, 409, 200, 422]
    problems = [result.problem for result in results if result.problem is not None]
    assert [problem.errors[0].field for problem in problems] == [
        "body.feedback.1.impression_id",
        "body.feedback.2.impression_id",
        "body.feedback.4.clicked_position",
    ]


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (
            "/v1/recommendations",
            {"user": "ann", "k": 6},
            "body.k must be at most 5, got 6",
        ),
        (
            "/v1/recommendations",
            {"user": "ann", "exclude": ["a", "b", "c"]},
            "body.exclude must have at most 2 entries, got 3",
        ),
        (
            "/v1/recommendations/batch",
            {"requests": [{"user": "ann"}, {"user": "bob", "k": 6}]},
            "body.requests.1.k must be at most 5, got 6",
        ),
        (
            "/v1/recommendations/batch",
            {"requests": [{"user": "ann"}] * 4},
            "body.requests must have at most 3 entries, got 4",
        ),
        (
            "/v1/feedback/batch",
            {"feedback": [{"impression_id": "1-a"}] * 4},
            "body.feedback must have at most 3 entries, got 4",
        ),
        (
            "/v1/items",
            {"items": [{"item": "x", "features": [0, 0, 0, 0]}] * 4},
            "body.items must have at most 3 entries, got 4",
        ),
    ],
)
def test_the_settings_of_the_service_are_limits(
    tmp_path: Any, path: str, body: Any, detail: str
) -> None:
    settings = ServiceSettings(max_k=5, max_candidates=2, max_batch=3)
    with calling(app_of(new_service(tmp_path, settings=settings))) as client:
        answer = client.post(path, body)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
