from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faircascade.service.service import Service
from tests.service.http.applications import Client, app_of, calling, new_service


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return new_service(tmp_path)


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """A client of an application without keys and with twelve items, a to l."""
    with calling(app_of(service)) as client:
        yield client
