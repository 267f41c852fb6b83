"""Documents of the service, to and from JSON.

What comes in may hold more than is looked at here: a newer service may say more.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from faircascade.client.errors import ServiceError
from faircascade.client.models import (
    CatalogueChange,
    Feedback,
    Impression,
    Item,
    Readiness,
    Receipt,
    RecommendationRequest,
)
from faircascade.client.transport import Reply, error_from

T = TypeVar("T")

Json = dict[str, Any]
"""A JSON object, as the service's API reference describes it."""


# out


def encode_request(ask: RecommendationRequest) -> Json:
    body: Json = {"user": ask.user, "k": _whole("k", ask.k)}
    if ask.candidates is not None:
        body["candidates"] = _ids("candidates", ask.candidates)
    if exclude := _ids("exclude", ask.exclude):
        body["exclude"] = exclude
    if ask.where:
        body["where"] = dict(ask.where)
    if ask.at_most:
        body["at_most"] = {name: _whole("at_most", most) for name, most in ask.at_most.items()}
    if ask.pinned:
        body["pinned"] = [
            {"item": item, "position": _whole("pinned", position)}
            for position, item in ask.pinned.items()
        ]
    if ask.user_labels:
        body["user_labels"] = dict(ask.user_labels)
    return body


def encode_feedback(answer: Feedback) -> Json:
    id = answer.impression.id if isinstance(answer.impression, Impression) else answer.impression
    if not isinstance(id, str):
        raise TypeError(f"impression must be one, or its id as text, got {id!r}")
    body: Json = {"impression_id": id}
    if isinstance(answer.clicked, str):
        raise TypeError(
            f"clicked must be a whole number, the position, got {answer.clicked!r}; "
            "give an item as clicked_item="
        )
    if isinstance(answer.clicked, Iterable):
        body["clicked_positions"] = [_whole("clicked", position) for position in answer.clicked]
    elif answer.clicked is not None:
        body["clicked_position"] = _whole("clicked", answer.clicked)
    if answer.clicked_item is not None:
        body["clicked_item"] = answer.clicked_item
    if answer.shown is not None:
        body["shown"] = _whole("shown", answer.shown)
    if answer.values:
        body["values"] = [
            {"position": _whole("values", position), **{n: float(v) for n, v in named.items()}}
            for position, named in answer.values.items()
        ]
    return body


def encode_item(item: Item) -> Json:
    body: Json = {"item": item.id, "features": _finite("features", item, item.features)}
    if len(item.topics):
        body["topics"] = _finite("topics", item, item.topics)
    if item.merit is not None:
        body["merit"] = float(item.merit)
    if item.group is not None:
        body["group"] = item.group
    if item.supplier is not None:
        body["supplier"] = item.supplier
    if item.popularity is not None:
        body["popularity"] = float(item.popularity)
    if item.attributes:
        body["attributes"] = dict(item.attributes)
    return body


def _finite(name: str, item: Item, values: Iterable[float]) -> list[float]:
    numbers = [float(value) for value in values]
    for value in numbers:
        if not math.isfinite(value):  # JSON has no such numbers
            raise ValueError(f"{name} of item {item.id!r} must be finite, got {value}")
    return numbers


def _whole(name: str, value: int) -> int:
    """Return an int for whatever counts as one, such as NumPy's, which JSON does not know."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None


def _ids(name: str, ids: Iterable[str]) -> list[str]:
    if isinstance(ids, str):  # else a list of its letters
        raise TypeError(f"{name} must be a list of ids, got the text {ids!r}")
    return list(ids)


# in


def decode_impression(document: Any) -> Impression:
    return Impression(
        id=document["impression_id"],
        user=document["user"],
        items=tuple(entry["item"] for entry in document["items"]),
        scores=tuple(entry["score"] for entry in document["items"]),
        policy_name=document["policy"]["name"],
        policy_version=document["policy"]["version"],
    )


def decode_receipt(document: Any) -> Receipt:
    return Receipt(
        impression_id=document["impression_id"],
        clicked_positions=tuple(document["clicked_positions"]),
        clicked_items=tuple(document["clicked_items"]),
        shown=document["shown"],
        values={one["position"]: _without_position(one) for one in document.get("values", ())},
    )


def _without_position(document: Json) -> dict[str, float]:
    return {name: value for name, value in document.items() if name != "position"}


def decode_item(document: Any) -> Item:
    return Item(
        id=document["item"],
        features=tuple(document["features"]),
        merit=document["merit"],
        group=document.get("group"),
        supplier=document.get("supplier"),
        popularity=document.get("popularity"),
        topics=tuple(document.get("topics", ())),
        attributes=dict(document.get("attributes", {})),
    )


def decode_change(document: Any) -> CatalogueChange:
    return CatalogueChange(changed=document["changed"], total=document["total"])


def decode_readiness(document: Any) -> Readiness:
    return Readiness(ready=document["status"] == "ready", checks=dict(document["checks"]))


def decode_kill_switch(document: Any) -> str | None:
    policy = document["policy"]
    return None if policy is None else str(policy)


def json_object(document: Any) -> Json:
    if not isinstance(document, dict):
        raise TypeError("not a JSON object")
    return document


def decode_results(
    reply: Reply, expected: int, name: str, parse: Callable[[Any], T]
) -> list[T | ServiceError]:
    """Return the results of a batch: what has that name in each, or the error in its place."""

    def result(entry: Any) -> T | ServiceError:
        if entry["status"] == 200:
            return parse(entry[name])
        return error_from(entry["problem"], entry["status"], reply.request_id)

    def every(document: Any) -> list[T | ServiceError]:
        found = [result(entry) for entry in document["results"]]
        if len(found) != expected:
            raise ValueError(f"{len(found)} results for {expected} requests")
        return found

    return reply.read(every)
