"""The source of code that is not part of this package: what stored results depend on."""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from secrets import token_hex
from types import ModuleType


def is_ours(module: str) -> bool:
    """Say whether a module is part of this package."""
    return module.partition(".")[0] == "faircascade"


def own_sources(cls: type) -> dict[str, str]:
    """Return hashes of the modules outside this package that define a class, by name.

    Modules that these import belong to them, but for the standard library and other packages that
    are installed. What has no file (typed in, a notebook) is like nothing else, not even itself
    another time: nobody knows what it was.
    """
    found: dict[str, str] = {}
    waiting = [base.__module__ for base in cls.__mro__ if not _is_library(base.__module__)]
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in found or module is None:
            continue
        source = _source(module)
        known_as = "__main__" if name == "__mp_main__" else name  # a script, in a worker process
        found[known_as] = hashlib.sha256(source).hexdigest()[:16] if source else token_hex(8)
        waiting += [other for other in _imports(module, source) if _belongs(other, name)]
    return dict(sorted(found.items()))


def _is_library(name: str) -> bool:
    """Say whether a module is part of this package or of Python."""
    return is_ours(name) or name.partition(".")[0] in sys.stdlib_module_names


def _belongs(name: str, to: str) -> bool:
    """Say whether a module that another imports is code of the same author."""
    module = sys.modules.get(name)
    if module is None or _is_library(name):
        return False
    if name.partition(".")[0] == to.partition(".")[0]:
        return True
    installed = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    file = getattr(module, "__file__", None) or ""
    return bool(file) and not any(file.startswith(folder) for folder in installed)


def _source(module: ModuleType) -> bytes:
    """Return the source of a module, or nothing if it has no file."""
    file = getattr(module, "__file__", None)
    try:
        return Path(file).read_bytes() if file else b""
    except OSError:
        return b""


def _imports(module: ModuleType, source: bytes) -> Iterator[str]:
    """Yield the names of all that a module imports: modules, or what may be one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # compiled, or not Python
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            place = "." * node.level + (node.module or "")
            package = getattr(module, "__package__", None) or module.__name__
            name = resolve_name(place, package) if node.level else place
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)
