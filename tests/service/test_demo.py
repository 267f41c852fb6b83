"""The demo: a shop that is alive within seconds, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from faircascade.environment import Environment
from faircascade.policies import LinUCB
from faircascade.service.bootstrap import start_service
from faircascade.service.catalogue.sources import recommendable
from faircascade.service.demo import Behaviour, Demo, SimulatedUsers
from faircascade.service.http.metrics import Metrics
from faircascade.service.messages import FeedbackRequest, ItemChange
from faircascade.service.service import Service
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.server_process import running


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_the_shop_has_named_items_with_groups_and_suppliers() -> None:
    demo = Demo()
    contents = demo.contents()
    assert contents.dim == 10
    names = [item.item for item in contents.items]
    assert len(set(names)) == len(names) > 2000
    assert {name.split()[0] for name in names} <= {
        label for item in contents.items for label in str(item.group).split("|")
    }
    suppliers = [item.supplier for item in contents.items]
    largest = max(suppliers.count(supplier) for supplier in set(suppliers))
    assert largest > 10 * len(suppliers) / len(set(suppliers))  # a few have most of the items


def test_the_shop_is_the_same_every_time(tmp_path: Path) -> None:
    async def work() -> None:
        address = f"sqlite:{tmp_path / 'shop.db'}"
        service = await start_service(address, source=Demo())
        await service.remove_item("Ember 1")
        await service.stop()
        service = await start_service(address, source=Demo())
        assert service.catalogue.at("Ember 1") is None
        await service.stop()

    run(work())


class Watched(Service):
    """Remembers the answers that it got."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.answers: list[FeedbackRequest] = []

    async def learn(self, answers: Any) -> Any:
        self.answers += answers
        return await super().learn(answers)


def small_environment(likes: float = 0.5) -> Environment:
    return Environment.from_arrays(
        np.eye(4), np.full((3, 4), likes), k=3, item_ids=list("abcd"), user_ids=["x", "y", "z"]
    )


async def shop(folder: Path, env: Environment) -> Watched:
    store = SQLiteStore(folder / "shop.db")
    service = Watched(LinUCB(), store, dim=4)
    await service.start()
    await service.put_items(recommendable(env.items)[0])
    return service


async def crowded(folder: Path, env: Environment, behaviour: Behaviour) -> list[FeedbackRequest]:
    """Let many users visit and return all answers that they ever give."""
    service = await shop(folder, env)
    crowd = SimulatedUsers(env, rate=20.0, behaviour=behaviour)
    for second in range(100):
        await crowd.visit(service, float(second), 1.0)
    await crowd.answer(service, 1e9)
    await service.exposure.catch_up(service.store)
    asked = sum(crowd._visits.values())
    assert asked == 300  # three users, none of them twice at a time
    await service.stop()
    return service.answers


def test_users_click_what_attracts_them(tmp_path: Path) -> None:
    async def work() -> None:
        polite = Behaviour(silent=0.0, partly=0.0)
        answers = await crowded(tmp_path, small_environment(), polite)
        assert len(answers) == 300
        clicked = np.array([sum(answer.clicked_positions) for answer in answers])
        shares = [(clicked == place).mean() for place in (1, 2, 3, 0)]
        error = 4 * np.sqrt(0.25 / len(answers))
        assert np.abs(np.array(shares) - [0.5, 0.25, 0.125, 0.125]).max() < error

    run(work())


def test_some_say_nothing_and_some_see_a_part_of_the_slate(tmp_path: Path) -> None:
    async def work() -> None:
        answers = await crowded(tmp_path, small_environment(0.0), Behaviour(silent=0.5, partly=0.5))
        assert 100 < len(answers) < 200
        partly = sum(answer.shown < 3 for answer in answers if answer.shown is not None)
        assert 0.2 * len(answers) < partly < 0.5 * len(answers)  # a third of half is all of it

    run(work())


def test_answers_come_later_than_the_slates(tmp_path: Path) -> None:
    async def work() -> None:
        env = small_environment()
        service = await shop(tmp_path, env)
        crowd = SimulatedUsers(
            env, rate=1e6, behaviour=Behaviour(silent=0.0, late=1.0, latest=60.0)
        )
        await crowd.visit(service, 0.0, 1.0)
        await crowd.answer(service, 0.0)
        assert service.answers == []
        await crowd.answer(service, 60.0)
        assert len(service.answers) == 3
        await service.stop()

    run(work())


def test_items_that_somebody_added_attract_nobody(tmp_path: Path) -> None:
    async def work() -> None:
        env = small_environment(1.0)
        service = await shop(tmp_path, env)
        await service.put_items([ItemChange(item="mine", features=np.full(4, 9.0))])
        crowd = SimulatedUsers(env, rate=1e6, behaviour=Behaviour(silent=0.0, partly=0.0))
        await crowd.visit(service, 0.0, 1.0)
        await crowd.answer(service, 1e9)
        assert [answer.clicked_positions for answer in service.answers] == [[2], [2], [2]]
        await service.stop()

    run(work())


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="rate must be at least 0, got -1"):
        SimulatedUsers(small_environment(), rate=-1)


def test_the_demo_comes_alive_and_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"TMPDIR": str(scratch)}
    with running("--demo", "--demo-rate", "200", folder=tmp_path, env=env) as server:
        seen: dict[str, Any] = {}
        while not seen.get("clicks"):  # counted within seconds, or the test's time is up
            seen = httpx.get(f"{server.url}/v1/exposure").json()
        assert seen["recommendations"] > seen["answers"] > 0
        assert seen["suppliers"]
        assert server.terminate() == 0
    assert list(scratch.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_visits_and_answers_are_in_the_metrics(tmp_path: Path) -> None:
    async def work() -> None:
        service = await shop(tmp_path, small_environment())
        metrics = Metrics(service)
        users = SimulatedUsers(small_environment(), rate=100.0)
        for second in range(20):
            await users.visit(service, float(second), 1.0)
            await users.answer(service, float(second))
        text = (await metrics.text()).decode()
        slates = service.activity.counts["recommendations"]
        assert slates > 20
        assert f"faircascade_recommendations_total {slates:.1f}" in text
        learned = service.activity.counts["learned"]
        assert learned > 0
        assert f'faircascade_answers_total{{outcome="learned"}} {learned:.1f}' in text
        await service.stop()

    run(work())
