"""What a ranker has learned, as the state that a simulation begins with."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.types import Items


@runtime_checkable
class Learned(Protocol):
    """A policy with what it knows, such as a `Ranker`."""

    @property
    def policy(self) -> Policy: ...
    @property
    def items(self) -> Items: ...
    def learned(self) -> tuple[Any, list[str], list[int]]:
        """Return the state of all users (None if there are none), their ids and slates had."""


def initial_state(ranker: Learned, env: Environment) -> Any:
    """Return the state of the users of an environment; those whom the ranker does not know start
    with nothing. None if it knows nobody."""
    policy = ranker.policy
    if policy.needs_features:
        _check_features(ranker.items, env.items)
    state, names, _ = ranker.learned()
    if state is None:
        return None
    rows = {name: row for row, name in enumerate(names)}
    found = np.array([rows.get(str(user), -1) for user in env.users.ids.tolist()])
    known, new = found >= 0, found < 0
    parts, order = list[Any](), np.empty(len(found), dtype=np.int64)
    if known.any():
        parts.append(policy.take(state, found[known]))
    if new.any():
        nobody = policy.start(env.users, policy.dim_of(env.items))
        parts.append(policy.take(nobody, np.flatnonzero(new)))
    order[known] = np.arange(known.sum())
    order[new] = known.sum() + np.arange(new.sum())
    ordered = policy.take(policy.join(parts), order)
    return policy.restore(env.users, policy.arrays(ordered))


def _check_features(learned: Items, simulated: Items) -> None:
    """Refuse features that are not those with which the ranker learned."""
    rows = {str(item): row for row, item in enumerate(learned.ids.tolist())}
    places = [rows.get(str(item), -1) for item in simulated.ids.tolist()]
    same = simulated.dim == learned.dim and min(places) >= 0
    if not same or not np.allclose(learned.features[places], simulated.features):
        rule = (
            "must have learned items of the environment with the same features; from a log, pass "
            "the ranker's to Environment.from_log(features=...)"
        )
        raise ParameterError("policy", rule, f"{learned!r}")
