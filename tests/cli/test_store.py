"""faircascade store: copies and what a store holds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from faircascade.service.stores.base import StoreShape
from faircascade.service.stores.copy import COPYING
from faircascade.service.stores.sqlite import SQLiteStore
from faircascade.testing.stores import new_impression, new_item


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file with some items and slates."""
    path = tmp_path / "kept.db"

    async def story() -> None:
        store = SQLiteStore(path)
        await store.open(StoreShape(dim=3, sums=10, topics=1))
        await store.put_items([new_item(name) for name in "abc"])
        await store.record([new_impression("ada", round=n) for n in (1, 2)], units=None)
        await store.close()

    asyncio.run(story())
    return path


def test_a_copy_says_what_was_copied(run, kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    code, out, _ = run("store", "copy", f"sqlite:{kept}", f"sqlite:{target}")
    assert code == 0
    assert "3 items, 1 users, 2 impressions, 2 events" in out
    found = json.loads(run("store", "info", f"sqlite:{target}", "--json")[1])
    assert found["items"] == 3
    assert (found["features"], found["topics"], found["numbers per user"]) == (2, 1, 10)
    assert found["unfinished"] is False
    assert "impressions" in run("store", "info", f"sqlite:{target}")[1]


def test_mistakes_are_told_in_one_line(run, kept: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.db"
    for words, message in (
        (("copy", f"sqlite:{nothing}", f"sqlite:{kept}"), "holds no store"),
        (("copy", f"sqlite:{kept}", "mysql://x"), "must be one of"),
        (("info", f"sqlite:{nothing}"), "holds no store"),
    ):
        code, _, err = run("store", *words)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


def test_an_unfinished_copy_is_told(run, kept: Path) -> None:
    async def interrupt() -> None:
        store = SQLiteStore(kept)
        await store.open(StoreShape(dim=3, sums=10, topics=1))
        await store.set_meta(COPYING, {"from": "sqlite:other.db"})
        await store.close()

    asyncio.run(interrupt())
    assert "was interrupted" in run("store", "info", f"sqlite:{kept}")[1]
    code, _, err = run("serve", "--store", f"sqlite:{kept}", "--port", "0")
    assert code == 2
    assert "a copy from sqlite:other.db was interrupted" in err
