"""Plain data as TOML, for spec files that the library writes; the standard library only reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(document: Mapping[str, Any]) -> str:
    """Return a document as TOML: values first, then tables; None is left out.

    >>> print(to_toml({"name": "a", "run": {"rounds": 5}, "policies": [{"name": "linucb"}]}))
    name = "a"
    <BLANKLINE>
    [run]
    rounds = 5
    <BLANKLINE>
    [[policies]]
    name = "linucb"
    <BLANKLINE>
    """
    blocks = [_lines({k: v for k, v in document.items() if not _is_table(v) and not _is_list(v)})]
    for name, value in document.items():
        if _is_table(value):
            blocks.append(f"[{_key(name)}]\n{_lines(value)}")
        elif _is_list(value):
            blocks.extend(f"[[{_key(name)}]]\n{_lines(entry)}" for entry in value)
    return "\n".join(block for block in blocks if block)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    """Say whether a value is a list of tables."""
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_table, value))


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(k)} = {_value(v)}\n" for k, v in table.items() if v is not None)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"a value of a spec file must be plain data, got {value!r}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
