"""The compose files, as Compose reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::([?-])([^}]*))?\}")


def load(*names: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the services, networks and volumes of some files, with variables put in."""
    merged: dict[str, Any] = {"services": {}, "networks": {}, "volumes": {}}
    for name in names:
        document = _filled(yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8")), variables)
        for kind, entries in merged.items():
            entries |= document.get(kind) or {}
    return merged


def mounts(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return what is mounted, and where."""
    for entry in service.get("volumes", ()):
        source, target = entry.removesuffix(":ro").split(":")
        yield source, target


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda m: "$" if m[0] == "$$" else _value(m, variables), value)
    if isinstance(value, list):
        return [_filled(entry, variables) for entry in value]
    if isinstance(value, dict):
        return {name: _filled(entry, variables) for name, entry in value.items()}
    return value


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    name, sign, rest = match.groups()
    if name in variables:
        return variables[name]
    if sign != "-":
        raise ValueError(f"{name}: {rest}")
    return rest
