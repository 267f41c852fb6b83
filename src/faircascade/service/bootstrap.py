"""Start a service from a store's address, a policy and a source of items."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from faircascade.policies import EALinUCB, Policy
from faircascade.registry import declared
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.importer import import_items
from faircascade.service.catalogue.sources import RankerFile, Source
from faircascade.service.history import History, learn_history, refuse_half_learned
from faircascade.service.house import compare_house
from faircascade.service.lineup import Lineup
from faircascade.service.lineup.models import size_of
from faircascade.service.lineup_keeper import LINEUP
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Store, StoreShape
from faircascade.service.stores.copy import refuse_half_copied
from faircascade.service.stores.registry import public_address, store_at
from faircascade.types import Items

log = logging.getLogger(__name__)

PolicyChoice = Callable[[Policy | None], Policy]
"""Takes the last policy, if any, and returns the one to serve."""


async def start_service(
    address: str,
    *,
    source: Source | None = None,
    policy: Policy | PolicyChoice | None = None,
    seed: int | None = None,
    settings: ServiceSettings | None = None,
    history: History | None = None,
    files: Sequence[int] = (),
) -> Service:
    """Return a service whose store is open and holds the contents of the source, and what a log
    of the past teaches about users, if there is one.

    Without a source, the store must have items already. The default policy is that of a ranker, or
    the one that the store was last served with, or `EALinUCB()`; likewise the seed, or 0. A
    function gets the last policy, if any, and returns the one to serve. `files` are those of
    `Store.share`, if other processes use the store as well.
    """
    settings = settings or ServiceSettings()
    store = store_at(address, ttl=settings.ttl)
    store.join(files)
    kept = await store.stored_shape()
    if isinstance(source, RankerFile):
        last: Policy | None = source.ranker.policy
        seed = source.ranker.seed if seed is None else seed
    else:
        last = await _last(store, kept, address)
    wanted = _chosen(policy, last)
    contents = None
    if kept is not None:
        blank = Catalogue.empty(kept.dim - kept.topics, kept.topics).items
    elif source is not None:
        contents = source.contents()
        blank = Catalogue.empty(contents.dim, contents.topics).items
    else:
        raise ValueError(_no_items(address))
    _check(wanted, blank, kept)
    service = Service(
        wanted,
        store,
        dim=blank.dim,
        topics=blank.topics.shape[1],
        settings=settings,
        seed=seed,
    )
    await service.start()
    try:
        if store.durability is not None:
            log.warning(store.durability)
        if source is not None:
            log.info(await import_items(service, source, contents))
        if history is None:
            await refuse_half_learned(store)
        if len(service.catalogue) == 0:
            raise ValueError(_no_items(address))
        service.check_rules()
        await compare_house(store, settings)
        if history is not None:
            log.info(await learn_history(service, history))
    except BaseException:
        await service.stop()
        raise
    return service


def _no_items(address: str) -> str:
    store = public_address(address)
    return f"{store}: has no items yet; start with --items FILE, --ranker FILE or --demo"


async def _last(store: Store, kept: StoreShape | None, address: str) -> Policy | None:
    """Return the policy that a store served last, if it is known; refuse half a copy."""
    if kept is None:
        return None
    await store.open(kept)
    try:
        await refuse_half_copied(store, address)
        plain = await store.get_meta(LINEUP)
    finally:
        await store.close()
    try:
        return None if plain is None else Lineup.from_json(plain).default.policy
    except (ValueError, TypeError, KeyError) as error:  # a component that is not installed any more
        log.warning(
            "the last policy of this store is not installed here", extra={"reason": str(error)}
        )
        return None


def _chosen(policy: Policy | PolicyChoice | None, last: Policy | None) -> Policy:
    """Return what to serve; refuse a policy that cannot be, before its source is read."""
    if policy is None:
        policy = EALinUCB() if last is None else last
    elif not isinstance(policy, Policy):
        policy = policy(last)
    if reason := why_not_served(policy):
        raise ValueError(reason)
    return policy


def why_not_served(policy: Policy) -> str:
    """Return what keeps a policy from being served, or nothing."""
    refused, instead = f"policy {policy.name!r} cannot be served: ", "; use 'linucb', for example"
    if declared(policy, "omniscient"):
        return f"{refused}it needs to know what users like{instead}"
    if policy.indivisible:
        return f"{refused}its users learn from each other{instead}"
    try:
        size_of(policy, Catalogue.empty(1, 1).items)
    except TypeError:
        return f"{refused}{policy.unserved or policy.without_sums}{instead}, or a Ranker"
    return ""


def _check(policy: Policy, items: Items, kept: StoreShape | None) -> None:
    """Refuse a policy that does not fit the items."""
    try:
        size_of(policy, items)
    except ValueError:
        if items.topics.shape[1] > 0:
            raise
        advice = "name their columns with --topics" + (
            "" if kept is None else ", and another --store"
        )
        raise ValueError(
            f"policy {policy.name!r} needs items with topics, and these have none; {advice}"
        ) from None
