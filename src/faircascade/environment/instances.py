"""Environments from files of fitted click models: one for each model and query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.base import DataError
from faircascade.environment.environment import Environment
from faircascade.errors import ParameterError, shown
from faircascade.parameters import checked_arguments
from faircascade.registry import build
from faircascade.types import Floats


class Layout(NamedTuple):
    """What a file says of one click model: attraction by document, then its other parameters."""

    click_model: str
    """Its name here."""
    others: tuple[str, ...] = ()
    """The other parameters, in order."""
    axes: tuple[int, ...] = ()
    """How many axes each of them has: a number, by rank or document, by two ranks."""
    parameters: Callable[..., dict[str, Any]] = lambda k: {}
    """From K and the other parameters to those of the click model."""


def _by_distance(k: int, by_last_click: Floats) -> dict[str, Any]:
    """Return examination by position and distance to the last click: k numbers for position k.

    A row of the file is a rank, its columns are the rank of the last click; as that cannot be the
    last rank, the last column is for no click. Without a click the distance is the position.
    """
    rows = enumerate(by_last_click[:k])
    return {"kappa": tuple((*_plain(row[:above][::-1]), float(row[-1])) for above, row in rows)}


LAYOUTS = {
    "CM": Layout("cascade"),
    "DCM": Layout("dcm", ("stop",), (1,), lambda k, stop: {"stop": _plain(stop[:k])}),
    "DBN": Layout(
        "dbn",
        ("satisfaction", "abandonment"),
        (1, 0),
        lambda k, satisfaction, abandonment: {
            "satisfaction": _plain(satisfaction),
            "continuation": 1.0 - float(abandonment),
        },
    ),
    "PBM": Layout("pbm", ("examination",), (1,), lambda k, kappa: {"kappa": _plain(kappa[:k])}),
    "UBM": Layout("ubm", ("examination",), (2,), _by_distance),
    "CCM": Layout(
        "ccm",
        ("t1", "t2", "t3"),
        (0, 0, 0),
        lambda k, *t: {f"t{n}": float(each) for n, each in enumerate(t, 1)},
    ),
}
"""By the names of models in files."""


@checked_arguments
def load_instances(path: str | Path, *, k: int = 5) -> dict[tuple[str, str], Environment]:
    """Read environments from a file of fitted click models, by click model and query.

    The file is JSON, model -> query -> {"params": [attraction, ...]}, with parameters in this
    order: CM attraction; DCM attraction, stop after a click by rank; DBN attraction, satisfaction,
    abandonment (1 - continuation); PBM attraction, examination by rank; UBM attraction,
    examination by rank and rank of the last click, with no click in the last column; CCM
    attraction, t1, t2, t3. Each environment has one user, the query, and the click model that was
    fitted to it, for slates of `k` of its documents.

    >>> load_instances("click-models.json")["cascade", "214456"]  # doctest: +SKIP
    Environment('cascade 214456': 1 users, 10 items, d=10, k=5)
    """
    file = Path(path).expanduser()
    found: dict[tuple[str, str], Environment] = {}
    for model, query, entry in _entries(file):
        place = f"{file}: {model}, query {query!r}"
        layout = LAYOUTS[model]
        attraction, *others = _params(entry, layout, place)
        if not 1 <= k <= len(attraction):
            rule = f"must be between 1 and {len(attraction)} (the documents of query {query!r})"
            raise ParameterError("k", rule, k)
        clicks: ClickModel = build(
            ClickModel.kind, layout.click_model, layout.parameters(k, *others)
        )
        found[layout.click_model, query] = Environment.from_attraction(
            attraction, k=k, user_ids=[query], click_model=clicks, name=f"{clicks.name} {query}"
        )
    return found


def _entries(file: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield model, query and what is said of them."""
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: must be a JSON file, got {error}") from None
    for model, queries in _table(document, f"{file}:", "a table by model").items():
        if model not in LAYOUTS:
            names = ", ".join(LAYOUTS)
            raise DataError(f"{file}: models must be among {names}, got {model!r}")
        for query, entry in _table(queries, f"{file}: {model}", "a table by query").items():
            yield model, query, entry


def _table(value: Any, place: str, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise DataError(f"{place} must be {what}, got {shown(value)}")
    return value


def _params(entry: Any, layout: Layout, place: str) -> list[Floats]:
    """Return the parameters of one query, attraction first, all of them probabilities."""
    given = entry.get("params") if isinstance(entry, dict) else None
    names = ("attraction", *layout.others)
    if not isinstance(given, list) or len(given) != len(names):
        wanted = f"params must be a list of {len(names)}: {', '.join(names)}"
        raise DataError(f"{place}: {wanted}, got {shown(given)}")
    attraction = _probabilities(given[0], f"{place}: attraction")
    if attraction.ndim != 1 or not attraction.size:
        wanted = "attraction must be a list of numbers"
        raise DataError(f"{place}: {wanted}, got {shown(given[0])}")
    found = [attraction]
    for name, axes, value in zip(layout.others, layout.axes, given[1:], strict=True):
        found.append(_probabilities(value, f"{place}: {name}"))
        if found[-1].shape != (len(attraction),) * axes:
            size = " x ".join([str(len(attraction))] * axes)
            wanted = f"{size} numbers" if axes else "a number"
            raise DataError(f"{place}: {name} must be {wanted}, got {shown(value)}")
    return found


def _probabilities(value: Any, place: str) -> Floats:
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{place} must be a list of numbers, got {shown(value)}") from None
    wrong = found[~((found >= 0) & (found <= 1))]
    if wrong.size:
        raise DataError(f"{place} must be between 0 and 1, got {float(wrong[0])}")
    return found


def _plain(array: Floats) -> tuple[float, ...]:
    """Return numbers as a tuple, which parameters of parts are."""
    return tuple(array.tolist())
