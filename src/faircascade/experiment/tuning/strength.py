"""The strength of a policy: the parameter by which it trades clicks for fairness."""

from __future__ import annotations

from faircascade.policies import Policy
from faircascade.registry import Component, parameters_of
from faircascade.strengths import StrengthRange


def find_strength(policy: Policy) -> tuple[str, StrengthRange] | None:
    """Return the dotted name of a policy's strength with its range, if it has one.

    That of a part, such as a re-ranker, comes before the policy's own: it acts last.
    """
    for parameter in parameters_of(type(policy)):
        part = getattr(policy, parameter.name)
        if isinstance(part, Component) and part.strength_range is not None:
            return f"{parameter.name}.{part.strength_range.parameter}", part.strength_range
    own = policy.strength_range
    return None if own is None else (own.parameter, own)
