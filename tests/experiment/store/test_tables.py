"""A run as one tidy table, and its manifest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import faircascade as fc
from faircascade.experiment.running.planning import plan_studies
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.manifest import read_studies, record
from faircascade.experiment.store.results import Results
from tests.experiment.specs import TINY

OTHER = TINY.replace('name = "tiny"', 'name = "other"').replace("k.grid = [3, 5]", "k = 5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two studies, which share cells."""
    results = Results(tmp_path_factory.mktemp("run"))
    studies, sources = plan_studies([Spec.parse(TINY), Spec.parse(OTHER)], results)
    for study in studies:
        record([study], results.folder)
        assert run_cells(study.cells, sources, results).complete
        record([study], results.folder)
    return results.folder


def test_there_is_one_row_a_policy_seed_checkpoint_and_metric(folder: Path) -> None:
    table = fc.load_results(folder)
    one = table[(table["spec"] == "tiny") & (table["k"] == 3)]
    keys = ["policy", "seed", "round", "metric"]
    assert not one.duplicated(keys).any()
    metrics = one["metric"].nunique()
    looks = 2 * 2 * sum(len(cell.checkpoints) for cell in Spec.parse(TINY).cells("x")[:6])
    assert len(table[table["spec"] == "tiny"]) == looks * metrics
    assert {"clicks", "equality_p", "exploration"} <= set(one["metric"])


def test_values_are_those_of_the_cells(folder: Path) -> None:
    table = fc.load_results(folder, backend="pyarrow").to_pylist()
    study = read_studies(folder)[0]
    for cell in study.cells[:3]:
        found = study.results.find(cell)
        assert found is not None
        value = next(
            row["value"]
            for row in table
            if row["cell"] == cell.key and row["last"] and row["metric"] == "clicks"
        )
        assert value == found.value("clicks")


def test_what_varies_has_a_column(folder: Path) -> None:
    columns = set(fc.load_results(folder).columns)
    assert {"k", "alpha", "weight"} <= columns
    assert not {"dim", "sigma", "reading"} & columns


def test_the_manifest_keeps_the_studies_of_other_names(folder: Path) -> None:
    assert [study.spec.name for study in read_studies(folder)] == ["tiny", "other"]
    document = json.loads((folder / "manifest.json").read_text())
    assert len(document["cells"]) == 24
    assert document["specs"]["other"]["spec"]["environment"] == {"dim": 4, "k": 5}


def test_a_run_without_anything_finished_is_an_empty_table(tmp_path: Path) -> None:
    results = Results(tmp_path)
    studies, _ = plan_studies([Spec.parse(TINY)], results)
    record(studies, tmp_path)
    assert len(fc.load_results(tmp_path)) == 0
    assert read_studies(tmp_path)[0].missing == 24


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not a manifest, or a damaged one"), ('{"version": 99}', "format 99")],
)
def test_a_manifest_that_cannot_be_read_is_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        fc.load_results(tmp_path)


def test_an_unknown_kind_of_table_is_told(folder: Path) -> None:
    with pytest.raises(ValueError, match="did you mean 'polars'"):
        fc.load_results(folder, backend="polar")


def test_an_experiment_can_be_run_from_plain_data(tmp_path: Path) -> None:
    spec = {
        "name": "plain",
        "data": {"name": "synthetic", "users": 20, "items": 60},
        "environment": {"dim": 4, "k": 3},
        "run": {"rounds": 5},
        "policies": [{"name": "linucb"}],
    }
    table = fc.run_experiment(spec, tmp_path, settings=["run.rounds=7"])
    assert table["round"].max() == 7
    with pytest.raises(ValueError, match=r"--set run\.rounds=x: rounds must be a whole number"):
        fc.run_experiment(spec, tmp_path, settings=["run.rounds=x"])
