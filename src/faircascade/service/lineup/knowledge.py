"""What a version of a policy knows of users, and how that follows from what others know.

What a branch begins with must stay as it is. So a model with branches is never taught again: the
policies that would go on teaching it get a branch of their own, in which nothing is at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from faircascade.policies import Policy
from faircascade.service.lineup.models import Model, comparable, learn_alike
from faircascade.service.lineup.policies import Knowledge, NamedPolicy, PolicyVersion
from faircascade.service.messages import Reason, Refused

Models = tuple[Model, ...]

Place = Callable[[Models, int], int]
"""Says where a model of a size may begin, next to others."""

MOST_SUMS = 20_000
"""Numbers of a user that all models together may have."""


def chosen_knowledge(
    wanted: Knowledge | None, learner: PolicyVersion | None, policy: Policy, *, alone: bool
) -> Knowledge:
    """Return how a policy begins to know users, or refuse what is wanted.

    The learner is that of the version before; `alone` says that no other name teaches its model.
    """
    fits = learner is not None and comparable(learner.policy, policy)
    alike = learner is not None and learn_alike(learner.policy, policy)
    if wanted is None:
        return "shared" if alike else "branched" if fits else "new"
    if wanted != "new" and not fits:
        rule = "must be 'new' for a policy that keeps other numbers than the one before"
        raise Refused(Reason.CONFLICT, "knowledge", f"{rule}, got {wanted!r}")
    if wanted == "shared" and not alike and not alone:
        rule = "must be 'branched' or 'new': other policies go on with what is known"
        why = f"{rule}, and learn it differently; got 'shared'"
        raise Refused(Reason.CONFLICT, "knowledge", why)
    return wanted


def with_model(
    models: Models,
    policies: Iterable[NamedPolicy],
    size: int,
    known: int | None,
    knowledge: Knowledge,
    place: Place,
) -> tuple[Models, int]:
    """Return the models with the one of a new version, and which that is."""
    if known is not None and knowledge == "shared":
        return models, known
    base: tuple[int, ...] = ()
    if known is not None and knowledge == "branched":
        base = models[known].branch_base
    new = Model(first=place(models, size), size=size, base=base)
    taken = sum(model.size for model in models) + _still_to_branch((*models, new), policies)
    if max(taken + size, new.end) > max(MOST_SUMS, size):
        what = f"would make more than {MOST_SUMS:,} sums of each user"
        raise Refused(Reason.CONFLICT, "policy", what)
    return (*models, new), len(models)


def _still_to_branch(models: Models, policies: Iterable[NamedPolicy]) -> int:
    """Return how many sums must be left for versions whose models have branches: going back to
    them may not fail."""
    used = {version.model for named in policies for version in named.versions}
    return sum(models[n].size for n in used if n is not None and _has_branch(models, n))


def branched_off(
    models: Models, policies: Sequence[NamedPolicy], place: Place
) -> tuple[Models, tuple[NamedPolicy, ...]]:
    """Return models and policies so that no model with branches is taught.

    All versions that share a model go on sharing what takes its place.
    """
    places: dict[int, int] = {}
    for named in policies:
        taught = named.taught
        if taught is None or taught in places or not _has_branch(models, taught):
            continue
        old = models[taught]
        places[taught] = len(models)
        first = place(models, old.size)
        models = (*models, replace(old, first=first, base=old.branch_base))
    if not places:
        return models, tuple(policies)
    return models, tuple(named.with_models(places) for named in policies)


def _has_branch(models: Models, number: int) -> bool:
    return any(models[number].first in model.base for model in models)
