"""What a run leaves behind: integer counts, which merge to the same bits however work was divided.

Sums of fractions (regret, confidence widths) are kept as integers too, in units of 2^-32: integers
add up to the same total in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import check_choice
from faircascade.metrics.memberships import Memberships
from faircascade.types import Bools, Floats, Ints, Items

UNIT = 2.0**-32
"""Resolution of the sums of regret and widths."""


Over = Literal["catalogue", "eligible"]
"""Which items a metric is taken over: all, or those that can be recommended."""


def check_over(over: str) -> Over:
    """Return which items count, or refuse what is neither."""
    check_choice("over", over, get_args(Over))
    return cast(Over, over)


Counts = NDArray[np.signedinteger[Any]]

LARGEST = 2.0**20
"""What a single value counts at most, so that sums cannot overflow."""


def to_units(values: Floats) -> int:
    """Add up fractions as multiples of 2^-32; a value above 2^20 counts as 2^20."""
    return int(np.rint(np.minimum(values, LARGEST) / UNIT).astype(np.int64).sum())


def counts(users: int, rounds: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type in which no count of a run can overflow."""
    return np.int32 if users * rounds < 2**31 else np.int64


BY_ROUND = ("served", "clicks", "clicked", "optimal_clicks", "regret", "width")
"""What a tally has a number of for each round, in the order in which engines count it."""


@dataclass(kw_only=True, eq=False)
class Tally:
    """Counts of one run, or of a part of its users, at checkpoints."""

    checkpoints: Ints
    """Last round of each interval, (c,); the first interval begins at round 1."""
    appearances: Counts
    """How often each item stood at each position, by interval, (c, m, K)."""
    item_clicks: Counts
    """How often it was clicked there, by interval, (c, m, K)."""
    served: Ints
    """Slates shown in each round, (rounds,)."""
    clicks: Ints
    """Clicks in each round, (rounds,)."""
    clicked: Ints
    """Slates with a click in each round, (rounds,)."""
    optimal_clicks: Ints
    """Clicks that the optimal slates would have had under the same draws, (rounds,)."""
    regret: Ints
    """Expected reward given up in each round, summed over users, in units, (rounds,)."""
    width: Ints
    """Mean confidence width of each slate, summed over users, in units, (rounds,)."""
    users: int
    """How many users were served."""
    realised: bool
    """True if `optimal_clicks` were counted."""

    @classmethod
    def empty(
        cls, *, checkpoints: Sequence[int], items: int, k: int, users: int, realised: bool = False
    ) -> Tally:
        """Return a tally of nothing yet."""
        c, rounds = len(checkpoints), int(checkpoints[-1])
        by_item = (c, items, k)
        return cls(
            checkpoints=np.asarray(checkpoints, dtype=np.int64),
            appearances=np.zeros(by_item, dtype=counts(users, rounds)),
            item_clicks=np.zeros(by_item, dtype=counts(users, rounds)),
            **{name: np.zeros(rounds, dtype=np.int64) for name in BY_ROUND},
            users=users,
            realised=realised,
        )

    def count(self, interval: int, round: int, slates: Ints, clicks: Bools) -> None:
        """Count one round's slates (n, K) and the clicks on them, (n, K)."""
        n, k = slates.shape
        cells = slates * k + np.arange(k)  # of the item and its position
        np.add.at(self.appearances[interval].reshape(-1), cells, 1)
        np.add.at(self.item_clicks[interval].reshape(-1), cells[clicks], 1)
        self.served[round - 1] += n
        self.clicks[round - 1] += np.count_nonzero(clicks)
        self.clicked[round - 1] += np.count_nonzero(clicks.any(axis=1))

    def count_rounds(self, rounds: slice, counts: Ints) -> None:
        """Add what was counted in some rounds, rows as in `BY_ROUND`."""
        for name, more in zip(BY_ROUND, counts, strict=True):
            getattr(self, name)[rounds] += more

    def merge(self, other: Tally) -> Tally:
        """Return the tally of both parts together."""
        if not np.array_equal(self.checkpoints, other.checkpoints):
            raise ValueError("tallies must have the same checkpoints to be merged")
        if self.realised != other.realised:
            raise ValueError("tallies must both count realised regret, or neither, to be merged")
        if self.appearances.shape != other.appearances.shape:
            raise ValueError(
                f"tallies must have the same items and k to be merged, got "
                f"{self.appearances.shape[1:]} and {other.appearances.shape[1:]}"
            )
        kind = counts(self.users + other.users, int(self.checkpoints[-1]))
        sums = {
            f.name: getattr(self, f.name) + getattr(other, f.name)
            for f in fields(self)
            if f.name not in ("checkpoints", "realised", "appearances", "item_clicks")
        }
        for name in ("appearances", "item_clicks"):
            sums[name] = np.add(getattr(self, name), getattr(other, name), dtype=kind)
        return Tally(checkpoints=self.checkpoints, realised=self.realised, **sums)

    def up_to(self, rounds: int) -> Tally:
        """Return the run as it stood after some rounds.

        `rounds` is a checkpoint, or the last round that was counted.
        """
        intervals = int(np.searchsorted(self.checkpoints, rounds)) + 1
        checkpoints = np.append(self.checkpoints[: intervals - 1], rounds)
        return Tally(
            checkpoints=checkpoints,
            appearances=self.appearances[:intervals],
            item_clicks=self.item_clicks[:intervals],
            **{name: getattr(self, name)[:rounds] for name in BY_ROUND},
            users=self.users,
            realised=self.realised,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """Everything accumulated up to one round: what a metric measures."""

    appearances: Ints
    """How often each item stood at each position, (m, K); in an audit of a log with slates of very
    different lengths it may be a `scipy.sparse.csr_array`, which has the same sums and products."""
    item_clicks: Ints
    """How often it was clicked there, (m, K); the same holds."""
    merit: Floats
    """Merit of each item, (m,)."""
    served: int
    """Slates shown."""
    clicks: int
    """Clicks on them."""
    clicked: int
    """Slates with a click."""
    regret: float
    """Mean over users of the expected reward given up."""
    realised_regret: float
    """The same with the clicks that were drawn, both slates under the same draws; NaN if these
    were not counted."""
    fairness_regret: float
    """Rounds times the L1 distance between shares of exposure (E_P) and of merit, added up over
    the intervals between checkpoints; NaN for groups of items."""
    eligible_fairness_regret: float
    """The same with only the eligible items and their merit."""
    popularity: Floats
    """How often each item was liked in the training data, (m,)."""
    eligible: Bools
    """False for items that were never to be recommended, (m,)."""

    @classmethod
    def series(cls, tally: Tally, items: Items) -> Iterator[Record]:
        """Yield what had accumulated at each checkpoint."""
        appearances = np.zeros(tally.appearances.shape[1:], dtype=np.int64)
        item_clicks = np.zeros(tally.item_clicks.shape[1:], dtype=np.int64)
        served = clicks = clicked = optimal = regret = first = 0
        unfair = unfair_eligible = 0.0
        eligible = items.eligible
        discount = discounts(tally.appearances.shape[2])
        for interval, last in enumerate(tally.checkpoints.tolist()):
            appearances = appearances + tally.appearances[interval]
            item_clicks = item_clicks + tally.item_clicks[interval]
            rounds = slice(first, last)
            served += int(tally.served[rounds].sum())
            clicks += int(tally.clicks[rounds].sum())
            clicked += int(tally.clicked[rounds].sum())
            optimal += int(tally.optimal_clicks[rounds].sum())
            regret += int(tally.regret[rounds].sum())
            exposure = tally.appearances[interval] @ discount
            unfair += (last - first) * _distance(exposure, items.merit)
            unfair_eligible += (last - first) * _distance(exposure[eligible], items.merit[eligible])
            first = last
            yield cls(
                appearances=appearances,
                item_clicks=item_clicks,
                merit=items.merit,
                popularity=items.popularity,
                eligible=eligible,
                served=served,
                clicks=clicks,
                clicked=clicked,
                regret=regret * UNIT / tally.users,
                realised_regret=(optimal - clicks) / tally.users if tally.realised else np.nan,
                fairness_regret=unfair,
                eligible_fairness_regret=unfair_eligible,
            )

    @classmethod
    def of(cls, tally: Tally, items: Items) -> Record:
        """Return what had accumulated at the end."""
        *_, last = cls.series(tally, items)
        return last

    def over(self, over: Over) -> Record:
        """Return the record of all items, or of the eligible ones alone."""
        check_over(over)
        if over == "catalogue" or self.eligible.all():
            return self
        kept = self.eligible
        return replace(
            self,
            appearances=self.appearances[kept],
            item_clicks=self.item_clicks[kept],
            merit=self.merit[kept],
            popularity=self.popularity[kept],
            eligible=self.eligible[kept],
            fairness_regret=self.eligible_fairness_regret,
        )

    def by_group(self, labels: Sequence[str]) -> tuple[tuple[str, ...], Record]:
        """Return the groups and the record with each group's items added up.

        `labels` has one entry per item; `a|b` is a member of both groups, and counts in both.
        """
        if len(labels) != len(self.merit):
            raise ValueError(
                f"labels must be one for each of the {len(self.merit)} items, got {len(labels)}"
            )
        memberships = Memberships.of(labels)
        return memberships.groups, self.added_up(memberships)

    def added_up(self, memberships: Memberships) -> Record:
        """Return the record with the items of each group added up."""
        add = memberships.add
        return Record(
            appearances=add(self.appearances),
            item_clicks=add(self.item_clicks),
            merit=add(self.merit),
            popularity=add(self.popularity),
            eligible=add(self.eligible.astype(np.int64)) > 0,
            served=self.served,
            clicks=self.clicks,
            clicked=self.clicked,
            regret=self.regret,
            realised_regret=self.realised_regret,
            fairness_regret=np.nan,
            eligible_fairness_regret=np.nan,
        )


def discounts(k: int) -> Floats:
    """Return the weight 1 / log2(1 + position) of each position, (k,)."""
    return np.asarray(1.0 / np.log2(np.arange(2.0, k + 2)))


def _distance(exposure: Floats, merit: Floats) -> float:
    """Return the L1 distance between shares of exposure and merit; 0 if nothing was shown."""
    total = exposure.sum()
    return float(np.abs(exposure / total - merit / merit.sum()).sum()) if total > 0 else 0.0
