"""What the experiments and the shadows of a service show, and what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from weakref import ref

from faircascade.service.experiments import Record
from faircascade.service.experiments.equality import equality
from faircascade.service.experiments.record import Look
from faircascade.service.exposure.tally import SHADOW, SHOWN
from faircascade.service.lineup import Change, Experiment
from faircascade.service.lineup.lineup import PastExperiment
from faircascade.service.messages import Reason, Refused
from faircascade.service.ranking import shadow_key
from faircascade.service.service import Service

_ATTEMPTS = 5
"""How often a look is kept while others keep theirs."""

T = TypeVar("T")
Report = dict[str, Any]
Once = Callable[..., Awaitable[Any]]
"""Works something out, unless it is known already."""


async def look(service: Service, *, last: bool = False) -> None:
    """Look at the experiment that runs, and keep what must be kept: the first look of each
    sequence, and now and then how it goes on. The `last` look is kept in any case."""
    experiment = service.lineup.experiment
    if experiment is None:
        return
    name = _kept_as(experiment.name)
    for _ in range(_ATTEMPTS):
        kept = await service.store.get_meta(name)
        record = Record.from_json(kept, experiment.since)
        period = record.of(experiment.key, experiment.period_since, experiment.assignment.shares)
        said, origins = await _said(service, experiment, period.origins, begin=True)
        after = period.looked(said, origins, service.clock(), last=last)
        if after is period:
            return
        plain = record.with_period(after).to_json()
        if await service.store.replace_meta(name, kept, plain):
            return


class Reports:
    """What the experiments and the shadows of a service show. What follows from counts is worked
    out once for all who ask, until the counts change."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[str, tuple[Any, asyncio.Future[Any]]] = {}
        """By what it is about: what it follows from, and what it is."""

    async def experiment(self, name: str) -> Report:
        """Return what an experiment shows now, or showed when it ended."""
        service, experiment = self._service, self._service.lineup.experiment
        if experiment is not None and experiment.name == name:
            return await _of_running(service, experiment, self._once)
        for past in service.lineup.past:
            if past.name == name:
                return await _of_past(service, past)
        raise Refused(Reason.UNKNOWN, "name", f"{name!r} is not the name of an experiment")

    async def shadow(self, name: str) -> Report:
        """Return what a policy in the shadow would have shown, next to what was shown instead."""
        lineup = self._service.lineup
        key = shadow_key(name, lineup.named(name).current.id)
        counted = await self._once(f"shadow/{name}", key, lambda: _of_shadow(self._service, key))
        return {"share": lineup.shadows.get(name, 0.0), **counted}

    async def _once(self, about: str, key: Any, work_out: Callable[[], Awaitable[T]]) -> T:
        """Return what is known already if it follows from the same, or else work it out."""
        catalogue = ref(self._service.catalogue)  # an old one may be large
        key = (key, self._service.exposure.cursor, catalogue)
        known, found = self._known.get(about, (None, None))
        if found is None or known != key or (found.done() and found.exception() is not None):
            found = asyncio.ensure_future(work_out())
            self._known[about] = key, found
        return await asyncio.shield(found)  # a caller that is cancelled must not end it for others


async def _of_running(service: Service, experiment: Experiment, once: Once) -> Report:
    record = Record.from_json(
        await service.store.get_meta(_kept_as(experiment.name)), experiment.since
    )
    shares = experiment.assignment.shares
    period = record.of(experiment.key, experiment.period_since, shares)
    said, _ = await once(
        "experiment",
        (experiment, sorted(period.origins.items())),
        lambda: _said(service, experiment, period.origins, begin=False),
    )
    return {
        "name": experiment.name,
        "state": "running" if experiment.running else "stopped",
        "since": experiment.since,
        "until": None,
        "control": experiment.control,
        "shares": shares,
        "counted_since": experiment.period_since,
        "level": experiment.level,
        "relevant": experiment.relevant,
        "first_look": experiment.first_look,
        "arms": said["arms"],
        "comparisons": said["comparisons"],
        "sample_ratio": said["sample_ratio"],
        "periods": _periods(record.with_period(period)),
        "changes": changes_since(service, experiment.since),
    }


async def _of_past(service: Service, past: PastExperiment) -> Report:
    record = Record.from_json(await service.store.get_meta(_kept_as(past.name)), past.since)
    period = record.periods[-1] if record.periods else None
    if period is None or period.last is None:
        why = f"{past.name!r} has ended before anybody looked at it"
        raise Refused(Reason.UNKNOWN, "name", why)
    said = period.last
    return {
        "name": past.name,
        "state": "ended",
        "since": past.since,
        "until": past.until,
        "control": said["control"],
        "shares": period.shares,
        "counted_since": period.since,
        "level": said["level"],
        "relevant": said["relevant"],
        "first_look": said["first_look"],
        "arms": said["arms"],
        "comparisons": said["comparisons"],
        "sample_ratio": said["sample_ratio"],
        "periods": _periods(record),
        "changes": changes_since(service, past.since, past.until),
    }


def changes_since(service: Service, since: float, until: float | None = None) -> list[Change]:
    """Return what operators changed, oldest first."""
    return [
        change
        for change in service.lineup.changes
        if change.time >= since and (until is None or change.time <= until)
    ]


def _periods(record: Record) -> list[Report]:
    return [
        {"since": one.since, "shares": one.shares, "looks": one.looks} for one in record.periods
    ]


async def _said(
    service: Service, experiment: Experiment, origins: Mapping[str, float], *, begin: bool
) -> tuple[Look, Mapping[str, float]]:
    """Return what the counts say now, and where sequences begin."""
    monitor = experiment.monitor(origins)
    tallies = service.exposure.tallies(experiment.key)
    slots = service.catalogue.slots

    def said() -> Look:
        counts = tallies.counts(experiment.key, experiment.assignment.shares, slots)
        return {**monitor.look(counts, begin=begin), "first_look": monitor.first_look}

    return await asyncio.to_thread(said), monitor.origins


async def _of_shadow(service: Service, key: str) -> Report:
    """Return what was counted of a version of a policy in the shadow."""
    tallies, slots = service.exposure.tallies(key), service.catalogue.slots

    def said() -> Report:
        arms = tallies.counts(key, (SHOWN, SHADOW), slots)
        equalities = {
            arm: {
                "equality_b": _value(equality(counts.appearances).value),
                "equality_p": _value(equality(counts.weighed).value),
            }
            for arm, counts in arms.items()
        }
        return {
            "slates": int(arms[SHADOW].slates.sum()),
            "common": tallies.common(key),
            **equalities,
        }

    return await asyncio.to_thread(said)


def _value(value: float) -> float | None:
    return value if value == value else None


def _kept_as(name: str) -> str:
    """Return under which name the store keeps the record of an experiment."""
    return f"experiment/{name}"
