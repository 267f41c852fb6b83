"""Each event is learned once, however often the import and the service are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.imports.kafka_broker import needs_kafka
from tests.service.imports.kills import live_through_kills
from tests.service.redis_server import needs_redis

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "kind",
    [
        "file",
        pytest.param("redis", marks=needs_redis),
        pytest.param("kafka", marks=needs_kafka),
    ],
)
def test_kills_change_nothing(tmp_path: Path, kind: str) -> None:
    found = live_through_kills(tmp_path, kind, slates=800, kills=4, seed=3)
    assert found["killed importers"] >= 2
    assert found["refusals written twice"] == 0
