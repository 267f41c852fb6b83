"""Settings as people type them, `path.to.key=value`: the value is TOML, or else text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from faircascade.errors import ParameterError, UnknownParameterError

Place = tuple[str | int, ...]
"""A value in a document: names of tables and keys, numbers of entries in lists."""


@dataclass(frozen=True)
class Setting:
    """Where a value goes, and the value."""

    steps: tuple[str, ...]
    value: Any
    text: str = ""
    """As it was typed."""

    @classmethod
    def parse(cls, text: str) -> Setting:
        """Read a setting; '-' and '_' are the same in names.

        >>> Setting.parse("reward.weight.beta=0.8").steps
        ('reward', 'weight', 'beta')
        >>> Setting.parse("click-model=cascade")
        Setting(steps=('click_model',), value='cascade', text='click-model=cascade')
        """
        path, equals, written = text.partition("=")
        steps = tuple(underscored(step.strip()) for step in path.split("."))
        if not equals or not all(steps):
            raise ParameterError("--set", "must be name=value", text)
        return cls(steps, parse_value(written), text)


def underscored(name: str) -> str:
    """Return a name as parameters are written: `train_share` for `train-share`."""
    return name.replace("-", "_")


def parse_value(written: str) -> Any:
    """Read a value as TOML; what is not TOML is text.

    >>> parse_value("1e-3"), parse_value("true"), parse_value("[1, 2]"), parse_value("log")
    (0.001, True, [1, 2], 'log')
    """
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        text = written.strip() or written
        return {"True": True, "False": False}.get(text, text)


def part_table(text: str) -> dict[str, Any]:
    """Read a part as people write it, a name or `name(parameter=value, ...)`, as a table.

    >>> part_table("linucb")
    {'name': 'linucb'}
    >>> part_table("ealinucb(weight=rbp(beta=0.8), reward.gamma=0.1)")
    {'name': 'ealinucb', 'weight': 'rbp(beta=0.8)', 'reward': {'gamma': 0.1}}
    """
    name, bracket, rest = text.partition("(")
    table: dict[str, Any] = {"name": name.strip()}
    inner, end = rest.rstrip()[:-1], rest.rstrip()[-1:]
    if bracket and end != ")":
        raise ParameterError("parameters", "must end with ')'", text)
    settings = [_parameter(part, text) for part in _comma_separated(inner) if part.strip()]
    for setting in outer_first(settings):
        list(put(table, setting.steps, setting.value))
    return table


def _parameter(part: str, text: str) -> Setting:
    try:
        return Setting.parse(part)
    except ParameterError:
        raise ParameterError("parameters", "must be name=value", text) from None


def _comma_separated(text: str) -> list[str]:
    """Split at commas that are in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        if sign == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def outer_first(settings: Iterable[Setting]) -> list[Setting]:
    """Order settings so that `reward=NAME` comes before `reward.gamma=1`, however they came."""
    return sorted(settings, key=lambda setting: len(setting.steps))


def put(table: Any, steps: tuple[str, ...], value: Any, above: Place = ()) -> Iterator[Place]:
    """Put a value into a table; yield its place.

    A step into a list is the number of an entry, from 0, or the `name` of one or several. A name
    that stands for a part (`reward = "standard"`) becomes a table when its parameters are set.
    """
    step, rest = steps[0], steps[1:]
    path = ".".join(map(str, (*above, step)))
    if isinstance(table, list):
        names = [_name(entry) for entry in table]
        entries = [n for n, name in enumerate(names) if step in (str(n), underscored(name))]
        if not entries:
            known = dict.fromkeys(name or str(n) for n, name in enumerate(names))
            raise UnknownParameterError(step, ".".join(map(str, above)), known, what="entry")
        if not rest:
            raise ValueError(f"{path} needs the name of a parameter: {path}.NAME=VALUE")
        for number in entries:
            yield from put(table[number], rest, value, (*above, number))
        return
    if not isinstance(table, dict):
        raise ValueError(f"{'.'.join(map(str, above))} is not a table, so it has no {step!r}")
    if not rest:
        table[step] = value
        yield (*above, step)
        return
    inner = table.get(step)
    has_grid = isinstance(inner, dict) and "grid" in inner
    if inner is None or has_grid != (rest[0] == "grid"):
        inner = table[step] = {}
    elif isinstance(inner, str):
        inner = table[step] = {"name": inner}
    yield from put(inner, rest, value, (*above, step))


def _name(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""
