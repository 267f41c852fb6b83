"""What holds for a service as a whole and is in no store: rules, rewards, defaults.

A store remembers what the last service on it had, so that a start without a file that was
there before, or services on one store with different files, are noticed.
"""

from __future__ import annotations

import hashlib
import json
import logging

from pydantic import BaseModel

from faircascade.service.rules.rules import Rules
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Store

log = logging.getLogger(__name__)

HOUSE = "house"
"""Under which name the store keeps what the last service had."""
OFF = "off"


def described(settings: ServiceSettings) -> str:
    """Return what is on, for people.

    >>> described(ServiceSettings(cold_start=20, no_click_after=1800))
    'cold start (20 slates), no click after 30 minutes'
    >>> described(ServiceSettings())
    'none'
    """
    return ", ".join(_words(settings)) or "none"


def _words(settings: ServiceSettings) -> list[str]:
    said = []
    if rules := sorted(settings.rules.model_dump(exclude_defaults=True)):
        said.append(f"rules ({', '.join(rules)})")
    if settings.rewards is not None:
        said.append(f"rewards ({', '.join(['click', *settings.rewards.values])})")
    if settings.cold_start is not None:
        said.append(f"cold start ({settings.cold_start:,} slates)")
    if settings.no_click_after is not None:
        shown = settings.no_click_shown
        of = "" if shown is None else f" on the first {shown:,} positions"
        said.append(f"no click{of} after {settings.no_click_after / 60:,.3g} minutes")
    return said


def fingerprints(settings: ServiceSettings) -> dict[str, str]:
    """Return a short text for each option, which changes with what it says."""
    no_click = settings.no_click_after, settings.no_click_shown
    return {
        "--rules": OFF if settings.rules == Rules() else _digest(settings.rules),
        "--rewards": OFF if settings.rewards is None else _digest(settings.rewards),
        "--cold-start": OFF if settings.cold_start is None else str(settings.cold_start),
        "--no-click-after": OFF if no_click[0] is None else f"{no_click[0]:g} s, {no_click[1]}",
    }


def _digest(settings: BaseModel) -> str:
    plain = json.dumps(settings.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:12]


async def compare_house(store: Store, settings: ServiceSettings) -> None:
    """Warn of what the last service on the store had otherwise, and remember what this one has."""
    ours, kept = fingerprints(settings), await store.get_meta(HOUSE)
    if kept == ours:
        return
    for option, is_now in ours.items():
        was = is_now if kept is None else kept.get(option, OFF)
        if was != is_now:
            log.warning(
                "this service is not as the last one on this store; give all services on a store "
                "the same, at every start",
                extra={"option": option, "difference": _difference(was, is_now)},
            )
    await store.set_meta(HOUSE, ours)


def _difference(was: str, now: str) -> str:
    if now == OFF:
        return "the last one had it, and this one has not"
    if was == OFF:
        return "the last one did not have it, and this one has"
    return "the last one had another"
