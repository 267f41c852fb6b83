"""What operators do with the policies and the experiment of a service."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from faircascade.policies import MostPopular, Policy, Random
from faircascade.registry import build, lookup
from faircascade.service import experiment_reports
from faircascade.service.bootstrap import why_not_served
from faircascade.service.experiments import Assignment
from faircascade.service.lineup import DEFAULT, Experiment, Knowledge, Lineup
from faircascade.service.lineup import experiment_changes as experiments
from faircascade.service.lineup import policy_changes as policies
from faircascade.service.messages import invalid, refusals
from faircascade.service.service import Service

KILL_SWITCHES: Mapping[str, Policy] = {one.name: one for one in (MostPopular(), Random())}
"""What everybody can be served: policies that need to know nothing, and cannot go wrong."""


def new_salt() -> str:
    """Return what divides users: no two experiments do it alike, and when one has ended, nobody can
    tell any more which users its counts are about."""
    return secrets.token_hex(16)


class Administration:
    """Changes what a service serves: at once here, and everywhere within a second."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def put_policy(
        self,
        name: str,
        recipe: str,
        parameters: Mapping[str, Any],
        knowledge: Knowledge | None = None,
    ) -> None:
        """Serve a recipe with parameters under a name; a name that is there gets a new version."""
        service, policy = self._service, policy_of(recipe, parameters)
        try:
            size = service.size_of(policy)
        except ValueError as error:
            if service.topics:
                raise invalid("policy", f"cannot be {recipe!r}: {error}") from None
            raise invalid("policy", f"cannot be {recipe!r}: items have no topics") from None

        def put(lineup: Lineup) -> Lineup:
            now = service.clock()
            return policies.with_policy(
                lineup, name, policy, size=size, now=now, knowledge=knowledge
            )

        policies.check_name(name)
        await service.change(put, trial=name)

    async def choose(self, name: str, version: str) -> None:
        """Serve a version that the name had before, or that another name has."""
        await self._change(policies.with_chosen, name, version)

    async def remove(self, name: str) -> None:
        """Take a policy away."""
        await self._change(policies.without, name)

    async def shadow(self, name: str, share: float) -> None:
        """Let a policy rank in the shadow for a share of users, or not any more with 0."""
        await self._change(policies.with_shadow, name, share)

    async def kill_switch(self, policy: str | None) -> None:
        """Serve everybody a policy that learns nothing, or what is in the lineup again."""
        chosen = None if policy is None else KILL_SWITCHES[policy]
        await self._change(policies.with_kill_switch, chosen)

    async def begin(
        self,
        name: str,
        shares: Mapping[str, float],
        *,
        control: str = DEFAULT,
        level: float = 0.95,
        relevant: float = 0.03,
        first_look: int = 0,
    ) -> None:
        """Compare policies on shares of users; everybody else gets the control."""
        policies.check_name(name)
        if control not in shares:
            raise invalid("control", f"must be one of {', '.join(shares)}, got {control!r}")
        with refusals():
            assignment = Assignment.of(name, shares, fallback=control, salt=new_salt())
            experiment = Experiment(
                assignment=assignment, level=level, relevant=relevant, first_look=first_look
            )
        await self._change(experiments.with_experiment, experiment)

    async def ramp(self, name: str, shares: Mapping[str, float]) -> None:
        """Give arms of the experiment other shares; what was counted so far is kept."""
        self._service.lineup.experiment_named(name)
        await experiment_reports.look(self._service, last=True)
        await self._change(experiments.ramped, name, shares)

    async def pause(self, name: str, *, stopped: bool) -> None:
        """Serve everybody the control and count nobody; or go on."""

        def paused(lineup: Lineup, now: float) -> Lineup:
            return experiments.paused(lineup, name, stopped=stopped, now=now)

        await self._change(paused)

    async def end(self, name: str) -> None:
        """End the experiment; what it showed stays."""
        self._service.lineup.experiment_named(name)
        await experiment_reports.look(self._service, last=True)
        await self._change(experiments.ended, name)

    async def _change(self, change: Callable[..., Lineup], *given: Any) -> None:
        await self._service.change(lambda it: change(it, *given, now=self._service.clock()))


def policy_of(recipe: str, parameters: Mapping[str, Any]) -> Policy:
    """Return the policy that a recipe makes of parameters, or refuse it."""
    with refusals():
        lookup("policy", recipe)
    with refusals("parameters"):
        policy: Policy = build("policy", recipe, parameters)
    if reason := why_not_served(policy):
        raise invalid("policy", f"cannot be {recipe!r}: {reason.partition(': ')[2]}")
    return policy
