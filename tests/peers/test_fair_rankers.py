"""Agreement with the lists of other people's fair rankers on the same scores.

They serve one user after the other, which is a round with one user here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from faircascade.exploration import UCB
from faircascade.ranking import Scores
from faircascade.rerankers import PMMF, FairCo, FrankWolfe, Ledger, Terms, Welfare
from faircascade.rerankers.shifts import ShiftingReranker
from faircascade.types import Floats, Ints, Items
from tests.peers.fair_ranker_lists import (
    GROUPS,
    ITEMS,
    MERIT,
    MOMENTUM,
    STEP,
    STRENGTH,
    SUPPLIERS,
    USERS,
    K,
    scores,
)
from tests.rerankers.asking import EVERY, catalogue, request

THEIRS = json.loads(Path(__file__).with_name("fair_lists.json").read_text())
"""Made by `fair_ranker_lists.py`."""


@dataclass(frozen=True, kw_only=True)
class CountingFairCo(FairCo):
    """FairCo that counts appearances, whatever their position."""

    @property
    def terms(self) -> Terms:
        return Terms(scope="global", by=self.by, discounted=False)


@dataclass(frozen=True, kw_only=True)
class CountingFrankWolfe(FrankWolfe):
    """Frank-Wolfe on shares of appearances."""

    @property
    def terms(self) -> Terms:
        return Terms(scope="global", by=self.by, discounted=False)


class Squares(Welfare):
    """The sum of s - s^2 / 2 over shares s: CPFair's greedy rule is its gradient."""

    def value(self, z: Floats, fair: Floats) -> float:
        return float((z * fair - (z * fair) ** 2 / 2).sum())

    def gradient(self, z: Floats, fair: Floats, slates: float) -> Floats:
        return 1.0 - z * fair


def items_of(merit: Floats) -> Items:
    return catalogue(ITEMS, merit=merit, groups={"supplier": [f"s{group}" for group in GROUPS]})


def lists(reranker: ShiftingReranker, merit: Floats) -> Ints:
    """Our slates, one user a round."""
    items, ledger = items_of(merit), Ledger.of(reranker.terms, 1)
    shown = np.empty((USERS, K), dtype=np.int64)
    for user, row in enumerate(scores()):
        asked = request(items=items, users=[user], k=K)
        chosen = UCB().slates(asked, reranker.adjust(asked, Scores.final(row[None]), ledger))
        slates = reranker.arrange(asked, chosen, ledger).items
        shown[user] = slates[0]
        ledger.enter(EVERY, slates, items)
        reranker.settle([ledger])
    return shown


ALIKE = 1.0 / np.bincount(GROUPS)[GROUPS]
"""Merit of items under which all suppliers have the same."""
LARGEST = float(np.bincount(GROUPS, MERIT).max())
"""Merit is divided by the largest here, and is not in FairCo."""
CASES = {
    "p-mmf": (
        PMMF(
            by="supplier",
            strength=STRENGTH["p-mmf"],
            step=STEP,
            momentum=MOMENTUM,
            horizon=USERS,
        ),
        MERIT,
    ),
    "cp-fair": (
        CountingFrankWolfe(by="supplier", strength=STRENGTH["cp-fair"], welfare=Squares()),
        MERIT,
    ),
    "min-regularizer": (
        CountingFairCo(by="supplier", strength=STRENGTH["min-regularizer"] / USERS),
        ALIKE,
    ),
    "fairco-groups": (FairCo(by="supplier", strength=STRENGTH["fairco"] / LARGEST), MERIT),
    "fairco-items": (FairCo(strength=STRENGTH["fairco"]), MERIT),
}


@pytest.mark.parametrize("name", CASES)
def test_slates_are_those_of_the_other_package(name: str) -> None:
    reranker, merit = CASES[name]
    ours, theirs = lists(reranker, merit), np.array(THEIRS[name])
    same = (ours == theirs).all(axis=1).mean()
    plain = (np.argsort(-scores(), axis=1)[:, :K] == theirs).all(axis=1).mean()
    print(f"{name}: {same:.1%} of slates are equal, {plain:.1%} are those by score alone")
    assert same >= 0.999
    assert plain < 0.9
    assert len(np.unique(GROUPS)) == SUPPLIERS
