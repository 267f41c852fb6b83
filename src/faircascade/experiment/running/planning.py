"""From specs to cells: the data is read, and what cannot be run is refused before anything is."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.data.base import Progress, Ratings
from faircascade.experiment.cell import ENVIRONMENT_OPTIONS, Cell
from faircascade.experiment.spec.errors import SpecError, named_in
from faircascade.experiment.spec.spec import Spec
from faircascade.experiment.store.environments import EnvironmentStore, Sources
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study


def plan_studies(
    specs: Sequence[Spec],
    results: Results,
    *,
    progress: Progress | None = None,
) -> tuple[list[Study], Sources]:
    """Read the data of some specs; return what each asks for, and the data."""
    sources = Sources()
    ratings: dict[str, Ratings] = {}
    studies = []
    for spec in specs:
        fingerprints = []
        for source in spec.sources() if spec.rounds > 0 else ():
            name = repr(source)
            if name not in ratings:
                ratings[name] = _load(spec, sources, source, progress)
            fingerprints.append(ratings[name].fingerprint)
        studies.append(Study(spec, tuple(spec.cells(fingerprints)), results))
    return studies, sources


def try_environments(studies: Sequence[Study], sources: Sources, *, keep: bool = True) -> None:
    """Build the first environment of each kind; an error names its line in the spec."""
    for study in studies:
        environments = EnvironmentStore(study.results.environments if keep else None, sources)
        first: dict[str, Cell] = {}
        for cell in study.cells:
            first.setdefault(cell.environment_id, cell)
        for cell in first.values():
            try:
                environments.of(cell)
            except ValueError as error:
                raise _blamed(study.spec, str(error)) from error


def _load(
    spec: Spec, sources: Sources, source: dict[str, object], progress: Progress | None
) -> Ratings:
    try:
        return sources.load(source, progress)
    except (ValueError, OSError) as error:
        name = named_in(str(error), [key for key in spec.data if key != "name"])
        raise spec.error(str(error), "data", name or "name") from error


def _blamed(spec: Spec, message: str) -> SpecError:
    """Return the mistake of an environment at the option that the message names."""
    name = named_in(message, ENVIRONMENT_OPTIONS)
    return spec.error(message, "environment", *([] if name is None else [name]))
