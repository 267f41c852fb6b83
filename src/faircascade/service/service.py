"""The service without HTTP: recommend, learn, keep the catalogue, forget users."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from faircascade.policies import Policy
from faircascade.service.activity import Activity
from faircascade.service.batching import Batcher
from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue.free_memory import FreeMemory, without_collector
from faircascade.service.catalogue.item_patches import item_patches
from faircascade.service.choices import Asked, Choices
from faircascade.service.cold_start import ColdStart
from faircascade.service.event_log.status import LogStatus
from faircascade.service.expiry import STATE as EXPIRY
from faircascade.service.expiry import ExpiryClock, seconds_elapsed
from faircascade.service.exposure import ExposureTracker
from faircascade.service.learning import model_updates, read_feedback
from faircascade.service.lineup import Lineup, Model
from faircascade.service.lineup.models import size_of
from faircascade.service.lineup_keeper import LineupKeeper
from faircascade.service.messages import (
    FeedbackReceipt,
    FeedbackRequest,
    ItemChange,
    Reason,
    Recommendation,
    RecommendationRequest,
    Refused,
)
from faircascade.service.no_clicks import NoClicks
from faircascade.service.precedence import SMALL, Precedence
from faircascade.service.ranking import Ranking, Scoring
from faircascade.service.settings import ServiceSettings
from faircascade.service.shadow_budget import ShadowBudget
from faircascade.service.stores.base import (
    DEFAULT,
    VALUES,
    Impression,
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
        self.free_memory = FreeMemory()
        self._choices = Choices(self.settings)
        self._wanted = policy, seed
        self._sums = 0
        size = size_of(policy, self.catalogue.blank)
        self._ranking = Ranking(
            Lineup.of(policy, size=size, seed=seed or 0, now=clock()),
            store,
            exposure=self.exposure,
            clock=clock,
            logged=self.settings.event_log,
            cold_start=self._cold_start(),
            shadows=ShadowBudget(self.activity.dropped_shadows),
        )
        self._lineup = LineupKeeper(
            self._ranking,
            lambda: self.store,
            lambda: self.catalogue,
            graded=self.settings.rewards is not None,
            clock=clock,
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
    def lineup(self) -> Lineup:
        """All policies, and who gets which."""
        return self._lineup.lineup

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
        return self._lineup.size_of(policy)

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
        policy, seed = self._wanted
        await self._lineup.start(policy, seed, sums=None if kept is None else shape.sums)
        self.expiry.restore(await self.store.get_meta(EXPIRY))
        await self.follow_catalogue()
        await self.exposure.restore(self.store)
        await self.exposure.catch_up(self.store)
        self.started = True

    async def change(
        self, change: Callable[[Lineup], Lineup], *, always: bool = False, trial: str | None = None
    ) -> None:
        """Change the policies, see `LineupKeeper`."""
        await self._lineup.change(change, always=always, trial=trial)

    async def follow_lineup(self) -> None:
        """Take in how another service changed the policies."""
        await self._lineup.follow()

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
        call = self._choices.call()
        if len(requests) <= SMALL:
            with self.precedence.small():
                return await self._recommending(call.ask(requests), check=check)
        answers: list[Recommendation | Refused] = []
        for piece in self.precedence.pieces(requests):
            async with self.precedence.turn():
                try:
                    answers += await self._recommending(call.ask(piece), check=check)
                except StoreDown as error:
                    if answers:  # those were counted as shown
                        raise StoreUnsure(str(error)) from error
                    raise
        return answers

    async def _recommend(self, asked: Sequence[Asked]) -> list[Recommendation | Refused]:
        catalogue = self.catalogue
        choices = await self._choices.of(asked, catalogue)
        results: dict[int, Recommendation | Refused] = {}
        valid: dict[int, Choice] = {}
        for place, choice in enumerate(choices):
            if isinstance(choice, Refused):
                results[place] = choice
            else:
                valid[place] = choice
        if valid:
            requests = [asked[place].request for place in valid]
            served = await self._ranking.serve(requests, list(valid.values()), catalogue)
            results.update(zip(valid, served, strict=True))
        answers = [results[place] for place in range(len(asked))]
        self.activity.recommended(answers)
        return answers

    def check_rules(self) -> None:
        """Refuse rules of the house about what no item has: they are misspelt."""
        self._choices.check_rules(self.catalogue)

    # learning

    async def learn(
        self, requests: Sequence[FeedbackRequest]
    ) -> Sequence[FeedbackReceipt | Refused]:
        """Learn each feedback once; the same one again changes nothing."""
        if len(requests) <= SMALL:
            with self.precedence.small():
                return await self._learning(requests)
        receipts: list[FeedbackReceipt | Refused] = []
        for piece in self.precedence.pieces(requests):
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
        slots = {slot for i in impressions if i is not None for slot in i.slots.tolist()}
        if not all(map(self.catalogue.knows, slots)):
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
            with without_collector():
                async for items in self.store.item_columns(after, self.dim + self.topics):
                    catalogue = await asyncio.to_thread(catalogue.changed, items)
            await asyncio.to_thread(self._ranking.prepare, catalogue)
            self.catalogue, self._catalogue_version = catalogue, version
            self._choices.follow(catalogue)
            await asyncio.to_thread(self.free_memory.give_back)

    async def put_items(self, changes: Sequence[ItemChange]) -> None:
        """Add items, or change features and labels of existing ones; all or none."""
        await self.store.put_items(item_patches(changes, self.catalogue))
        await self.follow_catalogue()

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
