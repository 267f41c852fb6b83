"""Renders what the chart uses of Helm templates: values, if, range, define, some functions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import yaml

_ACTION = re.compile(
    r"(?P<before>\s*)\{\{(?P<left>-?)\s(?P<code>.*?)\s(?P<right>-?)\}\}(?P<after>\s*)"
)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\d+|\$?\.[\w.]*|\w+|[()|]')


class TemplateError(ValueError):
    """What `required` says, or what this does not understand."""


@dataclass
class Node:
    """A text, an action, or a block with alternatives."""

    kind: str
    code: str = ""
    inside: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


class Templates:
    """Templates that can include one another."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._named: dict[str, list[Node]] = {}
        self._functions: dict[str, Callable[..., Any]] = {
            "include": lambda name, dot: self._text(self._named[name], dot),
            "toYaml": lambda value: yaml.safe_dump(value, sort_keys=True).rstrip("\n"),
            "nindent": lambda n, text: "\n" + "\n".join(" " * n + x for x in text.split("\n")),
            "quote": lambda value: json.dumps(str(value), ensure_ascii=False),
            "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
            "default": lambda other, value: value or other,
            "printf": lambda form, *values: form % values,
            "required": _required,
            "mul": lambda *values: prod(values),
            "add": lambda *values: sum(values),
            "not": lambda value: not value,
            "or": lambda *values: next((v for v in values if v), values[-1]),
        }
        for name, text in texts.items():
            self._named[name] = list(self._block(iter(_pieces(text)))[0])

    def render(self, name: str, dot: Mapping[str, Any]) -> str:
        """Return what a template makes of its context."""
        return self._text(self._named[name], dot)

    # parsing

    def _block(self, pieces: Iterator[Node]) -> tuple[list[Node], str]:
        """Return nodes up to an end or an else, and which it was."""
        nodes: list[Node] = []
        for node in pieces:
            word = node.code.split(" ")[0] if node.kind == "action" else ""
            if word in ("end", "else"):
                return nodes, node.code
            if word in ("if", "range", "define"):
                self._fill(node, pieces)
            if word == "define":
                self._named[json.loads(node.code.split(" ")[1])] = node.inside
            else:
                nodes.append(node)
        return nodes, ""

    def _fill(self, node: Node, pieces: Iterator[Node]) -> None:
        node.kind, node.code = node.code.split(" ", 1)
        if node.kind == "define":
            node.code = f"define {node.code}"
        node.inside, stop = self._block(pieces)
        if stop.startswith("else if "):
            again = Node("action", stop.removeprefix("else "))
            self._fill(again, pieces)
            node.otherwise = [again]
        elif stop == "else":
            node.otherwise, stop = self._block(pieces)

    # rendering

    def _text(self, nodes: Sequence[Node], dot: Any) -> str:
        return "".join(self._one(node, dot) for node in nodes)

    def _one(self, node: Node, dot: Any) -> str:
        if node.kind == "text":
            return node.code
        value = self._value(_TOKEN.findall(node.code), dot)
        if node.kind == "if":
            return self._text(node.inside if value else node.otherwise, dot)
        if node.kind == "range":
            return "".join(self._text(node.inside, entry) for entry in value)
        return str(value)

    def _value(self, tokens: list[str], dot: Any) -> Any:
        """Return what a pipeline comes to; each command gets the value before as its last word."""
        piped: list[Any] = []
        while tokens:
            words: list[Any] = []
            while tokens and tokens[0] not in "|)":
                words.append(self._word(tokens, dot))
            words += piped
            first = words.pop(0)
            piped = [first(*words) if callable(first) else first]
            if not tokens or tokens.pop(0) == ")":
                break
        return piped[0]

    def _word(self, tokens: list[str], dot: Any) -> Any:
        token = tokens.pop(0)
        if token == "(":
            return self._value(tokens, dot)
        if token[0] == '"':
            return json.loads(token)
        if token.isdecimal():
            return int(token)
        if token[0] == ".":
            value = dot
            for name in filter(None, token.split(".")):
                value = value[name]
            return value
        if token not in self._functions:
            raise TemplateError(f"no function {token}")
        return self._functions[token]


def _pieces(text: str) -> Iterator[Node]:
    """Cut a text into actions and what is between, with blanks trimmed where a dash says so."""
    at = 0
    for match in _ACTION.finditer(text):
        yield Node("text", text[at : match.start()])
        yield Node("text", "" if match["left"] else match["before"])
        yield Node("action", match["code"])
        at = match.end() if match["right"] else match.start("after")
    yield Node("text", text[at:])


def _required(message: str, value: Any) -> Any:
    if value in (None, ""):
        raise TemplateError(message)
    return value
