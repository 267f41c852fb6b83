"""What a spec must hold to: known names, values of the right kind, files that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faircascade.data.base import Dataset
from faircascade.data.tabular import Tabular
from faircascade.engine.simulation import look_at
from faircascade.errors import (
    ParameterError,
    UnknownParameterError,
    parameters_of_part,
    suggest,
)
from faircascade.experiment.environment_options import (
    all_options,
    canonical_options,
    check_option,
)
from faircascade.experiment.spec.errors import PlacedError, at, place_of
from faircascade.experiment.spec.grids import with_hint
from faircascade.policies import Policy
from faircascade.registry import build, components, find

PATH = "path"
"""The key of [data] that says where the files of a named data set are."""


def check_known(given: Mapping[str, Any], known: Sequence[str], owner: str) -> None:
    """Refuse a name that is not known."""
    for name in given:
        if name not in known:
            with at(name):
                raise UnknownParameterError(name, owner, known)


def check_shared(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a parameter of [every_policy] that none of the policies has."""
    for name in given:
        if name not in known:
            with at(name):
                raise ValueError(
                    f"[every_policy] has {name!r}, a parameter of none of the policies"
                    f"{suggest(name, known)}; they have: {', '.join(known) or 'none'}"
                )


def check_distinct(values: Sequence[Any], what: str) -> None:
    """Refuse nothing at all, and the same twice."""
    if not values or len(set(values)) < len(values):
        raise ParameterError(what, "must be at least one and distinct", list(values))


def located(source: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of a data set with its files as they are found from here."""
    named = find(Dataset.kind, source.get("name"))
    files = [PATH, *(["name"] if named is None else [])]
    files += ["items"] if named in (None, Tabular) else []  # others have a number of that name
    found = {
        name: str(folder / Path(str(source[name])).expanduser()) for name in files if name in source
    }
    return {**source, **found, **({} if named is None else {"name": named.name})}


def check_source(source: Mapping[str, Any]) -> None:
    """Refuse a data set that does not exist, a file that is not there, an unknown option."""
    if "name" not in source:
        raise ValueError("[data] must have the key 'name'")
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
    try:
        build(Dataset.kind, kind, options)
    except ParameterError as error:
        raise PlacedError(with_hint(error), place_of(error.name, source)) from error


def check_environments(environments: Sequence[Mapping[str, Any]]) -> None:
    """Refuse options that an environment does not have or cannot take, and equal environments."""
    for environment in environments:
        for name, value in environment.items():
            with _placed(name, environment):
                check_option(name, value)
        options = all_options(environment)
        with _placed("click_model", environment), parameters_of_part("click_model"):
            options["click_model"].check(int(options["k"]))
    canonical = [canonical_options(environment) for environment in environments]
    if any(environment in canonical[:place] for place, environment in enumerate(canonical)):
        raise ValueError("[environment] must not have the same environment twice")


@contextmanager
def _placed(option: str, environment: Mapping[str, Any]) -> Iterator[None]:
    """Say where in an environment the option is that a mistake in the block is about."""
    try:
        yield
    except ParameterError as error:
        place = place_of(error.name, environment) or (option,)
        raise PlacedError(with_hint(error), place) from error


def check_policy(policy: Policy, environment: Mapping[str, Any]) -> None:
    """Refuse a policy that cannot learn from the slates of an environment."""
    options = all_options(environment)
    k = int(options["k"])
    policy.reward_table(k)
    policy.regression_table(k)
    if policy.needs_topics and options["topics"] is None:
        raise ValueError(
            f"policy {policy.name!r} needs items with topics; give [environment] topics = "
            "'factors', or a column of the items such as 'genre'"
        )


def read_checkpoints(given: int | list[int], rounds: int) -> int | tuple[int, ...]:
    """Return how many checkpoints, or which; the last round is always one."""
    if isinstance(given, int) or rounds == 0:
        return given if isinstance(given, int) else len(given)
    return look_at(sorted({*given, rounds}), rounds)
