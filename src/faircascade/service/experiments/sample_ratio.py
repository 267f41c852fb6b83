"""Are users divided among the arms as planned? A check that may be made at every look.

If they are not, something loses or moves users, and no difference between arms means anything. The
evidence is the Bayes factor of shares drawn around the planned ones against the planned ones. It is
a martingale if the plan holds, so it ever exceeds 1/p with probability p at most (Ville); exactly,
for any number of users (Lindon and Malek 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from faircascade.errors import ParameterError

CONCENTRATION = 1_000.0
"""How near the plan the alternative is: shares of one half are off by 1.6 points on average."""
ALARM = 0.01
"""Value of p below which the plan is taken to be broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRatio:
    """Users found in the arms against the shares that were planned."""

    users: Mapping[str, int]
    shares: Mapping[str, float]
    """Planned shares of these users, which add up to 1."""
    p_value: float
    """Of any look, however many there are."""

    @property
    def mismatch(self) -> bool:
        """True if users cannot have been divided as planned."""
        return self.p_value < ALARM


def sample_ratio(users: Mapping[str, int], shares: Mapping[str, float]) -> SampleRatio:
    """Compare users first seen since the shares were last changed with these shares.

    Shares need not add up to 1: users outside of the experiment are not counted.

    >>> sample_ratio({"control": 5_000, "fairer": 4_500}, {"control": 0.2, "fairer": 0.2}).mismatch
    True
    """
    if set(users) != set(shares):
        raise ParameterError("users", f"must be of the arms {', '.join(shares)}", dict(users))
    total = sum(shares.values())
    if not (total > 0 and all(share >= 0 for share in shares.values())):
        raise ParameterError("shares", "must be >= 0 and not all 0", dict(shares))
    planned = {name: share / total for name, share in shares.items()}
    p = 1.0 if not any(users.values()) else min(1.0, math.exp(-log_evidence(users, planned)))
    return SampleRatio(users=dict(users), shares=planned, p_value=p)


def log_evidence(users: Mapping[str, int], planned: Mapping[str, float]) -> float:
    """Return the logarithm of the Bayes factor against the plan; shares add up to 1."""
    if any(users[name] > 0 for name, share in planned.items() if share == 0):
        return math.inf
    n = sum(users.values())
    found = math.lgamma(CONCENTRATION) - math.lgamma(CONCENTRATION + n)
    for name, share in planned.items():
        if share > 0:
            prior = CONCENTRATION * share
            found += math.lgamma(prior + users[name]) - math.lgamma(prior)
            found -= users[name] * math.log(share)
    return found
