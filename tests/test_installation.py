"""Hints on what to install fit the way in which the package itself was installed."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from faircascade import installation
from faircascade.experiment.store.tables import load_results
from faircascade.installation import install_command

SOURCES = Path(__file__).parents[1] / "src"


class Installed:
    def __init__(self, origin: dict[str, Any] | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": "file:///a", "dir_info": {"editable": True}}, "pip install '.[tune]'"),
        ({"url": "file:///a", "dir_info": {}}, "pip install '.[tune]'"),
        ({"url": "file:///a.whl", "archive_info": {}}, "pip install 'faircascade[tune]'"),
        (None, "pip install 'faircascade[tune]'"),
    ],
)
def test_an_extra_comes_from_where_the_package_came(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_in_checkout", lambda: False)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Installed(origin))
    assert install_command("tune") == command


def test_sources_that_are_not_installed_are_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> Any:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(installation, "_in_checkout", lambda: False)
    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert install_command("tune") == "pip install '.[tune]'"


def test_the_command_is_written_once() -> None:
    written = [
        path.name
        for path in SOURCES.rglob("*.py")
        if re.search(r"pip install '", path.read_text(encoding="utf-8"))
    ]
    assert written == ["installation.py"]


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_table_of_a_package_that_is_missing_is_one_line(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ValueError, match=f"^backend '{backend}' is .*: pip install {backend}$"):
        load_results(tmp_path, backend=backend)
