"""The parts that CONTRIBUTING.md shows, as a user would add them: one file each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from faircascade import registry

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@contextmanager
def parts_of_the_contributing_guide() -> Iterator[ModuleType]:
    """Register the parts of the guide for a while; return what its blocks define."""
    before = {kind: dict(registry.components(kind)) for kind in registry.kinds()}
    module = ModuleType("own_parts_of_a_user")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        for code in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
            exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), module.__dict__)
        yield module
    finally:
        registry.names.registered.clear()
        registry.names.registered.update(before)
        del sys.modules[module.__name__]
