"""What a service starts with, and what a store remembers from one start to the next."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from faircascade import registry
from faircascade.estimators import Estimator, Ridge, Topical
from faircascade.policies import (
    Bandit,
    CascadeHybrid,
    CascadeKLUCB,
    CascadeLSB,
    EALinUCB,
    LinTS,
    LinUCB,
    LogisticTS,
    LogisticUCB,
    MostPopular,
    Optimal,
    Policy,
    Random,
    TopRank,
)
from faircascade.ranker import Ranker
from faircascade.service.bootstrap import start_service, why_not_served
from faircascade.service.catalogue import importer
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.sources import ItemsFile, RankerFile
from faircascade.service.graded_rewards import GradedRewards
from faircascade.service.messages import (
    FeedbackRequest,
    ItemChange,
    Recommendation,
    RecommendationRequest,
)
from faircascade.service.rules.rules import Rules
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import ItemPatch, StoreDown
from faircascade.service.stores.registry import public_address, store_at
from faircascade.service.stores.sqlite import SQLiteStore
from faircascade.types import Items

CSV = "item,x,y,group,merit\na,1,0,p,1\nb,0,1,q,2\nc,1,1,q,3\n"


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.INFO)


def items(text: str = CSV, name: str = "items.csv") -> ItemsFile:
    Path(name).write_text(text)
    return ItemsFile(name)


@asynccontextmanager
async def started(**given: Any) -> AsyncIterator[Service]:
    service = await start_service("sqlite:store.db", **given)
    try:
        yield service
    finally:
        await service.stop()


def names(service: Service) -> list[str]:
    return sorted(service.catalogue.rows)


def test_the_items_of_a_file_are_served(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with started(source=items()) as service:
            assert names(service) == ["a", "b", "c"]
            item = service.catalogue.at("b")
            assert item is not None
            assert (item.merit, item.groups) == (2.0, {"group": "q"})

    run(work())
    said = "items.csv: 3 items (3 new), features: 2 columns ('x', 'y')"
    assert said in [record.getMessage() for record in caplog.records]


def test_without_a_source_the_store_must_have_items() -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match=r"sqlite:store\.db: has no items yet; start with"):
            await start_service("sqlite:store.db")
        async with started(source=items()):
            pass
        async with started() as service:
            assert names(service) == ["a", "b", "c"]

    run(work())


def test_a_file_is_read_once_so_that_what_was_removed_stays_removed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        async with started(source=items()) as service:
            await service.remove_item("b")
            await service.put_items([ItemChange(item="a", features=[5.0, 5.0])])
        async with started(source=items()) as service:
            assert names(service) == ["a", "c"]
            item = service.catalogue.at("a")
            assert item is not None
            assert item.features.tolist() == [5.0, 5.0]

    run(work())
    said = "items.csv: unchanged since the last import; the catalogue in the store is kept"
    assert said in [record.getMessage() for record in caplog.records]


def test_a_file_that_changed_adds_and_changes_and_removes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        async with started(source=items()):
            pass
        text = "item,x,y,group,merit\na,1,0,p,1\nb,0,2,q,2\nd,1,1,q,3\n"
        async with started(source=items(text)) as service:
            assert names(service) == ["a", "b", "c", "d"]

    run(work())
    assert any("3 items (1 new, 1 changed, 1 as before)" in r.getMessage() for r in caplog.records)


def test_other_columns_of_the_same_file_are_another_file() -> None:
    async def work() -> None:
        source = items()
        async with started(source=source):
            pass
        swapped = ItemsFile(source.path, "y,x")
        async with started(source=swapped) as service:
            item = service.catalogue.at("a")
            assert item is not None
            assert item.features.tolist() == [0.0, 1.0]

    run(work())


def test_a_file_with_other_features_than_the_store_is_refused() -> None:
    async def work() -> None:
        async with started(source=items()):
            pass
        wider = items("item,x,y,z\na,1,2,3\n", "wider.csv")
        with pytest.raises(
            ValueError, match=r"wider\.csv: has 3 features per item, the store has 2"
        ):
            await start_service("sqlite:store.db", source=wider)
        async with started() as service:  # it was let go
            assert names(service) == ["a", "b", "c"]

    run(work())


def test_a_policy_that_is_not_given_is_that_of_last_time() -> None:
    async def work() -> None:
        async with started(source=items()) as service:
            assert service.policy == EALinUCB()
        async with started(policy=LinUCB(alpha=0.5), seed=7):
            pass
        async with started() as service:
            assert service.policy == LinUCB(alpha=0.5)
            assert service.seed == 7

    run(work())


def test_another_policy_keeps_what_was_learned_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        async with started(source=items(), policy=LinUCB()) as service:
            (given,) = await service.recommend([RecommendationRequest(user="ann", k=2)])
            assert isinstance(given, Recommendation)
        async with started(policy=LinTS(ridge=3.0)) as service:
            assert (await service.user("ann")).rounds == 1

    run(work())
    (told,) = (r for r in caplog.records if r.getMessage().startswith("policy changed"))
    assert vars(told)["change"] == f"default is {LinTS(ridge=3.0).label}"


def test_policies_that_cannot_be_served_are_refused() -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match="policy 'optimal' cannot be served"):
            await start_service("sqlite:store.db", source=items(), policy=Optimal())

    run(work())


@pytest.mark.parametrize("fallback", [Random(), MostPopular()], ids=lambda policy: policy.name)
def test_a_store_that_has_learned_can_fall_back_to_a_policy_that_does_not(fallback: Policy) -> None:
    """Feedback goes on teaching the policy that was served before, as if it had served itself."""

    async def taught(service: Service) -> None:
        (slate,) = await service.recommend([RecommendationRequest(user="u", k=2)])
        assert isinstance(slate, Recommendation)
        await service.learn([FeedbackRequest(impression_id=slate.impression_id, shown=2)])

    async def work() -> None:
        learner = EALinUCB(weight="log", gamma=0.1)
        async with started(source=items(), policy=learner) as service:
            await taught(service)
            one = (await service.user("u")).sums
        for _ in range(2):  # the second time, the last policy is the fallback itself
            async with started(policy=fallback) as service:
                assert (service.policy, service.learner) == (fallback, learner)
                await taught(service)
        async with started(policy=learner) as service:
            assert service.learner is service.policy
            record = await service.user("u")
        seen = np.abs(record.sums - one).sum()
        assert record.rounds == 3
        assert seen > 0

    run(work())


def test_a_store_without_a_known_policy_refuses_one_that_learns_nothing() -> None:
    async def work() -> None:
        async with started(source=items()) as service:
            await service.store.set_meta("lineup", None)
        with pytest.raises(ValueError, match=r"keeps 6 numbers per user, policy 'random' learns 0"):
            await start_service("sqlite:store.db", policy=Random())

    run(work())


def test_a_policy_without_sums_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def sums(self: Random, state: object) -> None:
        raise TypeError("policy 'random' does not keep what it learns as sums")

    monkeypatch.setattr(Random, "sums", sums)

    async def work() -> None:
        with pytest.raises(ValueError, match="what it learns of a user is no fixed list of sums"):
            await start_service("sqlite:store.db", source=items(), policy=Random())

    run(work())


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutSums(Ridge):
    """What is learned cannot be had as sums."""

    name: ClassVar[str] = "without-sums"
    sums = Estimator.sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Ridge):
    """Users learn from each other."""

    shares: ClassVar[bool] = True


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (
            WithoutSums(),
            "policy 'bandit' cannot be served: what it learns of a user is no fixed list of sums",
        ),
        (Shared(), "policy 'bandit' cannot be served: its users learn from each other"),
        (
            Topical(),
            "policy 'bandit' needs items with topics, and these have none; name their columns with",
        ),
    ],
)
def test_a_bandit_whose_estimator_has_no_sums_of_a_user_is_refused(
    estimator: Estimator, said: str
) -> None:
    async def work() -> None:
        policy = Bandit(estimator=estimator)
        with pytest.raises(ValueError, match=said):
            await start_service("sqlite:store.db", source=items(), policy=policy)

    run(work())


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        ("p-mmf", "the prices of providers depend on the order of slates"),
        ("min-share", "it counts appearances"),
        ("fairco(half_life=9)", "its account forgets"),
        ("frank-wolfe(by=supplier)", "it keeps account of groups"),
        ("calibrated(by=supplier)", "it goes by groups"),
    ],
)
def test_a_reranker_whose_account_the_service_does_not_keep_is_refused(
    reranker: str, reason: str
) -> None:
    refused = why_not_served(Bandit(reranker=reranker))
    assert refused.startswith(f"policy 'bandit' cannot be served: {reason}")
    assert refused.endswith("; use 'linucb', for example, or a Ranker")


@pytest.mark.parametrize("name", registry.components("policy"))
def test_every_policy_is_served_or_refused_in_a_line_that_says_what_to_use(name: str) -> None:
    async def work() -> None:
        policy = registry.build("policy", name)
        try:
            async with started(source=with_topics(), policy=policy) as service:
                (given,) = await service.recommend([RecommendationRequest(user="ann", k=2)])
                assert isinstance(given, Recommendation)
        except ValueError as error:
            said = str(error)
            assert said.startswith(f"policy {name!r} cannot be served: ")
            assert "; use 'linucb'" in said
            assert "\n" not in said
            assert len(said) < 160

    run(work())


def with_topics() -> ItemsFile:
    items("item,x,y,jazz,pop\na,1,0,1,0\nb,0,1,0.5,0.5\nc,1,1,0,1\n", "topics.csv")
    return ItemsFile("topics.csv", topics="jazz,pop")


def test_topics_of_a_file_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with started(source=with_topics(), policy=CascadeHybrid()) as service:
            assert (service.dim, service.topics) == (2, 2)
        async with started() as service:
            assert service.policy == CascadeHybrid()
            assert service.catalogue.items.features.tolist() == [[1, 0], [0, 1], [1, 1]]
            assert service.catalogue.items.topics.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
        async with started(source=with_topics()):
            pass

    run(work())
    assert "topics: 2 columns ('jazz', 'pop')" in caplog.text
    assert "unchanged since the last import" in caplog.text


def test_a_store_without_topics_opens_and_says_that_it_has_none() -> None:
    """What an older release kept of its shape has no word on topics."""

    async def work() -> None:
        async with started(source=items(), policy=LinUCB()):
            pass
        with closing(sqlite3.connect("store.db")) as db:
            (shape,) = db.execute("SELECT value FROM meta WHERE name = 'shape'").fetchone()
        assert json.loads(shape) == {"dim": 2, "sums": 6}
        async with started() as service:
            assert (service.dim, service.topics) == (2, 0)
        with pytest.raises(ValueError, match=r"these have none; .* --topics, and another --store"):
            await start_service("sqlite:store.db", policy=CascadeLSB())
        told = "has 2 features and 2 topics per item, the store has 2 features; nothing was learned"
        with pytest.raises(ValueError, match=told):
            await start_service("sqlite:store.db", source=with_topics())

    run(work())


def trained(path: str = "ranker.npz", **changed: Any) -> Ranker:
    catalogue = Items.of(
        np.eye(3),
        ids=["a", "b", "c"],
        eligible=np.array([True, True, False]),
        groups={"genre": ["p", "q", "q"], "supplier": ["s", "s", "t"]},
    )
    ranker = Ranker(LinUCB(alpha=0.3), items=replace(catalogue, **changed), seed=5)
    for clicked in (1, None, 2):
        ranker.update(ranker.recommend("ann", k=2), clicked)
    ranker.recommend("bob", k=1)
    ranker.save(path)
    return ranker


def test_a_ranker_goes_on_where_it_stood() -> None:
    async def work() -> None:
        ranker = trained()
        async with started(source=RankerFile("ranker.npz")) as service:
            assert service.policy == LinUCB(alpha=0.3)
            assert service.seed == 5
            assert names(service) == ["a", "b"]  # c cannot be recommended
            item = service.catalogue.at("b")
            assert item is not None
            assert item.groups == {"group": "q", "supplier": "s"}
            assert (await service.user("ann")).rounds == 3
            for user in ("ann", "bob", "new"):
                expected = ranker.recommend(user, k=2)
                (given,) = await service.recommend([RecommendationRequest(user=user, k=2)])
                assert isinstance(given, Recommendation)
                assert tuple(given.items) == expected.items
                np.testing.assert_allclose(given.scores, expected.scores, atol=1e-12)

    run(work())


@pytest.mark.parametrize("policy", [CascadeKLUCB(), LogisticTS(), TopRank()], ids=lambda p: p.name)
def test_a_ranker_whose_policy_cannot_be_served_is_refused(policy: Policy) -> None:
    ranker = Ranker(policy, items=np.eye(3))
    ranker.update(ranker.recommend("ann", k=2), clicked=1)
    ranker.save("ranker.npz")

    async def work() -> None:
        with pytest.raises(ValueError, match=f"policy '{policy.name}' cannot be served: "):
            await start_service("sqlite:store.db", source=RankerFile("ranker.npz"))

    run(work())


def test_the_document_gives_the_reason_why_logistic_policies_are_refused() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "service.md"
    (row,) = (line for line in page.read_text("utf-8").splitlines() if "`logistic-ucb`" in line)
    for policy in (LogisticUCB(), LogisticTS()):
        refused, _, reason = why_not_served(policy).partition(": ")
        assert refused == f"policy '{policy.name}' cannot be served"
        assert f"| {reason.partition(';')[0]};" in row


def test_a_ranker_is_imported_once() -> None:
    async def work() -> None:
        trained()
        async with started(source=RankerFile("ranker.npz")) as service:
            await service.recommend([RecommendationRequest(user="ann", k=2)])
        async with started(source=RankerFile("ranker.npz")) as service:
            assert (await service.user("ann")).rounds == 4

    run(work())


def test_a_ranker_is_imported_again_if_that_was_not_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        trained()
        with monkeypatch.context() as broken:
            broken.setattr(importer, "item_patches", None)
            with pytest.raises(TypeError):
                await start_service("sqlite:store.db", source=RankerFile("ranker.npz"))
        async with started(source=RankerFile("ranker.npz")) as service:
            assert (await service.user("ann")).rounds == 3
            assert names(service) == ["a", "b"]

    run(work())


def test_many_items_come_in_by_pieces_and_a_start_that_stopped_between_them_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put, patches, sizes = SQLiteStore.put_items, importer.item_patches, []

    async def counted(self: SQLiteStore, changes: Sequence[ItemPatch]) -> None:
        sizes.append(len(changes))
        await put(self, changes)

    def failing(changes: Sequence[ItemChange], catalogue: Catalogue) -> list[ItemPatch]:
        if any(change.item == "e" for change in changes):
            raise StoreDown("gone")
        return patches(changes, catalogue)

    monkeypatch.setattr(SQLiteStore, "put_items", counted)
    monkeypatch.setattr(importer, "CHUNK", 2)
    source = items("item,x,y\n" + "".join(f"{name},1,0\n" for name in "abcde"))

    async def work() -> None:
        with monkeypatch.context() as broken:
            broken.setattr(importer, "item_patches", failing)
            with pytest.raises(StoreDown):
                await start_service("sqlite:store.db", source=source)
        assert sizes == [2, 2]
        async with started(source=source) as service:
            assert names(service) == ["a", "b", "c", "d", "e"]
        assert sizes == [2, 2, 1]  # those that were there stay untouched

    run(work())


def test_a_folder_of_items_is_refused_also_where_items_are_already() -> None:
    async def work() -> None:
        async with started(source=items()):
            pass
        with pytest.raises(ValueError, match="--items must be a file: Parquet, CSV or TSV"):
            await start_service("sqlite:store.db", source=ItemsFile("."))

    run(work())


def test_a_ranker_does_not_overwrite_what_others_learned() -> None:
    async def work() -> None:
        trained()
        async with started(source=RankerFile("ranker.npz")):
            pass
        trained("other.npz", merit=np.array([1.0, 2.0, 3.0]))
        with pytest.raises(
            ValueError, match=r"other\.npz: a ranker needs an empty store.*ranker\.npz"
        ):
            await start_service("sqlite:store.db", source=RankerFile("other.npz"))

    run(work())


def test_a_store_that_is_in_use_takes_no_ranker() -> None:
    async def work() -> None:
        async with started(source=items("item,x,y,z\na,1,2,3\n")):
            pass
        trained()
        with pytest.raises(ValueError, match="empty store, and this one is in use"):
            await start_service("sqlite:store.db", source=RankerFile("ranker.npz"))

    run(work())


@pytest.mark.parametrize("address", ["store.db", "mysql://x", "sqlite:", "sqlite::memory:", ""])
def test_an_address_that_is_no_store_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"store must .*sqlite:PATH"):
        store_at(address, ttl=1.0)


def test_a_store_misspelt_is_answered_with_the_scheme_that_was_meant() -> None:
    with pytest.raises(ValueError, match="mean 'sqlite'"):
        store_at("sqlit:x", ttl=1.0)


def test_a_password_in_the_address_of_a_store_is_not_shown() -> None:
    assert public_address("redis://me:secret@cache:6379/1") == "redis://cache:6379/1"
    assert public_address("redis://cache:6379/1?password=secret&a=b#c") == "redis://cache:6379/1"
    assert public_address("unix:///run/redis.sock?db=1&password=secret") == "unix:///run/redis.sock"
    assert public_address("sqlite:a@b.db") == "sqlite:a@b.db"


def test_a_file_that_is_not_a_store_is_refused() -> None:
    Path("store.db").write_text("This is a letter to somebody, and rather long at that." * 100)

    async def work() -> None:
        with pytest.raises(ValueError, match=r"store\.db: cannot be opened as a store"):
            await start_service("sqlite:store.db", source=items())

    run(work())


def test_a_start_with_other_house_files_is_told(caplog: pytest.LogCaptureFixture) -> None:
    rules = Rules.model_validate({"at_most": {"group": 1}})
    rewards = GradedRewards.model_validate({"values": {"purchase": 1}})
    full = ServiceSettings(rules=rules, rewards=rewards, cold_start=20)

    async def start(settings: ServiceSettings) -> list[str]:
        caplog.clear()
        service = await start_service("sqlite:a.db", source=items(), settings=settings)
        await service.stop()
        told = [vars(record) for record in caplog.records if hasattr(record, "difference")]
        return [f"{fields['option']}: {fields['difference']}" for fields in told]

    async def all_starts() -> None:
        assert await start(full) == []
        assert await start(full) == []
        dropped = await start(ServiceSettings(rewards=rewards, cold_start=20))
        assert dropped == ["--rules: the last one had it, and this one has not"]
        assert await start(ServiceSettings(rewards=rewards, cold_start=20)) == []
        other = GradedRewards.model_validate({"values": {"purchase": 0.5}})
        both = await start(ServiceSettings(rules=rules, rewards=other, cold_start=20))
        assert both == [
            "--rules: the last one did not have it, and this one has",
            "--rewards: the last one had another",
        ]

    run(all_starts())


def test_a_store_of_wrong_features_that_learned_nothing_says_how_it_is_made_anew() -> None:
    async def work() -> None:
        first = ItemsFile(items().path, "x,y,merit")
        async with started(source=first):
            pass
        corrected = ItemsFile(first.path, "x,y")
        with pytest.raises(ValueError, match="nothing was learned in it yet") as refused:
            await start_service("sqlite:store.db", source=corrected)
        command = str(refused.value).split("'")[1]
        assert command == "rm -f store.db store.db-wal store.db-shm"
        for name in command.split()[2:]:
            Path(name).unlink(missing_ok=True)
        async with started(source=corrected) as service:
            assert service.dim == 2
            await service.recommend([RecommendationRequest(user="ann", k=1)])
        wrong_again = ItemsFile(first.path, "x,y,merit")
        with pytest.raises(ValueError, match="has 2 features; use another --store"):
            await start_service("sqlite:store.db", source=wrong_again)

    run(work())
