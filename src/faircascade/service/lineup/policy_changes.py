"""Changes of the policies of a lineup: each returns another lineup, or refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from faircascade.policies import Policy
from faircascade.service.ids import NAME, NAME_RULE
from faircascade.service.lineup.knowledge import chosen_knowledge, with_model
from faircascade.service.lineup.lineup import DEFAULT, Lineup
from faircascade.service.lineup.models import comparable, version_of
from faircascade.service.lineup.policies import Knowledge, NamedPolicy, PolicyVersion
from faircascade.service.messages import Reason, Refused, invalid

Versions = tuple[PolicyVersion, ...]

MOST_POLICIES = 20
MOST_VERSIONS = 20
"""Versions of a name that one can go back to."""
MOST_SHADOWS = 4
"""Policies that rank in the shadow at a time: users wait for all of them."""
MOST_RETIRED = 50
"""Versions that are kept beside, for feedback on their slates."""


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a policy or an experiment."""
    if not re.fullmatch(NAME, name) or name.endswith("\n"):
        raise invalid("name", f"{NAME_RULE}; got {name!r}")


def serving(lineup: Lineup, policy: Policy, *, size: int, seed: int | None, now: float) -> Lineup:
    """Return a lineup as an operator starts it, with this policy as the default.

    What is in force stays if it is that policy, or if that was given at the last start, too: then
    the default was changed since, and a restart must not change it back.
    """
    found, id = lineup, version_of(policy)
    if id not in (lineup.given, version_of(lineup.default.policy)):
        learner = _comparable_learner(lineup, lineup.policies[0], size)
        goes_on = learner is not None and comparable(learner.policy, policy)
        knowledge: Knowledge | None = "shared" if goes_on and _alone(lineup, DEFAULT) else None
        found = with_policy(lineup, DEFAULT, policy, size=size, now=now, knowledge=knowledge)
        found = replace(found, given=id)
    if seed not in (None, lineup.seed):
        found = found.changed(now, f"the seed is {seed}", seed=seed)
    return found


def with_policy(
    lineup: Lineup,
    name: str,
    policy: Policy,
    *,
    size: int,
    now: float,
    knowledge: Knowledge | None = None,
) -> Lineup:
    """Return a lineup with another policy under a name, or with a new name.

    Unless `knowledge` is given, what is known is shared if the policy learns like the one before,
    branched if its numbers mean the same, and else new. Of a new name, the one before is the
    default.
    """
    before = lineup.by_name.get(name)
    if before is None:
        _check_room(lineup, name)
    elif version_of(before.current.policy) == version_of(policy) and (
        knowledge in (None, "shared", before.current.knowledge)
    ):
        return lineup
    model_of = lineup.policies[0] if before is None else before
    models, model, begins = lineup.models, None, knowledge or "new"
    if size:
        alone = _alone(lineup, name)
        learner = _comparable_learner(lineup, model_of, size)
        begins = chosen_knowledge(knowledge, learner, policy, alone=alone)
        place = partial(lineup.vacant.place, now=now)
        models, model = with_model(models, lineup.policies, size, model_of.taught, begins, place)
    copy = _copy_of(lineup, policy, model)
    version = PolicyVersion(policy=policy, model=model, since=now, knowledge=begins, copy=copy)
    new = NamedPolicy(name=name, versions=(version,), chosen=0)
    retired: Versions = ()
    if before is not None:
        new, retired = _with_version(before, version)
    return lineup.changed(
        now,
        f"{name} is {policy.label}",
        models=models,
        policies=_replaced(lineup, new),
        retired=_with_retired(lineup, retired),
    )


def with_chosen(lineup: Lineup, name: str, id: str, now: float) -> Lineup:
    """Return a lineup with another version in force: one that the name had, or that another has.

    What feedback taught since belongs to the model of the version that it leaves, unless both share
    one. A version of another name comes with what it knows, which both go on sharing.
    """
    named = lineup.named(name)
    if id == named.current.id:
        return lineup
    if id in [version.id for version in named.versions]:
        chosen, retired = named.with_chosen(id, now), named.versions[:0]
        text = f"{name} is {chosen.current.policy.label} again"
    else:
        version = next((one for one in lineup.versions if one.id == id), None)
        if version is None:
            raise Refused(Reason.UNKNOWN, "version", f"{id!r} is no version of any policy")
        version = replace(version, since=now, knowledge="shared")
        chosen, retired = _with_version(named, version)
        text = f"{name} is {version.policy.label}, as another name"
    return lineup.changed(
        now,
        text,
        policies=_replaced(lineup, chosen),
        retired=_with_retired(lineup, retired),
    )


def without(lineup: Lineup, name: str, now: float) -> Lineup:
    """Return a lineup without a policy; its models stay where they are."""
    gone = lineup.named(name)
    if name == DEFAULT:
        raise Refused(Reason.CONFLICT, "name", f"{DEFAULT!r} is served and must stay")
    if lineup.experiment is not None and name in lineup.experiment.assignment.shares:
        raise Refused(Reason.CONFLICT, "name", f"{name!r} is in an experiment; end it first")
    return lineup.changed(
        now,
        f"{name} is gone",
        policies=tuple(named for named in lineup.policies if named.name != name),
        shadows={shadow: share for shadow, share in lineup.shadows.items() if shadow != name},
        retired=_with_retired(lineup, gone.versions),
    )


def with_shadow(lineup: Lineup, name: str, share: float, now: float) -> Lineup:
    """Return a lineup with a policy that ranks for a share of the users, and is not shown; 0 ends
    that."""
    lineup.named(name)
    if not 0.0 <= share <= 1.0:
        raise invalid("share", f"must be between 0 and 1, got {share}")
    if share == lineup.shadows.get(name, 0.0):
        return lineup
    if len({*lineup.shadows, name}) > MOST_SHADOWS:
        rule = f"would be one more than {MOST_SHADOWS} policies in the shadow; take one out first"
        raise Refused(Reason.CONFLICT, "name", f"{name!r} {rule}")
    shadows = {**lineup.shadows, name: share}
    if share == 0.0:
        del shadows[name]
    words = f"ranks in the shadow for {share:.4g} of users" if share else "left the shadow"
    return lineup.changed(now, f"{name} {words}", shadows=shadows)


def with_kill_switch(lineup: Lineup, policy: Policy | None, now: float) -> Lineup:
    """Return a lineup with everybody served one policy that learns nothing; None ends that."""
    if policy == lineup.stopped:
        return lineup
    text = "the kill switch is off" if policy is None else f"everybody gets {policy.label}"
    return lineup.changed(now, text, stopped=policy)


def _with_version(named: NamedPolicy, version: PolicyVersion) -> tuple[NamedPolicy, Versions]:
    """Return a policy with another version in force, and the version that had to go for it."""
    new = named.with_version(version)
    if len(new.versions) <= MOST_VERSIONS:
        return new, ()
    return new.without_oldest(), new.versions[:1]


def _comparable_learner(lineup: Lineup, named: NamedPolicy, size: int) -> PolicyVersion | None:
    """Return what learns for a name, if it keeps `size` numbers of a user."""
    fits = named.taught is not None and lineup.models[named.taught].size == size
    return named.learner if fits else None


def _alone(lineup: Lineup, name: str) -> bool:
    """Say whether no other name is taught the model of this one, or of the default if it is new."""
    known = lineup.by_name.get(name, lineup.policies[0]).taught
    return all(named.taught != known for named in lineup.policies if named.name != name)


def _copy_of(lineup: Lineup, policy: Policy, model: int | None) -> int:
    """Return what tells a version from others with the same policy."""
    id, highest = version_of(policy), 0
    for version in (*lineup.retired, *lineup.versions):
        if version_of(version.policy) == id:
            if version.model == model:
                return version.copy
            highest = max(highest, version.copy)
    return highest + 1


def _with_retired(lineup: Lineup, more: Versions) -> Versions:
    """Return the retired versions with others, each once."""
    found = {version.id: version for version in (*lineup.retired, *more)}
    return tuple(found.values())[-MOST_RETIRED:]


def _replaced(lineup: Lineup, new: NamedPolicy) -> tuple[NamedPolicy, ...]:
    """Return the policies with one of them new, or another one."""
    if new.name not in lineup.by_name:
        return (*lineup.policies, new)
    return tuple(new if named.name == new.name else named for named in lineup.policies)


def _check_room(lineup: Lineup, name: str) -> None:
    check_name(name)
    if len(lineup.policies) >= MOST_POLICIES:
        raise Refused(Reason.CONFLICT, "name", f"is one more than {MOST_POLICIES} policies")
