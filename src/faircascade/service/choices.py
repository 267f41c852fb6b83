"""What requests may choose from: candidates, filters, pins and the rules of the house."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue.selection import Selection
from faircascade.service.messages import RecommendationRequest, Refused, conflict, invalid
from faircascade.service.rules.quotas import Quotas
from faircascade.service.rules.rules import most_of_both, pins_of_both, wrong_pins
from faircascade.service.rules.selections import Filters, Selections, check_where, filters_key
from faircascade.service.settings import ServiceSettings

MOST_FILTERS = 100
"""Different filters that are applied together: each costs as much as several slates."""
AT_ONCE = 50_000
"""Items up to which one filter is applied at once; a larger catalogue is filtered in a thread, and
so are the further filters of a batch."""

_Selected = Mapping[str, Selection | Refused]
"""What filters let through, or why they are refused."""


class Choices:
    """Finds out what each request may choose from; what filters let through is remembered."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Keep to the rules and limits of a service."""
        self._limits = settings
        self._rules = settings.rules
        where = settings.rules.where
        self._house: Filters = () if not where else (where,)  # of all requests
        self._known = Selections()

    def follow(self, catalogue: Catalogue) -> None:
        """Apply filters that are in use to a catalogue that has changed."""
        self._known.follow(catalogue)

    def check_rules(self, catalogue: Catalogue) -> None:
        """Refuse rules of the house about what no item has: they are misspelt."""
        for where in self._house:
            try:
                check_where(catalogue, where)
            except Refused as refused:
                raise ValueError(f"rules: {refused}") from None

    async def of(
        self, requests: Sequence[RecommendationRequest], catalogue: Catalogue
    ) -> list[Choice | Refused]:
        """Return what each may choose from, or why it is refused."""
        selected = await self._selected(requests, catalogue)
        found: list[Choice | Refused] = []
        for request in requests:
            try:
                found.append(self._choice(request, catalogue, selected))
            except Refused as refused:
                found.append(refused)
        return found

    async def _selected(
        self, requests: Sequence[RecommendationRequest], catalogue: Catalogue
    ) -> _Selected:
        found: dict[str, Selection | Refused] = {}
        wanted = {filters_key(f): f for r in requests if (f := self._filters(r))}
        for count, (key, filters) in enumerate(wanted.items(), start=1):
            if count > MOST_FILTERS:
                rule = f"is one too many: a batch may have {MOST_FILTERS} different filters"
                found[key] = invalid("where", rule)
                continue
            selection = self._known.known(catalogue, key)
            try:
                for where in filters[len(self._house) :]:
                    check_where(catalogue, where)
                if selection is None and (len(catalogue) > AT_ONCE or count > 1):
                    select = self._known.select
                    selection = await asyncio.to_thread(select, catalogue, filters)
                found[key] = selection or self._known.select(catalogue, filters)
            except Refused as refused:
                found[key] = refused
        return found

    def _filters(self, request: RecommendationRequest) -> Filters:
        """Return what the items of a request must satisfy."""
        return self._house if not request.where else (*self._house, request.where)

    def _choice(
        self, request: RecommendationRequest, catalogue: Catalogue, selected: _Selected
    ) -> Choice:
        """Return what a request may choose from, if it is not refused."""
        limits, rules = self._limits, self._rules
        if not 1 <= request.k <= limits.max_k:
            raise invalid("k", f"must be between 1 and {limits.max_k}, got {request.k}")
        for name, given in (("candidates", request.candidates or ()), ("exclude", request.exclude)):
            if len(given) > limits.max_candidates:
                rule = f"must name at most {limits.max_candidates:,} items, got {len(given):,}"
                raise invalid(name, rule)
        filters = self._filters(request)
        selection = selected.get(filters_key(filters)) if filters else None
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
