"""Every call once, for both clients: what it takes, asks of the service and gives back.

A call yields its requests and is sent their replies; how those travel is not its business.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from faircascade.client import codec
from faircascade.client.codec import Json
from faircascade.client.errors import ServiceError, ServiceUnavailable
from faircascade.client.models import (
    CatalogueChange,
    Feedback,
    Impression,
    Item,
    Readiness,
    Receipt,
    RecommendationRequest,
)
from faircascade.client.transport import Operation, Request, RetryRule

Page = tuple[list[Item], int | None]
"""Some items, and the offset of the next ones."""


# recommending


def recommend(
    user: str,
    k: int = 10,
    *,
    candidates: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    where: Mapping[str, Any] | None = None,
    at_most: Mapping[str, int] | None = None,
    pinned: Mapping[int, str] | None = None,
    user_labels: Mapping[str, str] | None = None,
) -> Operation[Impression]:
    """Return a slate of k items for a user, or of fewer if there are not enough.

    `candidates` restricts the choice to some items, `exclude` leaves some out. `where` says what
    items must be, `at_most` how many of a supplier or group a slate may have, and `pinned` which
    items stand at which positions. `user_labels` says what the user is, `{"device": "phone"}`: a
    service with `--cold-start` lets new users begin with what others with these labels taught.

    The service counts the slate as shown, so the request is retried only if nothing was counted: if
    the service could not be reached, or answered 503 or 429. After a 504 or no answer it may have
    been counted.
    """
    ask = codec.encode_request(
        RecommendationRequest(
            user, k, candidates, exclude, where, at_most or {}, pinned or {}, user_labels or {}
        )
    )
    reply = yield _post("/v1/recommendations", ask, RetryRule.IF_NOT_PROCESSED)
    return reply.read(codec.decode_impression)


def recommend_many(
    asks: Iterable[RecommendationRequest],
) -> Operation[list[Impression | ServiceError]]:
    """Return a slate for each request, in order, or the error in its place.

    As with `recommend`, it is retried only if nothing was counted.
    """
    requests = [codec.encode_request(ask) for ask in asks]
    if not requests:
        return []
    reply = yield _post(
        "/v1/recommendations/batch", {"requests": requests}, RetryRule.IF_NOT_PROCESSED
    )
    return codec.decode_results(reply, len(requests), "recommendation", codec.decode_impression)


# learning


def feedback(
    impression: Impression | str,
    clicked: int | Iterable[int] | None = None,
    *,
    clicked_item: str | None = None,
    shown: int | None = None,
    values: Mapping[int, Mapping[str, float]] | None = None,
) -> Operation[Receipt]:
    """Report what the user did with a slate (or its id); return what was learned.

    `clicked` is the position of the click, 1 for the first, or a list of several; `clicked_item`
    is the item of a single click in its place. Neither means no click. `shown` says how many
    positions the user saw from the top, if not all. `values` says what positions led to beyond
    clicks, by names that the service was told to reward: `{2: {"watch_seconds": 95}}`.
    """
    answer = codec.encode_feedback(Feedback(impression, clicked, clicked_item, shown, values))
    reply = yield _post("/v1/feedback", answer)
    return reply.read(codec.decode_receipt)


def feedback_many(answers: Iterable[Feedback]) -> Operation[list[Receipt | ServiceError]]:
    """Return what was learned from each answer, in their order, or the error in its place."""
    feedback = [codec.encode_feedback(answer) for answer in answers]
    if not feedback:
        return []
    reply = yield _post("/v1/feedback/batch", {"feedback": feedback})
    return codec.decode_results(reply, len(feedback), "receipt", codec.decode_receipt)


# catalogue


def put_items(items: Iterable[Item]) -> Operation[CatalogueChange]:
    """Add items, or change those whose ids are in the catalogue already.

    What an item leaves out stays as it was; an empty group or supplier takes the label away.
    """
    reply = yield _post("/v1/items", {"items": [codec.encode_item(item) for item in items]})
    return reply.read(codec.decode_change)


def remove_item(item: str) -> Operation[None]:
    """Remove an item from the catalogue; slates that show it can still be answered."""
    yield Request(method="DELETE", path=_path("/v1/items/", "item", item))


def item(item: str) -> Operation[Item]:
    """Return an item of the catalogue."""
    reply = yield _get(_path("/v1/items/", "item", item))
    return reply.read(codec.decode_item)


def item_page(offset: int, limit: int | None) -> Operation[Page]:
    """Return the items of the catalogue from an offset on, as many as a page has."""
    reply = yield _get("/v1/items", offset=offset, limit=limit)

    def page(document: Any) -> Page:
        items = [codec.decode_item(entry) for entry in document["items"]]
        end = offset + len(items)
        return items, end if items and end < document["total"] else None

    return reply.read(page)


# users


def user(user: str) -> Operation[Json]:
    """Return what the service keeps of a user."""
    reply = yield _get(_path("/v1/users/", "user", user))
    return reply.read(codec.json_object)


def erase_user(user: str) -> Operation[None]:
    """Make the service forget a user."""
    yield Request(method="DELETE", path=_path("/v1/users/", "user", user))


# exposure


def exposure(window: str = "24h", *, limit: int | None = None) -> Operation[Json]:
    """Return what exposure items had in a window (all, 1h, 24h or 7d), and how fair that was.

    `limit` says how many items to name at either end, and how many groups and suppliers at most.
    """
    reply = yield _get("/v1/exposure", window=window, limit=limit)
    return reply.read(codec.json_object)


def exposure_items(
    window: str = "24h",
    *,
    by: str | None = None,
    order: str = "over",
    offset: int = 0,
    limit: int | None = None,
) -> Operation[Json]:
    """Return a page of the exposure of every item, in the order over, under or clicks.

    `by` is item, group or supplier: whose exposure.
    """
    reply = yield _get(
        "/v1/exposure/items", window=window, by=by, order=order, offset=offset, limit=limit
    )
    return reply.read(codec.json_object)


def exposure_history(window: str = "24h") -> Operation[Json]:
    """Return how clicks and fairness went in a window (1h, 24h or 7d), step by step."""
    reply = yield _get("/v1/exposure/history", window=window)
    return reply.read(codec.json_object)


# policies


def policies() -> Operation[Json]:
    """Return all policies with their versions, the kill switch and the last changes."""
    reply = yield _get("/v1/policies")
    return reply.read(codec.json_object)


def put_policy(
    name: str,
    policy: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    knowledge: str | None = None,
) -> Operation[Json]:
    """Serve a policy under a name, which may be new: `put_policy("fairer", "ealinucb", {"gamma":
    0.01})`.

    `knowledge` is shared (it goes on with what the version before knows of users), branched (it
    begins with that) or new; left out, the first of these that is right.
    """
    body: Json = {"policy": policy, "parameters": dict(parameters or {})}
    if knowledge is not None:
        body["knowledge"] = knowledge
    reply = yield _put(_path("/v1/policies/", "name", name), body)
    return reply.read(codec.json_object)


def choose_version(name: str, version: str) -> Operation[Json]:
    """Serve a version that the name had before, or that another name has, and what it knew."""
    reply = yield _put(_path("/v1/policies/", "name", name) + "/version", {"version": version})
    return reply.read(codec.json_object)


def remove_policy(name: str) -> Operation[None]:
    """Remove a policy that is not in an experiment; its slates can still be answered."""
    yield Request(method="DELETE", path=_path("/v1/policies/", "name", name))


def shadow(name: str) -> Operation[Json]:
    """Return what a policy in the shadow would have shown, next to what was shown."""
    reply = yield _get(_path("/v1/policies/", "name", name) + "/shadow")
    return reply.read(codec.json_object)


def put_shadow(name: str, share: float) -> Operation[Json]:
    """Let a policy rank for a share of users without being shown; 0 ends that."""
    body = {"share": float(share)}
    reply = yield _put(_path("/v1/policies/", "name", name) + "/shadow", body)
    return reply.read(codec.json_object)


def kill_switch() -> Operation[str | None]:
    """Return what the kill switch serves everybody, None if it is off."""
    reply = yield _get("/v1/kill-switch")
    return reply.read(codec.decode_kill_switch)


def put_kill_switch(policy: str | None) -> Operation[str | None]:
    """Serve everybody most-popular or random, whatever else is said; None ends that."""
    reply = yield _put("/v1/kill-switch", {"policy": policy})
    return reply.read(codec.decode_kill_switch)


# experiments


def experiments() -> Operation[list[Json]]:
    """Return the experiment that runs, if any, and those that have ended, newest first."""
    reply = yield _get("/v1/experiments")
    return reply.read(lambda document: list(document["experiments"]))


def experiment(name: str) -> Operation[Json]:
    """Return what an experiment shows now: arms, comparisons with verdicts, and how it went."""
    reply = yield _get(_path("/v1/experiments/", "name", name))
    return reply.read(codec.json_object)


def begin_experiment(
    name: str,
    shares: Mapping[str, float],
    *,
    control: str = "default",
    level: float = 0.95,
    relevant: float = 0.03,
    first_look: int = 0,
) -> Operation[Json]:
    """Serve policies to shares of all users, by name, and compare them with the control.

    `relevant` is the smallest difference that matters, as a share of the control's value;
    `first_look` is how many slates to wait for before the first interval.
    """
    body = {
        "shares": dict(shares),
        "control": control,
        "level": level,
        "relevant": relevant,
        "first_look": first_look,
    }
    reply = yield _put(_path("/v1/experiments/", "name", name), body)
    return reply.read(codec.json_object)


def ramp_experiment(name: str, shares: Mapping[str, float]) -> Operation[Json]:
    """Give arms other shares; nobody leaves an arm that does not shrink."""
    body = {"shares": dict(shares)}
    reply = yield _put(_path("/v1/experiments/", "name", name) + "/shares", body)
    return reply.read(codec.json_object)


def stop_experiment(name: str) -> Operation[Json]:
    """Serve everybody the control and count nobody, until it goes on."""
    reply = yield _put(_path("/v1/experiments/", "name", name) + "/state", {"state": "stopped"})
    return reply.read(codec.json_object)


def resume_experiment(name: str) -> Operation[Json]:
    """Let an experiment go on where it was stopped."""
    reply = yield _put(_path("/v1/experiments/", "name", name) + "/state", {"state": "running"})
    return reply.read(codec.json_object)


def end_experiment(name: str) -> Operation[None]:
    """End an experiment; what it showed can still be read."""
    yield Request(method="DELETE", path=_path("/v1/experiments/", "name", name))


# the service itself


def policy() -> Operation[Json]:
    """Return the policy that ranks, with its parameters."""
    reply = yield _get("/v1/policy")
    return reply.read(codec.json_object)


def ready() -> Operation[Readiness]:
    """Return whether the service can recommend now, and what is wrong if not; asks only once."""
    try:
        reply = yield Request(
            method="GET", path="/readyz", retry=RetryRule.NEVER, answers=frozenset({503})
        )
        return reply.read(codec.decode_readiness)
    except ServiceUnavailable as error:
        return Readiness(ready=False, checks={"service": str(error)})


# requests


def _get(path: str, **params: str | int | None) -> Request:
    given = {name: value for name, value in params.items() if value is not None}
    return Request(method="GET", path=path, params=given)


def _post(path: str, body: Json, retry: RetryRule = RetryRule.ALWAYS) -> Request:
    return Request(method="POST", path=path, content=_content(body), retry=retry)


def _put(path: str, body: Json) -> Request:
    return Request(method="PUT", path=path, content=_content(body))


def _content(body: Json) -> bytes:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def _path(folder: str, name: str, id: str) -> str:
    if not isinstance(id, str):
        raise TypeError(f"{name} must be text, got {id!r}")
    if not id:  # the folder's own path, which means something else
        raise ValueError(f"{name} must not be empty")
    if id in (".", ".."):  # quote() leaves dots alone, and /v1/items/.. would become /v1
        return folder + id.replace(".", "%2E")
    return folder + quote(id, safe="")
