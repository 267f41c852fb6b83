"""Users of whom little is known begin with what users with the same labels taught."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade import registry
from faircascade.errors import ParameterError
from faircascade.policies import Bandit, EALinUCB, LinUCB
from faircascade.rerankers import LoggedRandomisation
from faircascade.service import cold_start
from faircascade.service.cold_start import COHORTS, prior
from faircascade.service.event_log.notes import LOGGED
from faircascade.service.lineup.policy_changes import with_policy
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import LABELS, UserStates
from faircascade.types import Users
from tests.service.in_process import DIM, SERVED, learn, recommend, serving
from tests.service.stores.memory_store import MemoryStore

PHONE = {"device": "phone"}
TEN = ServiceSettings(cold_start=10)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def teach(service: Service, user: str, slates: int, **options: Any) -> None:
    """Let a user click the items a and b, wherever they are."""
    for _ in range(slates):
        shown = await recommend(service, user, **options)
        clicked = [n for n, item in enumerate(shown.items, 1) if item in ("a", "b")][:1]
        await learn(service, shown, clicked_positions=clicked)


async def ranked(service: Service, user: str, k: int = 3) -> tuple[Any, Any]:
    """Return what somebody without labels is shown."""
    shown = await recommend(service, user, k)
    return list(shown.items), list(shown.scores)


def test_a_new_user_begins_with_what_others_with_the_label_taught(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "ann", 8, user_labels=PHONE)
            ann = (await service.user("ann")).sums
            # a cohort that only ann taught, of less than ten slates, is ann
            shown = await recommend(service, "bob", user_labels=PHONE)
            policy = service.policy
            assert isinstance(policy, EALinUCB)
            users = Users(ids=np.array(["bob"]))
            state = policy.from_sums(users, service.known(ann[None]), DIM)
            pool = service.catalogue.whole
            expected = policy.recommend(state, slice(None), pool, 3, round=1, seed=0)
            assert list(shown.items) == service.catalogue.names(pool.items.ids[expected.items[0]])
            # nothing was learned of bob himself, and people without the label are strangers
            assert not (await service.user("bob")).sums.any()
            other, none = {"device": "tv"}, {}
            slates = [await recommend(service, "eve", user_labels=one) for one in (other, none)]
            assert all(len(set(one.scores)) == 1 for one in slates)
            assert len(set(shown.scores)) == 3

    run(work())


def test_it_learns_the_same_whether_it_begins_cold_or_not(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "ann", 5, user_labels=PHONE)
            shown = await recommend(service, "bob", user_labels=PHONE)
            (kept,) = await service.store.impressions([shown.impression_id])
            assert kept is not None
            assert kept.note[LABELS] == ["device=phone"]
            await learn(service, shown, clicked_position=2)
            found = await service.store.cohorts(["device=phone"])
            assert found.slates.tolist() == [6]
            both = [(await service.user(user)).sums for user in ("ann", "bob")]
            np.testing.assert_allclose(found.sums[0], sum(both))
            assert both[1][0] == 1  # one update

    run(work())


def test_a_user_with_much_feedback_is_hardly_moved(tmp_path: Path) -> None:
    """What a cohort adds counts as 10 of 10 slates at first, and as 10 of 310 later."""

    async def work() -> None:
        policy = LinUCB(alpha=0.0)
        async with serving(tmp_path, policy, store=MemoryStore(), settings=TEN) as service:
            await teach(service, "ann", 30, k=12, user_labels=PHONE)

            async def both() -> list[dict[str, float]]:
                """Return bob's scores by item with what the cohort taught, and without."""
                slates = [
                    await recommend(service, "bob", k=12, user_labels=labels)
                    for labels in (PHONE, {})
                ]
                return [dict(zip(one.items, one.scores, strict=True)) for one in slates]

            with_, without = await both()
            assert abs(with_["l"] - without["l"]) > 0.1
            for _ in range(300):
                slate = await recommend(service, "bob", k=12)
                await learn(service, slate, clicked_position=slate.items.index("l") + 1)
            with_, without = await both()
            assert next(iter(with_)) == next(iter(without)) == "l"
            assert abs(with_["l"] - without["l"]) < 0.02

    run(work())


def test_without_labels_or_the_option_slates_stay_as_they_were(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            serving(tmp_path / "on", settings=TEN) as on,
            serving(tmp_path / "off") as off,
        ):
            for service in (on, off):
                await teach(service, "ann", 5)
            assert await ranked(on, "ann") == await ranked(off, "ann")
            for labels in ({}, PHONE):
                await teach(off, "bob", 3, user_labels=labels)
                await teach(on, "bob", 3)
            assert await ranked(on, "bob") == await ranked(off, "bob")
            assert await off.store.get_meta(COHORTS) is None
            assert (await off.store.cohorts(["device=phone"])).slates.tolist() == [0]
            kept = (await off.user("bob")).impressions
            assert all(LABELS not in one.note for one in kept)

    run(work())


def test_a_user_alone_in_a_batch_with_strangers_gets_the_same_slate(tmp_path: Path) -> None:
    """Strangers share one front of the catalogue; who has a cohort that was taught does not."""

    async def work() -> None:
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "ann", 6, user_labels=PHONE)
            request = [("new 1", {}), ("new 2", PHONE), ("new 3", {"device": "tv"}), ("new 4", {})]
            asked = [recommend(service, user, user_labels=labels) for user, labels in request]
            together = await asyncio.gather(*asked)
            tied = [len(set(one.scores)) == 1 for one in together]
            assert tied == [True, False, True, True]

    run(work())


class WidenedMeanwhile(MemoryStore):
    """Another service makes it wider whenever a slate is begun."""

    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        states = await super().begin_round(users, accounts=accounts)
        await self.widen(states.sums.shape[1] + 3)
        return states


def test_a_store_that_becomes_wider_in_between_does_not_matter(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, store=WidenedMeanwhile(), settings=TEN) as service:
            await teach(service, "ann", 3, user_labels=PHONE)
            shown = await recommend(service, "bob", user_labels=PHONE)
            assert len(set(shown.scores)) == 3

    run(work())


def test_labels_above_the_most_are_ignored_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        monkeypatch.setattr(cold_start, "MOST_COHORTS", 3)
        async with serving(tmp_path, settings=TEN) as service:
            for n in range(5):
                await teach(service, "ann", 2, user_labels={"city": f"c{n}", "device": "phone"})
            assert await service.store.get_meta(COHORTS) == ["city=c0", "device=phone", "city=c1"]
            assert service.activity.counts["labels_ignored"] == 2 * 3
            names = [f"city=c{n}" for n in range(5)]
            assert (await service.store.cohorts(names)).slates.tolist() == [2, 2, 0, 0, 0]
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "bob", 1, user_labels={"city": "c4"})
            assert service.activity.counts["labels_ignored"] == 1

    run(work())


def test_services_on_one_store_add_up_and_agree_on_the_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        monkeypatch.setattr(cold_start, "MOST_COHORTS", 4)
        store = MemoryStore()
        async with (
            serving(tmp_path, store=store, settings=TEN) as one,
            serving(tmp_path, store=store, settings=TEN) as two,
        ):
            jobs = [
                teach(service, f"user {n}", 3, user_labels={"device": "phone", "city": f"c{n % 5}"})
                for n in range(10)
                for service in (one, two)
            ]
            await asyncio.gather(*jobs)
            names = await store.get_meta(COHORTS)
            assert len(names) == 4
            found = await store.cohorts(["device=phone"])
            assert found.slates.tolist() == [60]
            sums = [(await one.user(f"user {n}")).sums for n in range(10)]
            np.testing.assert_allclose(found.sums[0], np.sum(sums, axis=0))

    run(work())


def test_an_erased_user_leaves_the_cohort_and_takes_the_labels_along(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "ann", 3, user_labels=PHONE)
            await service.erase("ann")
            assert (await service.store.cohorts(["device=phone"])).slates.tolist() == [3]
            assert b"device" not in str(await service.store.user("ann", impressions=9)).encode()

    run(work())


def test_propensities_are_those_of_what_the_slate_was_made_of(tmp_path: Path) -> None:
    async def work() -> None:
        policy = Bandit(reranker=LoggedRandomisation(share=0.5, shortlist=4))
        settings = ServiceSettings(cold_start=5, event_log=True)
        async with serving(tmp_path, policy, settings=settings) as service:
            await teach(service, "ann", 5, user_labels=PHONE)
            known = (await service.user("ann")).sums
            shown = await recommend(service, "bob", user_labels=PHONE)
            (kept,) = await service.store.impressions([shown.impression_id])
            assert kept is not None
            state = policy.from_sums(Users(ids=np.array(["bob"])), service.known(known[None]), DIM)
            pool = service.catalogue.whole
            rows = np.searchsorted(pool.items.ids, kept.slots)[None]
            expected = policy.propensities(state, slice(None), pool, rows, round=1, seed=0)
            assert expected is not None
            found = kept.note[LOGGED]["cascade_propensity"]
            np.testing.assert_allclose(found, expected.cascade[0])
            assert found[-1] < 1

    run(work())


def test_all_policies_are_taught_what_users_with_labels_teach(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, settings=TEN) as service:
            await teach(service, "ann", 4, user_labels=PHONE)
            other = LinUCB(alpha=2.0)
            await service.change(
                lambda line: with_policy(
                    line, "default", other, size=service.size_of(other), now=1.0, knowledge="new"
                )
            )
            await teach(service, "ann", 4, user_labels=PHONE)
            found = await service.store.cohorts(["device=phone"])
            np.testing.assert_allclose(found.sums[0], (await service.user("ann")).sums)
            shown = await recommend(service, "bob", user_labels=PHONE)
            assert len(set(shown.scores)) > 1

    run(work())


@pytest.mark.parametrize("name", SERVED)
def test_every_policy_that_learns_begins_with_what_others_taught(tmp_path: Path, name: str) -> None:
    """A cohort that one user taught, of no more slates than count, is that user."""

    async def work() -> None:
        policy = registry.build("policy", name)
        async with serving(tmp_path, policy, store=MemoryStore(), settings=TEN) as service:
            await teach(service, "ann", 6, user_labels=PHONE)
            sums = (await service.user("ann")).sums
            await service.store.put_users(["cy"], sums[None], np.zeros(1, np.int64))
            bob = await recommend(service, "bob", user_labels=PHONE)
            cy = await recommend(service, "cy")
            if policy.learns and not policy.is_random:
                assert sorted(bob.scores) == pytest.approx(sorted(cy.scores), abs=1e-9)
            assert len(bob.items) == 3

    run(work())


@given(
    slates=st.lists(st.integers(0, 50), min_size=1, max_size=4),
    most=st.integers(1, 20),
)
def test_cohorts_count_as_no_more_slates_than_were_asked_for(slates: list[int], most: int) -> None:
    """Each slate adds 1 to the first sum."""
    found = prior([(n, np.full(3, float(n))) for n in slates], most)
    taught = [min(most, n) for n in slates if n]
    np.testing.assert_allclose(found, np.mean(taught) if taught else 0.0)


def test_the_prior_must_be_positive() -> None:
    with pytest.raises(ParameterError, match="cold_start must be positive"):
        ServiceSettings(cold_start=0)
