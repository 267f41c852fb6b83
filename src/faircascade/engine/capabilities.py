"""What compiled engines know of the library's components; `loop` runs whatever is registered."""

from __future__ import annotations

from faircascade.clicks import Cascade
from faircascade.engine.cpu.packing import EXPLORERS, RERANKERS
from faircascade.environment import Environment
from faircascade.estimators import Ridge
from faircascade.policies import Bandit, MostPopular, Optimal, Policy, Random

YARDSTICKS: tuple[type[Policy], ...] = (Random, MostPopular, Optimal)
"""Policies that do not learn."""


def unknown_part(env: Environment, given: Policy, *, yardsticks: bool) -> str:
    """Return what of a world and a policy is not compiled in; nothing if all of it is."""
    policy = given.compose()
    if type(env.click_model) is not Cascade:
        return f"click model {env.click_model.name!r}"
    if yardsticks and type(policy) in YARDSTICKS:
        return ""
    if type(policy) is not Bandit:
        return f"policy {given.name!r}"
    if type(policy.estimator) is not Ridge:
        return f"estimator {policy.estimator.name!r}"
    if type(policy.exploration) not in EXPLORERS:
        return f"exploration {policy.exploration.name!r}"
    if type(policy.reranker) not in RERANKERS:
        return f"re-ranker {policy.reranker.name!r}"
    if policy.shares:
        return "ledger that users share (ledger='global')"
    return ""
