"""Changes of what a service serves, on a service without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade.policies import EALinUCB, LinTS, LinUCB, Policy
from faircascade.policies.base import PolicyState
from faircascade.registry import names, register
from faircascade.rerankers.ledger import Ledger
from faircascade.service.administration import Administration
from faircascade.service.experiment_reports import Reports
from faircascade.service.lineup import DEFAULT
from faircascade.service.lineup_keeper import LINEUP
from faircascade.service.messages import FeedbackReceipt, Recommendation, Refused
from faircascade.service.service import Service
from faircascade.service.shadow_budget import SHARE, ShadowBudget
from faircascade.service.stores.base import StoreDown
from faircascade.types import Feedback, Floats, Ints, Pool, Rows, Slates, Users
from tests.service.in_process import Clock, learn, recommend, serving
from tests.service.stores.memory_store import MemoryStore

USERS = [f"user-{n}" for n in range(12)]
SEEN: set[str] = set()
"""What `Broken` is to fail at."""


@register("broken")
@dataclass(frozen=True, slots=True, kw_only=True)
class Broken(Policy):
    """Fails at whatever it is told to fail at; else it shows the first items and counts answers."""

    def start(self, users: Users, dim: int) -> PolicyState:
        return PolicyState(users=users, learned=np.zeros((len(users), 1)))

    def recommend(
        self, state: PolicyState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Slates:
        self._maybe_fail("recommend")
        nobody = LinUCB().start(state.users, pool.items.dim)
        return LinUCB().recommend(nobody, users, pool, k, round=round, seed=seed)

    def update(self, state: PolicyState, users: Rows, feedback: Feedback) -> None:
        raise NotImplementedError

    def sums(self, state: Any) -> Floats:
        return np.asarray(state.learned)

    def from_sums(
        self, users: Users, sums: Floats, dim: int, *, ledger: Ledger | None = None
    ) -> PolicyState:
        return PolicyState(users=users, learned=sums)

    def increments(self, feedback: Feedback) -> Floats:
        self._maybe_fail("increments")
        return np.ones((len(feedback.clicks), 1))

    def _maybe_fail(self, at: str) -> None:
        if at in SEEN:
            raise RuntimeError(f"no {at} today")


names.unregister(__name__)  # other tests try every policy that there is


@pytest.fixture(autouse=True)
def broken() -> Iterator[None]:
    """Let the broken policy be found, and fail at nothing yet."""
    SEEN.clear()
    names.enter(Broken, "broken")
    yield
    names.unregister(__name__)


def run(story) -> None:
    asyncio.run(story)


def work(service: Service) -> Administration:
    return Administration(service)


async def visits(service: Service, turns: int = 1, *, clicks: bool = True) -> list[Recommendation]:
    """Let every user come, and answer in a way of their own."""
    found = []
    for turn in range(turns):
        for n, user in enumerate(USERS):
            slate = await recommend(service, user)
            found.append(slate)
            if clicks:
                await learn(service, slate, clicked_position=1 + (n + turn) % 3)
    return found


def shown(slates: Sequence[Recommendation]) -> list[tuple[Any, ...]]:
    return [(one.user, tuple(one.items), tuple(one.scores)) for one in slates]


# rollback


@pytest.mark.parametrize("other", [EALinUCB(weight="rbp"), LinUCB(), LinTS()])
def test_a_rollback_serves_slates_of_the_same_bits_as_if_nothing_had_been_changed(
    tmp_path: Path, other: Policy
) -> None:
    """Two services, of which one is changed and taken back; what was learned meanwhile stays with
    the version that is left."""

    async def story() -> None:
        async with serving(tmp_path / "a") as changed, serving(tmp_path / "b") as still:
            for service in (changed, still):
                await visits(service, 3)
            first = changed.version
            parameters = {"weight": "rbp"} if other.name == "ealinucb" else {}
            await work(changed).put_policy(DEFAULT, other.name, parameters)
            assert changed.version != first
            meanwhile = await visits(changed, 2)  # with feedback, for the new version
            assert {slate.policy["version"] for slate in meanwhile} == {changed.version}
            await visits(still, 2, clicks=False)
            second = changed.version
            await work(changed).choose(DEFAULT, first)
            assert changed.version == first
            assert shown(await visits(changed, 3)) == shown(await visits(still, 3))
            await work(changed).choose(DEFAULT, second)
            record = await changed.user(USERS[0])
            known = changed.known(record.sums[None])[0]
            assert known[0] == 5  # answers: three before it, two of its own, none since

    run(story())


def test_a_rollback_between_policies_that_learn_alike_keeps_what_came_since(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with serving(tmp_path, LinUCB()) as service:
            await visits(service, 2)
            first = service.version
            await work(service).put_policy(DEFAULT, "linucb", {"alpha": 0.9})
            await visits(service, 2)
            await work(service).choose(DEFAULT, first)
            record = await service.user(USERS[0])
            assert service.known(record.sums[None])[0][0] == 4

    run(story())


def test_what_is_known_survives_restarts_with_versions_and_branches(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as service:
            await visits(service, 2)
            await work(service).put_policy(DEFAULT, "linucb", {})
            await visits(service, 1)
            plain, slates = service.lineup.to_json(), shown(await visits(service, clicks=False))
        async with serving(tmp_path) as again:
            assert again.lineup.to_json() == plain
            assert {u for u, _, _ in shown(await visits(again, clicks=False))} == {
                u for u, _, _ in slates
            }

    run(story())


# shadows


def test_a_shadow_changes_no_slate_and_counts_what_it_would_have_shown(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path / "a") as shadowed, serving(tmp_path / "b") as still:
            for service in (shadowed, still):
                await work(service).put_policy("other", "random", {})
            await work(shadowed).shadow("other", 1.0)
            assert shown(await visits(shadowed, 4)) == shown(await visits(still, 4))
            await shadowed.exposure.catch_up(shadowed.store)
            reports = Reports(shadowed)
            report = await reports.shadow("other")
            assert report["slates"] == 4 * len(USERS)
            assert 0.1 < report["common"] < 0.45  # 3 of 12 items at random: a quarter
            await work(shadowed).shadow("other", 0.0)
            await visits(shadowed)
            await shadowed.exposure.catch_up(shadowed.store)
            assert (await reports.shadow("other"))["slates"] == 4 * len(USERS)

    run(story())


def test_a_slow_shadow_ranks_for_some_slates_and_the_others_do_not_wait(tmp_path: Path) -> None:
    async def story() -> None:
        time = Clock(0.0)
        async with serving(tmp_path) as service:
            dropped = service.activity.dropped_shadows
            service._ranking._shadows = ShadowBudget(dropped, elapsed=time)
            await work(service).put_policy("other", "random", {})
            await work(service).shadow("other", 1.0)
            scored = service._ranking._score

            async def slow(job: Any) -> Any:
                time.now += 1.0 if job.policy.name == "random" else 0.01
                return await scored(job)

            service._ranking._score = slow
            began = time.now
            slates = len(await visits(service, 50, clicks=False))
            await service.exposure.catch_up(service.store)
            ranked = (await Reports(service).shadow("other"))["slates"]
            assert ranked + service.activity.counts["shadows_dropped"] == slates
            assert 0 < ranked <= 1 + SHARE * (time.now - began)

    run(story())


def test_a_shadow_that_fails_harms_nobody_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with serving(tmp_path / "a") as shadowed, serving(tmp_path / "b") as still:
            for service in (shadowed, still):
                await work(service).put_policy("broken", "broken", {}, "new")
            await work(shadowed).shadow("broken", 1.0)
            SEEN.update({"recommend", "increments"})
            found = await visits(shadowed, 3)
            expected = await visits(still, 3)
            assert shown(found) == shown(expected)
            sums = [await service.user(USERS[0]) for service in (shadowed, still)]
            known = [
                service.known(one.sums[None])
                for service, one in zip((shadowed, still), sums, strict=True)
            ]
            assert (known[0] == known[1]).all()
        failures = [record.getMessage() for record in caplog.records]
        assert failures.count("a policy in the shadow fails") == 1
        assert failures.count("a policy that serves nobody cannot learn") <= 1

    run(story())


def test_a_policy_that_serves_users_and_cannot_learn_is_no_secret(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as service:
            await work(service).put_policy("broken", "broken", {}, "new")
            await work(service).begin("test", {DEFAULT: 0.5, "broken": 0.5})
            SEEN.add("increments")
            slate = await recommend(service)
            with pytest.raises(RuntimeError, match="no increments today"):
                await learn(service, slate, clicked_position=1)

    run(story())


def test_a_policy_that_cannot_rank_is_refused_before_anybody_gets_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as service:
            SEEN.add("recommend")
            before = await service.store.get_meta(LINEUP)
            with pytest.raises(Refused, match=r"policy fails to rank a slate .*no recommend today"):
                await work(service).put_policy(DEFAULT, "broken", {}, "new")
            assert await service.store.get_meta(LINEUP) == before
            await recommend(service)

    run(story())


# feedback across changes


def test_the_same_answer_is_a_repetition_whatever_is_served_when_it_comes_again(
    tmp_path: Path,
) -> None:
    """Which positions were seen is said by the policy that was in force when the slate was made,
    also of slates of policies that learn nothing."""

    async def story() -> None:
        async with serving(tmp_path) as service:
            await work(service).put_policy("any", "random", {})
            slates = {"before": await recommend(service, k=4)}
            await work(service).kill_switch("random")
            slates["killed"] = await recommend(service, k=4)
            await work(service).kill_switch(None)
            await work(service).choose(DEFAULT, service.lineup.named("any").current.id)
            slates["random"] = await recommend(service, k=4)
            first = {}
            for name, slate in slates.items():
                first[name] = await learn(service, slate, clicked_position=2, shown=4)
            await work(service).put_policy(DEFAULT, "linucb", {"observation": "all"}, "new")
            for name, slate in slates.items():
                again: FeedbackReceipt = await learn(service, slate, clicked_position=2, shown=4)
                assert again.repeated
                assert again.shown == first[name].shown == 2

    run(story())


# the kill switch


def test_the_kill_switch_serves_everybody_at_once_and_survives_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path) as service:
            await work(service).put_policy("other", "linucb", {})
            await work(service).begin("test", {DEFAULT: 0.5, "other": 0.5})
            await work(service).kill_switch("most-popular")
            assert {one.policy["name"] for one in await visits(service)} == {"most-popular"}
        async with serving(tmp_path) as service:
            assert {one.policy["name"] for one in await visits(service)} == {"most-popular"}
            await service.exposure.catch_up(service.store)
            experiment = service.lineup.experiment
            assert experiment is not None
            counts = service.exposure.tallies(experiment.key).arms
            assert counts == {}  # nobody was counted
            await work(service).kill_switch(None)
            names = {one.policy["name"] for one in await visits(service)}
            assert names == {"ealinucb", "linucb"}

    run(story())


class BrokenStore(MemoryStore):
    """Can be read, and not be written to while it is down."""

    down = False

    async def _write(self, method: str, *given: Any, **options: Any) -> Any:
        if self.down:
            raise StoreDown("the disk is full")
        return await getattr(super(), method)(*given, **options)

    async def replace_meta(self, *given: Any) -> bool:
        return bool(await self._write("replace_meta", *given))

    async def begin_round(self, *given: Any, **options: Any) -> Any:
        return await self._write("begin_round", *given, **options)

    async def record(self, *given: Any, **options: Any) -> Any:
        return await self._write("record", *given, **options)


def test_on_a_store_that_is_down_there_are_neither_slates_nor_changes_and_then_both(
    tmp_path: Path,
) -> None:
    """The kill switch need not work where nobody gets a slate; what counts is that none comes
    between the store's return and the switch for longer than asking again takes."""

    async def story() -> None:
        store = BrokenStore()
        async with serving(tmp_path, store=store) as service:
            before = service.lineup
            store.down = True
            with pytest.raises(StoreDown):
                await recommend(service)
            with pytest.raises(StoreDown):
                await work(service).kill_switch("random")
            assert service.lineup is before
            store.down = False
            await work(service).kill_switch("random")
            assert (await recommend(service)).policy["name"] == "random"

    run(story())


# several services


def test_the_kill_switch_is_followed_by_a_service_that_cannot_read_the_policies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        store = MemoryStore()
        async with serving(tmp_path, store=store) as one, serving(tmp_path, store=store) as other:

            async def change(stopped: Any, number: int) -> None:
                plain = await store.get_meta(LINEUP)
                strange = {**plain, "number": number, "stopped": stopped}
                strange["policies"] = [
                    {
                        **named,
                        "versions": [
                            {**v, "policy": {"name": "from-the-future"}} for v in named["versions"]
                        ],
                    }
                    for named in plain["policies"]
                ]
                await store.set_meta(LINEUP, strange)
                await other.follow_lineup()

            await one.follow_lineup()
            await change(None, 50)
            assert (await recommend(other)).policy["name"] == "ealinucb"
            await change({"name": "random"}, 51)
            assert (await recommend(other)).policy["name"] == "random"
            await change(None, 52)
            assert (await recommend(other)).policy["name"] == "ealinucb"
            with pytest.raises(Refused, match="cannot be read here"):
                await work(other).kill_switch("random")
        messages = [record.getMessage() for record in caplog.records]
        assert messages.count("policies cannot be followed") == 1

    run(story())


def test_of_two_first_starts_at_once_the_second_follows_the_first(tmp_path: Path) -> None:
    """Both begin with the number 1: what is served is told by all of it, not by its number."""

    async def story() -> None:
        store = MemoryStore()

        class Slow(MemoryStore):
            """Finds nothing yet, as the other one is writing."""

            first = True

            def __getattribute__(self, name: str) -> Any:
                own = name in ("get_meta", "first")
                return object.__getattribute__(self if own else store, name)

            async def get_meta(self, name: str) -> Any:
                if name == LINEUP and self.first:
                    return None
                return await store.get_meta(name)

        async with serving(tmp_path, LinUCB(), store=store) as one:
            slow = Slow()
            late = Service(LinTS(), slow, dim=4)
            slow.first = False
            await late.change(lambda lineup: lineup, always=True)
            assert late.policy == LinUCB()
            assert one.lineup.to_json() == late.lineup.to_json()

    run(story())


def test_services_that_change_at_once_lose_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        store = MemoryStore()
        async with serving(tmp_path, store=store) as one, serving(tmp_path, store=store) as other:

            async def add(service: Service, names: Sequence[str]) -> None:
                for name in names:
                    await work(service).put_policy(name, "linucb", {})

            await asyncio.gather(
                add(one, ["a", "b", "c", "d"]), add(other, ["e", "f", "g", "h"]), visits(one)
            )
            for service in (one, other):
                await service.follow_lineup()
                assert set(service.lineup.by_name) == {DEFAULT, *"abcdefgh"}
            assert one.lineup.number == 9

    run(story())
