"""Whatever stands for a policy: its name, a ranker, a result, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from faircascade.errors import ParameterError
from faircascade.evaluation.frozen import FrozenPolicy
from faircascade.evaluation.given import Probabilities
from faircascade.policies import Policy
from faircascade.registry import from_spec
from faircascade.settings import part_table


def named_policies(policies: Any) -> dict[str, Any]:
    """Return policies by their labels, which are told apart."""
    if isinstance(policies, Mapping) and policies:
        return {str(label): _policy(source) for label, source in policies.items()}
    several = isinstance(policies, Mapping | Sequence) and not isinstance(policies, str)
    every = [_policy(source) for source in (policies if several else [policies])]
    if not every:
        raise ParameterError("policies", "must be at least one", policies)
    named: dict[str, Any] = {}
    for source in every:
        label = source.label
        count = sum(name == label or name.startswith(f"{label} (") for name in named)
        named[f"{label} ({count + 1})" if count else label] = source
    return named


def _policy(source: Any) -> Any:
    """Return a policy, a frozen one or probabilities, from whatever stands for one."""
    if isinstance(source, str) and source.endswith(".npz"):
        source = Path(source)
    if isinstance(source, str):
        return from_spec("policy", part_table(source))
    if isinstance(source, Policy | Probabilities):
        return source
    frozen = FrozenPolicy.of(source)
    if frozen is None:
        rule = "must be a policy, its name, a ranker, a result or Probabilities"
        raise ParameterError("policies", rule, source)
    return frozen
