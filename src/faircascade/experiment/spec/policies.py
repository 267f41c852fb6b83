"""The policies of a spec: each entry of the list, with its grids, and what all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faircascade.experiment.comparison import distinct_labels
from faircascade.experiment.spec.errors import (
    Place,
    PlacedError,
    at,
    leaves_in,
    named_in,
    tables_in,
)
from faircascade.experiment.spec.grids import expand
from faircascade.policies import Policy
from faircascade.registry import from_spec, lookup, parameters_of
from faircascade.types import whole

Entry = Mapping[str, Any]
"""One of [[policies]] as written, grids included."""


def lines_of(
    policies: Sequence[Entry], every_policy: Mapping[str, Any], rounds: int
) -> list[tuple[str, Policy, int]]:
    """Return label, policy and rounds of every policy; labels are distinct.

    No policy has more than `rounds`. `every_policy` is for those that have such a parameter.
    """
    found: list[tuple[Policy, int]] = []
    for number, written in enumerate(policies):
        found.extend(_policies(number, written, every_policy, rounds))
    with at("policies"):
        labels = distinct_labels([policy for policy, _ in found])
    return [(label, *line) for label, line in zip(labels, found, strict=True)]


def _policies(
    number: int, written: Entry, every_policy: Mapping[str, Any], most: int
) -> list[tuple[Policy, int]]:
    """Return the policies that one entry of the list stands for."""
    with at("policies", number):
        if "name" not in written:
            raise ValueError("each of [[policies]] must say its name")
        with at("name"):
            known = {p.name for p in parameters_of(lookup("policy", str(written["name"])))}
        with at("rounds"):
            rounds = min(most, whole(written.get("rounds", most), "rounds"))
            if rounds < min(most, 1):
                raise ValueError(f"rounds of a policy must be at least 1, got {rounds}")
        own = {n: v for n, v in written.items() if n != "rounds"}
        mine = list(expand(own))
    shared = {n: v for n, v in every_policy.items() if n in known and n not in own}
    with at("every_policy"):
        theirs = list(expand(shared))
    found = []
    for given in theirs:
        for chosen in mine:
            try:
                found.append((from_spec("policy", {**given, **chosen}), rounds))
            except (ValueError, TypeError) as error:
                raise _blamed(str(error), number, own, shared) from error
    return found


def _blamed(
    message: str, number: int, own: Mapping[str, Any], shared: Mapping[str, Any]
) -> PlacedError:
    """Return a policy's mistake at the parameter that the message names."""
    for wanted in (leaves_in, tables_in):
        places: dict[Place, str] = {}
        for given, above in ((own, ("policies", number)), (shared, ("every_policy",))):
            places |= {(*above, *place): str(place[-1]) for place in wanted(given)}
        name = named_in(message, (known for known in places.values() if known != "name"))
        if name is not None:
            found = next(place for place, known in places.items() if known == name)
            if isinstance({**shared, **own}.get(name), list) and "must be" in message:
                message += f" (for a policy each: {name}.grid = [...])"
            return PlacedError(message, found)
    return PlacedError(message, ("policies", number))
