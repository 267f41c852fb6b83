"""What a re-ranker is asked in these tests: slates of items whose scores are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.estimators import Ridge
from faircascade.exploration import UCB, SlateRequest
from faircascade.ranking import Scores
from faircascade.rerankers import Ledger, Reranker
from faircascade.types import Items, Slates, Users

EVERY = slice(None)


def request(
    *, items: Items, users: Any, k: int, round: Any = 1, seed: int = 0, candidates: Any = None
) -> SlateRequest:
    """A request of users by id; nobody has learned anything."""
    ids = np.asarray(users)
    estimator = Ridge()
    pool = items.pool if candidates is None else items.among(np.asarray(candidates))
    return SlateRequest(
        beliefs=estimator.beliefs(estimator.start(len(ids), items.dim), EVERY, pool),
        rows=EVERY,
        users=Users(ids=ids).keys,
        pool=pool,
        k=k,
        round=round,
        seed=seed,
    )


def catalogue(m: int, **columns: Any) -> Items:
    """Items without any features to speak of."""
    return Items.of(np.ones((m, 1)), **columns)


def rerank(
    reranker: Reranker, asked: SlateRequest, scores: Any, ledger: Ledger | None = None
) -> Slates:
    """The slates that users see whose scores of the pool are given, (n, p) or the same for all."""
    given = Scores.final(np.array(np.broadcast_to(scores, (len(asked.users), len(asked.pool)))))
    chosen = UCB().slates(asked, reranker.adjust(asked, given, ledger))
    return reranker.arrange(asked, chosen, ledger)
