"""Runs in MLflow: read back through MLflow's own client."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade.data.load import load_dataset
from faircascade.experiment import tracking
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.manifest import record
from faircascade.experiment.store.results import FinishedCell, Results
from faircascade.experiment.study import Study
from faircascade.experiment.tracking import log_to_mlflow
from faircascade.installation import install_command
from tests.experiment.specs import TINY

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("sqlalchemy")

pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy:DeprecationWarning"  # MLflow with SQLAlchemy 2.1
)

RATINGS = load_dataset("synthetic", users=20, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
SPEC = Spec.parse(TINY.replace("k.grid = [3, 5]", "k = 5"))
CELLS = SPEC.cells(RATINGS.fingerprint)


@pytest.fixture(scope="module", autouse=True)
def no_telemetry() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/store/mlflow.db"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which five cells are finished."""
    folder = tmp_path_factory.mktemp("run")
    go_on(folder, 5)
    return folder


def go_on(folder: Path, cells: int) -> None:
    """Run the first few cells of the spec, as a run that was stopped has them."""
    results = Results(folder)
    assert run_cells(CELLS[:cells], SOURCES, results).complete
    record([Study(SPEC, tuple(CELLS), results)], folder)


def runs_of(uri: str, experiment: str) -> list[Any]:
    client = mlflow.MlflowClient(tracking_uri=uri)
    place = client.get_experiment_by_name(experiment)
    return list(client.search_runs([place.experiment_id], max_results=1000))


def test_finished_cells_become_runs_with_parameters_and_tags(run: Path, uri: str) -> None:
    assert log_to_mlflow(run, uri=uri) == 5
    found = {one.data.tags["faircascade.cell"]: one for one in runs_of(uri, "tiny")}
    assert set(found) == {cell.key for cell in CELLS[:5]}
    cell = CELLS[3]
    one = found[cell.key]
    assert one.info.status == "FINISHED"
    assert one.info.run_name == "EALinUCB linear, seed 1"
    assert one.data.params["policy"] == "ealinucb"
    assert one.data.params["policy.weight"] == "linear"
    assert one.data.params["policy.gamma"] == "0.01"
    assert one.data.params["data.name"] == "synthetic"
    assert one.data.params["data.users"] == "20"
    assert one.data.params["environment.k"] == "5"
    assert one.data.params["environment.align"] == "sign"  # a default
    assert (one.data.params["seed"], one.data.params["rounds"]) == ("1", "30")
    finished = Results(run).find(cell)
    assert finished is not None
    tags = one.data.tags
    assert tags["faircascade.label"] == "EALinUCB linear"
    assert tags["faircascade.spec"] == "tiny"
    assert tags["faircascade.engine"] == finished.about["engine"]
    assert tags["faircascade.fingerprint"] == finished.about["fingerprint"]
    assert tags["faircascade.data_fingerprint"] == RATINGS.fingerprint
    assert tags["faircascade.versions.numpy"] == np.__version__


def test_every_metric_is_there_at_every_checkpoint(run: Path, uri: str) -> None:
    log_to_mlflow(run, uri=uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    cell = CELLS[0]
    finished = Results(run).find(cell)
    assert finished is not None
    (one,) = [r for r in runs_of(uri, "tiny") if r.data.tags["faircascade.cell"] == cell.key]
    for name, values in finished.curves.items():
        if name == "round":
            continue
        expected = [
            (int(step), value)
            for step, value in zip(finished.curves["round"], values, strict=True)
            if math.isfinite(value)
        ]
        history = client.get_metric_history(one.info.run_id, name)
        assert [(point.step, point.value) for point in history] == expected, name
    assert one.data.metrics["clicks"] == finished.value("clicks")


def test_what_is_there_is_not_logged_again_and_a_run_that_grows_is(
    tmp_path: Path, uri: str
) -> None:
    go_on(tmp_path, 2)
    assert log_to_mlflow(tmp_path, uri=uri, experiment="growing") == 2
    assert log_to_mlflow(tmp_path, uri=uri, experiment="growing") == 0
    go_on(tmp_path, 3)
    assert log_to_mlflow(tmp_path, uri=uri, experiment="growing") == 1
    assert len(runs_of(uri, "growing")) == 3
    assert log_to_mlflow(tmp_path, uri=uri, experiment="another") == 3


def test_values_that_are_not_numbers_are_left_out(tmp_path: Path) -> None:
    class Gaps(FinishedCell):
        curves = {  # noqa: RUF012
            "round": np.array([1.0, 2.0, 3.0]),
            "clicks": np.array([0.5, math.nan, math.inf]),
        }

    points = tracking._metrics(Gaps(tmp_path), 7)
    assert [(point.key, point.step, point.value) for point in points] == [("clicks", 1, 0.5)]


def test_a_cell_that_was_cut_short_is_logged_again(
    run: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tracking, "_metrics", stop)
        with pytest.raises(KeyboardInterrupt):
            log_to_mlflow(run, uri=uri, experiment="short")
    assert [one.info.status for one in runs_of(uri, "short")] == ["FAILED"]
    assert log_to_mlflow(run, uri=uri, experiment="short") == 5
    assert sorted(one.info.status for one in runs_of(uri, "short")) == ["FAILED", *["FINISHED"] * 5]


def test_many_parameters_and_checkpoints_come_in_several_batches(
    run: Path, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_to_mlflow(run, uri=uri)
    monkeypatch.setattr(tracking, "_METRICS_AT_ONCE", 7)
    monkeypatch.setattr(tracking, "_PARAMETERS_AT_ONCE", 3)
    assert log_to_mlflow(run, uri=uri, experiment="batches") == 5
    whole = {r.data.tags["faircascade.cell"]: r.data for r in runs_of(uri, "tiny")}
    for one in runs_of(uri, "batches"):
        same = whole[one.data.tags["faircascade.cell"]]
        assert (one.data.params, one.data.metrics) == (same.params, same.metrics)


def test_a_folder_needs_the_leave_of_mlflow(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = (tmp_path / "mlruns").as_uri()
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    with pytest.raises(ValueError, match=r"^MLflow at file:.*MLFLOW_ALLOW_FILE_STORE"):
        log_to_mlflow(run, uri=store)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    assert log_to_mlflow(run, uri=store) == 5
    assert log_to_mlflow(run, uri=store) == 0


def test_trouble_is_told_in_words(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="results go into a folder, and this is a file"):
        log_to_mlflow(run, uri=f"sqlite:///{tmp_path}/file/mlflow.db")
    with pytest.raises(ValueError, match="MLflow at gopher://x: "):
        log_to_mlflow(run, uri="gopher://x")
    with pytest.raises(ValueError, match="not the folder of a run"):
        log_to_mlflow(tmp_path, uri="gopher://x")


@pytest.mark.parametrize("package", ["mlflow.exceptions", "sqlalchemy.exc", "alembic"])
def test_what_is_not_installed_is_named(
    package: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=rf"needs .*: {re.escape(install_command('mlflow'))}"):
        log_to_mlflow(run, uri="sqlite:///mlflow.db")
