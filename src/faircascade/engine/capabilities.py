"""Which engine supports which part: parts declare it, and `loop` runs all of them."""

from __future__ import annotations

from faircascade.environment import Environment
from faircascade.policies import Policy
from faircascade.registry import Component
from faircascade.registry.component import engines_of


def unsupported(env: Environment, policy: Policy, engine: str) -> str:
    """Return the part that an engine has no kernel for, or nothing."""
    if engine not in engines_of(env):
        return f"environment {type(env).__name__!r}"
    for part in (*env.parts.values(), *policy.components):
        if not part.runs_in(engine):
            return name_of(part)
    if policy.ledger_scope == "global" and not _shifts_alike(policy, engine):
        return f"policy {policy.label!r}, whose users share what they know"  # by its account
    return ""


def _shifts_alike(policy: Policy, engine: str) -> bool:
    """Say whether an engine can keep an account of all users: it moves the scores of all alike."""
    return engine == "cpu" and any("shifts" in part.kernel() for part in policy.components)


def name_of(part: Component) -> str:
    """Return the kind and the name of a part, for messages."""
    own = "name" in vars(type(part))  # a class that is not registered has its parent's name
    kind = "re-ranker" if part.kind == "reranker" else part.kind.replace("_", " ")
    return f"{kind} {(part.name if own else type(part).__name__)!r}"
