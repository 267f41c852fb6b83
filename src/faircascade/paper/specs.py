"""The experiments that ship with the package: one spec file each."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

from faircascade.errors import ParameterError
from faircascade.experiment.spec import Spec
from faircascade.registry import suggest

EXPERIMENTS = ("fig1", "rq1", "rq2", "rq3", "theory", "readings", "environments", "frm")
"""In the order of the page."""
GENERALITY = tuple(
    f"generality-{name}" for name in ("cascade", "dcm", "dbn", "pbm", "shape-cascade", "shape-pbm")
)
"""The reward model on other bandits and other users."""
FAIR_RANKERS = tuple(
    f"fair-rankers-{world}-{users}"
    for users in ("cascade", "pbm")
    for world in ("popular", "paper")
)
"""Fair rankers at equal cost, in two worlds and under two click models."""
LARGE = ("frm-full", "grid", "worlds", *GENERALITY, *FAIR_RANKERS)
"""Only run if they are named: hours or days of a processor."""
GROUPS = {"all": EXPERIMENTS, "generality": GENERALITY, "fair-rankers": FAIR_RANKERS}
"""Names for several of them."""

QUICK_DATA = {"name": "synthetic", "users": 200, "items": 600}
QUICK_ROUNDS = 400
QUICK_SEEDS = 2
QUICK_TRIALS = 2


def find_specs(names: list[str]) -> list[Spec]:
    """Return experiments by name, by the path of a spec file, or all of them."""
    found: list[Spec] = []
    for name in names or ["all"]:
        if name.endswith(".toml"):
            found.append(Spec.load(name))
        elif name in GROUPS:
            found.extend(_shipped(each) for each in GROUPS[name])
        elif name in (*EXPERIMENTS, *LARGE):
            found.append(_shipped(name))
        else:
            known = (*EXPERIMENTS, *LARGE, *GROUPS)
            raise ValueError(
                f"what to reproduce must be one of {', '.join(known)} or a spec file (.toml)"
                f"{suggest(name, known)}, got {name!r}"
            )
    twice = {spec.name for spec in found if sum(s.name == spec.name for s in found) > 1}
    if twice:
        raise ValueError(f"each experiment must be named once, got {sorted(twice)[0]!r} twice")
    return found


def _shipped(name: str) -> Spec:
    place = files(__package__).joinpath("experiments", f"{name}.toml")
    return Spec.parse(place.read_text(encoding="utf-8"), where=f"{name}.toml")


def adapt(
    spec: Spec,
    *,
    data: str | None = None,
    rounds: int | None = None,
    seeds: int | None = None,
    reading: str | None = None,
    quick: bool = False,
) -> Spec:
    """Return an experiment with the options of the command line.

    More seeds follow on the spec's own, so that what was tuned apart stays apart. A spec that
    compares readings keeps them all.
    """
    if quick:
        rounds = QUICK_ROUNDS if rounds is None else rounds
        seeds = QUICK_SEEDS if seeds is None else seeds
    source = {"name": data} if data is not None else (QUICK_DATA if quick else None)
    if rounds is not None and rounds < 1:
        raise ParameterError("rounds", "must be at least 1", rounds)
    if quick and spec.tune:
        spec = replace(spec, tune={**spec.tune, "trials": QUICK_TRIALS, "seeds": 1})
    compares = isinstance(spec.every_policy.get("reading"), dict)
    return spec.changed(
        data=source,
        rounds=None if spec.rounds == 0 else rounds,
        seeds=None if seeds is None else _first(spec.seeds, seeds),
        every_policy=None if reading is None or compares else {"reading": reading},
    )


def _first(seeds: tuple[int, ...], count: int) -> list[int]:
    """Return some of the seeds, or all and those that follow on the last."""
    more = range(max(seeds) + 1, max(seeds) + 1 + count - len(seeds))
    return [*seeds[: max(count, 0)], *more]
