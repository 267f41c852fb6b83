"""The service without HTTP: recommend, learn, keep the catalogue, forget users."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.service.activity import Activity
from faircascade.service.batching import Batcher
from faircascade.service.catalogue.attribute_changes import attribute_changes
from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue.free_memory import FreeMemory
from faircascade.service.catalogue.selection import Selection
from faircascade.service.cold_start import ColdStart
from faircascade.service.event_log.status import LogStatus
from faircascade.service.expiry import STATE as EXPIRY
from faircascade.service.expiry import ExpiryClock, seconds_elapsed
from faircascade.service.exposure import ExposureTracker
from faircascade.service.ids import LARGEST_FEATURE
from faircascade.service.learning import model_updates, read_feedback
from faircascade.service.lineup import Lineup, Model
from faircascade.service.lineup.models import read_policy, size_of, version_of
from faircascade.service.lineup.policy_changes import serving
from faircascade.service.lineup.vacancies import Move
from faircascade.service.messages import (
    FeedbackReceipt,
    FeedbackRequest,
    ItemChange,
    Reason,
    Recommendation,
    RecommendationRequest,
    Refused,
    conflict,
    invalid,
)
from faircascade.service.no_clicks import NoClicks
from faircascade.service.precedence import SMALL, Precedence, pieces
from faircascade.service.ranking import Ranking, Scoring, Served
from faircascade.service.rules.quotas import Quotas
from faircascade.service.rules.rules import most_of_both, pins_of_both, wrong_pins
from faircascade.service.rules.selections import Filters, Selections, check_where, filters_key
from faircascade.service.settings import ServiceSettings
from faircascade.service.shadow_budget import ShadowBudget
from faircascade.service.stores.base import (
    DEFAULT,
    VALUES,
    Impression,
    ItemPatch,
    ModelUpdate,
    Store,
    StoreDown,
    StoreShape,
    StoreUnsure,
    UpdateOutcome,
    UserRecord,
)
from faircascade.types import Floats

log = logging.getLogger(__name__)

MAX_BATCH = 64
"""Most separate requests that are processed together."""
MOST_ATTEMPTS = 20
"""How often a change of the policies is tried while others change them."""
MOST_FILTERS = 100
"""Different filters that are applied together: each costs as much as several slates."""
AT_ONCE = 50_000
"""Items up to which a filter is applied at once; a larger catalogue is filtered in a thread."""
LINEUP = "lineup"
"""Under which name the store keeps the policies."""
EVENT_LOG = "event_log"
"""Under which name the store keeps how far its event log has come, if it has one."""


class Service:
    """Policies, a store and the catalogue."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        *,
        dim: int,
        topics: int = 0,
        seed: int | None = None,
        settings: ServiceSettings | None = None,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = seconds_elapsed,
    ) -> None:
        """Serve a policy by default; a store that knows others goes on with them.

        Without a seed, that of the store is used, or 0.
        """
        self.store = store
        self.settings = settings or ServiceSettings()
        self.clock = clock
        self.expiry = ExpiryClock(self.settings.ttl, clock, elapsed)
        self.catalogue = Catalogue.empty(dim, topics)
        self.exposure = ExposureTracker(clock, lambda: self.catalogue.recipients)
        self.activity = Activity()
        self.no_clicks = NoClicks(self.settings, clock, elapsed, self.activity)
        self.log_status = LogStatus()
        self.started = False
        self.stopping = False
        """True when new requests should go elsewhere."""
        self._catalogue_version = 0
        self._changing = asyncio.Lock()  # the catalogue
        self._changing_policies = asyncio.Lock()
        self._followed: Any = None  # the policies as the store keeps them
        self._free_memory = FreeMemory()
        self._filtered = Selections()
        self._wanted = policy, seed
        self._sums = 0
        self._unread = ""  # why the policies of the store cannot be followed
        self.lineup = Lineup.of(policy, size=self.size_of(policy), seed=seed or 0, now=clock())
        self._ranking = Ranking(
            self.lineup,
            store,
            exposure=self.exposure,
            clock=clock,
            logged=self.settings.event_log,
            cold_start=self._cold_start(),
            shadows=ShadowBudget(self.activity.dropped_shadows),
        )
        self.precedence = Precedence()
        self._recommending = Batcher(self._recommend, most=MAX_BATCH)
        self._learning = Batcher(self._learn, most=MAX_BATCH)

    def _cold_start(self) -> ColdStart | None:
        slates = self.settings.cold_start
        return None if slates is None else ColdStart(slates, ignored=self.activity.ignored_labels)

    def watch(self, store: Callable[[Store], Store], scoring: Callable[[Scoring], Scoring]) -> None:
        """Put something around the calls of the store and the scoring, such as spans of traces."""
        self.store = store(self.store)
        self._ranking.watch(self.store, scoring)

    @property
    def dim(self) -> int:
        """Features of an item."""
        return self.catalogue.dim

    @property
    def topics(self) -> int:
        """Topics of an item."""
        return self.catalogue.topics

    @property
    def width(self) -> int:
        """Numbers that the store keeps of each user."""
        return max(self._sums, self.lineup.width)

    @property
    def policy(self) -> Policy:
        """What is served to everybody who is in no experiment."""
        return self.lineup.default.policy

    @property
    def learner(self) -> Policy:
        """What learns where that policy does: another one if it learns nothing."""
        learner = self.lineup.policies[0].learner
        return self.policy if learner is None else learner.policy

    @property
    def seed(self) -> int:
        """With what is known of users, it determines the slates."""
        return self.lineup.seed

    @property
    def _model(self) -> Model | None:
        """Where what the learner knows of users is kept."""
        number = self.lineup.policies[0].taught
        return None if number is None else self.lineup.models[number]

    def known(self, sums: Floats) -> Floats:
        """Return what the learner knows of users, (n, size), out of all sums, (n, s)."""
        return sums[:, :0] if self._model is None else self._model.of(sums)

    def sums_of(self, known: Floats) -> Floats:
        """Return all sums, (n, s), of users of whom nothing but this is known, (n, size)."""
        sums = np.zeros((len(known), self.lineup.width))
        if self._model is not None:
            sums[:, self._model.first : self._model.end] = known
        return sums

    @property
    def version(self) -> str:
        """A short text that changes with any parameter of the policy."""
        return self.lineup.default.id

    def size_of(self, policy: Policy) -> int:
        """Return how many numbers a policy keeps of a user."""
        return size_of(policy, self.catalogue.blank)

    async def start(self) -> None:
        """Open the store and read what is needed to answer; users stay where they are."""
        kept = await self.store.stored_shape()
        shape = StoreShape(
            dim=self.dim + self.topics,
            sums=self.lineup.width if kept is None else kept.sums,
            topics=self.topics,
        )
        await self.store.open(shape)
        self._sums = shape.sums
        await self.follow_event_log()
        await self._take_lineup(new=kept is None, sums=shape.sums)
        self.expiry.restore(await self.store.get_meta(EXPIRY))
        await self.follow_catalogue()
        await self.exposure.restore(self.store)
        await self.exposure.catch_up(self.store)
        self.started = True

    async def _take_lineup(self, *, new: bool, sums: int) -> None:
        """Go on with the policies that the store knows, and with the one that is wanted."""
        policy, seed = self._wanted

        def wanted(lineup: Lineup) -> Lineup:
            size = self.size_of(policy)
            found = serving(lineup, policy, size=size, seed=seed, now=self.clock())
            if reason := self._ungraded(found):
                raise ValueError(reason)
            return found

        kept = await self.store.get_meta(LINEUP)
        if kept is None and not new and sums != self.lineup.width:
            raise ValueError(
                f"keeps {sums} numbers per user, policy {policy.name!r} learns {self.lineup.width};"
                " use another --store or a policy that learns as many"
            )
        try:
            await self._follow(kept)
        except Refused as error:
            raise ValueError(str(error)) from error
        before = self.lineup
        await self.change(wanted, always=True)
        if self.lineup is not before and kept is not None:
            log.warning("policy changed", extra={"change": self.lineup.changes[-1].text})
        if version_of(self.policy) != version_of(policy):
            stays = {"stays": self.policy.label, "given": policy.label}
            log.warning("the policy was changed since the last start; it stays", extra=stays)

    async def change(
        self, change: Callable[[Lineup], Lineup], *, always: bool = False, trial: str | None = None
    ) -> None:
        """Change the policies: of this service at once, of others on the same store within a
        second. Nobody's change is lost: what others change meanwhile is changed further.

        A `trial` is the name of a policy that has to rank a slate before anybody gets one.
        """
        async with self._changing_policies:
            for _ in range(MOST_ATTEMPTS):
                kept = await self.store.get_meta(LINEUP)
                await self._follow(kept)
                lineup = change(self.lineup)
                if lineup is self.lineup and kept is not None and not always:
                    return
                if reason := self._ungraded(lineup):
                    raise invalid("policy", reason)
                served = await self._ranking.prepared(lineup, self.catalogue)
                if trial is not None and len(self.catalogue):
                    await self._ranking.check(lineup, served[trial], self.catalogue)
                plain = json.loads(json.dumps(lineup.to_json()))
                await self._make_room(lineup)
                if await self.store.replace_meta(LINEUP, kept, plain):
                    self._serve(lineup, served, plain)
                    return
        raise Refused(Reason.CONFLICT, "policies", "are changed by others all the time; try again")

    async def reclaimed(self, move: Move) -> None:
        """Let other policies have numbers that were moved for all users."""
        await self.change(lambda lineup: lineup.moved(move, self.clock()))

    def _ungraded(self, lineup: Lineup) -> str:
        """Return why the policies cannot learn from graded rewards, if they should."""
        for _, learner in lineup.taught if self.settings.rewards is not None else ():
            if learner.refuses_values:
                return f"{learner.name!r} cannot be used with rewards: {learner.refuses_values}"
        return ""

    async def follow_lineup(self) -> None:
        """Take in how another service changed the policies."""
        async with self._changing_policies:
            try:
                await self._follow(await self.store.get_meta(LINEUP))
            except StoreDown:
                raise
            except Exception as error:
                if str(error) != self._unread:  # once, not five times a second
                    log.error("policies cannot be followed", extra={"reason": str(error)})
                self._unread = str(error)
            else:
                self._unread = ""

    async def _follow(self, kept: Any) -> None:
        """Serve the policies that the store keeps, unless they are served."""
        if kept is None or kept == self._followed:
            return
        try:
            lineup = Lineup.from_json(kept, missing=self.policy)
        except (ValueError, TypeError, KeyError) as error:  # a component that is not installed
            await self._follow_kill_switch(kept)
            why = f"of the store cannot be read here: {error}"
            raise Refused(Reason.CONFLICT, "policies", why) from error
        served = await self._ranking.prepared(lineup, self.catalogue)
        await self._make_room(lineup)
        self._serve(lineup, served, kept)

    async def _follow_kill_switch(self, kept: Any) -> None:
        """Follow the kill switch, whatever else of the policies cannot be read here."""
        stopped = kept.get("stopped")
        policy = None if stopped is None else read_policy(stopped)
        if policy != self.lineup.stopped:
            lineup = replace(self.lineup, stopped=policy)
            served = await self._ranking.prepared(lineup, self.catalogue)
            self._serve(lineup, served, self._followed)

    async def _make_room(self, lineup: Lineup) -> None:
        """Let the store keep as many numbers of a user as policies need."""
        if lineup.width > self.lineup.width:
            await self.store.widen(lineup.width)

    def _serve(self, lineup: Lineup, served: Served, kept: Any) -> None:
        self._ranking.change(lineup, served)
        self.lineup, self._followed = lineup, kept

    async def follow_event_log(self) -> None:
        """Keep what an event log needs from now on, if the store has one, whoever writes it."""
        self.log_changes(await self.store.get_meta(EVENT_LOG) is not None)

    def log_changes(self, on: bool) -> None:
        """Say whether the store keeps what an event log needs."""
        self.store.log_changes(on)
        self._ranking.logged = on or self.settings.event_log

    async def drop_expired(self) -> int:
        """Drop some of the impressions whose time is over; return how many, 0 if none is left."""
        dropped = await self.store.expire(self.expiry() - self.settings.ttl)
        if not dropped:
            await self.store.set_meta(EXPIRY, self.expiry.state())
        return dropped

    async def learn_no_clicks(self) -> int:
        """Learn some of the slates that were not answered in time; return how many, 0 if none is
        left."""
        return await self.no_clicks.learn(self.store, self.lineup, self.dim)

    async def stop(self) -> None:
        """Keep the counts and close the store."""
        try:
            await self.exposure.catch_up(self.store)
            await self.exposure.keep(self.store)
        except StoreDown as error:  # they are made again from the events
            log.warning("counts were not kept", extra={"reason": str(error)})
        finally:
            await self.store.close()
            self.started = False

    # recommending

    async def recommend(
        self, requests: Sequence[RecommendationRequest], *, check: Callable[[], None] | None = None
    ) -> Sequence[Recommendation | Refused]:
        """Answer each with a slate of k items (fewer if there are not enough) or a refusal.

        Just before slates are made, `check` may raise if nobody waits for them any more: they would
        count as shown.
        """
        if len(requests) <= SMALL:
            with self.precedence.small():
                return await self._recommending(requests, check=check)
        answers: list[Recommendation | Refused] = []
        for piece in pieces(requests):
            async with self.precedence.turn():
                try:
                    answers += await self._recommending(piece, check=check)
                except StoreDown as error:
                    if answers:  # those were counted as shown
                        raise StoreUnsure(str(error)) from error
                    raise
        return answers

    async def _recommend(
        self, requests: Sequence[RecommendationRequest]
    ) -> list[Recommendation | Refused]:
        catalogue = self.catalogue
        selections = await self._selections(requests, catalogue)
        results: dict[int, Recommendation | Refused] = {}
        valid: dict[int, RecommendationRequest] = {}
        choices: list[Choice] = []
        for place, request in enumerate(requests):
            try:
                choices.append(self._choice(request, catalogue, selections))
            except Refused as refused:
                results[place] = refused
            else:
                valid[place] = request
        if valid:
            served = await self._ranking.serve(list(valid.values()), choices, catalogue)
            results.update(zip(valid, served, strict=True))
        answers = [results[place] for place in range(len(requests))]
        self.activity.recommended(answers)
        return answers

    async def _selections(
        self, requests: Sequence[RecommendationRequest], catalogue: Catalogue
    ) -> dict[str, Selection | Refused]:
        """Return what the filters of requests let through, or why they are refused."""
        found: dict[str, Selection | Refused] = {}
        wanted = {filters_key(f): f for r in requests if (f := self._filters(r))}
        for count, (key, filters) in enumerate(wanted.items(), start=1):
            if count > MOST_FILTERS:
                rule = f"is one too many: a batch may have {MOST_FILTERS} different filters"
                found[key] = invalid("where", rule)
                continue
            selection = self._filtered.known(catalogue, key)
            try:
                for where in filters[len(self._house) :]:
                    check_where(catalogue, where)
                if selection is None and len(catalogue) > AT_ONCE:
                    select = self._filtered.select
                    selection = await asyncio.to_thread(select, catalogue, filters)
                found[key] = selection or self._filtered.select(catalogue, filters)
            except Refused as refused:
                found[key] = refused
        return found

    @property
    def _house(self) -> Filters:
        """Filters of all requests."""
        where = self.settings.rules.where
        return () if not where else (where,)

    def _filters(self, request: RecommendationRequest) -> Filters:
        """Return what the items of a request must satisfy."""
        return self._house if not request.where else (*self._house, request.where)

    def check_rules(self) -> None:
        """Refuse rules of the house about what no item has: they are misspelt."""
        for where in self._house:
            try:
                check_where(self.catalogue, where)
            except Refused as refused:
                raise ValueError(f"rules: {refused}") from None

    def _choice(
        self,
        request: RecommendationRequest,
        catalogue: Catalogue,
        selections: Mapping[str, Selection | Refused],
    ) -> Choice:
        """Return what a request may choose from, if it is not refused."""
        limits, rules = self.settings, self.settings.rules
        if not 1 <= request.k <= limits.max_k:
            raise invalid("k", f"must be between 1 and {limits.max_k}, got {request.k}")
        for name, given in (("candidates", request.candidates or ()), ("exclude", request.exclude)):
            if len(given) > limits.max_candidates:
                rule = f"must name at most {limits.max_candidates:,} items, got {len(given):,}"
                raise invalid(name, rule)
        selection = (
            selections.get(filters_key(filters)) if (filters := self._filters(request)) else None
        )
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
            if selection is not None:
                rule = "leaves no item to recommend, with candidates and exclude"
                raise conflict("where", rule)
            raise conflict("candidates", "and exclude leave no item to recommend")
        return choice

    # learning

    async def learn(
        self, requests: Sequence[FeedbackRequest]
    ) -> Sequence[FeedbackReceipt | Refused]:
        """Learn each feedback once; the same one again changes nothing."""
        if len(requests) <= SMALL:
            with self.precedence.small():
                return await self._learning(requests)
        receipts: list[FeedbackReceipt | Refused] = []
        for piece in pieces(requests):
            async with self.precedence.turn():
                receipts += await self._learning(piece)
        return receipts

    async def _learn(self, requests: Sequence[FeedbackRequest]) -> list[FeedbackReceipt | Refused]:
        found = await self.store.impressions([request.impression_id for request in requests])
        await self._know_names(found)
        now, oldest = self.clock(), self.expiry() - self.settings.ttl
        outcomes = [
            read_feedback(request, i, self.catalogue, oldest=oldest, rewards=self.settings.rewards)
            for request, i in zip(requests, found, strict=True)
        ]
        results = model_updates(outcomes, self.lineup, now, dim=self.dim)
        updates = [update for update in results if isinstance(update, ModelUpdate)]
        learned = await self.store.learn(updates) if updates else []
        late = await self._late(updates, learned)
        outcome = iter(learned)
        receipts = [
            r if isinstance(r, Refused) else self._receipt(r, next(outcome), late) for r in results
        ]
        self.activity.learned(receipts)
        return receipts

    async def _know_names(self, impressions: Sequence[Impression | None]) -> None:
        """Make sure that items of slates are known, also those just added by another service."""
        knows = self.catalogue.knows
        if not all(knows(slot) for i in impressions if i is not None for slot in i.slots.tolist()):
            await self.follow_catalogue()

    async def _late(
        self, updates: Sequence[ModelUpdate], outcomes: Sequence[UpdateOutcome]
    ) -> dict[str, Impression]:
        """Return the impressions that were learned as not clicked before their feedback came."""
        both = zip(updates, outcomes, strict=True)
        refused = [u.impression.id for u, outcome in both if outcome is UpdateOutcome.CONFLICT]
        found = await self.store.impressions(refused) if refused else ()
        return {i.id: i for i in found if i is not None and DEFAULT in i.details}

    def _receipt(
        self, update: ModelUpdate, outcome: UpdateOutcome, late: Mapping[str, Impression]
    ) -> FeedbackReceipt | Refused:
        impression = update.impression
        if (learned := late.get(impression.id)) is not None:
            if not update.says(learned):
                why = "had no feedback in time, so it was learned as not clicked; that stays"
                return Refused(Reason.CONFLICT, "impression_id", f"{impression.id!r} {why}")
            outcome = UpdateOutcome.REPEATED
        if outcome is UpdateOutcome.UNKNOWN:
            return Refused(
                Reason.UNKNOWN, "impression_id", f"{impression.id!r} is not known any more"
            )
        if outcome is UpdateOutcome.CONFLICT:
            return Refused(
                Reason.CONFLICT,
                "impression_id",
                f"{impression.id!r} was answered differently before; that answer stays",
            )
        return FeedbackReceipt(
            impression_id=impression.id,
            clicked_positions=update.clicked,
            clicked_items=self.catalogue.names(update.clicked_slots),
            shown=update.examined,
            unshown=update.unshown,
            values=update.details.get(VALUES, ()),
            reward=float(len(update.clicked)) if update.reward is None else update.reward,
            repeated=outcome is UpdateOutcome.REPEATED,
        )

    # catalogue

    async def follow_catalogue(self) -> None:
        """Take in what changed in the store, by us or by another service."""
        if await self.store.catalogue_version() == self._catalogue_version:
            return
        async with self._changing:
            # The version comes first: what changes in between is read twice rather than never.
            version, catalogue = await self.store.catalogue_version(), self.catalogue
            after = self._catalogue_version
            if version < after:  # an older backup was put in its place
                after, catalogue = 0, Catalogue.empty(self.dim, self.topics)
            async for items in self.store.item_columns(after, self.dim + self.topics):
                catalogue = await asyncio.to_thread(catalogue.changed, items)
            await asyncio.to_thread(self._ranking.prepare, catalogue)
            self.catalogue, self._catalogue_version = catalogue, version
            self._filtered.follow(catalogue)
            await asyncio.to_thread(self._free_memory.give_back)

    async def put_items(self, changes: Sequence[ItemChange]) -> None:
        """Add items, or change features and labels of existing ones; all or none."""
        await self.store.put_items(self.patches(changes))
        await self.follow_catalogue()

    def patches(self, changes: Sequence[ItemChange]) -> list[ItemPatch]:
        """Return changes as the store takes them, or refuse them."""
        kinds = dict(self.catalogue.attributes)
        return [self._patch(change, kinds) for change in changes]

    def _patch(self, change: ItemChange, kinds: dict[str, str]) -> ItemPatch:
        features = _numbers("features", change, self.dim, -LARGEST_FEATURE, LARGEST_FEATURE)
        topics = _numbers("topics", change, self.topics, 0.0, 1.0)
        labels = {"group": change.group, "supplier": change.supplier}
        return ItemPatch(
            id=change.item,
            features=np.concatenate([features, topics]),
            merit=change.merit,
            popularity=change.popularity,
            groups={column: label for column, label in labels.items() if label is not None},
            attributes=attribute_changes(change.attributes, kinds, change.item),
        )

    async def remove_item(self, name: str) -> None:
        """Take an item out of the catalogue; slates that show it can still be answered."""
        if self.catalogue.at(name) is None:
            raise Refused(Reason.UNKNOWN, "item", f"{name!r} is not in the catalogue")
        if not await self.store.remove_items([name]):
            raise Refused(Reason.CONFLICT, "item", f"{name!r} is the last one, and must stay")
        await self.follow_catalogue()

    # users

    async def user(self, user: str, *, impressions: int = 20) -> UserRecord:
        """Return everything kept about a user."""
        record = await self.store.user(user, impressions=impressions)
        if record is None:
            raise Refused(Reason.UNKNOWN, "user", f"{user!r} is not known")
        await self._know_names(record.impressions)
        return record

    async def erase(self, user: str) -> None:
        """Forget a user; counts of exposure stay, which do not say who saw an item."""
        if not await self.store.erase(user):
            raise Refused(Reason.UNKNOWN, "user", f"{user!r} is not known")


def _numbers(field: str, change: ItemChange, size: int, low: float, high: float) -> Floats:
    """Return features or topics of an item, if there are as many as there should be."""
    numbers = np.array(getattr(change, field), dtype=np.float64)
    if numbers.shape != (size,):
        raise invalid(field, f"must be {size} numbers, got {numbers.size} for {change.item!r}")
    if not ((numbers >= low) & (numbers <= high)).all():
        raise invalid(field, f"must be between {low:g} and {high:g}")
    return numbers
