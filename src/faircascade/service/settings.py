"""Limits of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network

from faircascade.errors import ParameterError
from faircascade.service.graded_rewards import GradedRewards
from faircascade.service.rules.rules import Rules

DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Limits that keep one request from taking what others need."""

    ttl: float = 7 * DAY
    """Seconds for which an impression is kept and feedback on it is accepted."""
    max_k: int = 100
    """Longest slate."""
    max_candidates: int = 10_000
    """Most items that `candidates` and `exclude` may name."""
    max_batch: int = 1_000
    """Most requests, answers or items in one batch."""
    max_body: int = 8 * 2**20
    """Largest body of a request, in bytes."""
    max_bodies: int = 64 * 2**20
    """Most bytes of all bodies together that are held at a time, small ones aside."""
    max_connections: int = 850
    """Most connections; some room is left below the 1,024 files that a process may usually open."""
    max_connections_per_peer: int = 256
    """Most connections from one address."""
    proxies: Sequence[str] = ()
    """Addresses, or networks such as 10.0.0.0/8, that may have more: those of reverse proxies."""
    no_click_after: float | None = None
    """Seconds after which a slate without feedback is learned as not clicked; None: never."""
    no_click_shown: int | None = None
    """How many of its positions are taken as shown then; None: all."""
    cold_start: int | None = None
    """As how many slates counts at most what users with the same labels taught; None: labels are
    ignored."""
    rewards: GradedRewards | None = None
    """What clicks and values of feedback are worth; None: 1 for a click, and values are refused."""
    event_log: bool = False
    """Whether slates say in their notes how they came about, for an event log."""

    rules: Rules = field(default_factory=Rules)
    """What all slates must keep to."""
    rate_limit: float | None = None
    """Requests, answers and items a second that a caller may send; None: as many as it likes."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(name, "must be positive", value)
        if self.no_click_after is not None and self.no_click_after >= self.ttl:
            rule = f"must be less than ttl, {self.ttl:g} s"
            raise ParameterError("no_click_after", rule, self.no_click_after)
        if self.no_click_shown is not None and self.no_click_after is None:
            raise ParameterError("no_click_shown", "needs no_click_after", self.no_click_shown)
        if self.max_bodies < self.max_body:
            rule = f"must be at least max_body, {self.max_body}"
            raise ParameterError("max_bodies", rule, self.max_bodies)
        for proxy in self.proxies:
            try:
                ip_network(proxy, strict=False)
            except ValueError:
                rule = "must be an address, or a network such as 10.0.0.0/8"
                raise ParameterError("proxy", rule, proxy) from None


_POSITIVE = (
    "ttl",
    "max_k",
    "max_candidates",
    "max_batch",
    "max_body",
    "max_connections",
    "max_connections_per_peer",
    "rate_limit",
    "no_click_after",
    "no_click_shown",
    "cold_start",
)
