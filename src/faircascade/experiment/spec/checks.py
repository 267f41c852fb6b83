"""What a spec must hold to: known names, values of the right kind, files that are there."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from faircascade.data.base import Dataset
from faircascade.data.tabular import Tabular
from faircascade.engine.simulation import look_at
from faircascade.experiment.cell import CHOICES, ENVIRONMENT_DEFAULTS, ENVIRONMENT_OPTIONS
from faircascade.experiment.spec.errors import at
from faircascade.experiment.spec.grids import GRID
from faircascade.policies import Policy
from faircascade.registry import build, check_type, components, suggest
from faircascade.types import whole

PATH = "path"
"""The key of [data] that says where the files of a named data set are."""


def check_known(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse a name that is not known."""
    for name in given:
        if name not in known:
            with at(name):
                raise ValueError(
                    f"{what} has no {name!r}{suggest(name, known)} (it has: {', '.join(known)})"
                )


def table(given: Mapping[Any, Any], name: Any, above: str = "") -> dict[str, Any]:
    """Return a table of a spec; nothing if it is not there."""
    value = given.get(name, {})
    if not isinstance(value, Mapping):
        what = f"each of [[{above}]]" if above else f"[{name}]"
        with at(*([above] if above else []), name):
            raise ValueError(f"{what} must be a table, got {value!r}")
    if GRID in value:
        with at(*([above] if above else []), name):
            raise ValueError(f"a grid must be of one parameter, got one of all of [{name}]")
    return dict(value)


def check_name(name: Any) -> None:
    """Refuse a name that a folder cannot have."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w .+-]*", name):
        raise ValueError(f"name must be letters, digits, '_', '-', '.' or '+', got {name!r}")


def check_distinct(values: Sequence[Any], what: str) -> None:
    """Refuse nothing at all, and the same twice."""
    if not values or len(set(values)) < len(values):
        raise ValueError(f"{what} must be at least one and distinct, got {list(values)}")


def listed(given: Mapping[str, Any], name: str, default: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return a list of a spec."""
    value = given.get(name, default)
    if not isinstance(value, list | tuple):
        with at(name):
            raise ValueError(f"{name} must be a list, got {value!r}")
    return tuple(value)


def located(source: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of a data set with its files as they are found from here."""
    files = [PATH] if source.get("name") in components(Dataset.kind) else ["name", PATH]
    found = {
        name: str(folder / Path(str(source[name])).expanduser()) for name in files if name in source
    }
    return {**source, **found}


def check_source(source: Mapping[str, Any]) -> None:
    """Refuse a data set that does not exist, a file that is not there, an unknown option."""
    if "name" not in source:
        raise ValueError("[data] must say its name")
    name = str(source["name"])
    options = {n: v for n, v in source.items() if n not in ("name", PATH)}
    known = components(Dataset.kind)
    if name not in known:
        with at("name"):
            if not Path(name).exists():
                raise ValueError(
                    f"{name!r} is neither a data set{suggest(name, known)} nor a file; "
                    f"the data sets are {', '.join(known)}"
                )
            if PATH in source:
                raise ValueError(f"path goes with the name of a data set, not with {name!r}")
    if PATH in source and not Path(str(source[PATH])).exists():
        with at(PATH):
            raise ValueError(f"no file or folder {str(source[PATH])!r}")
    kind = name if name in known else Tabular.name
    for option, value in options.items():  # one by one, so that the place of a mistake is known
        with at(option):
            build(Dataset.kind, kind, {option: value})
    build(Dataset.kind, kind, options)


def check_environments(
    environment: Mapping[str, Any], environments: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Refuse unknown options and the same environment twice; return the environments."""
    check_known(environment, tuple(ENVIRONMENT_OPTIONS), "[environment]")
    for environment in environments:
        for name, value in environment.items():
            with at(name):
                check_option(name, value)
    if any(environment in environments[:place] for place, environment in enumerate(environments)):
        raise ValueError("[environment] must not have the same environment twice")
    return environments


def check_option(name: str, value: Any) -> None:
    """Refuse a value that an option of the environment cannot have."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    check_type(name, ENVIRONMENT_OPTIONS[name], value)
    choices = CHOICES.get(name)
    if choices and isinstance(value, str) and value not in choices:
        known = ", ".join(choices)
        raise ValueError(f"{name} must be one of {known}{suggest(value, choices)}, got {value!r}")
    least = LEAST.get(name)
    if least is not None and isinstance(value, int | float) and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


LEAST = {"dim": 1, "k": 1, "users": 1}
"""What some options must reach."""


def check_lists(policy: Policy, environment: Mapping[str, Any]) -> None:
    """Refuse a policy that cannot learn from the lists of an environment."""
    policy.reward_table(int(environment.get("k", ENVIRONMENT_DEFAULTS["k"])))


def read_checkpoints(given: Any, rounds: int) -> int | tuple[int, ...]:
    """Return how many checkpoints, or which; the last round is always one."""
    if isinstance(given, Integral) or rounds == 0:
        count = whole(given, "checkpoints")
        if count < 1:
            raise ValueError(f"checkpoints must be at least 1, got {count}")
        return count
    if not isinstance(given, list | tuple):
        raise ValueError(f"checkpoints must be a number or a list of rounds, got {given!r}")
    return look_at(sorted({*(whole(t, "checkpoints") for t in given), rounds}), rounds)
