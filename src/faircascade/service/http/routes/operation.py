"""Routes about the service itself: its policy and its health."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import Response

from faircascade.policies import Policy
from faircascade.registry import flat_spec
from faircascade.service.http.dependencies import Dependencies, dependencies_of
from faircascade.service.http.json_route import json_response
from faircascade.service.http.responses import ALWAYS, problem_responses
from faircascade.service.http.schemas import PolicyDescription, Readiness, Status
from faircascade.service.worker import Worker
from faircascade.service.workforce import Workforce

router = APIRouter(tags=["operation"])


@router.get(
    "/v1/policy",
    operation_id="getPolicy",
    summary="Get the policy",
    response_model=PolicyDescription,
    response_description="The policy.",
    responses=problem_responses(*ALWAYS),
)
async def get_policy(request: Request) -> Response:
    """Return what ranks the items, with its parameters."""
    service = dependencies_of(request).service
    return json_response(
        {
            "name": service.policy.name,
            "label": service.policy.label,
            "version": service.version,
            "parameters": parameters_of(service.policy),
        }
    )


@router.get(
    "/metrics",
    operation_id="getMetrics",
    summary="Get metrics",
    response_description="All counters and gauges in the text format of Prometheus.",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **problem_responses(400, 401, 421, 429, 431, 500),
    },
)
async def get_metrics(request: Request) -> Response:
    """Return counters and gauges for Prometheus."""
    text = await dependencies_of(request).metrics.text()
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get(
    "/healthz",
    operation_id="getHealth",
    summary="Ask whether the process lives",
    response_model=Status,
    response_description="It does.",
    responses=problem_responses(400, 431, 500),
)
async def get_health() -> Response:
    """Check that the process answers; restart it if this fails."""
    return json_response({"status": "ok"})


@router.get(
    "/readyz",
    operation_id="getReadiness",
    summary="Ask whether it can recommend",
    response_model=Readiness,
    response_description="It can.",
    responses={
        503: {"model": Readiness, "description": "It cannot now; `checks` says why."},
        **problem_responses(400, 431, 500),
    },
)
async def get_readiness(request: Request) -> Response:
    """Check what recommending needs; send requests elsewhere while this fails.

    The store is checked at most once per second.
    """
    checks = await _checks(dependencies_of(request))
    ready = checks["store"] == checks["catalogue"] == checks["service"] == "ok"
    status = "ready" if ready else "not ready"
    return json_response({"status": status, "checks": checks}, 200 if ready else 503)


async def _checks(deps: Dependencies) -> dict[str, str]:
    service = deps.service
    checks = {
        "service": "is stopping" if service.stopping else "ok",
        "store": await deps.store_probe.status(),
        "catalogue": "ok" if len(service.catalogue) else "there are no items yet",
    }
    if service.store.durability is not None:
        checks["durability"] = service.store.durability
    if deps.worker is not None:
        checks["workers"] = _workers(deps.worker)
    if service.log_status.problem:
        checks["event log"] = "is not written now; the log of the service says why"
    return checks


def _workers(worker: Worker) -> str:
    """Return "ok", or how many workers are missing; the others go on."""
    workforce = Workforce.read(worker.folder)
    serving = len(workforce.serving)
    if serving == workforce.count:
        return "ok"
    return f"{serving} of {workforce.count} take requests; see the log"


def parameters_of(policy: Policy) -> dict[str, Any]:
    """Return the parameters of a policy and its parts as JSON has them, by dotted names."""
    return {name: _plain(value) for name, value in flat_spec(policy).items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return getattr(value, "__name__", None) or str(value)
