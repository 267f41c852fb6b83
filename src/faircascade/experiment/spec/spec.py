"""Spec files: what to run, in TOML.

    name = "alphas"
    title = "How much to explore"
    metrics = ["clicks", "equality_p"]  # columns of the tables; all are kept
    components = ["mine.py"]  # parts of one's own: files beside the spec, or modules

    [data]
    name = "synthetic"        # a data set, or a file beside the spec

    [environment]             # options of Environment.from_ratings
    dim = 10
    k.grid = [5, 10]          # one environment for each

    [run]
    rounds = 1000
    seeds = 5                 # how many, or which; rounds = 0 simulates nothing

    [every_policy]            # given to each policy that has such a parameter
    reading = "reference"

    [[policies]]              # the first is the baseline, unless `baseline` names another
    name = "linucb"
    alpha.grid = [0.25, 1]    # one policy for each

`parameter.grid = [...]` runs every value; several grids run every combination.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from faircascade.component_files import load_component
from faircascade.engine.result import HEADLINE
from faircascade.engine.simulation import look_at
from faircascade.errors import ParameterError, suggest
from faircascade.experiment.cell import Cell
from faircascade.experiment.comparison_inputs import seeds_of
from faircascade.experiment.spec.checks import (
    check_distinct,
    check_environments,
    check_shared,
    check_source,
    located,
    read_checkpoints,
)
from faircascade.experiment.spec.errors import (
    PlacedError,
    SpecError,
    SpecSource,
    at,
    override,
)
from faircascade.experiment.spec.grids import GRID, expand
from faircascade.experiment.spec.policies import lines_of
from faircascade.experiment.spec.schema import SpecTable
from faircascade.experiment.study_results import SHOW
from faircascade.policies import Policy
from faircascade.registry import lookup, parameters_of
from faircascade.types import whole

__all__ = ["Spec", "SpecError"]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One experiment: every policy in every environment with every seed."""

    name: str
    title: str = ""
    about: str = ""
    """What it is for, in a sentence or two."""
    components: tuple[str, ...] = ()
    """Files and modules of one's own parts."""
    show: tuple[str, ...] = SHOW
    """Tables and figures of the report, by name, in their order."""
    metrics: tuple[str, ...] = HEADLINE
    """Metrics of the tables and figures; every metric is kept."""
    baseline: str | None = None
    """Label of the policy that the others are compared with; None is the first."""
    data: Mapping[str, Any]
    environment: Mapping[str, Any]
    rounds: int
    seeds: tuple[int, ...]
    checkpoints: int | tuple[int, ...] = 40
    """How many, or at which rounds."""
    every_policy: Mapping[str, Any]
    policies: tuple[Mapping[str, Any], ...]
    """As written, grids included. `rounds` limits a policy to fewer rounds than the others."""
    tune: Mapping[str, Any] = field(default_factory=dict)
    """What to search, and for what, as written."""
    source: SpecSource = field(default_factory=SpecSource)
    folder: Path = Path()
    """Where files that the spec names are looked for."""

    @classmethod
    def load(cls, path: str | Path, settings: Iterable[str] = ()) -> Spec:
        """Read a file; `settings` are `path.to.key=value` that replace what it says."""
        path = Path(path)
        if path.is_dir():
            raise SpecError(f"{path}: this is a folder, not a spec file (.toml)")
        if not path.is_file():
            meant = path.with_name(f"{path.name}.toml")
            hint = f" (did you mean {str(meant)!r}?)" if meant.is_file() else ""
            raise SpecError(f"{path}: no such spec file{hint}")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise SpecError(f"{path}: not a text in UTF-8") from None
        return cls.parse(text, where=str(path), folder=path.parent, settings=settings)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        where: str = "spec",
        folder: Path = Path(),
        settings: Iterable[str] = (),
    ) -> Spec:
        """Read the text of a file, and check it as far as that goes without data."""
        text = text.replace("\r\n", "\n")
        try:
            written = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"\(at line (\d+)", str(error))
            at_line = f":{line[1]}" if line else ""
            raise SpecError(f"{where}{at_line}: not TOML: {error}") from None
        spec = cls.of(written, source=SpecSource(where, text), folder=folder, settings=settings)
        spec.check_data()
        return spec

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        *,
        source: SpecSource | None = None,
        folder: Path = Path(),
        settings: Iterable[str] = (),
    ) -> Spec:
        """Build a spec from plain data; files that it names need not be there."""
        given, overrides = override(given, settings)
        source = replace(source or SpecSource(), overrides=overrides)
        try:
            return cls._of(given, source, folder)
        except PlacedError as error:
            raise source.error(str(error), error.place) from None
        except (ValueError, TypeError) as error:
            raise source.error(str(error), ()) from None

    @classmethod
    def _of(cls, given: Mapping[str, Any], source: SpecSource, folder: Path) -> Spec:
        said = SpecTable.check(given)
        run = said.run
        components = _loaded(said.components, folder)
        if not said.data and run.rounds > 0:
            raise ValueError("the spec must have the table [data]")
        for name in ("data", "environment", "every_policy"):
            if GRID in getattr(said, name):
                with at(name):
                    raise ValueError(
                        f"[{name}] cannot be a grid as a whole: give grids to its keys"
                    )
        with at("run", "seeds"):
            seeds = seeds_of(run.seeds)
        with at("run", "checkpoints"):
            checkpoints = read_checkpoints(run.checkpoints, run.rounds)
        spec = cls(
            name=said.name,
            title=said.name if said.title is None else said.title,
            about=" ".join(said.about.split()),
            components=components,
            show=tuple(said.show),
            metrics=_metrics(said.metrics),
            baseline=said.baseline,
            data=said.data or {"name": "none"},
            environment=said.environment,
            rounds=run.rounds,
            seeds=seeds,
            checkpoints=checkpoints,
            every_policy=said.every_policy,
            policies=tuple(line.model_dump(exclude_unset=True) for line in said.policies),
            tune=said.tune.model_dump(exclude_unset=True),
            source=source,
            folder=folder,
        )
        spec.check()
        return spec

    def document(self) -> dict[str, Any]:
        """Return the spec as plain data, which `of` reads."""
        several = not isinstance(self.checkpoints, int)
        written: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "components": list(self.components) or None,
            "show": list(self.show),
            "metrics": list(self.metrics),
            "baseline": self.baseline,
            "data": dict(self.data),
            "environment": dict(self.environment),
            "run": {
                "rounds": self.rounds,
                "seeds": list(self.seeds),
                "checkpoints": list(self.checkpoints) if several else self.checkpoints,  # type: ignore[arg-type]
            },
            "every_policy": dict(self.every_policy),
            "policies": [dict(line) for line in self.policies],
            "tune": dict(self.tune),
        }
        return {name: value for name, value in written.items() if value not in (None, {}, "")}

    def to_toml(self) -> str:
        """Return the spec as a spec file, which `parse` reads."""
        return tomli_w.dumps(_without_none(self.document()))

    @property
    def default_folder(self) -> Path:
        """Return where the results go unless somebody says otherwise."""
        return Path("runs") / self.name

    def error(self, message: str, *place: str | int) -> SpecError:
        """Return a mistake that was found later, with the line of the value that it is about."""
        return self.source.error(message, place)

    def check(self) -> None:
        """Refuse what cannot be run, as far as that can be said without data."""
        with at("run", "rounds"):
            if self.rounds < 0:
                raise ParameterError("rounds", "must be at least 0", self.rounds)
        with at("metrics"):
            check_distinct(self.metrics, "metrics")
        with at("environment"):
            environments = self.environments()
            check_environments(environments)
        lines = lines_of(self.policies, self.every_policy, self.rounds, environments)
        labels = [label for label, _, _ in lines]
        if self.baseline is not None and self.baseline not in labels:
            rule = f"must be one of {', '.join(labels)}{suggest(self.baseline, labels)}"
            with at("baseline"):
                raise ParameterError("baseline", rule, self.baseline)
        had = {p.name for _, policy, _ in lines for p in parameters_of(type(policy))}
        with at("every_policy"):
            check_shared(self.every_policy, sorted(had))

    def check_data(self) -> None:
        """Refuse data sets that do not exist and files that are not there."""
        try:
            self._check_sources()
        except PlacedError as error:
            raise self.source.error(str(error), error.place) from None

    def _check_sources(self) -> None:
        with at("data"):
            sources = self.sources() if self.rounds > 0 else []
            for source in sources:
                check_source(source)
            if any(source in sources[:place] for place, source in enumerate(sources)):
                raise ValueError("[data] must not have the same data twice")

    def changed(
        self,
        *,
        data: Mapping[str, Any] | None = None,
        rounds: int | None = None,
        seeds: int | Sequence[int] | None = None,
        environment: Mapping[str, Any] | None = None,
        every_policy: Mapping[str, Any] | None = None,
        policies: Sequence[Mapping[str, Any]] | None = None,
        baseline: str | None = None,
    ) -> Spec:
        """Return the spec with some values replaced."""
        changed = replace(
            self,
            data=self.data if data is None else dict(data),
            folder=self.folder if data is None else Path(),
            rounds=self.rounds if rounds is None else whole(rounds, "rounds"),
            seeds=self.seeds if seeds is None else seeds_of(seeds),
            environment={**self.environment, **(environment or {})},
            every_policy={**self.every_policy, **(every_policy or {})},
            policies=self.policies if policies is None else tuple(policies),
            baseline=self.baseline if baseline is None else baseline,
        )
        changed.check()
        if data is not None:  # a mistake in it is not one of the file
            changed._check_sources()
        return changed

    def sources(self) -> list[dict[str, Any]]:
        """Return the name and the options of every data set, files where they are."""
        return [located(source, self.folder) for source in expand(self.data)]

    def environments(self) -> list[dict[str, Any]]:
        """Return the options of every environment."""
        return list(expand(self.environment))

    def lines(self) -> list[tuple[str, Policy, int]]:
        """Return label, policy and rounds of every policy; labels are distinct."""
        return lines_of(self.policies, self.every_policy, self.rounds)

    def cells(self, fingerprints: str | Sequence[str]) -> list[Cell]:
        """Return what is to be run, by environment and seed by seed.

        `fingerprints` are those of the ratings, in the order of `sources`; one text is for all.
        """
        if self.rounds == 0:
            return []
        sources = self.sources()
        marks_of = [fingerprints] * len(sources) if isinstance(fingerprints, str) else fingerprints
        lines = self.lines()
        marks = {rounds for _, _, rounds in lines}
        return [
            Cell(
                data=source,
                fingerprint=fingerprint,
                environment=environment,
                policy=policy,
                label=label,
                seed=seed,
                rounds=rounds,
                checkpoints=self._looks(rounds, marks),
            )
            for source, fingerprint in zip(sources, marks_of, strict=True)
            for environment in self.environments()
            for seed in self.seeds
            for label, policy, rounds in lines
        ]

    def _looks(self, rounds: int, marks: set[int]) -> tuple[int, ...]:
        """Return where to look: a shorter run where the others do, and all where it ends."""
        if isinstance(self.checkpoints, int):
            spread = {*look_at(self.checkpoints, self.rounds), *marks}
        else:
            spread = {*self.checkpoints, *marks}
        return tuple(sorted(checkpoint for checkpoint in spread if checkpoint <= rounds))


def _loaded(written: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Load files and modules of one's own parts; return them as found from anywhere."""
    found = []
    for number, name in enumerate(written):
        with at("components", number):
            found.append(load_component(name, folder))
    return tuple(found)


def _metrics(written: Sequence[str]) -> tuple[str, ...]:
    """Return metrics by their registered names, however these were typed."""
    found = []
    for number, metric in enumerate(written):
        with at("metrics", number):
            found.append(lookup("metric", metric).name)
    return tuple(found)


def _without_none(value: Any) -> Any:
    """Leave out keys without a value, which TOML cannot write."""
    if isinstance(value, Mapping):
        return {name: _without_none(v) for name, v in value.items() if v is not None}
    return [_without_none(v) for v in value] if isinstance(value, list | tuple) else value
