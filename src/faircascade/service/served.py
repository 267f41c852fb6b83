"""Policies as they are served, and the scoring jobs that answer requests by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.policies.composed import ComposedPolicy
from faircascade.propensities import is_drawn, knows_chances
from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue_scoring import CatalogueJob
from faircascade.service.lineup import Lineup, Model
from faircascade.service.lineup.models import version_of
from faircascade.service.messages import RecommendationRequest
from faircascade.service.new_users import NewUsers
from faircascade.service.pool_quotas import PoolQuotasJob
from faircascade.service.rules.pins import with_pins
from faircascade.service.scoring import PoolJob, RankedSlate, ScoringJob
from faircascade.service.stores.base import Slots, UserStates
from faircascade.types import Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedPolicy:
    """A policy, and what it knows users by."""

    policy: Policy
    id: str
    """Of its version."""
    model: Model | None
    seed: int

    @cached_property
    def version(self) -> Mapping[str, str]:
        """What recommendations say of it."""
        return {"name": self.policy.name, "version": self.id}

    @property
    def key(self) -> tuple[Any, ...]:
        """What its slates depend on."""
        place = None if self.model is None else (self.model.first, *self.model.base)
        return self.id, place, self.seed

    @cached_property
    def new_users(self) -> NewUsers:
        """What it shows users of whom nothing is known."""
        assert isinstance(self.policy, ComposedPolicy)
        return NewUsers(self.policy, self.seed)

    @cached_property
    def draws(self) -> bool:
        """Whether it leaves something to chance, and may know how likely it was."""
        return is_drawn(self.policy) and knows_chances(self.policy)

    def sums(self, sums: Floats) -> Floats:
        """Return what it knows of users, out of all that is."""
        return sums[:, :0] if self.model is None else self.model.of(sums)

    def prepare(self, catalogue: Catalogue) -> None:
        """Compute what requests need of a catalogue, so that none of them waits for it."""
        if not len(catalogue):
            return
        if not self.policy.itemwise:
            _ = catalogue.whole.by_key, catalogue.whole.radius
        elif len(catalogue.segments) > 1:
            for segment in catalogue.segments:
                _ = segment.rough_pool.single_by_feature, segment.rough_pool.radius
            if self.new_users.worthwhile:
                self.new_users.prepare(catalogue)


def served_policies(lineup: Lineup, before: Mapping[str, ServedPolicy]) -> dict[str, ServedPolicy]:
    """Return what is served under each name; what was served before is used again."""
    kept = {one.key: one for one in before.values()}
    served = {}
    for named in lineup.policies:
        now = named.current
        model = None if now.model is None else lineup.models[now.model]
        new = ServedPolicy(policy=now.policy, id=now.id, model=model, seed=lineup.seed)
        if (policy := lineup.stopped) is not None:
            id = version_of(policy)
            new = ServedPolicy(policy=policy, id=id, model=None, seed=lineup.seed)
        served[named.name] = kept.setdefault(new.key, new)
    return served


@dataclass(frozen=True, eq=False)
class Asked:
    """Requests that came together, what is known of their users, and who answers each."""

    requests: Sequence[RecommendationRequest]
    choices: Sequence[Choice]
    states: UserStates
    catalogue: Catalogue
    policies: Sequence[ServedPolicy]
    units_of: Callable[[Slots], Ints]
    """Returns the exposure units of items."""
    rates: bool = False
    """Whether slates are to say how likely they were, where a policy draws."""

    def is_ranked(self, place: int) -> bool:
        """Return whether a policy has a say in a slate: it has not if all of it is pinned."""
        choice = self.choices[place]
        return choice.left > 0 and self.requests[place].k > len(choice.pins)

    def pinned(self, place: int, slate: RankedSlate | None) -> RankedSlate:
        """Return a slate with the items that are pinned, or refuse it."""
        served, choice, k = self.policies[place], self.choices[place], self.requests[place].k
        rest = 0 if slate is None else len(slate.slots)
        served.policy.regression_table(min(k, rest + len(choice.pins)))  # it must be learnable
        certain = slate is None and self.rates and served.draws
        return with_pins(slate, choice.pins, self.catalogue, certain=certain)

    def groups(self, places: Iterable[int]) -> list[list[int]]:
        """Divide some of the requests into those that one scoring can answer."""
        alike: dict[object, list[int]] = {}
        for place in places:
            request, choice, served = (
                self.requests[place],
                self.choices[place],
                self.policies[place],
            )
            # some lengths cannot be learned from
            key: tuple[object, ...] = (served, request.k, choice.selection, choice.quotas)
            if not (self._from_segments(choice) and served.policy.itemwise):
                among = None if request.candidates is None else tuple(request.candidates)
                filtered = None if choice.among is None else choice.filtered
                key = (*key, among, tuple(request.exclude), filtered, choice.pins)
            alike.setdefault(key, []).append(place)
        return list(alike.values())

    def job(self, places: Sequence[int]) -> ScoringJob:
        """Return the scoring of a group."""
        served = self.policies[places[0]]
        catalogue, choices = self.catalogue, [self.choices[place] for place in places]
        states, itemwise = self.states, served.policy.itemwise
        what: dict[str, Any] = {
            "policy": served.policy,
            "users": [self.requests[place].user for place in places],
            "sums": served.sums(states.sums[places]),
            "rounds": states.rounds[places],
            "accounts": [states.accounts[place] for place in places] if states.accounts else (),
            "seed": served.seed,
            "rates": self.rates and served.draws,
        }
        k, choice = self.requests[places[0]].k, choices[0]
        if itemwise and self._from_segments(choice):
            return CatalogueJob(
                **what,
                catalogue=catalogue,
                new_users=served.new_users,
                lengths=[min(k - len(choice.pins), choice.left) for choice in choices],
                without=[choice.without for choice in choices],
                units=self._units(served, catalogue.slots),
                selection=choice.selection,
                quotas=choice.quotas,
                pinned=[choice.pinned for choice in choices] if choice.quotas else (),
            )
        if choice.among is not None and itemwise:
            pool = catalogue.excerpt(choice.among)
        elif choice.among is None and choice.selection is None and not len(choice.without):
            pool = catalogue.whole
        else:
            pool = catalogue.whole.items.among(self._rows(choice))
        units = self._units(served, pool.items.ids)
        what |= {"pool": pool, "k": min(k - len(choice.pins), len(pool)), "units": units}
        if choice.quotas is None:
            return PoolJob(**what)
        return PoolQuotasJob(
            **what, catalogue=catalogue, quotas=choice.quotas, pinned=choice.pinned
        )

    def _from_segments(self, choice: Choice) -> bool:
        """Return whether an itemwise policy ranks segment by segment."""
        several = len(self.catalogue.segments) > 1
        ruled = choice.selection is not None or choice.quotas is not None
        return choice.among is None and (several or ruled or len(choice.without) > 0)

    def _rows(self, choice: Choice) -> Ints:
        """Return the rows that a request may choose from."""
        if choice.among is not None:
            return choice.among
        if choice.selection is not None:
            return np.setdiff1d(choice.selection.rows, choice.without, assume_unique=True)
        return np.delete(self.catalogue.whole.rows, choice.without)

    def _units(self, served: ServedPolicy, slots: Slots) -> Ints:
        """Return the exposure units of items, if they count."""
        counts = served.policy.ledger_scope == "global"
        return self.units_of(slots) if counts else np.empty(0, np.int64)
