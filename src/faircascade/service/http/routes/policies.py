"""Routes that say and change what is served: named policies, shadows, the kill switch."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.administration import Administration
from faircascade.service.exposure.summary import iso
from faircascade.service.http.callers import CALLER
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import JSONRoute, json_response, no_content
from faircascade.service.http.path_parameters import PolicyPath
from faircascade.service.http.responses import ALWAYS, STORE, UNSURE, WRITING, problem_responses
from faircascade.service.http.routes.operation import parameters_of
from faircascade.service.http.schemas import (
    KillSwitch,
    Lineup,
    NamedPolicy,
    PolicyBody,
    Shadow,
    ShadowBody,
    VersionBody,
)
from faircascade.service.lineup import lineup as lineups
from faircascade.service.lineup import policies
from faircascade.service.lineup.knowledge import MOST_SUMS

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["policies"])

CHANGING = (*ALWAYS, *STORE, *UNSURE, 403)


@router.get(
    "/policies",
    operation_id="listPolicies",
    summary="List the policies",
    response_model=Lineup,
    response_description="All names, what was served under them, and the last changes.",
    responses=problem_responses(*ALWAYS),
)
async def list_policies(request: Request) -> Response:
    """Return which policies there are, which versions they had, and what is served."""
    lineup = dependencies_of(request).service.lineup
    experiment = lineup.experiment
    return json_response(
        {
            "number": lineup.number,
            "kill_switch": None if lineup.stopped is None else lineup.stopped.name,
            "experiment": None if experiment is None else experiment.name,
            "policies": [document_of(lineup, one) for one in lineup.policies],
            "numbers_per_user": lineup.width,
            "most_numbers_per_user": MOST_SUMS,
            "may_change": request.scope[CALLER].administrator,
            "changes": change_documents(lineup.changes),
        }
    )


@router.get(
    "/policies/{name}",
    operation_id="getNamedPolicy",
    summary="Get a policy",
    response_model=NamedPolicy,
    response_description="The policy and its versions.",
    responses=problem_responses(*ALWAYS, 404, 422),
)
async def get_named_policy(request: Request, name: PolicyPath) -> Response:
    """Return the policy of a name."""
    lineup = dependencies_of(request).service.lineup
    return json_response(document_of(lineup, lineup.named(name)))


@router.put(
    "/policies/{name}",
    operation_id="putPolicy",
    summary="Serve a policy under a name",
    response_model=NamedPolicy,
    response_description="The policy as it is now.",
    responses={
        201: {"model": NamedPolicy, "description": "The name is new."},
        **problem_responses(*CHANGING, *WRITING, 409),
    },
)
async def put_policy(request: Request, body: PolicyBody, name: PolicyPath) -> Response:
    """Give a name another policy, or begin a new name, which nobody is served yet.

    The versions before stay, so that one can go back. The same policy again changes nothing.
    """
    service = dependencies_of(request).service
    new = name not in service.lineup.by_name
    work = Administration(service)
    await work.put_policy(name, body.policy, body.parameters, body.knowledge)
    return _answer(request, name, 201 if new else 200)


@router.put(
    "/policies/{name}/version",
    operation_id="chooseVersion",
    summary="Go back to a version",
    response_model=NamedPolicy,
    response_description="The policy as it is now.",
    responses=problem_responses(*CHANGING, *WRITING, 404, 409),
)
async def choose_version(request: Request, body: VersionBody, name: PolicyPath) -> Response:
    """Serve a version that the name had, or that another name has, with exactly what it knew.

    What was learned since stays with the version that is left, unless both share what they know.
    """
    service = dependencies_of(request).service
    await Administration(service).choose(name, body.version)
    return _answer(request, name)


@router.delete(
    "/policies/{name}",
    operation_id="removePolicy",
    summary="Remove a policy",
    status_code=204,
    response_description="It is not served any more.",
    responses=problem_responses(*CHANGING, 404, 409, 422),
)
async def remove_policy(request: Request, name: PolicyPath) -> Response:
    """Remove a policy, unless it is `default` or in an experiment. Its slates can be answered."""
    await Administration(dependencies_of(request).service).remove(name)
    return no_content()


@router.get(
    "/policies/{name}/shadow",
    operation_id="getShadow",
    summary="See what a policy would show",
    response_model=Shadow,
    response_description="What it ranked in the shadow, and what was shown in its place.",
    responses=problem_responses(*ALWAYS, 404, 422),
)
async def get_shadow(request: Request, name: PolicyPath) -> Response:
    """Return what the slates of a policy in the shadow have in common with those of users."""
    return json_response(await dependencies_of(request).reports.shadow(name))


@router.put(
    "/policies/{name}/shadow",
    operation_id="putShadow",
    summary="Let a policy rank in the shadow",
    response_model=NamedPolicy,
    response_description="The policy as it is now.",
    responses=problem_responses(*CHANGING, *WRITING, 404, 409),
)
async def put_shadow(request: Request, body: ShadowBody, name: PolicyPath) -> Response:
    """Let a policy rank for a share of the users of other policies; nobody sees these slates.

    Users wait for it, too. If it fails, they do not notice.
    """
    service = dependencies_of(request).service
    await Administration(service).shadow(name, body.share)
    return _answer(request, name)


@router.get(
    "/kill-switch",
    operation_id="getKillSwitch",
    summary="Get the kill switch",
    response_model=KillSwitch,
    response_description="What everybody is served, if it is on.",
    responses=problem_responses(*ALWAYS),
)
async def get_kill_switch(request: Request) -> Response:
    """Return whether the kill switch is on."""
    return _kill_switch(request)


@router.put(
    "/kill-switch",
    operation_id="putKillSwitch",
    summary="Turn the kill switch",
    response_model=KillSwitch,
    response_description="The kill switch as it is now.",
    responses=problem_responses(*CHANGING, *WRITING, 409),
)
async def put_kill_switch(request: Request, body: KillSwitch) -> Response:
    """Serve everybody the most popular items, or random ones; null serves policies again.

    Experiments and shadows rest meanwhile; feedback goes on teaching the policies.
    """
    await Administration(dependencies_of(request).service).kill_switch(body.policy)
    return _kill_switch(request)


def _kill_switch(request: Request) -> Response:
    stopped = dependencies_of(request).service.lineup.stopped
    return json_response({"policy": None if stopped is None else stopped.name})


def _answer(request: Request, name: str, status: int = 200) -> Response:
    lineup = dependencies_of(request).service.lineup
    return json_response(document_of(lineup, lineup.named(name)), status)


def change_documents(changes: Any) -> list[dict[str, str]]:
    """Return changes as the API has them."""
    return [{"time": iso(change.time), "text": change.text} for change in changes]


def document_of(lineup: lineups.Lineup, named: policies.NamedPolicy) -> dict[str, Any]:
    """Return `NamedPolicy` of the API."""
    experiment = lineup.experiment
    shares = {} if experiment is None else experiment.assignment.shares
    return {
        "name": named.name,
        "version": named.current.id,
        "shadow_share": lineup.shadows.get(named.name, 0.0),
        "experiment": shares.get(named.name),
        "versions": [
            {
                "id": version.id,
                "policy": version.policy.name,
                "label": version.policy.label,
                "parameters": parameters_of(version.policy),
                "since": iso(version.since),
                "knowledge": version.knowledge,
                "model": version.model,
                "current": version is named.current,
            }
            for version in named.versions
        ],
    }
