"""A store that is one file: it keeps the contract, and the command line takes it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from faircascade.client import Client
from faircascade.service.stores.registry import store_at
from faircascade.testing.stores import check_store
from tests.service.server_process import running
from tests.service.stores import memory_store
from tests.service.stores.memory_store import MemoryStore


def test_it_keeps_the_contract() -> None:
    check_store(MemoryStore)


def test_a_store_that_breaks_the_contract_is_named_with_the_check() -> None:
    class Forgetful(MemoryStore):
        async def erase(self, user: str) -> bool:
            return True

    with pytest.raises(AssertionError, match="an_empty_store_knows_nothing: erase"):
        check_store(Forgetful)


def test_it_is_found_by_the_scheme_of_its_address() -> None:
    assert store_at("memory:here", ttl=1.0) is store_at("memory:here", ttl=1.0)


def test_a_package_of_ones_own_brings_a_store_to_the_command_line(tmp_path: Path) -> None:
    shutil.copy(memory_store.__file__, tmp_path / "my_store.py")
    described = tmp_path / "my_store-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: my-store\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[faircascade.components]\nstore = my_store\n")
    (tmp_path / "items.csv").write_text("item,x,y\na,1,0\nb,0,1\nc,0.6,0.8\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    arguments = ("--items", "items.csv", "--store", "memory:shop")
    with (
        running(*arguments, folder=tmp_path, env={"PYTHONPATH": path}) as server,
        Client(server.url) as client,
    ):
        shown = client.recommend("ada", 2)
        assert client.feedback(shown, clicked=1).clicked_item == shown.items[0]
        assert client.user("ada")["feedback"] == 1
