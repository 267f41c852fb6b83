"""Timeouts that servers, proxies and clients must agree on."""

from __future__ import annotations

import re
from pathlib import Path

import uvicorn

from faircascade.client.connection import IDLE_SECONDS
from faircascade.service.http.connections import KEEP_ALIVE

NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"


def test_whoever_opened_a_connection_closes_it_first() -> None:
    default = uvicorn.Config("app").timeout_keep_alive
    found = re.search(r"keepalive_timeout (\d+)s;", NGINX.read_text())
    assert found is not None
    assert IDLE_SECONDS < default < int(found[1]) < KEEP_ALIVE
