"""Limits of the service."""

from __future__ import annotations

from dataclasses import dataclass, fields

from faircascade.errors import ParameterError

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

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not value > 0:
                raise ParameterError(limit.name, "must be positive", value)
