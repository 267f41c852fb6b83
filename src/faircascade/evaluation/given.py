"""Probabilities of a policy that is not run here: arrays, or columns of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log import Impressions, Log
from faircascade.errors import ParameterError
from faircascade.evaluation.catalogue import Catalogue
from faircascade.evaluation.estimators.slates import (
    KINDS,
    Chances,
    PolicySlates,
    check_prefixes,
    known_positions,
    last_positions,
)
from faircascade.evaluation.policy_views import PolicyRun
from faircascade.types import Floats, Ints

Given = Any
"""An array, or the name of a column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Probabilities:
    """How likely your policy is to show the logged slates, in one or several ways.

    Each is the name of a column of the log or an array: `slate` (n,), the others (n, K), or with a
    value for each row of a log of full slates.
    """

    slate: Given = None
    """Of the whole slate."""
    cascade: Given = None
    """Of the items down to each position, in this order."""
    item_position: Given = None
    """Of each item at its position, whatever stands elsewhere."""
    label: str = "your policy"

    def chances(self, log: Log, n: int, k: int) -> Chances:
        """Return them for all n impressions of a log with slates of at most k items."""
        given = {kind: getattr(self, kind) for kind in KINDS}
        columns = {kind: name for kind, name in given.items() if isinstance(name, str)}
        arrays = {kind: value for kind, value in given.items() if kind not in columns}
        if all(value is None for value in given.values()):
            rule = "must have one of slate=, cascade= and item_position="
            raise ParameterError("probabilities", rule, None)
        found: dict[str, Any] = {
            kind: None if value is None else _checked(kind, value, n, k)
            for kind, value in arrays.items()
        }
        if columns:
            read = _read(log, columns).widened(k)
            found |= {kind: getattr(read, kind) for kind in columns}
        cascade = given["cascade"]
        name = f"column {cascade!r}" if "cascade" in columns else "cascade"
        check_prefixes(found["cascade"], name, 0)
        return Chances(**found)


class GivenRun(PolicyRun):
    """Looks up probabilities by the number of an impression in the log."""

    how = "by the probabilities given"

    def __init__(self, chances: Chances, catalogue: Catalogue, label: str) -> None:
        """Take the chances of all impressions of the log."""
        self.chances, self.catalogue, self.label = chances, catalogue, label

    def view(self, block: Impressions, blocks: Ints) -> PolicySlates:
        some = self.chances.take(slice(block.first, block.first + len(block)))
        if some.slate is None and some.cascade is not None:
            last = last_positions(known_positions(block))
            some = Chances(
                slate=some.cascade[np.arange(len(last)), last],
                cascade=some.cascade,
                item_position=some.item_position,
            )
        return PolicySlates(chances=some)


def _read(log: Log, columns: Mapping[Any, str]) -> Impressions:
    """Return the impressions of a log with the policy's probabilities in columns of it."""
    try:
        other = log.with_propensities(**columns)
    except DataError as error:
        words = str(error)
        for kind in columns:
            words = words.replace(f"({kind}_propensity=)", f"({kind}=)")
        raise DataError(words) from None
    found = other.read()
    assert log.summary is not None
    assert other.summary is not None
    if (log.summary.dropped or other.summary.dropped) and not _same(found, log.read()):
        raise DataError(
            f"{log.name}: probabilities that break a rule must be corrected or removed first where "
            "columns of it are the policy's: the impressions that are left out for those of the "
            "log are not those that are left out for the policy's"
        )
    return found


def _same(first: Impressions, second: Impressions) -> bool:
    """Tell whether both are the same impressions."""
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("users", "items", "clicks")
    )


def _checked(kind: str, value: Any, n: int, k: int) -> Floats:
    """Return probabilities in the shape that estimators need, or refuse them."""
    array = np.asarray(value, dtype=np.float64)
    if kind == "slate" and array.shape == (n * k,) and k > 1:
        array = array.reshape(n, k)[:, 0]
    elif kind != "slate" and array.shape == (n * k,):
        array = array.reshape(n, k)
    shape = (n,) if kind == "slate" else (n, k)
    if array.shape != shape:
        raise ParameterError(kind, f"must have the shape {shape} of the log", array.shape)
    wrong = array[~((array >= 0) & (array <= 1)) & ~np.isnan(array)]
    if wrong.size:
        raise ParameterError(kind, "must be between 0 and 1", float(wrong[0]))
    return array
