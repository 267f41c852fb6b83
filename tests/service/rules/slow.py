"""What slates under rules are, said as plainly as possible: filter, rank everything, walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.policies.composed import ComposedPolicy
from faircascade.random import keys_of
from faircascade.rerankers import Identity
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.messages import ItemChange, RecommendationRequest
from faircascade.service.stores.base import UserStates
from faircascade.types import Items, Users


def satisfies(item: ItemChange, where: Mapping[str, Any]) -> bool:
    return all(
        _holds(_value(item, name), operator, operand)
        for name, condition in where.items()
        for operator, operand in (
            condition.items() if isinstance(condition, dict) else [("is", condition)]
        )
    )


def _value(item: ItemChange, name: str) -> Any:
    if name in ("group", "supplier"):
        label = getattr(item, name)
        return label.split("|") if label else None
    if name in ("merit", "popularity"):
        value = getattr(item, name)
        return {"merit": 1.0, "popularity": 0.0}[name] if value is None else value
    return item.attributes.get(name)


def _holds(value: Any, operator: str, operand: Any) -> bool:
    has = [] if value is None else value if isinstance(value, list) else [value]
    if operator == "known":
        return bool(has) == operand
    if operator == "not":
        return not set(has) & set(operand if isinstance(operand, list) else [operand])
    if operator == "any":
        return bool(set(has) & set(operand))
    if operator == "all":
        return set(operand) <= set(has)
    if operator == "is":
        return operand in has
    return (
        bool(has)
        and {
            "at_least": has[0] >= operand,
            "at_most": has[0] <= operand,
            "above": has[0] > operand,
            "below": has[0] < operand,
        }[operator]
    )


class Oracle:
    """Ranks for one user out of a catalogue."""

    def __init__(
        self, policy: Policy, catalogue: Catalogue, states: UserStates, units: np.ndarray, seed: int
    ) -> None:
        whole = catalogue.items
        self.items = Items(
            ids=whole.ids.copy(),
            features=np.ascontiguousarray(whole.features),
            eligible=whole.eligible,
            merit=whole.merit,
            popularity=whole.popularity,
            topics=np.ascontiguousarray(whole.topics),
        )
        self.names = catalogue.names(catalogue.slots)
        vars(self.items)["keys"] = keys_of(self.names)
        self.policy, self.states, self.units, self.seed = policy, states, units, seed

    def _state(self, user: str) -> Any:
        ids, ledger = self.items.ids, None
        scope = self.policy.ledger_scope
        if scope is not None:
            owed = self.states.accounts[0] if scope == "user" else {}
            units = np.array([[owed.get(slot, 0) for slot in ids.tolist()]])
            units = units if scope == "user" else self.units[None].copy()
            ledger = self.policy.ledger_of(self.items, units)
        return self.policy.from_sums(
            Users(ids=np.array([user])),
            self.states.sums,
            self.policy.dim_of(self.items),
            ledger=ledger,
        )

    def slate(
        self,
        user: str,
        k: int,
        rows: Sequence[int],
        quotas: Mapping[str, int],
        labels: Any,
        had: Any,
    ) -> tuple[list[int], list[float], Any]:
        """Return rows and scores of k of some items that keep quotas, and their propensities.

        `labels` are the groups of each item by column, `had` are items that count already.
        """
        if not rows or k == 0:
            return [], [], None
        place = {"round": self.states.rounds, "seed": self.seed}
        pool = self.items.among(np.array(sorted(rows)))
        every, policy = slice(None), self.policy
        if not quotas:
            slates = policy.recommend(self._state(user), every, pool, min(k, len(pool)), **place)
            known = policy.propensities(self._state(user), every, pool, slates.items, **place)
            return slates.items[0].tolist(), slates.scores[0].tolist(), known

        def walk(order: Sequence[int], wanted: int) -> list[int]:
            counts = {column: Counter() for column in quotas}
            for row in had:
                for column in quotas:
                    counts[column].update(labels[column][row])
            taken = []
            for row in order:
                if len(taken) < wanted and all(
                    counts[column][name] < quotas[column]
                    for column in quotas
                    for name in labels[column][row]
                ):
                    taken.append(row)
                    for column in quotas:
                        counts[column].update(labels[column][row])
            return taken

        if policy.conditional:
            return self._conditional(user, k, pool, walk, place)
        composed = isinstance(policy, ComposedPolicy)
        plain = policy
        if composed and policy.keeps_scores:
            plain = replace(policy, reranker=Identity())
        every_one = plain.recommend(self._state(user), every, pool, len(pool), **place)
        order = every_one.items[0].tolist()
        wanted = policy.considers(k, len(pool)) if composed else k
        taken = walk(order, wanted)
        scores = [float(every_one.scores[0, order.index(row)]) for row in taken]
        if composed and taken:
            state = self._state(user)
            size = min(k, len(taken))
            request = policy.request(state, every, pool, size, **place)
            best = replace(every_one, items=np.array([taken]), scores=np.array([scores]))
            best = policy.arranged(request, best, state.ledger)
            return best.items[0].tolist(), best.scores[0].tolist(), None
        return taken, scores, None

    def _conditional(self, user: str, k: int, pool: Any, walk: Any, place: Any) -> Any:
        """Take out the first item that would be too many, and rank anew, until there is none."""
        while len(pool):
            size = min(k, len(pool))
            slates = self.policy.recommend(self._state(user), slice(None), pool, size, **place)
            listed = slates.items[0].tolist()
            good = walk(listed, size)
            wrong = [row for row in listed if row not in good]
            if not wrong:
                return listed, slates.scores[0].tolist(), None
            pool = pool.items.among(pool.rows[pool.rows != wrong[0]])
        return [], [], None


def expected(
    oracle: Oracle,
    request: RecommendationRequest,
    items: Mapping[str, ItemChange],
    where: Sequence[Mapping[str, Any]],
    quotas: Mapping[str, int],
    pins: Mapping[int, str],
) -> tuple[list[str], list[float | None], Any]:
    """Return the slate of a request as names, scores, and propensities of what was ranked."""
    names = oracle.names
    good = {
        row
        for row, name in enumerate(names)
        if name not in request.exclude and all(satisfies(items[name], one) for one in where)
    }
    pinned = {p: names.index(n) for p, n in pins.items() if n in names and names.index(n) in good}
    rows = good - set(pinned.values())
    if request.candidates is not None:
        rows = {row for row in rows if names[row] in request.candidates}
    labels = {
        column: [(_value(items[name], column) or []) for name in names]
        for column in ("group", "supplier")
    }
    k = request.k - len(pinned)
    ranked, scores, known = oracle.slate(
        request.user, k, sorted(rows), quotas, labels, pinned.values()
    )
    slate: list[tuple[int, float | None]] = []
    rest, left = list(zip(ranked, scores, strict=True)), dict(sorted(pinned.items()))
    while rest or left:
        if left and (min(left) <= len(slate) + 1 or not rest):
            slate.append((left.pop(min(left)), None))
        else:
            slate.append(rest.pop(0))
    return [names[row] for row, _ in slate], [score for _, score in slate], known
