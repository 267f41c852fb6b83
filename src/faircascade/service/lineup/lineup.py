"""The policies of a service at one time. Never changed: every change returns another lineup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

from faircascade.policies import Policy
from faircascade.service.experiments import Assignment
from faircascade.service.lineup.experiment import Experiment
from faircascade.service.lineup.models import Model, learn_alike, plain_spec, read_policy
from faircascade.service.lineup.policies import NamedPolicy, PolicyVersion
from faircascade.service.messages import Reason, Refused, invalid

DEFAULT = "default"
"""Name of the policy that is served to everybody who is in no experiment."""
MOST_POLICIES = 20
MOST_VERSIONS = 50
"""Versions of a name that are kept."""
MOST_SUMS = 20_000
"""Numbers of a user that all models together may have."""
CHANGES = 200
"""Changes that are remembered."""
VERSION = 1

Knowledge = Literal["shared", "branched", "new"]
"""What a new version knows: `shared` goes on with the model of the one before, `branched` begins
with it and leaves it as it is, `new` knows nothing."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What an operator did."""

    time: float
    text: str


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
    shadows: Mapping[str, float] = field(default_factory=dict)
    """Names of policies that rank for a share of the slates of others, and are not shown."""
    stopped: Policy | None = None
    """The kill switch: the policy that everybody is served, whatever else is said here."""
    changes: tuple[Change, ...] = ()
    """Newest last."""

    @classmethod
    def of(cls, policy: Policy, *, size: int, seed: int, now: float) -> Lineup:
        """Return the lineup of one policy that keeps `size` numbers of each user."""
        models = (Model(first=0, size=size, learner=policy),) if size else ()
        version = PolicyVersion(policy=policy, model=0 if size else None, since=now)
        named = NamedPolicy(name=DEFAULT, versions=(version,), chosen=0)
        change = Change(time=now, text=f"{DEFAULT} is {policy.label}")
        return cls(seed=seed, models=models, policies=(named,), changes=(change,))

    def serving(self, policy: Policy, *, size: int, seed: int | None, now: float) -> Lineup:
        """Return it as an operator starts it, with this policy as the default."""
        found = self
        if self.default.policy != policy:
            known = self.policies[0].taught
            fits = known is not None and self.models[known].size == size
            knowledge: Knowledge = "shared" if fits else "new"
            found = self.with_policy(DEFAULT, policy, size=size, now=now, knowledge=knowledge)
        if seed not in (None, self.seed):
            found = found._changed(now, f"the seed is {seed}", seed=seed)
        return found

    # who gets what

    @property
    def default(self) -> PolicyVersion:
        """What is served to everybody who is in no experiment."""
        return self.policies[0].current

    @property
    def width(self) -> int:
        """How many numbers of a user are needed."""
        return max((model.end for model in self.models), default=0)

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
            if (number := named.taught) is not None:
                ranks = named.current.model is not None
                learner = named.current.policy if ranks else self.models[number].learner
                found.setdefault(number, learner)
        return tuple((self.models[number], learner) for number, learner in found.items())

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
        return {version.id: version for _, version in self.versions()}

    def version(self, id: str) -> PolicyVersion | None:
        """Return the version with an id, whatever its name."""
        return self._by_id.get(id)

    def versions(self) -> Iterator[tuple[NamedPolicy, PolicyVersion]]:
        """Yield all versions of all names."""
        for named in self.policies:
            for version in named.versions:
                yield named, version

    # policies

    def with_policy(
        self,
        name: str,
        policy: Policy,
        *,
        size: int,
        now: float,
        knowledge: Knowledge | None = None,
    ) -> Lineup:
        """Return it with another policy under a name, or with a new name.

        Unless `knowledge` is given, what is known is shared if the policy learns like the one
        before, branched if it keeps as many numbers, and else new. Of a new name, the one before
        is the default.
        """
        before = self.by_name.get(name)
        known = (self.policies[0] if before is None else before).taught
        if before is None:
            self._check_room(name)
        elif len(before.versions) >= MOST_VERSIONS:
            raise Refused(Reason.CONFLICT, "name", f"{name!r} has {MOST_VERSIONS} versions")
        models, model = self.models, None
        if size:
            models, model = self._model(policy, size, known, knowledge)
        version = PolicyVersion(policy=policy, model=model, since=now)
        new = NamedPolicy(name=name, versions=(version,), chosen=0)
        return self._changed(
            now,
            f"{name} is {policy.label}",
            models=models,
            policies=self._replaced(new if before is None else before.with_version(version)),
        )

    def _model(
        self, policy: Policy, size: int, known: int | None, knowledge: Knowledge | None
    ) -> tuple[tuple[Model, ...], int]:
        """Return the models with the one of a new version, and which that is."""
        fits = known is not None and self.models[known].size == size
        wanted = knowledge or "new"
        if fits and knowledge is None:
            assert known is not None
            alike = learn_alike(self.models[known].learner, policy)
            wanted = "shared" if alike else "branched"
        if not fits and wanted != "new":
            rule = "must be 'new' for a policy that keeps more or fewer numbers than the one before"
            raise invalid("knowledge", f"{rule}, got {wanted!r}")
        if wanted == "shared":
            assert known is not None
            models = list(self.models)
            models[known] = replace(models[known], learner=policy)
            return tuple(models), known
        if self.width + size > max(MOST_SUMS, size):
            raise Refused(
                Reason.CONFLICT, "policy", f"would make more than {MOST_SUMS:,} sums of each user"
            )
        base: tuple[int, ...] = ()
        if wanted == "branched":
            assert known is not None
            base = (*self.models[known].base, self.models[known].first)
        new = Model(first=self.width, size=size, learner=policy, base=base)
        return (*self.models, new), len(self.models)

    def rolled_back(self, name: str, id: str | None, now: float) -> Lineup:
        """Return it with an earlier version of a policy in force: the one before, or that of an id.

        What feedback taught since belongs to the model of the version that it leaves, unless both
        share one.
        """
        named = self.named(name)
        places = [n for n, one in enumerate(named.versions) if id in (None, one.id)]
        if id is None:
            places = [n for n in places if n < named.chosen]
        if not places:
            what = "an earlier version" if id is None else f"version {id!r}"
            raise Refused(Reason.UNKNOWN, "version", f"{name!r} has not had {what}")
        back = named.back_to(places[-1], now)
        text = f"{name} is {back.current.policy.label} again"
        return self._changed(now, text, policies=self._replaced(back))

    def without(self, name: str, now: float) -> Lineup:
        """Return it without a policy; its models stay where they are."""
        self.named(name)
        if name == DEFAULT:
            raise Refused(Reason.CONFLICT, "name", f"{DEFAULT!r} is served and must stay")
        if self.experiment is not None and name in self.experiment.assignment.shares:
            raise Refused(Reason.CONFLICT, "name", f"{name!r} is in an experiment; end it first")
        policies = tuple(named for named in self.policies if named.name != name)
        shadows = {shadow: share for shadow, share in self.shadows.items() if shadow != name}
        return self._changed(now, f"{name} is gone", policies=policies, shadows=shadows)

    def with_shadow(self, name: str, share: float, now: float) -> Lineup:
        """Return it with a policy that ranks for a share of the slates, and is not shown; 0 ends
        that."""
        self.named(name)
        if not 0.0 <= share <= 1.0:
            raise invalid("share", f"must be between 0 and 1, got {share}")
        shadows = {**self.shadows, name: share}
        if share == 0.0:
            del shadows[name]
        words = f"ranks in the shadow for {share:.0%} of slates" if share else "left the shadow"
        return self._changed(now, f"{name} {words}", shadows=shadows)

    # the experiment

    def with_experiment(self, experiment: Experiment, now: float) -> Lineup:
        """Return it with an experiment; there is one at a time, as one policy makes a slate."""
        if self.experiment is not None:
            raise Refused(
                Reason.CONFLICT, "name", f"cannot begin while {self.experiment.name!r} is not ended"
            )
        for arm in experiment.assignment.shares:
            self.named(arm)
        shares = _shares(experiment.assignment)
        return self._changed(now, f"{experiment.name} begins: {shares}", experiment=experiment)

    def ramped(self, shares: Mapping[str, float], now: float) -> Lineup:
        """Return it with other shares of the experiment."""
        found = self.current_experiment
        for arm in shares:
            self.named(arm)
        assignment = found.assignment.ramped(shares)
        if assignment == found.assignment:
            return self
        experiment = found.with_assignment(assignment, now)
        text = f"{found.name}: {_shares(assignment)}"
        return self._changed(now, text, experiment=experiment)

    def paused(self, *, stopped: bool, now: float) -> Lineup:
        """Return it with the experiment stopped: everybody gets the control. Or going on."""
        found = self.current_experiment
        assignment = found.assignment.stop() if stopped else found.assignment.resume()
        experiment = replace(found, assignment=assignment)
        text = f"{found.name} {'is stopped' if stopped else 'goes on'}"
        return self._changed(now, text, experiment=experiment)

    def ended(self, now: float) -> Lineup:
        """Return it without the experiment."""
        return self._changed(now, f"{self.current_experiment.name} has ended", experiment=None)

    @property
    def current_experiment(self) -> Experiment:
        """The experiment, or a refusal if there is none."""
        if self.experiment is None:
            raise Refused(Reason.UNKNOWN, "experiment", "is not there: none was begun")
        return self.experiment

    # the kill switch

    def with_kill_switch(self, policy: Policy | None, now: float) -> Lineup:
        """Return it with everybody served one policy that needs no model; None ends that."""
        text = "the kill switch is off" if policy is None else f"everybody gets {policy.label}"
        return self._changed(now, text, stopped=policy)

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
            "shadows": dict(self.shadows),
            "stopped": None if self.stopped is None else plain_spec(self.stopped),
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
            models=tuple(Model.from_json(one, missing) for one in data["models"]),
            policies=tuple(NamedPolicy.from_json(one, missing) for one in data["policies"]),
            experiment=None if experiment is None else Experiment.from_json(experiment),
            shadows=data["shadows"],
            stopped=None if stopped is None else read_policy(stopped),
            changes=tuple(Change(time=time, text=text) for time, text in data["changes"]),
        )

    def _changed(self, now: float, text: str, **fields: Any) -> Self:
        changes = (*self.changes, Change(time=now, text=text))[-CHANGES:]
        return replace(self, number=self.number + 1, changes=changes, **fields)

    def _replaced(self, new: NamedPolicy) -> tuple[NamedPolicy, ...]:
        """Return the policies with one of them new, or another one."""
        if new.name not in self.by_name:
            return (*self.policies, new)
        return tuple(new if named.name == new.name else named for named in self.policies)

    def _check_room(self, name: str) -> None:
        if not name.strip() or len(name) > 64:
            raise invalid("name", f"must be a text of 1 to 64 characters, got {name!r}")
        if len(self.policies) >= MOST_POLICIES:
            raise Refused(Reason.CONFLICT, "name", f"is one more than {MOST_POLICIES} policies")


def _shares(assignment: Assignment) -> str:
    """Return the shares of arms in words."""
    return ", ".join(f"{name} {share:.4g}" for name, share in assignment.shares.items())
