"""What requests may choose from: candidates, filters, pins and the rules of the house."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue.selection import Selection
from faircascade.service.messages import RecommendationRequest, Refused, conflict, invalid
from faircascade.service.rules.quotas import Quotas
from faircascade.service.rules.rules import most_of_both, pins_of_both, wrong_pins
from faircascade.service.rules.selections import Filters, Selections, check_where
from faircascade.service.settings import ServiceSettings

MOST_FILTERS = 100
"""Different filters of a call: each costs as much as several slates."""
AT_ONCE = 50_000
"""Items up to which one filter is applied at once; a larger catalogue is filtered in a thread, and
so are the further filters of a batch."""

_Selected = Mapping[str, Selection | Refused]
"""What filters let through, or why they are refused."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what its items must satisfy, or why it is refused."""

    request: RecommendationRequest
    filters: Filters | Refused | None


class Call:
    """The requests of one call, which may have so many different filters together."""

    def __init__(self, house: Filters | None) -> None:
        """Apply filters of the house as well."""
        self._house = house
        self._keys: set[str] = set()

    def ask(self, requests: Iterable[RecommendationRequest]) -> list[Asked]:
        """Return requests with their filters."""
        return [Asked(request, self._filters(request)) for request in requests]

    def _filters(self, request: RecommendationRequest) -> Filters | Refused | None:
        if not request.where:
            return self._house
        filters = Filters.of(*(self._house.wheres if self._house else ()), request.where)
        if filters.key not in self._keys and len(self._keys) == MOST_FILTERS:
            rule = f"is one too many: a batch may have {MOST_FILTERS} different filters"
            return invalid("where", rule)
        self._keys.add(filters.key)
        return filters


class Choices:
    """Finds out what each request may choose from; what filters let through is remembered."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Keep to the rules and limits of a service."""
        self._limits = settings
        self._rules = settings.rules
        where = settings.rules.where
        self._house = Filters.of(where) if where else None  # of all requests
        self._known = Selections()

    def follow(self, catalogue: Catalogue) -> None:
        """Apply filters that are in use to a catalogue that has changed."""
        self._known.follow(catalogue)

    def check_rules(self, catalogue: Catalogue) -> None:
        """Refuse rules of the house about what no item has: they are misspelt."""
        for where in self._house.wheres if self._house else ():
            try:
                check_where(catalogue, where)
            except Refused as refused:
                raise ValueError(f"rules: {refused}") from None

    def call(self) -> Call:
        """Begin a call."""
        return Call(self._house)

    async def of(self, asked: Sequence[Asked], catalogue: Catalogue) -> list[Choice | Refused]:
        """Return what each may choose from, or why it is refused."""
        selected = await self._selected(asked, catalogue)
        found: list[Choice | Refused] = []
        for one in asked:
            try:
                found.append(self._choice(one, catalogue, selected))
            except Refused as refused:
                found.append(refused)
        return found

    async def _selected(self, asked: Sequence[Asked], catalogue: Catalogue) -> _Selected:
        found: dict[str, Selection | Refused] = {}
        wanted = {one.filters.key: one.filters for one in asked if isinstance(one.filters, Filters)}
        for place, (key, filters) in enumerate(wanted.items()):
            selection = self._known.known(catalogue, filters)
            try:
                if selection is None:
                    self._check(filters, catalogue)
                    if len(catalogue) > AT_ONCE or place > 0:
                        select = self._known.select
                        selection = await asyncio.to_thread(select, catalogue, filters)
                    else:
                        selection = self._known.select(catalogue, filters)
                found[key] = selection
            except Refused as refused:
                found[key] = refused
        return found

    def _check(self, filters: Filters, catalogue: Catalogue) -> None:
        """Refuse what a request filters by, if it makes no sense; the house may name anything."""
        house = 0 if self._house is None else len(self._house.wheres)
        for where in filters.wheres[house:]:
            check_where(catalogue, where)

    def _choice(self, asked: Asked, catalogue: Catalogue, selected: _Selected) -> Choice:
        """Return what a request may choose from, if it is not refused."""
        request, filters = asked.request, asked.filters
        limits, rules = self._limits, self._rules
        if isinstance(filters, Refused):
            raise filters
        if not 1 <= request.k <= limits.max_k:
            raise invalid("k", f"must be between 1 and {limits.max_k}, got {request.k}")
        for name, given in (("candidates", request.candidates or ()), ("exclude", request.exclude)):
            if len(given) > limits.max_candidates:
                rule = f"must name at most {limits.max_candidates:,} items, got {len(given):,}"
                raise invalid(name, rule)
        selection = None if filters is None else selected[filters.key]
        if isinstance(selection, Refused):
            raise selection
        if rule := wrong_pins(request.pinned, request.k):
            raise conflict("pinned", rule)
        pins = pins_of_both(rules.pinned, request.pinned, request.k)
        choice = catalogue.choice(
            request.candidates,
            request.exclude,
            selection=selection,
            pinned=[(pin.position, pin.item) for pin in pins],
            quotas=Quotas.of(most_of_both(rules.at_most, request.at_most)),
        )
        if choice.left == 0 and not choice.pins:
            raise self._nothing_left(request)
        return choice

    def _nothing_left(self, request: RecommendationRequest) -> Refused:
        """Return a refusal that names what took part, and nothing else."""
        parts = {
            "where": ("leaves", bool(request.where)),
            "candidates": ("leave", request.candidates is not None),
            "exclude": ("leaves", bool(request.exclude)),
            "rules": ("of this service leave", bool(self._house)),
        }
        part = [name for name, (_, took_part) in parts.items() if took_part]
        if not part:
            return conflict("catalogue", "has no item to recommend")
        others = [f"{name} of this service" if name == "rules" else name for name in part[1:]]
        rest = " and ".join(filter(None, [", ".join(others[:-1]), *others[-1:]]))
        verb, _ = parts[part[0]]
        return conflict(part[0], f"{verb} no item to recommend" + (rest and f", with {rest}"))
