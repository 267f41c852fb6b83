"""Changes of the experiment of a lineup: each returns another lineup, or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from faircascade.service.experiments import Assignment
from faircascade.service.lineup.experiment import Experiment
from faircascade.service.lineup.lineup import Lineup, PastExperiment
from faircascade.service.lineup.policy_changes import check_name
from faircascade.service.messages import Reason, Refused, invalid, refusals

MOST_PAST = 20
"""Experiments that are remembered when they have ended."""


def with_experiment(lineup: Lineup, experiment: Experiment, now: float) -> Lineup:
    """Return a lineup with an experiment; there is one at a time, as one policy makes a slate.

    To begin the same one again changes nothing.
    """
    check_name(experiment.name)
    if (running := lineup.experiment) is not None:
        if experiment.plan == running.plan:
            return lineup
        is_itself = running.name == experiment.name
        why = "has begun with another plan" if is_itself else "has not ended"
        raise Refused(Reason.CONFLICT, "name", f"cannot begin: {running.name!r} {why}")
    _check_arms(lineup, experiment.assignment.shares)
    text = f"{experiment.name} begins: {_shares(experiment.assignment)}"
    begun = replace(experiment, since=now).begun_anew(lineup.number + 1, now)
    return lineup.changed(now, text, experiment=begun)


def ramped(lineup: Lineup, name: str, shares: Mapping[str, float], now: float) -> Lineup:
    """Return a lineup with other shares of its experiment."""
    found = lineup.experiment_named(name)
    _check_arms(lineup, shares)
    with refusals():
        assignment = found.assignment.ramped(shares)
    if assignment == found.assignment:
        return lineup
    experiment = replace(found, assignment=assignment).begun_anew(lineup.number + 1, now)
    return lineup.changed(now, f"{name}: {_shares(assignment)}", experiment=experiment)


def paused(lineup: Lineup, name: str, *, stopped: bool, now: float) -> Lineup:
    """Return a lineup with its experiment stopped: everybody gets the control. Or going on."""
    found = lineup.experiment_named(name)
    if stopped is not found.running:
        return lineup
    assignment = found.assignment.stop() if stopped else found.assignment.resume()
    text = f"{name} {'is stopped' if stopped else 'goes on'}"
    return lineup.changed(now, text, experiment=replace(found, assignment=assignment))


def ended(lineup: Lineup, name: str, now: float) -> Lineup:
    """Return a lineup without its experiment."""
    found = lineup.experiment_named(name)
    others = [one for one in lineup.past if one.name != name]
    past = (*others, PastExperiment(name=name, since=found.since, until=now))[-MOST_PAST:]
    return lineup.changed(now, f"{name} has ended", experiment=None, past=past)


def _check_arms(lineup: Lineup, shares: Mapping[str, float]) -> None:
    for arm in shares:
        if arm not in lineup.by_name:
            raise invalid("shares", f"must be of policies of this service, got {arm!r}")


def _shares(assignment: Assignment) -> str:
    """Return the shares of arms in words."""
    return ", ".join(f"{name} {share:.4g}" for name, share in assignment.shares.items())
