"""Studies that several tests make pages of, each run once."""

from __future__ import annotations

import shutil

import pytest

from faircascade.experiment.spec import Spec
from faircascade.experiment.store.results import Results
from faircascade.experiment.study import Study
from tests.report.study.runs import SPEC, study_of


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All sections, finished; d and K are those of a published table."""
    return study_of(Spec.parse(SPEC), tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def half(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The first seed, but for the last two policies; of the second seed the baseline alone."""
    folder = tmp_path_factory.mktemp("half")
    seven = len(study.spec.lines())
    for place in (*range(seven - 2), seven):
        key = study.cells[place].key
        shutil.copytree(study.results.folder / "cells" / key, folder / "cells" / key)
    return Study(study.spec, study.cells, Results(folder))
