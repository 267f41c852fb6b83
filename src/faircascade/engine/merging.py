"""Merge parts of a run that were simulated separately, to the same bits as the whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from faircascade.engine.result import Result
from faircascade.environment import Environment
from faircascade.metrics import Tally
from faircascade.policies import Policy


def splittable(policy: Policy) -> bool:
    """Say whether users can be simulated separately: no slate depends on those of others."""
    return not policy.shares


def join_parts(env: Environment, parts: Sequence[Result]) -> Result:
    """Return the result of an environment from those of its parts.

    The parts are `simulate(env.take(slice(a, b)), ...)` over consecutive slices that cover all
    users, in order; everything but `seconds`, which add up, is as if all had been served together.
    """
    _check_alike(parts)
    _check_users(env, parts)
    first = parts[0]
    return Result(
        env=env,
        policy=first.policy,
        tally=reduce(Tally.merge, (part.tally for part in parts)),
        state=first.policy.join([part.state for part in parts]),
        seed=first.seed,
        engine=_each_once(part.engine for part in parts),
        engine_reason=_each_once(part.engine_reason for part in parts),
        seconds=sum(part.seconds for part in parts),
        interrupted=any(part.interrupted for part in parts),
        realised=first.realised,
        activity=first.activity,
        precision=first.precision,
    )


def _check_alike(parts: Sequence[Result]) -> None:
    """Refuse parts of different runs."""
    if not parts:
        raise ValueError("parts must be at least one result, got none")
    first = parts[0]
    if not splittable(first.policy):
        raise ValueError(
            f"parts must be of a policy whose users are independent; those of "
            f"{first.policy.label} share what they know"
        )
    for name in ("policy", "seed", "activity", "realised", "precision", "rounds"):
        expected = getattr(first, name)
        for part in parts[1:]:
            found = getattr(part, name)
            if found != expected:
                raise ValueError(f"parts must have the same {name}, got {expected} and {found}")


def _check_users(env: Environment, parts: Sequence[Result]) -> None:
    """Refuse parts that are not all users of an environment in their order."""
    last = 0
    for number, part in enumerate(parts, 1):
        begin, last = last, last + len(part.env.users)
        here = slice(begin, last)
        if last > len(env.users) or env.take(here).fingerprint != part.env.fingerprint:
            raise ValueError(
                f"parts must be of the users of env in their order; part {number} is not of "
                f"env.take({here})"
            )
    if last < len(env.users):
        raise ValueError(
            f"parts must cover all {len(env.users)} users of env, got the first {last}"
        )


def _each_once(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
