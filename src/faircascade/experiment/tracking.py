"""Finished cells as runs of MLflow: parameters, metrics by round, and where they came from."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faircascade.experiment.cell import Cell
from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.store.locks import claimed
from faircascade.experiment.store.manifest import read_studies
from faircascade.experiment.store.results import FinishedCell
from faircascade.installation import install_command
from faircascade.registry import flat_spec
from faircascade.storage import check_folder

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

TAG = "faircascade."
"""How the names of our tags begin."""

_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_FILE = "sqlite:///"
_RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_METRICS_AT_ONCE = 1_000
_PARAMETERS_AT_ONCE = 100
_LONGEST_PARAMETER = 6_000
"""What MLflow takes at most."""


def log_to_mlflow(run: str | Path, *, uri: str, experiment: str | None = None) -> int:
    """Log every finished cell of a run's folder to MLflow; return how many that were.

    `uri` is that of the tracking server or database. A cell goes to the experiment of that name,
    by default the name of its spec. What is there already is left alone, so that this can be
    called again as a run goes on.
    """
    folder, logged = Path(run), 0
    studies = read_studies(folder)
    with _speaking(uri), claimed(folder / "mlflow", wait=True):
        client = _client(uri)
        known: dict[str, set[str]] = {}
        for study in studies:
            name = experiment or study.spec.name
            place = _experiment(client, name)
            if place not in known:
                known[place] = _logged(client, place)
            for cell in study.cells:
                finished = study.results.find(cell)
                if finished is not None and cell.key not in known[place]:
                    _log(client, place, study.spec.name, cell, finished)
                    known[place].add(cell.key)
                    logged += 1
    return logged


def check_mlflow(uri: str) -> None:
    """Say now, rather than after a long run, that there is nothing to log to."""
    with _speaking(uri):
        _client(uri)


@contextmanager
def _speaking(uri: str) -> Iterator[None]:
    """Tell trouble with MLflow as one line; its own remarks are kept back."""
    troubles = _troubles(uri)
    logger = logging.getLogger("mlflow")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    except troubles as error:
        raise ValueError(f"MLflow at {uri}: {error}") from error
    finally:
        logger.setLevel(level)


def _troubles(uri: str) -> tuple[type[Exception], ...]:
    """Return the errors of what a store needs, which must be installed."""
    try:
        from mlflow.exceptions import MlflowException

        if not uri.startswith(_DATABASES):
            return (MlflowException,)
        import alembic  # noqa: F401
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as error:
        raise ValueError(
            f"logging to MLflow needs {error.name}: {install_command('mlflow')}"
        ) from None
    return (MlflowException, SQLAlchemyError)


def _client(uri: str) -> MlflowClient:
    """Return a client of a store that answers."""
    from mlflow import MlflowClient

    if uri.startswith(_FILE):
        check_folder(Path(uri.removeprefix(_FILE)).parent)  # MLflow would try for minutes
    client = MlflowClient(tracking_uri=uri)
    with _impatient():
        client.search_experiments(max_results=1)
    return client


@contextmanager
def _impatient() -> Iterator[None]:
    """Ask a server that may not be there only twice: MLflow would go on for minutes."""
    if _RETRIES in os.environ:
        yield
        return
    os.environ[_RETRIES] = "1"
    try:
        yield
    finally:
        del os.environ[_RETRIES]


def _experiment(client: MlflowClient, name: str) -> str:
    """Return the number of an experiment, which is made if it is not there."""
    found = client.get_experiment_by_name(name)
    made: str = client.create_experiment(name) if found is None else found.experiment_id
    return made


def _logged(client: MlflowClient, experiment: str) -> set[str]:
    """Return the keys of the cells that an experiment has; what was cut short does not count."""
    keys: set[str] = set()
    token = None
    while True:
        page = client.search_runs(
            [experiment], "attributes.status = 'FINISHED'", max_results=1_000, page_token=token
        )
        keys |= {key for run in page if (key := run.data.tags.get(f"{TAG}cell"))}
        token = page.token
        if not token:
            return keys


def _log(
    client: MlflowClient, experiment: str, spec: str, cell: Cell, finished: FinishedCell
) -> None:
    """Log one cell; it counts as finished when all of it is there."""
    from mlflow.entities import Param

    end = int(datetime.fromisoformat(finished.about["finished"]).timestamp() * 1000)
    run = client.create_run(
        experiment,
        start_time=end - int(finished.about["seconds"] * 1000),
        tags=tags_of(spec, cell, finished),
        run_name=f"{cell.label}, seed {cell.seed}",
    ).info.run_id
    parameters = [Param(name, value) for name, value in parameters_of(cell).items()]
    try:
        for part in _parts(parameters, _PARAMETERS_AT_ONCE):
            client.log_batch(run, params=part)
        for part in _parts(_metrics(finished, end), _METRICS_AT_ONCE):
            client.log_batch(run, metrics=part)
    except BaseException:
        with suppress(Exception), _impatient():
            client.set_terminated(run, "FAILED")
        raise
    client.set_terminated(run, "FINISHED", end_time=end)


def parameters_of(cell: Cell) -> dict[str, str]:
    """Return what decides a cell, by names with dots."""
    options: Mapping[str, Any] = {
        **{f"data.{name}": value for name, value in cell.data.items()},
        **{f"environment.{name}": value for name, value in flat_options(cell.environment).items()},
        "policy": cell.policy.name,
        **{f"policy.{name}": value for name, value in flat_spec(cell.policy).items()},
        "seed": cell.seed,
        "rounds": cell.rounds,
    }
    return {name: str(value)[:_LONGEST_PARAMETER] for name, value in options.items()}


def tags_of(spec: str, cell: Cell, finished: FinishedCell) -> dict[str, str]:
    """Return where a cell came from."""
    about = finished.about
    tags = {
        "cell": cell.key,
        "label": cell.label,
        "spec": spec,
        "engine": about["engine"],
        "fingerprint": about["fingerprint"],
        "data_fingerprint": cell.fingerprint,
        **{f"versions.{name}": version for name, version in about["versions"].items()},
    }
    return {f"{TAG}{name}": str(value) for name, value in tags.items()}


def _metrics(finished: FinishedCell, time: int) -> list[Metric]:
    """Return every metric at every checkpoint that it has a value at."""
    from mlflow.entities import Metric

    curves = finished.curves
    return [
        Metric(name, float(value), time, int(step))
        for name, values in curves.items()
        if name != "round"
        for step, value in zip(curves["round"], values, strict=True)
        if np.isfinite(value)
    ]


def _parts(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(values), size):
        yield values[begin : begin + size]
