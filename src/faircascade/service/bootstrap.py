"""Start a service from a store's address, a policy and a source of items."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from faircascade.policies import EALinUCB, Policy
from faircascade.registry import declared, from_spec, to_spec
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.importer import import_items
from faircascade.service.catalogue.sources import RankerFile, Source
from faircascade.service.history import History, learn_history, refuse_half_learned
from faircascade.service.service import Service, numbers_learned
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Store, StoreShape
from faircascade.service.stores.copy import refuse_half_copied
from faircascade.service.stores.registry import public_address, store_at
from faircascade.types import Items

log = logging.getLogger(__name__)

_SERVED = "served"
"""Name under which a store keeps the policy it was served with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPolicy:
    """A policy and a seed: with the models they determine the slates."""

    policy: Policy
    seed: int
    learner: Policy | None = None
    """What learns while the policy is served, if that learns nothing itself."""

    def plain(self) -> Any:
        """Return it as plain data, None if it holds a function."""
        plain = {"policy": to_spec(self.policy), "seed": self.seed}
        if self.learner is not None:
            plain["learner"] = to_spec(self.learner)
        try:
            return json.loads(json.dumps(plain))
        except TypeError:
            return None


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
) -> Service:
    """Return a service whose store is open and holds the contents of the source, and what a log
    of the past teaches about users, if there is one.

    Without a source, the store must have items already. The default policy is that of a ranker, or
    the one that the store was last served with, or `EALinUCB()`; likewise the seed, or 0. A
    function gets the last policy, if any, and returns the one to serve.
    """
    settings = settings or ServiceSettings()
    store = store_at(address, ttl=settings.ttl)
    kept = await store.stored_shape()
    last = await _last(store, kept, address)
    served = _with_learner(_chosen(policy, seed, source, last), last, kept)
    contents = None
    if kept is not None:
        blank = Catalogue.empty(kept.dim - kept.topics, kept.topics).items
    elif source is not None:
        contents = source.contents()
        blank = Catalogue.empty(contents.dim, contents.topics).items
    else:
        raise ValueError(_no_items(address))
    _check(served, blank, kept, address)
    service = Service(
        served.policy,
        store,
        learner=served.learner,
        dim=blank.dim,
        topics=blank.topics.shape[1],
        settings=settings,
        seed=served.seed,
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
        if history is not None:
            log.info(await learn_history(service, history))
        if last is not None and last.plain() != served.plain():
            log.warning("policy changed; user models are kept", extra=_change(last, served))
        await store.set_meta(_SERVED, served.plain())
    except BaseException:
        await service.stop()
        raise
    return service


def _no_items(address: str) -> str:
    store = public_address(address)
    return f"{store}: has no items yet; start with --items FILE, --ranker FILE or --demo"


async def _last(store: Store, kept: StoreShape | None, address: str) -> ServedPolicy | None:
    """Return the policy that a store was last served with, if it is known; refuse half a copy."""
    if kept is None:
        return None
    await store.open(kept)
    try:
        await refuse_half_copied(store, address)
        plain = await store.get_meta(_SERVED)
    finally:
        await store.close()
    if plain is None:
        return None
    try:
        learner = plain.get("learner")
        return ServedPolicy(
            policy=from_spec("policy", plain["policy"]),
            seed=plain["seed"],
            learner=None if learner is None else from_spec("policy", learner),
        )
    except (ValueError, TypeError, KeyError) as error:  # a component that is not installed any more
        log.warning(
            "the last policy of this store is not installed here", extra={"reason": str(error)}
        )
        return None


def _chosen(
    policy: Policy | PolicyChoice | None,
    seed: int | None,
    source: Source | None,
    last: ServedPolicy | None,
) -> ServedPolicy:
    """Return what to serve; refuse a policy that cannot be, before its source is read."""
    if isinstance(source, RankerFile):
        last = ServedPolicy(policy=source.ranker.policy, seed=source.ranker.seed)
    if policy is None:
        policy = EALinUCB() if last is None else last.policy
    elif not isinstance(policy, Policy):
        policy = policy(None if last is None else last.policy)
    if reason := why_not_served(policy):
        raise ValueError(reason)
    if seed is None:
        seed = 0 if last is None else last.seed
    return ServedPolicy(policy=policy, seed=seed)


def _with_learner(
    served: ServedPolicy, last: ServedPolicy | None, kept: StoreShape | None
) -> ServedPolicy:
    """Let the last policy that learned go on learning where one is served that does not."""
    if served.policy.learns or last is None or kept is None or not kept.sums:
        return served
    return replace(served, learner=last.learner or last.policy)


def why_not_served(policy: Policy) -> str:
    """Return what keeps a policy from being served, or nothing."""
    refused, instead = f"policy {policy.name!r} cannot be served: ", "; use 'linucb', for example"
    if declared(policy, "omniscient"):
        return f"{refused}it needs to know what users like{instead}"
    if policy.indivisible:
        return f"{refused}its users learn from each other{instead}"
    try:
        numbers_learned(policy, Catalogue.empty(1, 1).items)
    except TypeError:
        return f"{refused}{policy.without_sums}{instead}, or a Ranker"
    return ""


def _check(served: ServedPolicy, items: Items, kept: StoreShape | None, address: str) -> None:
    """Refuse a policy that does not fit the items or what the store holds."""
    policy = served.learner or served.policy
    try:
        size = numbers_learned(policy, items)
    except ValueError:
        if items.topics.shape[1] > 0:
            raise
        advice = "name their columns with --topics" + (
            "" if kept is None else ", and another --store"
        )
        raise ValueError(
            f"policy {policy.name!r} needs items with topics, and these have none; {advice}"
        ) from None
    if kept is not None and kept.sums != size:
        raise ValueError(
            f"{public_address(address)}: keeps {kept.sums} numbers per user, "
            f"policy {policy.name!r} "
            f"learns {size}; use another --store or a policy that learns as many"
        )


def _change(last: ServedPolicy, served: ServedPolicy) -> dict[str, Any]:
    return {"before": last.plain(), "now": served.plain()}
