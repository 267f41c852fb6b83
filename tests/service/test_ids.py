"""What ids are is known without the HTTP interface."""

from __future__ import annotations

import subprocess
import sys


def test_items_are_read_without_a_web_framework() -> None:
    script = (
        "import sys; import faircascade.service.catalogue.item_table; "
        "print([name for name in ('fastapi', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
