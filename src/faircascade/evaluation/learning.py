"""A policy that learns from a log, impression by impression of each user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from faircascade.data.log import Impressions
from faircascade.evaluation.catalogue import Catalogue
from faircascade.evaluation.click_rates import ClickRates
from faircascade.evaluation.equality import ExposureSums
from faircascade.evaluation.estimators.slates import Chances, PolicySlates
from faircascade.evaluation.intervals import BLOCKS
from faircascade.evaluation.policy_chances import PolicyQuery
from faircascade.evaluation.policy_views import (
    LoggedSlates,
    NextItemValues,
    PolicyRun,
    RatedSlates,
    asked_values,
    slates_of,
)
from faircascade.types import Bools, Feedback, Ids, Ints, Users

LearnsFrom = Literal["log", "matches"]
"""All that was logged, or only what the policy would have shown itself (Li et al. 2011)."""
_REPLAY_DRAWS = 8


class LearningPolicy:
    """A policy and what it has learned of the users of a log."""

    def __init__(self, query: PolicyQuery, catalogue: Catalogue, users: Ids) -> None:
        """Start with nothing learned."""
        self.query, self.catalogue = query, catalogue
        self.state: Any = query.policy.start(Users(ids=users), query.policy.dim_of(query.items))
        self.rounds = np.zeros(len(users), dtype=np.int64)
        """Slates that each user has had."""

    def learn(self, block: Impressions) -> None:
        """Learn from all impressions, in their order."""
        for part in by_occurrence(block):
            self.update(LoggedSlates(block=part, catalogue=self.catalogue, query=self.query))

    def update(self, logged: LoggedSlates, known: Ints | None = None) -> None:
        """Learn from one impression each of some users, as far down as items are known.

        `known` says how far down, if not so far as the policy has the items.
        """
        policy, (full, good) = self.query.policy, logged.full
        block = logged.block
        users = block.users.astype(np.int64)
        depth = prefix_length(good & logged.known) if known is None else known
        self.rounds[users] += 1
        rows = np.flatnonzero(depth > 0)
        if policy.learns and len(rows):
            seen = np.arange(self.query.k) < depth[rows, None]
            clicks = block.widened(self.query.k).clicks[rows] & seen
            feedback = Feedback.of(self.query.items, full[rows], clicks)
            policy.update(self.state, users[rows], replace(feedback, shown=depth[rows]))
        ledger = getattr(self.state, "ledger", None)
        if ledger is not None and len(rows):
            ledger.enter(users[rows], full[rows], self.query.items)
        if policy.shares:
            policy.settle([self.state])


class ReplayRun(PolicyRun):
    """Goes through a log and learns from it, so that every impression meets what came before."""

    def __init__(
        self,
        learner: LearningPolicy,
        *,
        label: str,
        rates: tuple[ClickRates, ...],
        values: NextItemValues | None,
        learns_from: LearnsFrom = "log",
    ) -> None:
        """Take a policy that has learned nothing yet."""
        self.learner, self.label, self.learns_from = learner, label, learns_from
        self.query, self.catalogue = learner.query, learner.catalogue
        self.rates, self.values = rates, values
        self.how = (
            "as it learns from the logged clicks; online it would learn from its own slates"
            if learns_from == "log"
            else "as it learns from those logged positions at which its own slate agrees"
        )
        self._exposure = ExposureSums.empty(BLOCKS, self.catalogue.size)

    def view(self, block: Impressions, blocks: Ints) -> PolicySlates:
        order: list[Ints] = []
        parts: list[PolicySlates] = []
        for rows in occurrences(block):
            part = block.take(rows)
            parts.append(self._step(part, blocks[rows]))
            order.append(rows)
        return joined(parts, np.concatenate(order))

    def _step(self, part: Impressions, blocks: Ints) -> PolicySlates:
        """Look at one impression each of some users, and then learn from it."""
        learner, query = self.learner, self.query
        logged = RatedSlates(block=part, blocks=blocks, catalogue=self.catalogue, query=query)
        users = part.users.astype(np.int64)
        rounds = learner.rounds[users] + 1
        drawn = query.is_random and self.learns_from == "log"
        exact = query.exact(learner.state, logged.full[0], users, rounds) if drawn else None
        draws = 1 if exact is not None or not drawn else _REPLAY_DRAWS
        own = query.own(learner.state, users, rounds, draws)
        following = None
        if exact is not None and self.values is not None:
            following = asked_values(logged, learner.state, users, rounds, self.values)
        found = slates_of(logged, own, exact, self.rates, self.values, following)
        for slates in own:
            self._exposure.add(blocks, slates, logged.on_screen / len(own))
        depth = None
        if self.learns_from == "matches":
            same = (own[0] == logged.rows) & logged.full[1] & logged.known
            depth = prefix_length(same)
        learner.update(logged, depth)
        return found

    def exposure(self) -> ExposureSums:
        return self._exposure


def occurrences(block: Impressions) -> Iterator[Ints]:
    """Yield rows of a block with every user at most once, the impressions of a user in order."""
    order = np.argsort(block.users, kind="stable")
    users = block.users[order]
    starts = np.flatnonzero(np.append(True, users[1:] != users[:-1]))
    number = np.arange(len(users)) - np.repeat(starts, np.diff(np.append(starts, len(users))))
    by_number = np.lexsort((order, number))
    edges = np.append(np.flatnonzero(np.diff(number[by_number], prepend=-1)), len(order))
    for first, last in pairwise(edges.tolist()):
        yield order[by_number[first:last]]


def by_occurrence(block: Impressions) -> Iterator[Impressions]:
    """Yield the impressions of a block with every user at most once."""
    return (block.take(rows) for rows in occurrences(block))


def prefix_length(good: Bools) -> Ints:
    """Return how many positions from the top are good, (n,)."""
    return np.asarray(np.logical_and.accumulate(good, axis=1).sum(axis=1))


def joined(parts: list[PolicySlates], order: Ints) -> PolicySlates:
    """Put parts together; `order` are the rows that they came from, one part after the other."""
    back = np.argsort(order)

    def column(arrays: list[Any]) -> Any:
        if any(array is None for array in arrays):
            return None
        return np.concatenate(arrays)[back]

    names = ("predicted", "next_values", "logged_values", "harvested", "modelled")
    chances = {
        kind: column([getattr(part.chances, kind) for part in parts])
        for kind in ("slate", "cascade", "item_position")
    }
    return PolicySlates(
        chances=Chances(**chances),
        **{name: column([getattr(part, name) for part in parts]) for name in names},
    )
