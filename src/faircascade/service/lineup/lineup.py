"""The policies of a service at one time. Never changed: every change returns another lineup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

from faircascade.policies import Policy
from faircascade.service.lineup.experiment import Experiment
from faircascade.service.lineup.knowledge import branched_off
from faircascade.service.lineup.models import Model, plain_spec, read_policy, version_of
from faircascade.service.lineup.policies import NamedPolicy, PolicyVersion
from faircascade.service.lineup.vacancies import NOTHING, Move, Vacancies, tidied
from faircascade.service.messages import Reason, Refused

DEFAULT = "default"
"""Name of the policy that is served to everybody who is in no experiment."""
CHANGES = 100
"""Changes that are remembered."""
VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Change:
    """What an operator did."""

    time: float
    text: str


@dataclass(frozen=True, kw_only=True)
class PastExperiment:
    """An experiment that has ended."""

    name: str
    since: float
    until: float


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """Policies by name, the experiment that compares some, those in the shadow, the kill switch."""

    number: int = 1
    """Grows with every change."""
    seed: int
    models: tuple[Model, ...]
    policies: tuple[NamedPolicy, ...]
    """The first is that of `DEFAULT`."""
    experiment: Experiment | None = None
    past: tuple[PastExperiment, ...] = ()
    """Experiments that have ended, each name once; newest last."""
    shadows: Mapping[str, float] = field(default_factory=dict)
    """Names of policies that rank for a share of the slates of others, and are not shown."""
    given: str = ""
    """Of which policy the default was at the last start, as `version_of` says."""
    retired: tuple[PolicyVersion, ...] = ()
    """Versions that are gone; there may be feedback on their slates."""
    stopped: Policy | None = None
    """The kill switch: the policy that everybody is served, whatever else is said here."""
    vacant: Vacancies = NOTHING
    """Numbers of users that no model needs any more."""
    changes: tuple[Change, ...] = ()
    """Newest last."""

    @classmethod
    def of(cls, policy: Policy, *, size: int, seed: int, now: float) -> Lineup:
        """Return the lineup of one policy that keeps `size` numbers of each user."""
        models = (Model(first=0, size=size),) if size else ()
        version = PolicyVersion(policy=policy, model=0 if size else None, since=now)
        named = NamedPolicy(name=DEFAULT, versions=(version,), chosen=0)
        change = Change(time=now, text=f"{DEFAULT} is {policy.label}")
        given = version_of(policy)
        return cls(seed=seed, models=models, policies=(named,), given=given, changes=(change,))

    # who gets what

    @property
    def default(self) -> PolicyVersion:
        """What is served to everybody who is in no experiment."""
        return self.policies[0].current

    @property
    def width(self) -> int:
        """How many numbers of a user are needed."""
        return self.vacant.end(self.models)

    @cached_property
    def by_name(self) -> Mapping[str, NamedPolicy]:
        return {named.name: named for named in self.policies}

    def named(self, name: str) -> NamedPolicy:
        """Return the policy of a name, or refuse it."""
        if name not in self.by_name:
            raise Refused(Reason.UNKNOWN, "name", f"{name!r} is not the name of a policy")
        return self.by_name[name]

    def serves(self, user: str) -> tuple[str, str | None]:
        """Return the name of a user's policy, and the arm that the user counts in, if any."""
        if self.experiment is None or self.stopped is not None:
            return DEFAULT, None
        arm = self.experiment.assignment.arm_of(user)
        return arm or self.experiment.control, arm

    @cached_property
    def taught(self) -> tuple[tuple[Model, Policy], ...]:
        """The models that feedback teaches, those of all names but not of earlier versions, each
        with a policy that learns it."""
        found: dict[int, Policy] = {}
        for named in self.policies:
            if (learner := named.learner) is not None and learner.model is not None:
                found.setdefault(learner.model, learner.policy)
        return tuple((self.models[number], learner) for number, learner in found.items())

    @cached_property
    def spare(self) -> frozenset[int]:
        """Where the models begin that serve nobody: what goes wrong with them may harm nobody."""
        arms = () if self.experiment is None else self.experiment.assignment.shares
        serving = {self.named(name).taught for name in (DEFAULT, *arms)}
        all_taught = {named.taught for named in self.policies}
        return frozenset(self.models[n].first for n in all_taught - serving if n is not None)

    @cached_property
    def observer(self) -> PolicyVersion | None:
        """What says which positions were seen of slates whose policy learns nothing."""
        return next((named.learner for named in self.policies if named.learner is not None), None)

    def counted(self, user: str) -> dict[str, Any]:
        """Return what the events of a user's slates need to be counted for the experiment."""
        _, arm = self.serves(user)
        if arm is None or self.experiment is None:
            return {}
        return {"experiment": self.experiment.note(user, arm)}

    @cached_property
    def keeps_accounts(self) -> bool:
        """Whether any policy goes by the exposure that each user has seen."""
        policies = [named.current.policy for named in self.policies]
        policies += [learner for _, learner in self.taught]
        return any(policy.ledger_scope == "user" for policy in policies)

    @cached_property
    def _by_id(self) -> Mapping[str, PolicyVersion]:
        return {version.id: version for version in (*self.retired, *self.versions)}

    def version(self, id: str) -> PolicyVersion | None:
        """Return the version with an id, whatever its name."""
        return self._by_id.get(id)

    @property
    def versions(self) -> Iterator[PolicyVersion]:
        """Yield all versions of all names."""
        return (version for named in self.policies for version in named.versions)

    def experiment_named(self, name: str) -> Experiment:
        """Return the experiment if it has this name, or refuse."""
        if self.experiment is None or self.experiment.name != name:
            raise Refused(Reason.UNKNOWN, "name", f"{name!r} is not the name of an experiment now")
        return self.experiment

    # plain data

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "version": VERSION,
            "number": self.number,
            "seed": self.seed,
            "models": [model.to_json() for model in self.models],
            "policies": [named.to_json() for named in self.policies],
            "experiment": None if self.experiment is None else self.experiment.to_json(),
            "past": [[one.name, one.since, one.until] for one in self.past],
            "shadows": dict(self.shadows),
            "given": self.given,
            "retired": [version.to_json() for version in self.retired],
            "stopped": None if self.stopped is None else plain_spec(self.stopped),
            "vacant": self.vacant.to_json(),
            "changes": [[change.time, change.text] for change in self.changes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], missing: Policy | None = None) -> Lineup:
        """Return what `to_json` was called on; `missing` is served where a policy was lost."""
        if data.get("version") != VERSION:
            raise ValueError(f"policies of version {data.get('version')}; this is {VERSION}")
        experiment, stopped = data["experiment"], data["stopped"]
        return cls(
            number=data["number"],
            seed=data["seed"],
            models=tuple(Model.from_json(one) for one in data["models"]),
            policies=tuple(NamedPolicy.from_json(one, missing) for one in data["policies"]),
            experiment=None if experiment is None else Experiment.from_json(experiment),
            past=tuple(PastExperiment(name=n, since=s, until=u) for n, s, u in data["past"]),
            shadows=data["shadows"],
            given=data["given"],
            retired=tuple(PolicyVersion.from_json(one, missing) for one in data["retired"]),
            stopped=None if stopped is None else read_policy(stopped),
            vacant=Vacancies.from_json(data["vacant"]),
            changes=tuple(Change(time=time, text=text) for time, text in data["changes"]),
        )

    def changed(self, now: float, text: str, **fields: Any) -> Self:
        """Return it with other fields.

        Models that were branched off are taught no more, and an experiment whose arms got other
        policies is counted anew.
        """
        changes = (*self.changes, Change(time=now, text=text))[-CHANGES:]
        found = replace(self, number=self.number + 1, changes=changes, **fields)
        place = partial(found.vacant.place, now=now)
        models, policies = branched_off(found.models, found.policies, place)
        found = replace(found, models=models, policies=policies).tidied(now)
        experiment = found.experiment
        if experiment is not None and found._arms(experiment) != self._arms(experiment):
            experiment = experiment.begun_anew(found.number, now)
        return replace(found, experiment=experiment)

    def moved(self, move: Move, now: float) -> Self:
        """Return it when the store has moved numbers: others may have their place."""
        if move not in self.vacant.moves:
            return self
        models = tuple(
            replace(model, base=tuple(first for first in model.base if first != move.first))
            for model in self.models
            if model.first != move.first
        )
        places = {model.first: n for n, model in enumerate(models)}
        numbers = {n: places[m.first] for n, m in enumerate(self.models) if m.first in places}
        found = self._with_models(models, numbers)
        vacant = self.vacant.freed(move, now)
        return replace(found, number=self.number + 1, vacant=vacant).tidied(now)

    def tidied(self, now: float) -> Self:
        """Return it without models that nobody needs."""
        models, numbers, vacant = tidied(self.models, self.policies, self.vacant, now)
        return replace(self._with_models(models, numbers), vacant=vacant)

    def _with_models(self, models: tuple[Model, ...], numbers: Mapping[int, int]) -> Self:
        """Return it with some of its models, by their new numbers. Nobody goes back to versions
        that are gone: they may have lost theirs."""
        retired = tuple(
            replace(one, model=None if one.model is None else numbers.get(one.model))
            for one in self.retired
        )
        policies = tuple(named.with_models(numbers) for named in self.policies)
        return replace(self, models=models, policies=policies, retired=retired)

    def _arms(self, experiment: Experiment) -> list[str]:
        """Return the versions that an experiment compares."""
        return [self.named(arm).current.id for arm in experiment.assignment.shares]
