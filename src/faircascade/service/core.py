"""The service without HTTP: recommend, learn, keep the catalogue, forget users."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from faircascade.policies import Policy
from faircascade.registry import to_spec
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.asking import (
    Answer,
    Ask,
    ItemChange,
    Reason,
    Receipt,
    Recommended,
    Refused,
    invalid,
)
from faircascade.service.catalogue import Catalogue
from faircascade.service.exposure import Exposure
from faircascade.service.learning import Heard, hear, lessons_of
from faircascade.service.scoring import Job, rows_to_slots
from faircascade.service.settings import Settings
from faircascade.service.stores.base import (
    Impression,
    Learned,
    Person,
    Shape,
    Store,
    StoredItem,
    StoreDown,
)
from faircascade.service.together import Together
from faircascade.types import Ints, Lists, Pool, Users

log = logging.getLogger(__name__)

LARGE = 1_000_000
"""Pairs of user and item from which on scoring leaves the event loop to others."""
TOGETHER = 64
"""Lists or answers of separate requests that are worked on together at most."""
LARGEST_FEATURE = 1e4
"""Features are of this size at most, so that no sum of their products gets out of hand."""


class Service:
    """A policy, a store and the catalogue."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        *,
        dim: int,
        settings: Settings | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policy = policy
        self.store = store
        self.settings = settings or Settings()
        self.seed = seed
        self.clock = clock
        self.version = version_of(policy)
        self.catalogue = Catalogue.empty(dim)
        self.exposure = Exposure(clock, lambda: self.catalogue.holders)
        self.started = False
        self._policy = policy.compose()
        self._catalogue_version = 0
        self._changing = asyncio.Lock()
        self._recommending = Together(self._recommend, most=TOGETHER)
        self._learning = Together(self._learn, most=TOGETHER)

    @property
    def dim(self) -> int:
        """Features of an item."""
        return self.catalogue.items.dim

    async def start(self) -> None:
        """Open the store and read what is needed to answer; users stay where they are."""
        nobody = self._policy.start(Users(ids=np.empty(0, dtype=str)), self.dim)
        size = self._policy.sums(nobody).shape[1]
        await self.store.open(Shape(dim=self.dim, sums=size))
        await self.follow_catalogue()
        await self.exposure.restore(self.store)
        await self.exposure.catch_up(self.store)
        self.started = True

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

    async def recommend(self, asks: Sequence[Ask]) -> Sequence[Recommended | Refused]:
        """Answer each: a list of k items, or fewer if there are not as many, or a refusal."""
        return await self._recommending(asks)

    async def _recommend(self, asks: Sequence[Ask]) -> list[Recommended | Refused]:
        catalogue = self.catalogue
        pools: dict[object, Pool | Refused] = {}
        alike: dict[tuple[object, int], list[int]] = {}  # asks that one scoring can answer
        for place, ask in enumerate(asks):
            choice = _choice(ask)
            if choice not in pools:
                pools[choice] = self._pool(ask, catalogue)
            alike.setdefault((choice, ask.k), []).append(place)
        groups = await asyncio.gather(
            *(
                self._serve([asks[place] for place in places], pools[choice], k)
                for (choice, k), places in alike.items()
            )
        )
        answers: dict[int, Recommended | Refused] = {}
        for places, group in zip(alike.values(), groups, strict=True):
            answers.update(zip(places, group, strict=True))
        return [answers[place] for place in range(len(asks))]

    def _pool(self, ask: Ask, catalogue: Catalogue) -> Pool | Refused:
        """Return what the list is drawn from."""
        for name, given in (("candidates", ask.candidates or ()), ("exclude", ask.exclude)):
            if len(given) > self.settings.max_candidates:
                return invalid(name, _at_most(self.settings.max_candidates, "items", len(given)))
        for item in ask.candidates or ():
            if item not in catalogue.rows:
                return Refused(
                    Reason.UNKNOWN, "candidates", f"must be items of the catalogue, got {item!r}"
                )
        pool = catalogue.pool(ask.candidates, ask.exclude)
        if len(pool) == 0:
            return Refused(Reason.CONFLICT, "candidates", "and exclude leave no item to recommend")
        return pool

    async def _serve(
        self, asks: Sequence[Ask], pool: Pool | Refused, k: int
    ) -> list[Recommended | Refused]:
        """Answer asks for lists of one length out of one pool."""
        if isinstance(pool, Refused):
            return [pool] * len(asks)
        if not 1 <= k <= self.settings.max_k:
            rule = f"must be between 1 and {self.settings.max_k}, got {k}"
            return [invalid("k", rule)] * len(asks)
        users = [ask.user for ask in asks]
        scope = self._policy.scope
        known = await self.store.begin(users, accounts=scope == "user")
        job = Job(
            policy=self._policy,
            pool=pool,
            k=min(k, len(pool)),
            users=users,
            sums=known.sums,
            rounds=known.rounds,
            accounts=known.accounts,
            everybody=self._everybody(pool) if scope == "global" else np.empty(0, np.int64),
            seed=self.seed,
        )
        try:
            lists = await asyncio.to_thread(job.run) if job.size > LARGE else job.run()
        except ValueError as error:  # lists of this length cannot be learned from
            return [invalid("k", f"cannot be {k}: {error}")] * len(asks)
        impressions = self._impressions(users, known.rounds, lists, pool)
        units = exposure_units(job.k) if scope == "user" else None
        ids = await self.store.record(impressions, units=units)
        names = self.catalogue.names
        return [
            Recommended(impression_id=name, user=i.user, items=names(i.slots), scores=scores)
            for name, i, scores in zip(ids, impressions, lists.scores.tolist(), strict=True)
        ]

    def _everybody(self, pool: Pool) -> Ints:
        return self.exposure.units_of(np.asarray(pool.items.ids))

    def _impressions(
        self, users: Sequence[str], rounds: Ints, lists: Lists, pool: Pool
    ) -> list[Impression]:
        now = self.clock()
        slots = rows_to_slots(lists, pool.items)  # (n, k)
        features = pool.items.features[lists.items]  # (n, k, d)
        return [
            Impression(id="", user=user, slots=s, features=f, round=r, time=now)
            for user, s, f, r in zip(users, slots, features, rounds.tolist(), strict=True)
        ]

    # learning

    async def learn(self, answers: Sequence[Answer]) -> Sequence[Receipt | Refused]:
        """Learn each answer once; the same one again changes nothing and is answered the same."""
        return await self._learning(answers)

    async def _learn(self, answers: Sequence[Answer]) -> list[Receipt | Refused]:
        found = await self.store.impressions([answer.impression_id for answer in answers])
        await self._know_names(found)
        now = self.clock()
        heard = [
            hear(answer, i, self.catalogue, oldest=now - self.settings.ttl)
            for answer, i in zip(answers, found, strict=True)
        ]
        lessons = lessons_of([h for h in heard if isinstance(h, Heard)], self._policy, now)
        outcomes = iter(await self.store.learn(lessons) if lessons else ())
        return [h if isinstance(h, Refused) else self._receipt(h, next(outcomes)) for h in heard]

    async def _know_names(self, impressions: Sequence[Impression | None]) -> None:
        """Make sure that listed items are known, also those that another service just added."""
        stored = self.catalogue.stored
        if not all(
            slot in stored for i in impressions if i is not None for slot in i.slots.tolist()
        ):
            await self.follow_catalogue()

    def _receipt(self, heard: Heard, outcome: Learned) -> Receipt | Refused:
        impression = heard.impression
        if outcome is Learned.UNKNOWN:
            return Refused(
                Reason.UNKNOWN, "impression_id", f"{impression.id!r} is not known any more"
            )
        if outcome is Learned.OTHERWISE:
            return Refused(
                Reason.CONFLICT,
                "impression_id",
                f"{impression.id!r} was answered differently before; that answer stays",
            )
        clicked = heard.clicked
        names = self.catalogue.names(impression.slots[clicked - 1 : clicked]) if clicked else [None]
        return Receipt(
            impression_id=impression.id,
            clicked_position=clicked or None,
            clicked_item=names[0],
            shown=heard.examined,
            repeated=outcome is Learned.BEFORE,
        )

    # catalogue

    async def follow_catalogue(self) -> None:
        """Take in what changed in the store, by us or by another service."""
        if await self.store.catalogue_version() == self._catalogue_version:
            return
        async with self._changing:
            version, items = await self.store.items(self._catalogue_version)
            self.catalogue = await asyncio.to_thread(_changed, self.catalogue, items)
            self._catalogue_version = version

    async def put_items(self, changes: Sequence[ItemChange]) -> None:
        """Add items, or give those that are there new features and labels."""
        now: dict[str, StoredItem] = {}
        for change in changes:
            before = now.get(change.item) or self.catalogue.at(change.item)
            now[change.item] = self._changed(change, before)
        await self.store.put_items(list(now.values()))
        await self.follow_catalogue()

    def _changed(self, change: ItemChange, before: StoredItem | None) -> StoredItem:
        features = np.array(change.features, dtype=np.float64)
        if features.shape != (self.dim,):
            raise invalid(
                "features", f"must be {self.dim} numbers, got {features.size} for {change.item!r}"
            )
        if not (np.abs(features) <= LARGEST_FEATURE).all():
            raise invalid(
                "features", f"must be between -{LARGEST_FEATURE:g} and {LARGEST_FEATURE:g}"
            )
        old = before or StoredItem(id=change.item, features=features)
        labels = {"group": change.group, "supplier": change.supplier}
        return replace(
            old,
            features=features,
            merit=old.merit if change.merit is None else change.merit,
            popularity=old.popularity if change.popularity is None else change.popularity,
            groups={**old.groups, **{k: v for k, v in labels.items() if v is not None}},
        )

    async def remove_item(self, name: str) -> None:
        """Take an item out of the catalogue; lists that show it can still be answered."""
        if self.catalogue.at(name) is None:
            raise Refused(Reason.UNKNOWN, "item", f"{name!r} is not in the catalogue")
        if len(self.catalogue) == 1:
            raise Refused(Reason.CONFLICT, "item", f"{name!r} is the last one, and must stay")
        await self.store.remove_items([name])
        await self.follow_catalogue()

    # users

    async def person(self, user: str, *, impressions: int = 20) -> Person:
        """Return all that is kept of a user."""
        person = await self.store.person(user, impressions=impressions)
        if person is None:
            raise Refused(Reason.UNKNOWN, "user", f"{user!r} is not known")
        await self._know_names(person.impressions)
        return person

    async def erase(self, user: str) -> None:
        """Forget a user; exposure stays counted, and does not say whose it was."""
        if not await self.store.erase(user):
            raise Refused(Reason.UNKNOWN, "user", f"{user!r} is not known")


def version_of(policy: Policy) -> str:
    """Return a short text that changes with any parameter of a policy."""
    try:
        spec = json.dumps(to_spec(policy), sort_keys=True)
    except TypeError:  # a parameter is a function
        spec = repr(policy)
    return hashlib.sha256(spec.encode()).hexdigest()[:12]


def _changed(catalogue: Catalogue, items: Sequence[StoredItem]) -> Catalogue:
    """Return a changed catalogue with everything made that requests would wait for."""
    after = catalogue.changed(items)
    holders = after.holders
    _ = holders.rank, holders.merit_share, holders.by_group, holders.by_supplier
    return after


def _choice(ask: Ask) -> object:
    """Return what two asks have in common that draw from one pool."""
    return None if ask.candidates is None else tuple(ask.candidates), tuple(ask.exclude)


def _at_most(limit: int, what: str, got: int) -> str:
    return f"must name at most {limit:,} {what}, got {got:,}"
