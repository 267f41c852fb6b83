"""Just enough of PromQL to say which metrics and labels an expression names."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:\\.|[^"\\])*")
  | (?P<number>\d+(?:\.\d+)?[smhdwy]?(?::\d+[smhdwy])?\b)
  | (?P<name>[a-zA-Z_:][\w:]*)
  | (?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^(){}\[\],:=<>])
  | (?P<variable>\$\w+)
  | (?P<space>\s+)
    """,
    re.VERBOSE,
)
_WORDS = {"and", "or", "unless", "on", "ignoring", "group_left", "group_right", "offset", "bool"}
_GROUPING = {"by", "without", "on", "ignoring"}


@dataclass(frozen=True)
class Selector:
    """A metric, and what its labels are compared with."""

    metric: str
    labels: dict[str, tuple[str, str]]
    """Sign and value, by label."""


def tokens(expression: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each token but blanks."""
    found, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise ValueError(f"not PromQL at {expression[at : at + 20]!r}")
        at = match.end()
        if match.lastgroup != "space":
            found.append((str(match.lastgroup), match.group()))
    return found


def read(expression: str) -> tuple[list[Selector], set[str]]:
    """Return the selectors of an expression, and the labels that it groups by."""
    words = [*tokens(expression), ("end", "")]
    selectors, grouped, at = [], set(), 0
    while words[at][0] != "end":
        (kind, text), after = words[at], words[at + 1][1]
        at += 1
        if kind != "name":
            continue
        if text in _GROUPING:
            while words[at][1] != ")":
                grouped |= {words[at][1]} if words[at][0] == "name" else set()
                at += 1
        elif text not in _WORDS and after != "(" and words[at][1] not in _GROUPING:
            labels = {}
            if after == "{":
                while words[at][1] != "}":
                    if words[at][0] == "name":
                        (_, label), (_, sign), (_, value) = words[at : at + 3]
                        labels[label] = (sign, value.strip('"'))
                    at += 1
            selectors.append(Selector(text, labels))
    return selectors, grouped
