"""A `Ranker` and the service answer alike: the same slates, the same models, the same refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from faircascade.policies import CascadeHybrid, CascadeLSB, EALinUCB, Policy
from faircascade.ranker import Ranker
from faircascade.service.messages import Refused
from faircascade.types import Items, Slate
from tests.service.in_process import (
    changes,
    features_of,
    learn,
    recommend,
    serving,
    topics_for,
    topics_of,
)

POLICY = EALinUCB(weight="log", gamma=0.01)
POLICIES: dict[str, Policy] = {
    "on features": POLICY,
    "on topics": CascadeLSB(),
    "on both": CascadeHybrid(observation="last-click"),
}
REFUSALS = ("is not known", "answered differently before", "no item to recommend")
"""Words by which both refuse what is no mistake in the call itself."""

Step = tuple[str, dict[str, Any]]


def show(**options: Any) -> Step:
    return "recommend", options


def answer(slate: int = 0, **given: Any) -> Step:
    """Answer one of the slates so far; `item_at` stands for the item at that position."""
    return "answer", {"slate": slate, **given}


SITUATIONS: dict[str, list[Step]] = {
    "candidates": [show(k=2, candidates=["a", "b", "c"])],
    "some candidates are unknown": [show(k=3, candidates=["a", "gone", "b"])],
    "all candidates are unknown": [show(candidates=["gone", "lost"])],
    "no candidates at all": [show(candidates=[])],
    "candidates twice": [show(k=5, candidates=["a", "b", "a"])],
    "excluded": [show(k=12, exclude=["a", "b"])],
    "excluded, unknown and twice": [show(k=12, exclude=["a", "gone", "a"])],
    "excluded candidates": [show(k=3, candidates=["a", "b"], exclude=["a"])],
    "all candidates are excluded": [show(candidates=["a", "b"], exclude=["b", "a"])],
    "everything is excluded": [show(exclude=list("abcdefghijkl"))],
    "k larger than the pool": [show(k=50), answer(clicked=12)],
    "k is 0": [show(k=0)],
    "k is no number": [show(k="many")],
    "a user by turns": [show(user="bob"), show(), answer(0, clicked=1), answer(1)],
    "a click by position": [show(), answer(clicked=2)],
    "a click by item": [show(), answer(item_at=2)],
    "several clicks": [show(), answer(clicked=[1, 3])],
    "several clicks, all of them": [show(k=3), answer(clicked=[3, 1, 2])],
    "several clicks, partly shown": [show(), answer(clicked=[1, 3], shown=3)],
    "several clicks, none": [show(), answer(clicked=[])],
    "a click twice": [show(), answer(clicked=[2, 2])],
    "one of several beyond the slate": [show(k=3), answer(clicked=[1, 4])],
    "one of several at 0": [show(), answer(clicked=[0, 1])],
    "one of several beyond what was shown": [show(), answer(clicked=[1, 3], shown=2)],
    "the same clicks twice": [show(), answer(clicked=[1, 3]), answer(clicked=[3, 1])],
    "the same click in a list": [show(), answer(clicked=2), answer(clicked=[2])],
    "more clicks": [show(), answer(clicked=1), answer(clicked=[1, 3])],
    "other clicks": [show(), answer(clicked=[1, 3]), answer(clicked=[1, 4])],
    "clicks and an item": [show(), answer(item_at=2, clicked=[2])],
    "a click by both": [show(), answer(item_at=2, clicked=2)],
    "position and item disagree": [show(), answer(item_at=2, clicked=1)],
    "an item that is not in the slate": [show(k=2), answer(clicked_item="gone")],
    "no click": [show(), answer()],
    "no click, some shown": [show(), answer(shown=2)],
    "a click beyond the slate": [show(k=3), answer(clicked=4)],
    "a click at 0": [show(), answer(clicked=0)],
    "a click beyond what was shown": [show(), answer(clicked=3, shown=2)],
    "more shown than there is": [show(k=3), answer(shown=4)],
    "none shown": [show(), answer(shown=0)],
    "a mistake, then an answer": [show(k=3), answer(clicked=9), answer(clicked=1)],
    "the same answer twice": [show(), answer(clicked=2), answer(clicked=2)],
    "the same click by item": [show(), answer(clicked=2), answer(item_at=2)],
    "the same click with shown": [show(), answer(clicked=2), answer(clicked=2, shown=3)],
    "no click twice": [show(), answer(), answer()],
    "another click": [show(), answer(clicked=2), answer(clicked=3)],
    "a click after none": [show(), answer(), answer(clicked=1)],
    "none after a click": [show(), answer(clicked=1), answer()],
    "none, with another shown": [show(), answer(shown=2), answer(shown=3)],
    "late and in another order": [show(), show(), answer(1, clicked=1), answer(0, clicked=3)],
    "a slate that nobody knows": [show(), ("unknown", {}), answer(clicked=1)],
    "a click on an item that is gone": [show(k=12), ("remove", {"item": "c"}), answer(item_at=3)],
    "an item that is gone": [("remove", {"item": "c"}), show(k=12)],
}


def kind_of(error: Exception) -> str:
    """Return why something was refused, in the words that both have."""
    said = [words for words in REFUSALS if words in str(error)]
    return said[0] if said else "a mistake in the call"


class RankerSide:
    """A ranker, with the calls that the service has."""

    def __init__(self, policy: Policy = POLICY) -> None:
        merit = np.array([1.0 + n % 3 for n in range(12)])
        topics = topics_of(12, topics_for(policy))
        items = Items.of(features_of(12), ids=list("abcdefghijkl"), merit=merit, topics=topics)
        self.ranker = Ranker(policy, items=items, seed=3)
        self.slates: list[Slate] = []

    async def recommend(self, user: str = "ann", k: Any = 4, **options: Any) -> tuple[str, ...]:
        self.slates.append(self.ranker.recommend(user, k, **options))
        return self.slates[-1].items

    async def answer(self, slate: int, item_at: int | None = None, **given: Any) -> None:
        shown = self.slates[slate]
        item = {} if item_at is None else {"clicked_item": shown.items[item_at - 1]}
        self.ranker.update(shown, **given, **item)

    async def unknown(self) -> None:
        self.ranker.update(replace(self.slates[0], slate_id="somebody-else"), clicked=1)

    async def remove(self, item: str) -> None:
        self.ranker.remove_items([item])

    async def model(self) -> np.ndarray:
        return self.ranker.sums()[0][self.ranker.users.index("ann")]


class ServiceSide:
    """The service, with the calls that a ranker has."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.slates: list[Any] = []

    async def recommend(self, user: str = "ann", k: Any = 4, **options: Any) -> tuple[str, ...]:
        self.slates.append(await recommend(self.service, user, k, **options))
        return tuple(self.slates[-1].items)

    async def answer(self, slate: int, item_at: int | None = None, **given: Any) -> None:
        shown = self.slates[slate]
        item = {} if item_at is None else {"clicked_item": shown.items[item_at - 1]}
        clicked = given.pop("clicked", None)
        form = "clicked_positions" if isinstance(clicked, list) else "clicked_position"
        position = {form: clicked}
        await learn(self.service, shown, **position, **given, **item)

    async def unknown(self) -> None:
        await learn(self.service, "somebody-else", clicked_position=1)

    async def remove(self, item: str) -> None:
        await self.service.remove_item(item)

    async def model(self) -> np.ndarray:
        return (await self.service.user("ann")).sums


async def outcomes(side: RankerSide | ServiceSide, steps: list[Step]) -> list[Any]:
    """Return what comes of each call, then of one more."""
    found: list[Any] = []
    for name, options in [*steps, show()]:
        call: Callable[..., Any] = getattr(side, name)
        try:
            found.append((name, await call(**options)))
        except (Refused, ValidationError, ValueError, TypeError) as error:
            found.append((name, kind_of(error)))
    return found


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_both_do_the_same_or_refuse_it_for_the_same_reason(
    situation: str, policy: Policy, tmp_path: Path
) -> None:
    async def work() -> None:
        ours = RankerSide(policy)
        async with serving(tmp_path, policy, seed=3) as service:
            theirs = ServiceSide(service)
            expected = await outcomes(ours, SITUATIONS[situation])
            assert await outcomes(theirs, SITUATIONS[situation]) == expected
            np.testing.assert_allclose(await theirs.model(), await ours.model(), atol=1e-12)

    asyncio.run(work())


def test_the_situations_are_those_of_one_catalogue() -> None:
    assert [change.item for change in changes()] == RankerSide().ranker.items.ids.tolist()
