"""Labels of users over HTTP."""

from __future__ import annotations

import pytest

from tests.service.http.applications import Client


def test_labels_are_ignored_unless_the_service_begins_with_what_they_taught(client: Client) -> None:
    body = {"user": "ann", "user_labels": {"device": "phone"}}
    assert client.post("/v1/recommendations", body).status_code == 200
    (shown,) = client.get("/v1/users/ann").json()["impressions"]
    assert shown["user_labels"] == {}


@pytest.mark.parametrize(
    ("labels", "detail"),
    [
        ({"a b": "x"}, "body.user_labels.a b must be 1 to 64 letters, digits"),
        ({"a": ""}, "body.user_labels.a must not be empty"),
        ({"a": "x" * 65}, "body.user_labels.a must have at most 64 characters, got 65"),
        ({"a": "x\ny"}, "body.user_labels.a must be text without control characters"),
        ({"a": 1}, "body.user_labels.a must be text, got 1"),
        ({str(n): "x" for n in range(9)}, "body.user_labels must have at most 8 entries"),
        (["a"], "body.user_labels must be an object, got a list"),
    ],
)
def test_labels_that_cannot_be_are_refused(client: Client, labels: object, detail: str) -> None:
    answer = client.post("/v1/recommendations", {"user": "ann", "user_labels": labels})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(detail), answer.json()["detail"]
