"""A service that learns a log before it serves: once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import faircascade as fc
from faircascade.data.base import DataError
from faircascade.policies import Policy
from faircascade.rerankers import LoggedRandomisation
from faircascade.service import history as histories
from faircascade.service.bootstrap import start_service
from faircascade.service.catalogue.sources import ItemsFile
from faircascade.service.history import History
from faircascade.service.messages import FeedbackRequest, Recommendation, RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.stores.base import Store
from tests.service.redis_server import REDIS, WITHOUT_REDIS, RedisServer
from tests.service.server_process import running

USERS = 30


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is empty."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'store.db'}"
    server: RedisServer = request.getfixturevalue("redis")
    numbers = request.session.stash.setdefault(_NUMBERS, list(range(16)))
    return server.url.removesuffix("/0") + f"/{numbers.pop()}"


_NUMBERS = pytest.StashKey[list[int]]()


@pytest.fixture
def items(tmp_path: Path) -> ItemsFile:
    features = np.random.default_rng(3).normal(size=(12, 4)) / 2
    names = [f"i{n}" for n in range(12)]
    pq.write_table(pa.table({"item_id": names, "features": list(features)}), tmp_path / "i.parquet")
    return ItemsFile(tmp_path / "i.parquet")


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A log of 200 impressions, a few of them with an item that is gone."""
    rng = np.random.default_rng(4)
    rows = {"impression_id": [], "user_id": [], "item_id": [], "position": [], "click": []}  # type: ignore[var-annotated]
    for impression in range(200):
        user, k = f"u{rng.integers(USERS)}", int(rng.integers(1, 6))
        for position, item in enumerate(rng.permutation(13)[:k], 1):
            rows["impression_id"].append(impression)
            rows["user_id"].append(user)
            rows["item_id"].append(f"i{item}")  # i12 is not in the catalogue
            rows["position"].append(position)
            rows["click"].append(int(rng.random() < 0.3))
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(rows), path)
    return path


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


@asynccontextmanager
async def started(address: str, **given: Any) -> AsyncIterator[Service]:
    service = await start_service(address, **given)
    try:
        yield service
    finally:
        await service.stop()


async def models(store: Store) -> dict[str, tuple[list[float], int]]:
    """What is known of all users who may be in the log."""
    found = {}
    for user in (f"u{n}" for n in range(USERS)):
        record = await store.user(user, impressions=0)
        if record is not None:
            found[user] = record.sums.tolist(), record.rounds
    return found


def expected(policy: Policy, items: ItemsFile, logged: Path) -> dict[str, tuple[list[float], int]]:
    """What a ranker makes of the same log."""
    changes = items.contents().items
    ranker = fc.Ranker(
        policy,
        items=np.array([change.features for change in changes]),
        item_ids=[change.item for change in changes],
    )
    ranker.learn(logged)
    sums, rounds = ranker.sums()
    found = zip(ranker.users, sums.tolist(), rounds.tolist(), strict=True)
    return {user: (row, n) for user, row, n in found}


async def serve_one(service: Service, user: str) -> None:
    (slate,) = await service.recommend([RecommendationRequest(user=user, k=3)])
    assert isinstance(slate, Recommendation)
    await service.learn([FeedbackRequest(impression_id=slate.impression_id, clicked_position=1)])


def test_a_log_is_learned_once(address: str, items: ItemsFile, logged: Path) -> None:
    policy = fc.EALinUCB(weight="log")

    async def work() -> None:
        async with started(address, source=items, policy=policy, history=History(path=logged)) as s:
            before = await models(s.store)
            assert before == expected(policy, items, logged)
            await serve_one(s, "u1")
        async with started(address, history=History(path=logged)) as s:
            after = await models(s.store)
            assert after["u1"][1] == before["u1"][1] + 1
            assert {u: m for u, m in after.items() if u != "u1"} == {
                u: m for u, m in before.items() if u != "u1"
            }
        async with started(address) as s:  # nor does a log that was learned have to be there
            assert await models(s.store) == after

    run(work())


def test_the_service_goes_on_with_what_a_log_taught(
    tmp_path: Path, items: ItemsFile, logged: Path
) -> None:
    """The same bits as a service that was given these answers one by one."""
    policy = fc.LinUCB()

    async def work() -> None:
        async with started(
            f"sqlite:{tmp_path / 'a.db'}", source=items, policy=policy, history=History(path=logged)
        ) as s:
            (slate,) = await s.recommend([RecommendationRequest(user="u3", k=4)])
            assert isinstance(slate, Recommendation)
            ranker = fc.Ranker(
                policy,
                items=np.array([change.features for change in items.contents().items]),
                item_ids=[change.item for change in items.contents().items],
            )
            ranker.learn(logged)
            assert list(slate.items) == list(ranker.recommend("u3", k=4).items)

    run(work())


def test_a_policy_with_logged_randomisation_is_served(tmp_path: Path, items: ItemsFile) -> None:
    """Slates are those of a ranker, random positions included."""
    policy = fc.LinUCB(reranker=LoggedRandomisation(share=0.5, shortlist=8))
    changes = items.contents().items
    ranker = fc.Ranker(
        policy,
        items=np.array([change.features for change in changes]),
        item_ids=[change.item for change in changes],
    )

    async def work() -> None:
        async with started(f"sqlite:{tmp_path / 's.db'}", source=items, policy=policy) as s:
            explored = 0
            for _ in range(20):
                (slate,) = await s.recommend([RecommendationRequest(user="ann", k=4)])
                assert isinstance(slate, Recommendation)
                ours = ranker.recommend("ann", k=4)
                assert list(slate.items) == list(ours.items)
                explored += ours.explored
            assert explored

    run(work())


class Dies(Exception):  # noqa: N818 - it is what happens
    """What ends a process."""


@pytest.mark.parametrize("puts", [0, 1, 3])
def test_a_start_that_dies_in_the_middle_ends_in_the_same_sums(
    address: str, items: ItemsFile, logged: Path, puts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, history = fc.LinUCB(), History(path=logged)
    monkeypatch.setattr(histories, "CHUNK", 7)

    async def work() -> None:
        with monkeypatch.context() as patched:
            _die_after(patched, address, puts)
            with pytest.raises(Dies):
                await start_service(address, source=items, policy=policy, history=history)
        with pytest.raises(ValueError, match=r"in the middle of learning .*; start again with"):
            await start_service(address, policy=policy)
        with pytest.raises(ValueError, match="the same policy and the same items"):
            await start_service(address, policy=fc.LinUCB(observation="all"), history=history)
        async with started(address, source=items, policy=policy, history=history) as s:
            assert await models(s.store) == expected(policy, items, logged)
        async with started(address, policy=policy) as s:
            assert len(await models(s.store)) == len(expected(policy, items, logged))

    run(work())


def _die_after(patched: pytest.MonkeyPatch, address: str, puts: int) -> None:
    """Let a process end after so many writes of users."""
    from faircascade.service.stores.registry import store_at

    kind = type(store_at(address, ttl=60.0))
    whole, done = kind.put_users, []

    async def put_users(self: Any, *given: Any) -> None:
        if len(done) == puts:
            raise Dies
        done.append(given)
        await whole(self, *given)

    patched.setattr(kind, "put_users", put_users)


def test_a_store_with_users_is_refused_unless_they_may_stay(
    address: str, items: ItemsFile, logged: Path
) -> None:
    policy, history = fc.LinUCB(), History(path=logged)

    async def work() -> None:
        async with started(address, source=items, policy=policy) as s:
            await serve_one(s, "u1")
            before = await models(s.store)
        with pytest.raises(ValueError, match="has handed out slates; use another --store"):
            await start_service(address, history=history)
        new = History(path=logged, new_users=True)
        async with started(address, history=new) as s:
            assert await models(s.store) == expected(policy, items, logged) | before

    run(work())


def test_a_second_log_and_the_users_of_a_ranker_are_users_too(
    tmp_path: Path, items: ItemsFile, logged: Path
) -> None:
    address = f"sqlite:{tmp_path / 'store.db'}"
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(logged).slice(0, 50), other)

    async def work() -> None:
        async with started(address, source=items, history=History(path=logged)):
            pass
        with pytest.raises(ValueError, match=r"this one learned .*log\.parquet"):
            await start_service(address, history=History(path=other))
        with pytest.raises(ValueError, match=r"this one learned .*log\.parquet"):
            await start_service(address, history=History(path=logged, settings={"invalid": "drop"}))

    run(work())


def test_a_log_that_teaches_nothing_is_refused_and_forgotten(
    address: str, items: ItemsFile, logged: Path, tmp_path: Path
) -> None:
    policy, strange = fc.LinUCB(), tmp_path / "strange.parquet"
    rows = {"user": ["u1", "u2"], "items": [["x"], ["y"]], "clicked_positions": [[1], []]}
    pq.write_table(pa.table(rows), strange)

    async def work() -> None:
        with pytest.raises(ValueError, match=r"strange\.parquet: teaches nothing; 2 left out: an"):
            await start_service(address, source=items, policy=policy, history=History(path=strange))
        async with started(address, policy=policy, history=History(path=logged)) as s:
            assert await models(s.store) == expected(policy, items, logged)

    run(work())


def test_an_empty_store_that_was_served_has_no_users(
    address: str, items: ItemsFile, logged: Path
) -> None:
    async def work() -> None:
        async with started(address, source=items):
            pass
        async with started(address, history=History(path=logged)) as s:
            assert await models(s.store) == expected(fc.EALinUCB(), items, logged)

    run(work())


def test_a_folder_of_logs_has_one_fingerprint(tmp_path: Path, logged: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "inner").mkdir(parents=True)
    shutil.copy(logged, folder / "a.parquet")
    before = History(path=folder).fingerprint
    assert before == History(path=folder).fingerprint
    shutil.copy(logged, folder / "b.parquet")
    second = History(path=folder).fingerprint
    assert before != second
    shutil.copy(logged, folder / "inner" / "c.parquet")  # is not read
    assert second == History(path=folder).fingerprint
    (folder / "day=2").mkdir()
    shutil.copy(logged, folder / "day=2" / "d.parquet")
    assert second != History(path=folder).fingerprint
    with pytest.raises(DataError, match="cannot be read"):
        _ = History(path=tmp_path / "nowhere").fingerprint


KILLED = """
import asyncio, os, signal
from pathlib import Path
from faircascade.policies import LinUCB
from faircascade.service import history
from faircascade.service.bootstrap import start_service
from faircascade.service.catalogue.sources import ItemsFile
from faircascade.service.stores.sqlite import SQLiteStore

history.CHUNK, done, whole = 7, [], SQLiteStore.put_users


async def put_users(self, *given):
    await whole(self, *given)
    done.append(given)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)


SQLiteStore.put_users = put_users
log = history.History(path=Path("log.parquet"))
asyncio.run(
    start_service(
        "sqlite:store.db", source=ItemsFile("i.parquet"), policy=LinUCB(), history=log
    )
)
"""


def test_a_process_that_is_killed_in_the_middle_is_made_good_by_the_next(
    tmp_path: Path, items: ItemsFile, logged: Path
) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    address, policy = f"sqlite:{tmp_path / 'store.db'}", fc.LinUCB()
    everybody = expected(policy, items, logged)

    async def work() -> None:
        with pytest.raises(ValueError, match="in the middle of learning"):
            await start_service(address, policy=policy)
        async with started(address, policy=policy, history=History(path=logged)) as s:
            assert await models(s.store) == everybody

    run(work())


def serve(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "faircascade", "serve", "--port", "0", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_mistakes_on_the_command_line_are_one_line(
    tmp_path: Path, items: ItemsFile, logged: Path
) -> None:
    given = ("--items", str(items.path))
    strange = tmp_path / "strange.csv"
    strange.write_text("user,items,clicked_positions\nu1,x|y,1\n")
    for arguments, words in (
        (("--learn", str(strange)), "teaches nothing; 1 left out: an item is not in the catalogue"),
        (("--learn", "nothing.csv"), "nothing.csv: no such file or folder"),
        (("--learn", str(logged), "--user", "who"), "there is no column 'who' (--user)"),
        (("--user", "who"), "--user needs --learn, the log that it is about"),
        (("--learn-new-users",), "--learn-new-users needs --learn"),
    ):
        ended = serve(tmp_path, *given, *arguments)
        assert ended.returncode == 2, ended.stderr
        assert words in ended.stderr.strip().splitlines()[-1]


def test_the_command_line_learns_before_it_serves(
    tmp_path: Path, items: ItemsFile, logged: Path
) -> None:
    given = ("--items", str(items.path), "--policy", "linucb", "--learn", str(logged))
    with running(*given, folder=tmp_path) as server:
        assert "learned 1" in server.logs
        with fc.Client(server.url) as client:
            assert (
                client.user("u3")["recommendations"]
                == expected(fc.LinUCB(), items, logged)["u3"][1]
            )
    with running(*given, folder=tmp_path) as server:
        assert "learned before" in server.logs
