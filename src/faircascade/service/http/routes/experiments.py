"""Routes of online experiments."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from faircascade.service.administration import Administration
from faircascade.service.exposure.summary import iso
from faircascade.service.http.dependencies import dependencies_of
from faircascade.service.http.json_route import JSONRoute, json_response, no_content
from faircascade.service.http.path_parameters import ExperimentPath
from faircascade.service.http.responses import ALWAYS, STORE, WRITING, problem_responses
from faircascade.service.http.routes.policies import CHANGING, change_documents
from faircascade.service.http.schemas import (
    Experiment,
    ExperimentBody,
    Experiments,
    SharesBody,
    StateBody,
)

router = APIRouter(route_class=JSONRoute, prefix="/v1", tags=["experiments"])


@router.get(
    "/experiments",
    operation_id="listExperiments",
    summary="List experiments",
    response_model=Experiments,
    response_description="The one that runs, and those that have ended.",
    responses=problem_responses(*ALWAYS),
)
async def list_experiments(request: Request) -> Response:
    """Return which experiments there are, and which there were: the last 20."""
    lineup = dependencies_of(request).service.lineup
    found: list[dict[str, Any]] = []
    if (experiment := lineup.experiment) is not None:
        state = "running" if experiment.running else "stopped"
        found.append(_entry(experiment.name, state, experiment.since, None))
    ended = [one for one in lineup.past if not found or one.name != found[0]["name"]]
    found += [_entry(one.name, "ended", one.since, one.until) for one in reversed(ended)]
    return json_response({"experiments": found})


@router.get(
    "/experiments/{name}",
    operation_id="getExperiment",
    summary="Look at an experiment",
    response_model=Experiment,
    response_description="What may be said of it now, at most a few seconds old.",
    responses=problem_responses(*ALWAYS, *STORE, 404, 422),
)
async def get_experiment(request: Request, name: ExperimentPath) -> Response:
    """Return arms, differences and verdicts. Look as often as you like: intervals hold at all looks
    together.

    They appear some seconds after there are enough users, and begin with the counts of that moment
    for everybody, on whichever service.
    """
    return await _answer(request, name)


@router.put(
    "/experiments/{name}",
    operation_id="beginExperiment",
    summary="Begin an experiment",
    response_model=Experiment,
    response_description="It has begun already.",
    responses={
        201: {"model": Experiment, "description": "It has begun."},
        **problem_responses(*CHANGING, *WRITING, 409),
    },
)
async def begin_experiment(
    request: Request, body: ExperimentBody, name: ExperimentPath
) -> Response:
    """Serve policies to shares of users and compare them; there is one experiment at a time.

    Users in no arm get the control and are not counted. The same once more changes nothing.
    """
    service = dependencies_of(request).service
    before = service.lineup.experiment
    await Administration(service).begin(
        name,
        body.shares,
        control=body.control,
        level=body.level,
        relevant=body.relevant,
        first_look=body.first_look,
    )
    new = before is None or before.name != name
    return await _answer(request, name, 201 if new else 200)


@router.put(
    "/experiments/{name}/shares",
    operation_id="rampExperiment",
    summary="Ramp an experiment",
    response_model=Experiment,
    response_description="The experiment as it is now.",
    responses=problem_responses(*CHANGING, *WRITING, 404, 409),
)
async def ramp_experiment(request: Request, body: SharesBody, name: ExperimentPath) -> Response:
    """Give arms other shares; those that are left out keep theirs. It is counted anew.

    No user leaves an arm that does not shrink.
    """
    await Administration(dependencies_of(request).service).ramp(name, body.shares)
    return await _answer(request, name)


@router.put(
    "/experiments/{name}/state",
    operation_id="pauseExperiment",
    summary="Stop an experiment, or let it go on",
    response_model=Experiment,
    response_description="The experiment as it is now.",
    responses=problem_responses(*CHANGING, *WRITING, 404, 409),
)
async def pause_experiment(request: Request, body: StateBody, name: ExperimentPath) -> Response:
    """Serve everybody the control and count nobody; or go on where it was stopped."""
    work = Administration(dependencies_of(request).service)
    await work.pause(name, stopped=body.state == "stopped")
    return await _answer(request, name)


@router.delete(
    "/experiments/{name}",
    operation_id="endExperiment",
    summary="End an experiment",
    status_code=204,
    response_description="Everybody gets `default`; what it showed can still be read.",
    responses=problem_responses(*CHANGING, 404, 409, 422),
)
async def end_experiment(request: Request, name: ExperimentPath) -> Response:
    """End an experiment. To serve an arm to everybody, choose its version for `default`."""
    await Administration(dependencies_of(request).service).end(name)
    return no_content()


def _entry(name: str, state: str, since: float, until: float | None) -> dict[str, Any]:
    ended = None if until is None else iso(until)
    return {"name": name, "state": state, "since": iso(since), "until": ended}


async def _answer(request: Request, name: str, status: int = 200) -> Response:
    """Return `Experiment` of the API."""
    found = await dependencies_of(request).reports.experiment(name)
    times = {
        field: None if found[field] is None else iso(found[field])
        for field in ("since", "until", "counted_since")
    }
    periods = [
        {
            **period,
            "since": iso(period["since"]),
            "looks": [{**look, "time": iso(look["time"])} for look in period["looks"]],
        }
        for period in found["periods"]
    ]
    changes = change_documents(found["changes"])
    return json_response({**found, **times, "periods": periods, "changes": changes}, status)
