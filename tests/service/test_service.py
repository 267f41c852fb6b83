"""The service without HTTP: what it recommends, what it learns, what it forgets."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade import registry
from faircascade.observations import Observation
from faircascade.policies import (
    Bandit,
    CascadeHybrid,
    CascadeLSB,
    EALinUCB,
    FRMLinUCB,
    LinTS,
    LinUCB,
    Optimal,
    Policy,
)
from faircascade.ranker import Ranker
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.messages import (
    FeedbackRequest,
    ItemChange,
    Reason,
    RecommendationRequest,
    Refused,
)
from faircascade.service.settings import ServiceSettings
from faircascade.types import Bools, Floats, Ints, Items
from tests.service.in_process import (
    DIM,
    SERVED,
    TOPICS,
    Clock,
    changes,
    features_of,
    learn,
    recommend,
    serving,
    topics_for,
    topics_of,
)
from tests.service.stores.memory_store import MemoryStore


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def refusal(reason: Reason, field: str) -> Any:
    """Expect a refusal."""

    class Expected:
        def __enter__(self) -> None: ...

        def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
            assert isinstance(error, Refused), error
            assert (error.reason, error.field) == (reason, field)
            return True

    return Expected()


@pytest.mark.parametrize(
    "policy",
    [
        *(registry.build("policy", name) for name in SERVED),
        FRMLinUCB(variant="exposure-charge"),
        CascadeHybrid(observation="last-click", reward="exposure-aware"),
    ],
    ids=repr,
)
def test_a_service_gives_the_slates_that_a_ranker_gives(tmp_path: Path, policy: Policy) -> None:
    rows, topics = features_of(12), topics_of(12, topics_for(policy))
    merit = np.array([1.0 + n % 3 for n in range(12)])
    items = Items.of(rows, ids=list("abcdefghijkl"), merit=merit, topics=topics)
    ranker = Ranker(policy, items=items, seed=3)

    async def work() -> None:
        async with serving(tmp_path, policy, seed=3) as service:
            for turn in range(30):
                user = "ann" if turn % 3 else "bob"
                slate, shown = ranker.recommend(user, k=4), await recommend(service, user, k=4)
                assert tuple(shown.items) == slate.items
                np.testing.assert_allclose(shown.scores, slate.scores, atol=1e-8)
                clicked = sorted({turn % 5, turn % 4 + 1} - {0})
                seen = max([*clicked, turn % 4 + 1])
                ranker.update(slate, clicked, shown=seen)
                await learn(service, shown, clicked_positions=clicked, shown=seen)

    run(work())


def test_an_account_that_was_not_charged_gets_nothing_back(tmp_path: Path) -> None:
    """The slate was handed out before there were accounts."""

    async def work() -> None:
        async with serving(tmp_path, LinUCB()) as service:
            shown = await recommend(service, k=4)
        async with serving(tmp_path, FRMLinUCB(variant="reorder")) as service:
            await learn(service, shown, shown=1)
            other = await recommend(service, k=4)
            await learn(service, other, shown=2)
            (account,) = (await service.store.begin_round(["ann"], accounts=True)).accounts
            slots = [service.catalogue.at(name).slot for name in other.items]
            kept = {slot: units for slot, units in account.items() if units}
            assert kept == dict(zip(slots[:2], exposure_units(4).tolist(), strict=False))

    run(work())


def test_exposure_is_counted_by_what_was_shown(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, items=5) as service:
            slates = [await recommend(service, k=5) for _ in range(3)]
            await learn(service, slates[0], clicked_position=1, shown=2)
            await learn(service, slates[1], shown=5)
            await service.exposure.catch_up(service.store)
            counts = service.exposure.snapshot("1h").counts
            names = service.catalogue.names(service.catalogue.slots)
            shown = dict.fromkeys(names, 2) | dict.fromkeys(slates[0].items[:2], 3)
            assert counts.of(service.catalogue.slots)[0].tolist() == list(shown.values())
            assert counts.columns(service.catalogue.slots)[0].tolist() == [3] * 5
            counted = service.activity.counts
            assert (counted["positions"], counted["unshown"]) == (15, 3)

    run(work())


def test_feedback_is_learned_with_the_topics_that_were_shown(tmp_path: Path) -> None:
    """Not with those that the items have by the time of the feedback."""

    async def work() -> None:
        sums = []
        for name, swap in (("kept", False), ("changed", True)):
            async with serving(tmp_path / name, CascadeLSB()) as service:
                shown = await recommend(service, k=3)
                if swap:
                    before = changes(topics=TOPICS)
                    await service.put_items(
                        [replace(one, topics=1.0 - np.asarray(one.topics)) for one in before]
                    )
                await learn(service, shown, clicked_position=2)
                sums.append((await service.user("ann")).sums)
        assert sums[0].any()
        assert np.array_equal(*sums)

    run(work())


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ((), "topics must be 3 numbers, got 0 for 'new'"),
        ((0.5, 0.5), "topics must be 3 numbers, got 2 for 'new'"),
        ((0.5, 0.5, 1.5), "topics must be between 0 and 1"),
        ((0.5, 0.5, float("nan")), "topics must be between 0 and 1"),
    ],
)
def test_items_have_as_many_topics_as_all_others(
    tmp_path: Path, topics: tuple[float, ...], said: str
) -> None:
    async def work() -> None:
        async with serving(tmp_path, CascadeLSB()) as service:
            with pytest.raises(Refused, match=f"^{said}$"):
                await service.put_items([ItemChange(item="new", features=[1] * 4, topics=topics)])
            assert service.catalogue.at("new") is None

    run(work())


def test_a_slate_is_shorter_if_there_are_not_as_many_items(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            among = ["a", "b", "c", "just-removed"]
            shown = await recommend(service, k=10, candidates=among, exclude=["b", "no"])
            assert sorted(shown.items) == ["a", "c"]

    run(work())


def test_what_cannot_be_recommended_is_refused_and_says_why(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(
            tmp_path, settings=ServiceSettings(max_k=5, max_candidates=3)
        ) as service:
            with refusal(Reason.INVALID, "k"):
                await recommend(service, k=6)
            with refusal(Reason.CONFLICT, "candidates"):
                await recommend(service, candidates=["nobody-knows-me"])
            with refusal(Reason.INVALID, "candidates"):
                await recommend(service, candidates=["a", "b", "c", "d"])
            with refusal(Reason.INVALID, "exclude"):
                await recommend(service, exclude=["a", "b", "c", "d"])
            with refusal(Reason.CONFLICT, "candidates"):
                await recommend(service, candidates=["a"], exclude=["a"])

    run(work())


def test_a_batch_answers_each_in_its_place(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            asks = [
                RecommendationRequest(user="ann", k=3),
                RecommendationRequest(user="bob", k=1000),
                RecommendationRequest(user="ann", k=2, exclude=["a"]),
                RecommendationRequest(user="ann", k=3),
                RecommendationRequest(user="eve", k=3, candidates=["?"]),
            ]
            answers = await service.recommend(asks)
            assert [isinstance(a, Refused) for a in answers] == [False, True, False, False, True]
            assert [a.user for a in answers if not isinstance(a, Refused)] == ["ann"] * 3
            assert len(answers[2].items) == 2
            assert len({a.impression_id for a in answers if not isinstance(a, Refused)}) == 3
            person = await service.user("ann")
            assert person.rounds == 3
            assert sorted(i.round for i in person.impressions) == [1, 2, 3]

    run(work())


def test_the_same_answer_twice_teaches_once_and_another_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            shown = await recommend(service, k=5)
            first = await learn(service, shown, clicked_position=2)
            assert not first.repeated
            sums = (await service.user("ann")).sums
            for again in (
                {"clicked_position": 2},
                {"clicked_positions": [2]},
                {"clicked_item": shown.items[1]},
                {"clicked_position": 2, "shown": 5},
            ):
                receipt = await learn(service, shown, **again)
                assert receipt.repeated
                assert (receipt.clicked_positions, receipt.shown) == ((2,), 2)
            for other in (
                {"clicked_position": 3},
                {"clicked_positions": [2, 3]},
                {},
                {"shown": 2},
                {"clicked_position": 2, "shown": 4},
            ):
                with refusal(Reason.CONFLICT, "impression_id"):
                    await learn(service, shown, **other)
            assert np.array_equal((await service.user("ann")).sums, sums)

    run(work())


def test_the_same_answer_twice_in_one_batch_teaches_once(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            shown = await recommend(service, k=5)
            answer = FeedbackRequest(impression_id=shown.impression_id, clicked_position=1)
            first, second, third = await service.learn(
                [answer, answer, FeedbackRequest(impression_id=shown.impression_id)]
            )
            assert (first.repeated, second.repeated) == (False, True)
            assert third.reason is Reason.CONFLICT
            assert (await service.user("ann")).sums[0] == 1

    run(work())


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"clicked_position": 6}, "clicked_position"),
        ({"clicked_positions": [1, 6]}, "clicked_positions"),
        ({"clicked_positions": [1, 4], "shown": 3}, "shown"),
        ({"clicked_positions": [1], "clicked_position": 1}, "clicked_positions"),
        ({"clicked_position": 1, "clicked_item": "a"}, "clicked_item"),
        ({"clicked_item": "not there"}, "clicked_item"),
        ({"shown": 6}, "shown"),
        ({"clicked_position": 4, "shown": 3}, "shown"),
    ],
)
def test_an_answer_must_fit_its_slate(tmp_path: Path, answer: dict, field: str) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            shown = await recommend(service, k=5)
            with refusal(Reason.INVALID, field):
                await learn(service, shown, **answer)
            await learn(service, shown, clicked_position=1)  # it is still open

    run(work())


def test_the_observation_of_the_policy_says_what_was_seen(tmp_path: Path) -> None:
    """Not the service: with `Everything`, items below the first click teach, too."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Everything(Observation):
        def seen(self, clicks: Bools, shown: Ints) -> Floats:
            return np.asarray(np.arange(clicks.shape[1]) < shown[:, None], dtype=np.float64)

    async def work() -> None:
        policy = Bandit(observation=Everything())
        async with serving(tmp_path, policy=policy) as service:
            shown = await recommend(service, k=5)
            receipt = await learn(service, shown, clicked_positions=[1, 3], shown=4)
            assert (receipt.clicked_positions, receipt.shown) == ((1, 3), 4)
            for other in ({}, {"shown": 3}):
                with refusal(Reason.CONFLICT, "impression_id"):
                    await learn(service, shown, clicked_positions=[1, 3], **other)
            catalogue = service.catalogue
            names = catalogue.names(np.arange(len(catalogue.items)))
            ranker = Ranker(policy, items=catalogue.items.features, item_ids=names)
            slate = ranker.recommend("ann", k=5)
            assert slate.items == tuple(shown.items)
            ranker.update(slate, clicked=[1, 3], shown=4)
            assert np.allclose((await service.user("ann")).sums, ranker.sums()[0][0])

    run(work())


def test_answers_are_accepted_as_long_as_slates_live_and_not_longer(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, settings=ServiceSettings(ttl=100), clock=clock) as service:
            early, late = await recommend(service), await recommend(service)
            clock.now += 99
            await learn(service, early, clicked_position=1)
            clock.now += 2
            for shown in (early, late):  # answered or not
                with refusal(Reason.UNKNOWN, "impression_id"):
                    await learn(service, shown, clicked_position=1)
            with refusal(Reason.UNKNOWN, "impression_id"):
                await learn(service, "never-was", clicked_position=1)

    run(work())


def test_late_answers_in_any_order_teach_the_same(tmp_path: Path) -> None:
    async def work() -> None:
        sums = []
        for turn, order in enumerate(([0, 1, 2, 3], [3, 1, 0, 2])):
            async with serving(tmp_path / str(turn)) as service:
                slates = [await recommend(service, k=4) for _ in range(4)]
                for place in order:
                    await learn(service, slates[place], clicked_position=place + 1)
                sums.append((await service.user("ann")).sums)
        np.testing.assert_allclose(*sums, rtol=1e-12)

    run(work())


def test_an_answer_uses_the_features_that_were_shown(tmp_path: Path) -> None:
    async def work() -> None:
        sums = []
        for turn in range(2):
            async with serving(tmp_path / str(turn)) as service:
                shown = await recommend(service, k=3)
                if turn:
                    for item in shown.items[:2]:
                        await service.put_items([ItemChange(item=item, features=[9, 9, 9, 9])])
                    await service.remove_item(shown.items[2])
                await learn(service, shown, clicked_item=shown.items[2])
                sums.append((await service.user("ann")).sums)
        assert np.array_equal(*sums)

    run(work())


def test_items_come_change_and_go_while_it_runs(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            await service.put_items([ItemChange(item="new", features=[1, 0, 0, 0], group="jazz")])
            assert (await recommend(service, candidates=["new"])).items == ["new"]
            await service.put_items([ItemChange(item="new", features=[0, 1, 0, 0], merit=4.0)])
            stored = service.catalogue.at("new")
            assert (stored.merit, stored.groups) == (4.0, {"group": "jazz"})
            assert stored.features.tolist() == [0, 1, 0, 0]
            await service.remove_item("new")
            with refusal(Reason.CONFLICT, "candidates"):
                await recommend(service, candidates=["new"])
            with refusal(Reason.UNKNOWN, "item"):
                await service.remove_item("new")
            await service.put_items([ItemChange(item="new", features=[0, 0, 1, 0])])
            assert service.catalogue.at("new").slot == stored.slot
        async with serving(tmp_path) as service:
            assert service.catalogue.at("new").features.tolist() == [0, 0, 1, 0]
            assert len(service.catalogue) == 13

    run(work())


def test_changes_of_one_item_at_the_same_time_are_all_made(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            row = features_of(1)[0]
            await asyncio.gather(
                service.put_items([ItemChange(item="a", features=row, merit=7.0)]),
                service.put_items([ItemChange(item="a", features=row, group="folk")]),
                service.put_items([ItemChange(item="a", features=row, supplier="")]),
            )
            stored = service.catalogue.at("a")
            assert (stored.merit, stored.groups) == (7.0, {"group": "folk"})

    run(work())


def test_not_all_items_can_be_removed_at_the_same_time(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, items=3) as service:
            done = await asyncio.gather(
                *(service.remove_item(name) for name in "abc"), return_exceptions=True
            )
            assert sum(isinstance(outcome, Refused) for outcome in done) == 1
            assert len(service.catalogue) == 1

    run(work())


def test_a_slate_that_another_policy_handed_out_and_this_one_cannot_learn_is_refused_alone(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            long, short = await recommend(service, k=5), await recommend(service, k=3)
        async with serving(tmp_path, EALinUCB(weight=[1.0, 0.5, 0.25])) as service:
            answers = [FeedbackRequest(impression_id=i.impression_id) for i in (long, short)]
            refused, receipt = await service.learn(answers)
            assert (refused.reason, refused.field) == (Reason.INVALID, "impression_id")
            assert receipt.shown == 3

    run(work())


def test_a_batch_in_which_each_has_a_choice_of_its_own(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            names = "abcdefghijkl"
            asks = [
                RecommendationRequest(user=f"user-{n % 3}", k=12, exclude=[name])
                for n, name in enumerate(names)
            ]
            answers = await service.recommend(asks)
            for name, answer in zip(names, answers, strict=True):
                assert set(answer.items) == set(names) - {name}
            rounds = [i.round for i in (await service.user("user-0")).impressions]
            assert sorted(rounds) == [1, 2, 3, 4]

    run(work())


def test_the_last_item_stays(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, items=1) as service:
            with refusal(Reason.CONFLICT, "item"):
                await service.remove_item("a")

    run(work())


@pytest.mark.parametrize("features", [[1, 2], [1, 2, 3, float("nan")], [1, 2, 3, 1e5]])
def test_features_that_do_not_fit_are_refused(tmp_path: Path, features: list[float]) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            with refusal(Reason.INVALID, "features"):
                await service.put_items([ItemChange(item="x", features=features)])
            assert service.catalogue.at("x") is None

    run(work())


def test_a_user_can_be_inspected_and_erased_and_exposure_stays(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            kept = await recommend(service, "bob", k=3)
            shown = [await recommend(service, "ann", k=3) for _ in range(3)]
            await learn(service, shown[0], clicked_position=1)
            person = await service.user("ann")
            assert (person.rounds, person.count, person.sums[0]) == (3, 3, 1)
            await service.erase("ann")
            for gone in (service.user("ann"), service.erase("ann")):
                with refusal(Reason.UNKNOWN, "user"):
                    await gone
            for one in shown:
                with refusal(Reason.UNKNOWN, "impression_id"):
                    await learn(service, one, clicked_position=1)
            await learn(service, kept, clicked_position=1)
            assert (await recommend(service, "ann")).impression_id  # starts cold
            assert (await service.user("ann")).rounds == 1
        data = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
        assert b"bob" in data

    run(work())


def test_what_users_did_is_not_in_the_file_after_erasing(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            names = [f"a-very-rare-name-{n}" for n in range(40)]
            for name in names * 2:  # rows that grow are moved, and leave copies behind
                await learn(service, await recommend(service, name), clicked_position=1)
            for name in names:
                await service.erase(name)
        for path in tmp_path.iterdir():
            assert b"a-very-rare-name" not in path.read_bytes()
            assert path.stat().st_mode & 0o077 == 0 or path.suffix == ".lock"

    run(work())


def test_what_was_learned_is_there_after_a_restart(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            open_one = await recommend(service, k=4)
            await learn(service, await recommend(service, k=4), clicked_position=2)
            before = (await service.user("ann")).sums
        async with serving(tmp_path) as service:
            assert np.array_equal((await service.user("ann")).sums, before)
            await learn(service, open_one, clicked_position=1)
            assert (await recommend(service)).impression_id != open_one.impression_id
            assert (await service.user("ann")).rounds == 3

    run(work())


def test_concurrent_slates_of_a_user_have_rounds_of_their_own(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, LinTS()) as service:
            await asyncio.gather(*(recommend(service, "ann") for _ in range(20)))
            person = await service.user("ann", impressions=50)
            assert sorted(i.round for i in person.impressions) == list(range(1, 21))

    run(work())


def test_a_store_of_other_features_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path):
            pass
        from faircascade.service.service import Service
        from faircascade.service.stores.sqlite import SQLiteStore

        other = Service(LinUCB(), SQLiteStore(tmp_path / "store.db"), dim=DIM + 1)
        with pytest.raises(ValueError, match=r"holds .*'dim': 4.*opened for .*'dim': 5"):
            await other.start()

    run(work())


def test_two_services_cannot_share_a_file(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path):
            with pytest.raises(ValueError, match="another service is using this store"):
                async with serving(tmp_path):
                    pass

    run(work())


def test_another_policy_goes_on_with_what_was_learned(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, LinUCB()) as service:
            for _ in range(5):
                await learn(service, await recommend(service), clicked_position=1)
            first = service.version
        async with serving(tmp_path, LinUCB(alpha=0.5, sigma=2.0)) as service:
            assert (await service.user("ann")).sums[0] == 5
            assert service.version != first
        async with serving(tmp_path, LinUCB()) as service:
            assert service.version == first

    run(work())


def test_a_ledger_of_all_users_makes_exposure_even(tmp_path: Path) -> None:
    async def work() -> None:
        policy = FRMLinUCB(variant="exposure-charge", ledger="global", eta=5.0)
        async with serving(tmp_path, policy, items=8) as service:
            for turn in range(40):
                await recommend(service, f"user-{turn % 4}", k=2)
                await service.exposure.catch_up(service.store)
            slots = service.catalogue.slots
            assert (service.exposure.units_of(slots) > 0).all()

    run(work())


@pytest.mark.parametrize("reranker", ["fairco(strength=5)", "frank-wolfe(strength=5)"])
@pytest.mark.parametrize("ledger", ["user", "global"])
def test_published_fair_rankers_make_exposure_even(
    tmp_path: Path, reranker: str, ledger: str
) -> None:
    async def work() -> None:
        part = replace(registry.as_component("reranker", reranker), ledger=ledger)
        async with serving(tmp_path, LinUCB(reranker=part), items=8) as service:
            for turn in range(40):
                await recommend(service, f"user-{turn % 4}", k=2)
                await service.exposure.catch_up(service.store)
            shown = service.exposure.units_of(service.catalogue.slots)
            assert shown.min() > 0.5 * shown.mean()

    run(work())


def test_a_policy_that_needs_known_preferences_refuses_to_recommend(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, Optimal()) as service:
            with refusal(Reason.INVALID, "k"):
                await recommend(service)

    run(work())


def test_a_large_change_of_the_catalogue_keeps_what_stays(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, items=5) as service:
            before = service.catalogue
            await service.put_items(changes(60))
            after = service.catalogue
            assert len(after) == 60
            assert len(before) == 5  # whoever still uses it sees it unchanged
            for name, row in after.rows.items():
                assert after.at(name).id == name
                assert after.items.keys[row] == registry_key(name)

    run(work())


def test_a_change_of_the_catalogue_counts_from_when_it_is_acknowledged(tmp_path: Path) -> None:
    """However many others change it at the same time."""
    row = features_of(1)[0]

    async def work() -> None:
        async with serving(tmp_path) as service:

            async def change(writer: int) -> list[str]:
                late = []
                for turn in range(20):
                    name, other = f"{writer}:{turn}", f"{writer}:{turn}, for good"
                    both = [ItemChange(item=one, features=row) for one in (name, other)]
                    await service.put_items(both)
                    if service.catalogue.at(name) is None:
                        late.append(name)
                        continue
                    await service.remove_item(name)
                    if service.catalogue.at(name) is not None:
                        late.append(name)
                return late

            late = await asyncio.gather(*(change(writer) for writer in range(8)))
            assert [name for names in late for name in names] == []

    run(work())


def test_a_store_that_went_back_to_a_backup_is_read_anew(tmp_path: Path) -> None:
    async def work() -> None:
        store = MemoryStore()
        async with serving(tmp_path, store=store) as service:
            backup = dict(store._items), store._version
            row = features_of(1)[0]
            await service.put_items([ItemChange(item="lost", features=row, merit=9.0)])
            await service.put_items([ItemChange(item="a", features=row, merit=9.0)])
            store._items, store._version = dict(backup[0]), backup[1]
            await service.put_items([ItemChange(item="new", features=row)])
            assert service.catalogue.at("lost") is None
            assert service.catalogue.at("new") is not None
            assert service.catalogue.at("a").merit == 1.0

    run(work())


def registry_key(name: str) -> int:
    from faircascade.random import key_of

    return key_of(name)


def test_ealinucb_learns_what_a_user_clicks(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path, EALinUCB(weight="log", reading="intended")) as service:
            for _ in range(30):
                shown = await recommend(service, k=3)
                clicked = "c" if "c" in shown.items else None
                await learn(service, shown, clicked_item=clicked)
            assert (await recommend(service, k=3)).items[0] == "c"

    run(work())
