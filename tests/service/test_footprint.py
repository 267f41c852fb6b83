"""What a running server loads: large libraries that it does not need take tens of megabytes."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.service import server_process

LARGE = {"scipy", "pyarrow", "numba", "llvmlite", "matplotlib", "pandas", "polars"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_restarted_server_loads_no_large_library(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(
        "item,f1,f2\n" + "".join(f"item-{n},{n / 10},1\n" for n in range(20))
    )
    with server_process.running("--items", "items.csv", folder=tmp_path):
        pass
    with server_process.running(folder=tmp_path) as server:
        body = json.dumps({"user": "ada", "k": 3}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{server.url}/v1/recommendations", body, headers)
        with urllib.request.urlopen(request) as answer:
            assert len(json.load(answer)["items"]) == 3
        mapped = Path(f"/proc/{server.pid}/maps").read_text()
    assert "numpy" in mapped  # so that this looks where libraries are
    assert not LARGE & set(re.findall(r"site-packages/(\w+)", mapped))
