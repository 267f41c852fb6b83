"""What the results of two runs share when they are the same to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine import Result
from faircascade.policies import FRMLinUCB, LinTS, Policy
from faircascade.registry import build, components
from faircascade.registry.component import engines_of
from tests.engine.test_simulation import POLICIES

EVERY_POLICY: list[Policy] = list(
    dict.fromkeys([*POLICIES, *(build("policy", name) for name in components("policy"))])
)
COMPILED: list[Policy] = [
    policy
    for policy in EVERY_POLICY
    if all("cpu" in engines_of(part) for part in policy.components)
]
"""Those that the cpu engine has a kernel for."""
SHARING: list[Policy] = [
    FRMLinUCB(variant="exposure-charge", eta=0.05, ledger="global"),
    FRMLinUCB(variant="reorder", ledger="global"),
    LinTS(reranker=FRMLinUCB(variant="exposure-charge", ledger="global").last_step()),
]
"""Policies whose users go by an account of all."""


def bits(arrays: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return what tells arrays apart: -0.0 is not 0.0, and NaN is NaN."""
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in plain.items()}


def assert_same(one: Result, other: Result) -> None:
    assert bits(vars(one.tally)) == bits(vars(other.tally))
    assert bits(one.metrics) == bits(other.metrics)
    assert bits(one.curves) == bits(other.curves)
    states = [result.policy.arrays(result.state) for result in (one, other)]
    assert bits(states[0]) == bits(states[1])
    users = [getattr(result.state, "users", result.state) for result in (one, other)]
    assert users[0].ids.tolist() == users[1].ids.tolist()
    assert np.array_equal(users[0].preferences, users[1].preferences)
