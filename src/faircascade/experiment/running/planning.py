"""From specs to cells: reads the data and refuses what cannot be run."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.data.base import Progress, Ratings
from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell
from faircascade.experiment.spec.errors import place_of
from faircascade.experiment.spec.spec import Spec
from faircascade.experiment.store.environments import EnvironmentStore, Sources
from faircascade.experiment.store.manifest import check_format
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study


def plan_studies(
    specs: Sequence[Spec],
    results: Results,
    *,
    progress: Progress | None = None,
) -> tuple[list[Study], Sources]:
    """Read the data of some specs; return what each asks for, and the data."""
    check_format(results.folder)
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
            except ParameterError as error:
                place = place_of(error.name, study.spec.environment)
                raise study.spec.error(str(error), "environment", *place) from error
            except ValueError as error:
                raise study.spec.error(str(error), "environment") from error


def _load(
    spec: Spec, sources: Sources, source: dict[str, object], progress: Progress | None
) -> Ratings:
    try:
        return sources.load(source, progress)
    except ParameterError as error:
        raise spec.error(str(error), "data", *place_of(error.name, spec.data)) from error
    except (ValueError, OSError) as error:
        raise spec.error(str(error), "data", "name") from error
