"""The policies of a spec: each entry of the list, with its grids, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from faircascade.errors import ParameterError
from faircascade.experiment.comparison_inputs import distinct_labels
from faircascade.experiment.spec.checks import check_policy
from faircascade.experiment.spec.errors import Place, PlacedError, at, place_of
from faircascade.experiment.spec.grids import expand, with_hint
from faircascade.policies import Policy
from faircascade.registry import from_spec, lookup, parameters_of

Entry = Mapping[str, Any]
"""One of [[policies]] as written, grids included."""
OF_THE_RUN = ("rounds", "search")
"""Keys of an entry that are no parameters of the policy."""


def lines_of(
    policies: Sequence[Entry],
    every_policy: Mapping[str, Any],
    rounds: int,
    environments: Sequence[Mapping[str, Any]] = (),
) -> list[tuple[str, Policy, int]]:
    """Return label, policy and rounds of every policy; labels are distinct.

    No policy has more than `rounds`. `every_policy` is for those that have such a parameter.
    One that does not fit the `environments` is refused.
    """
    found: list[tuple[Policy, int]] = []
    for number, written in enumerate(policies):
        found.extend(_policies(number, written, every_policy, rounds, environments))
    with at("policies"):
        labels = distinct_labels([policy for policy, _ in found])
    return [(label, *line) for label, line in zip(labels, found, strict=True)]


def _policies(
    number: int,
    written: Entry,
    every_policy: Mapping[str, Any],
    most: int,
    environments: Sequence[Mapping[str, Any]],
) -> list[tuple[Policy, int]]:
    """Return the policies that one entry of the list stands for."""
    with at("policies", number):
        with at("name"):
            known = {p.name for p in parameters_of(lookup("policy", str(written["name"])))}
        rounds = min(most, written.get("rounds", most))
        own = {n: v for n, v in written.items() if n not in OF_THE_RUN}
        mine = _expanded(own, f"policy {written['name']!r}")
    shared = {n: v for n, v in every_policy.items() if n in known and n not in own}
    with at("every_policy"):
        theirs = _expanded(shared, "[every_policy]")
    found = []
    for given in theirs:
        for chosen in mine:
            with _placed(number, own, shared, with_hint):
                policy = from_spec("policy", {**given, **chosen})
            with _placed(number, own, shared, str):
                for environment in environments:
                    check_policy(policy, environment)
            found.append((policy, rounds))
    return found


def _expanded(given: Mapping[str, Any], owner: str) -> list[Any]:
    """Return every combination of the grids of a policy; a mistake names the policy."""
    try:
        return list(expand(given))
    except PlacedError as error:
        raise PlacedError(f"{owner}: {error}", error.place) from None


@contextmanager
def _placed(
    number: int,
    own: Mapping[str, Any],
    shared: Mapping[str, Any],
    words: Callable[[ParameterError], str],
) -> Iterator[None]:
    """Say of a policy's mistake in the block that it is at its parameter, if it is about one."""
    try:
        yield
    except ParameterError as error:
        place: Place = ("policies", number)
        if inside := place_of(error.name, own):
            place = (*place, *inside)
        elif inside := place_of(error.name, shared):
            place = ("every_policy", *inside)
        raise PlacedError(words(error), place) from error
    except (ValueError, TypeError) as error:
        raise PlacedError(str(error), ("policies", number)) from error
