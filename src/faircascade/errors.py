"""Errors that say which parameter is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_LONGEST = 80
"""Characters of a value that a message shows."""
_FEW = 12
"""Names that a message lists although it knows which was meant."""


class ParameterError(ValueError):
    """A parameter whose value breaks a rule: `ParameterError("alpha", "must be >= 0", -1)`.

    >>> str(ParameterError("alpha", "must be >= 0", -1))
    'alpha must be >= 0, got -1'
    """

    def __init__(self, name: str, rule: str, value: Any) -> None:
        if getattr(value, "shape", None) == ():  # a NumPy number, which is shown as a plain one
            value = value.item()
        super().__init__(f"{name} {rule}, got {shown(value)}")
        self.name = name
        self.rule = rule
        self.value = value

    def __reduce__(self) -> tuple[type[ParameterError], tuple[Any, ...]]:
        return type(self), (self.name, self.rule, self.value)

    def named(self, name: str) -> ParameterError:
        """Return the same error of a parameter that goes by another name, such as an option."""
        return ParameterError(name, self.rule, self.value)

    def inside(self, part: str) -> ParameterError:
        """Return the same error for a parameter of a part: `reward.gamma`."""
        return self.named(f"{part}.{self.name}")


class UnknownParameterError(ParameterError):
    """A parameter that does not exist.

    >>> str(UnknownParameterError("alfa", "policy 'linucb'", ["alpha", "ridge"]))
    "policy 'linucb' has no parameter 'alfa' (did you mean 'alpha'?); it has: alpha, ridge"
    """

    def __init__(
        self, name: str, owner: str, known: Iterable[str], what: str = "parameter", why: str = ""
    ) -> None:
        self.owner, self.known, self.what, self.why = owner, tuple(known), what, why
        last = name.rpartition(".")[2]
        close = suggest(last, self.known)
        listed = f"; it has: {', '.join(self.known) or 'none'}"
        advice = f"{close}{'' if close and len(self.known) > _FEW else listed}"
        rule = f"has no {what} {last!r}{f': {why}' if why else advice}"
        ValueError.__init__(self, f"{owner} {rule}")
        self.name, self.rule, self.value = name, rule, last

    def __reduce__(self) -> tuple[type[ParameterError], tuple[Any, ...]]:
        return type(self), (self.name, self.owner, self.known, self.what, self.why)

    def named(self, name: str) -> ParameterError:
        return UnknownParameterError(name, self.owner, self.known, self.what, self.why)


class MissingParameterError(ParameterError):
    """A parameter that has no default and was not given.

    >>> str(MissingParameterError("weights", "weight 'custom'"))
    "weight 'custom' needs the parameter 'weights'"
    """

    def __init__(self, name: str, owner: str) -> None:
        self.owner = owner
        rule = f"needs the parameter {name.rpartition('.')[2]!r}"
        ValueError.__init__(self, f"{owner} {rule}")
        self.name, self.rule, self.value = name, rule, None

    def __reduce__(self) -> tuple[type[ParameterError], tuple[Any, ...]]:
        return type(self), (self.name, self.owner)

    def named(self, name: str) -> ParameterError:
        return MissingParameterError(name, self.owner)


class EngineError(ParameterError):
    """An engine that cannot run what it was given.

    >>> str(EngineError("cpu", "click model 'mine'", instead=["loop", "auto"]))
    "engine 'cpu' does not support click model 'mine'; use engine 'loop' or 'auto'"
    """

    def __init__(
        self, engine: str, lacking: str, instead: Iterable[str], name: str = "engine"
    ) -> None:
        self.lacking, self.instead = lacking, tuple(instead)
        others = " or ".join(map(repr, self.instead))
        rule = f"does not support {lacking}; use {name} {others}"
        ValueError.__init__(self, f"{name} {engine!r} {rule}")
        self.name, self.rule, self.value = name, rule, engine

    def __reduce__(self) -> tuple[type[ParameterError], tuple[Any, ...]]:
        return type(self), (self.value, self.lacking, self.instead, self.name)

    def named(self, name: str) -> ParameterError:
        return EngineError(self.value, self.lacking, self.instead, name)


@contextmanager
def parameters_of_part(part: str) -> Iterator[None]:
    """Give parameter errors in the block the dotted name of a part's parameter."""
    try:
        yield
    except ParameterError as error:
        raise error.inside(part) from None


def check_choice(name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse a value that is none of a few words, and say which may have been meant.

    >>> check_choice("over", "eligable", ["catalogue", "eligible"])
    Traceback (most recent call last):
    faircascade.errors.ParameterError: over must be one of catalogue, eligible (did you mean \
'eligible'?), got 'eligable'
    """
    known = list(known)
    if value not in known:
        raise ParameterError(name, f"must be {one_of(known, str(value))}", value)


def one_of(known: Sequence[str], given: str) -> str:
    """Return what may be chosen, or, of many, what may have been meant.

    >>> one_of(["catalogue", "eligible"], "eligable")
    "one of catalogue, eligible (did you mean 'eligible'?)"
    >>> one_of([f"item-{n:02}" for n in range(20)], "itm-03")
    "one of 20 names (did you mean 'item-03'?)"
    """
    close = suggest(given, known)
    listed = f"{len(known)} names" if close and len(known) > _FEW else ", ".join(known)
    return f"one of {listed}{close}"


def shown(value: Any) -> str:
    """Return a value as messages show it: on one line, cut if it is long.

    >>> shown("0.5"), shown(list(range(100)))
    ("'0.5'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def suggest(given: str, known: Iterable[str]) -> str:
    """Return `" (did you mean 'x'?)"` for a near miss or a beginning, else nothing.

    >>> suggest("linucb", ["EALinUCB log", "LinUCB (alpha=0.25)"])
    " (did you mean 'LinUCB (alpha=0.25)'?)"
    """
    names = {name.lower(): name for name in known}
    short = given.lower()
    longer = [name for name in names if len(short) > 2 and name.startswith(short)]
    close = difflib.get_close_matches(short, longer or names, n=1, cutoff=0 if longer else 0.6)
    return f" (did you mean {names[close[0]]!r}?)" if close else ""
