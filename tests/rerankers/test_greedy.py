"""calibrated, mmr and xquad: the best next item, given those above."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.exploration import UCB
from faircascade.policies import LinUCB
from faircascade.ranking import Scores
from faircascade.rerankers import MMR, Calibrated, Reranker, XQuAD
from faircascade.types import Items, Slates
from tests.environments import small_environment
from tests.rerankers.asking import catalogue, request


def ranked(reranker: Reranker, items: Items, scores: Any, k: int) -> Slates:
    """The slate of one user whose scores are given."""
    asked = request(items=items, users=["ann"], k=k)
    given = Scores.final(np.array([scores]))
    longer = replace(asked, k=reranker.considers(k, len(items)))
    return reranker.arrange(asked, UCB().slates(longer, given), None)


def test_mmr_by_hand() -> None:
    # cosines with item 0: 1, 0, -0.6. weight 1/2: after 0 come 0.8 - 1, 0.5 - 0, 0.3 + 0.6;
    # after 3 the largest cosines are 1, 0.8 (with 3: (0, 1) . (-0.6, 0.8)) -> 0.8 - 1, 0.5 - 0.8
    items = Items.of(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [-0.6, 0.8]]))
    found = ranked(MMR(weight=0.5), items, [0.9, 0.8, 0.5, 0.3], 3)
    assert found.items.tolist() == [[0, 3, 1]]
    assert found.scores.tolist() == [pytest.approx([0.9, 0.3, 0.8])]


def test_xquad_by_hand() -> None:
    # topics (1, 0), (0.8, 0), (0, 0.5). weight 1/2: 0.9 + 0.5, 0.8 + 0.4, 0.2 + 0.25;
    # then topic 0 is covered: 0.8 + 0, 0.2 + 0.25; with weight 0.8 the second is item 2
    topics = np.array([[1.0, 0.0], [0.8, 0.0], [0.0, 0.5]])
    items = Items.of(np.ones((3, 1)), topics=topics)
    for weight, expected in ((0.5, [0, 1]), (0.8, [0, 2])):
        found = ranked(XQuAD(weight=weight), items, [0.9, 0.8, 0.2], 2)
        assert found.items.tolist() == [expected]


def test_calibrated_by_hand() -> None:
    # p = (1/2, 1/2) by merit. After one item of a, q~ of a third of it: another a or a b at
    # position 2 counts 1 / log2(3) of 1 + 1 / log2(3)
    items = catalogue(3, groups={"genre": ["a", "a", "b"]}, merit=np.array([1.0, 1.0, 2.0]))
    assert ranked(Calibrated(weight=0.0, by="genre"), items, [0.9, 0.8, 0.1], 2).items.tolist() == [
        [0, 1]
    ]
    assert ranked(Calibrated(weight=0.5, by="genre"), items, [0.9, 0.8, 0.1], 2).items.tolist() == [
        [0, 2]
    ]


def divergence(slate: Any, items: Items, by: str, smoothing: float) -> float:
    """KL(p, q~) of a slate by its definition."""
    labels = [label.split("|") for label in items.groups[by].tolist()]
    names = sorted({name for each in labels for name in each})
    merit = np.array([sum(items.merit[i] for i, g in enumerate(labels) if n in g) for n in names])
    p, q = merit / merit.sum(), np.zeros(len(names))
    discounts = 1 / np.log2(2 + np.arange(len(slate)))
    for item, discount in zip(slate, discounts / discounts.sum(), strict=True):
        for name in labels[item]:
            q[names.index(name)] += discount / len(labels[item])
    return float((p * np.log(p / ((1 - smoothing) * q + smoothing * p))).sum())


def test_each_item_is_the_one_that_calibrates_best_given_those_above() -> None:
    rng = np.random.default_rng(2)
    genres = rng.choice(["a", "b", "c", "a|b", "b|c", "a|b|c"], size=12)
    items = catalogue(12, groups={"genre": genres}, merit=rng.uniform(0.2, 1.0, size=12))
    scores = rng.uniform(size=12)
    found = ranked(Calibrated(weight=0.6, by="genre"), items, scores, 5).items[0].tolist()
    for position, item in enumerate(found):
        above = found[:position]
        worth = {
            other: 0.4 * scores[other] - 0.6 * divergence([*above, other], items, "genre", 0.01)
            for other in set(range(12)) - set(above)
        }
        assert worth[item] == pytest.approx(max(worth.values()))


@pytest.mark.parametrize("reranker", [MMR(weight=0.0), XQuAD(weight=0.0), Calibrated(weight=0.0)])
def test_without_weight_nothing_changes(reranker: Reranker) -> None:
    env = small_environment()
    first, second = (
        simulate(env, policy, rounds=20, seed=1).record.appearances
        for policy in (LinUCB(), LinUCB(reranker=reranker))
    )
    assert np.array_equal(first, second)


def test_slates_get_more_diverse_and_groups_come_closer_to_their_merit() -> None:
    groups = {"supplier": [f"s{i % 3}" for i in range(30)]}
    env = small_environment(users=5, items=30, k=5, groups=groups)

    def slates(reranker: Reranker) -> list[list[int]]:
        policy = LinUCB(reranker=reranker)
        state = simulate(env, policy, rounds=50, seed=1).state
        return policy.recommend(
            state, slice(None), env.items.pool, 5, round=51, seed=1
        ).items.tolist()

    def cosine(rows: list[list[int]]) -> float:
        x = env.items.features[rows]
        x = x / np.linalg.norm(x, axis=2, keepdims=True)
        return float((x @ x.transpose(0, 2, 1)).mean())

    def uncovered(rows: list[list[int]]) -> float:
        return float(np.prod(1 - env.items.topics[rows], axis=1).mean())

    def off(rows: list[list[int]]) -> float:
        return sum(divergence(row, env.items, "supplier", 0.01) for row in rows)

    for make, measure in (
        (MMR, cosine),
        (XQuAD, uncovered),
        (lambda weight: Calibrated(weight=weight, by="supplier"), off),
    ):
        assert measure(slates(make(weight=0.9))) < measure(slates(make(weight=0.0)))


def test_xquad_refuses_items_without_topics() -> None:
    with pytest.raises(ValueError, match="'xquad' needs items with topics"):
        ranked(XQuAD(), catalogue(3), [0.3, 0.2, 0.1], 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MMR(weight=1.5), "weight must be between 0 and 1, got 1.5"),
        (lambda: XQuAD(shortlist=0), "shortlist must be at least 1, got 0"),
        (lambda: Calibrated(smoothing=0.0), "smoothing must be between 0 and 1, got 0.0"),
    ],
)
def test_wrong_parameters_are_named(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
