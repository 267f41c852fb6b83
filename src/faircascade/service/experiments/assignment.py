"""Which user gets which arm of an experiment: a keyed hash and a list of buckets, nothing else.

A user's bucket, one of 10,000, never changes. An arm owns buckets; to change its share is to give
it more or to take some away, so a ramp never moves a user out of an arm that grows.
Which buckets an arm owns is part of the assignment's JSON: shares alone do not say it, since no
rule that knows only today's shares can keep everybody in place with more than two arms.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite
from typing import Any

from faircascade.errors import ParameterError, check_choice
from faircascade.service.experiments.hashing import bucket_of

BUCKETS = 10_000
"""Shares are multiples of one of these."""
VERSION = 1

Ranges = tuple[tuple[int, int], ...]
"""Buckets from the first to before the second number, ascending, with gaps between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What some users get instead of others."""

    name: str
    buckets: Ranges = ()
    """The buckets whose users are in it."""

    def __post_init__(self) -> None:
        _check_name("name of an arm", self.name)
        ends = [end for both in self.buckets for end in both]
        if any(a >= b for a, b in pairwise(ends)) or (
            ends and not 0 <= ends[0] < ends[-1] <= BUCKETS
        ):
            rule = f"must be ascending ranges within 0 to {BUCKETS} that do not touch"
            raise ParameterError(f"buckets of arm {self.name!r}", rule, self.buckets)

    @property
    def share(self) -> float:
        """Share of all users, in [0, 1]."""
        return sum(end - first for first, end in self.buckets) / BUCKETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdout:
    """Users that no experiment with this holdout touches, the same ones in all of them."""

    salt: str
    share: float
    """In [0, 1]. A larger share holds out more users and lets nobody back in."""

    def __post_init__(self) -> None:
        _check_name("salt", self.salt)
        _in_buckets("share", self.share)

    def has(self, user: str) -> bool:
        """Return True if a user is held out."""
        held = _in_buckets("share", self.share)
        return bucket_of(user, self.salt, "holdout", BUCKETS) < held


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """The arms of an experiment and who is in them. Never changed: a ramp returns another one."""

    name: str
    arms: tuple[Arm, ...]
    fallback: str
    """The arm that is served to users who are in none, and to everybody once it is stopped."""
    salt: str = ""
    """What makes its buckets independent of other experiments'; by default its name."""
    holdout: Holdout | None = None
    stopped: bool = False
    """The kill switch: True sends everybody to the fallback, and nobody is counted."""
    _starts: Sequence[int] = field(init=False, repr=False, compare=False)
    _owners: Sequence[str | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name("name", self.name)
        object.__setattr__(self, "salt", self.salt or self.name)
        names = [arm.name for arm in self.arms]
        if len(names) < 2:
            raise ParameterError("arms", "must be at least two", names)
        if len(set(names)) < len(names):
            raise ParameterError("arms", "must have distinct names", names)
        check_choice("fallback", self.fallback, names)
        spans = sorted((*both, arm.name) for arm in self.arms for both in arm.buckets)
        starts, owners = [0], list[str | None]([None])
        for first, end, name in spans:
            if first < starts[-1]:
                raise ParameterError("arms", "must not share buckets", f"{name!r} at {first}")
            starts += [first, end]
            owners += [name, None]
        object.__setattr__(self, "_starts", tuple(starts))
        object.__setattr__(self, "_owners", tuple(owners))

    @classmethod
    def of(
        cls,
        name: str,
        shares: Mapping[str, float],
        *,
        fallback: str,
        salt: str = "",
        holdout: Holdout | None = None,
    ) -> Assignment:
        """Return a new experiment whose arms have these shares; they add up to at most 1.

        >>> test = Assignment.of("homepage", {"control": 0.01, "fairer": 0.01}, fallback="control")
        >>> test.ramped({"fairer": 0.5, "control": 0.5}).serves("user-7")
        'control'
        """
        if len(shares) < 2:
            raise ParameterError("arms", "must be at least two", list(shares))
        arms = _laid_out((Arm(name=arm) for arm in shares), shares)
        return cls(name=name, arms=arms, fallback=fallback, salt=salt, holdout=holdout)

    def arm_of(self, user: str) -> str | None:
        """Return the arm in which a user counts; None if the user is not in the experiment."""
        if self.stopped or (self.holdout is not None and self.holdout.has(user)):
            return None
        bucket = bucket_of(user, self.salt, "arm", BUCKETS)
        return self._owners[bisect_right(self._starts, bucket) - 1]

    def serves(self, user: str) -> str:
        """Return the arm whose slates a user gets, in the experiment or not."""
        return self.arm_of(user) or self.fallback

    @property
    def shares(self) -> dict[str, float]:
        """Share of each arm."""
        return {arm.name: arm.share for arm in self.arms}

    def ramped(self, shares: Mapping[str, float]) -> Assignment:
        """Return it with other shares, of some arms or of new ones.

        Nobody leaves an arm that does not shrink; one that shrinks gives up its highest buckets.
        """
        known = {arm.name: arm for arm in self.arms}
        arms = [*self.arms, *(Arm(name=name) for name in shares if name not in known)]
        return replace(self, arms=_laid_out(arms, self.shares | dict(shares)))

    def stop(self) -> Assignment:
        """Return it with the kill switch on."""
        return replace(self, stopped=True)

    def resume(self) -> Assignment:
        """Return it with the kill switch off: everybody is where they were."""
        return replace(self, stopped=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        held = self.holdout
        return {
            "version": VERSION,
            "name": self.name,
            "salt": self.salt,
            "fallback": self.fallback,
            "stopped": self.stopped,
            "holdout": None if held is None else {"salt": held.salt, "share": held.share},
            "arms": [
                {"name": arm.name, "buckets": [list(both) for both in arm.buckets]}
                for arm in self.arms
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Assignment:
        """Return what `to_json` was called on."""
        version = data.get("version")
        if version != VERSION:
            raise ParameterError("version of the assignment", f"must be {VERSION}", version)
        if not isinstance(data.get("stopped"), bool):
            raise ParameterError("stopped", "must be true or false", data.get("stopped"))
        try:
            held = data["holdout"]
            return cls(
                name=data["name"],
                salt=data["salt"],
                fallback=data["fallback"],
                stopped=data["stopped"],
                holdout=None if held is None else Holdout(**held),
                arms=tuple(
                    Arm(
                        name=arm["name"], buckets=tuple((int(a), int(b)) for a, b in arm["buckets"])
                    )
                    for arm in data["arms"]
                ),
            )
        except KeyError as error:
            raise ParameterError("assignment", f"must have {error}", sorted(data)) from None
        except TypeError as error:
            rule = f"must be as to_json gives it ({error})"
            raise ParameterError("assignment", rule, data) from None


def check_independent(experiments: Sequence[Assignment]) -> None:
    """Refuse experiments that share a name or a salt: they would move the same users together."""
    for what in ("name", "salt"):
        seen: set[str] = set()
        for experiment in experiments:
            value = getattr(experiment, what)
            if value in seen:
                raise ParameterError(f"{what} of an experiment", "must be its own", value)
            seen.add(value)


def _laid_out(arms: Iterable[Arm], shares: Mapping[str, float]) -> tuple[Arm, ...]:
    """Return arms with as many buckets as their shares ask for: what is kept stays in place."""
    arms = list(arms)
    wanted = {name: _in_buckets(f"shares.{name}", share) for name, share in shares.items()}
    if sum(wanted.values()) > BUCKETS:
        raise ParameterError("shares", "must add up to at most 1", dict(shares))
    owned = {arm.name: [b for both in arm.buckets for b in range(*both)] for arm in arms}
    kept = {name: buckets[: wanted[name]] for name, buckets in owned.items()}
    taken = {bucket for buckets in kept.values() for bucket in buckets}
    free = iter([bucket for bucket in range(BUCKETS) if bucket not in taken])
    for name, buckets in kept.items():
        buckets.extend(next(free) for _ in range(wanted[name] - len(buckets)))
    return tuple(replace(arm, buckets=_ranges(kept[arm.name])) for arm in arms)


def _ranges(buckets: Iterable[int]) -> Ranges:
    ranges: list[tuple[int, int]] = []
    for bucket in sorted(buckets):
        if ranges and ranges[-1][1] == bucket:
            ranges[-1] = (ranges[-1][0], bucket + 1)
        else:
            ranges.append((bucket, bucket + 1))
    return tuple(ranges)


def _in_buckets(name: str, share: float) -> int:
    """Return how many buckets a share is."""
    whole = isinstance(share, int | float) and not isinstance(share, bool) and isfinite(share)
    if not (whole and 0 <= share <= 1):
        raise ParameterError(name, "must be between 0 and 1", share)
    count = round(share * BUCKETS)
    if abs(count - share * BUCKETS) > 1e-6:
        raise ParameterError(name, f"must be a multiple of 1/{BUCKETS}", share)
    return count


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(what, "must be a text that is not empty", name)
