"""Cells on a Ray cluster of several nodes, one of which dies."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faircascade.data.load import load_dataset
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors import Local
from faircascade.experiment.running.executors import ray as executor
from faircascade.experiment.running.executors.ray import Ray, cut
from faircascade.experiment.running.runner import run_cells
from faircascade.experiment.spec import Spec
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.locks import claimed
from faircascade.experiment.store.results import Results
from faircascade.policies import FRMLinUCB
from tests.experiment.running.test_local import assert_same
from tests.experiment.specs import TINY

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

RATINGS = load_dataset("synthetic", users=80, items=60)
SOURCES = Sources({RATINGS.fingerprint: RATINGS})
TEXT = TINY.replace("users = 20", "users = 80").replace("rounds = 30", "rounds = 300")
CELLS = Spec.parse(TEXT).cells(RATINGS.fingerprint)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = Results(tmp_path_factory.mktemp("undisturbed"))
    assert run_cells(CELLS, SOURCES, results, executor=Local(workers=1)).complete
    return results


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that only keeps the books, and two nodes that work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        started = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        started.add_node(num_cpus=1)
        yield started
        started.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_very_same_numbers_though_a_node_dies(
    cluster: Any, undisturbed: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "PART_SECONDS", 0.02)  # so that cells are cut by their users
    monkeypatch.setattr(executor, "AHEAD", 40)
    results = Results(tmp_path)
    doomed = cluster.add_node(num_cpus=1)
    killed = threading.Event()

    def kill(label: str, share: float) -> None:
        if share > 0.2 and not killed.is_set():
            killed.set()
            cluster.remove_node(doomed, allow_graceful=False)

    ended = run_cells(CELLS, SOURCES, results, executor=Ray(address=cluster.address), progress=kill)
    assert ended.complete
    assert not ended.failures
    assert killed.is_set()
    assert_same(results, undisturbed)


def test_only_long_cells_are_cut_and_never_those_whose_users_share() -> None:
    cell = CELLS[0]
    assert cut(cell, 80, 4, CostModel()) == [0, 80]
    long = replace(cell, rounds=10**9)
    assert cut(long, 80, 4, CostModel()) == [0, 40, 80]  # a part has 32 users at least
    assert cut(long, 1000, 4, CostModel()) == [1000 * part // 31 for part in range(32)]
    longer = replace(cell, rounds=10**6)  # two minutes: cut if there are cores, and not if not
    assert cut(longer, 1000, 4, CostModel()) == [0, 250, 500, 750, 1000]
    assert cut(longer, 1000, 1, CostModel()) == [0, 1000]
    together = replace(long, policy=FRMLinUCB(ledger="global", variant="exposure-charge"))
    assert cut(together, 1000, 4, CostModel()) == [0, 1000]


@pytest.mark.filterwarnings("ignore")
def test_a_cell_that_cannot_be_run_is_told_and_one_under_way_elsewhere_is_waited_for(
    cluster: Any, tmp_path: Path
) -> None:
    results = Results(tmp_path)
    broken = replace(CELLS[0], environment={**CELLS[0].environment, "dim": 500})
    claim = claimed(results.underway(CELLS[1]))
    assert claim.__enter__()
    released = threading.Timer(3.0, claim.__exit__, (None, None, None))
    released.start()
    ended = run_cells(
        [broken, *CELLS[1:3]], SOURCES, results, executor=Ray(address=cluster.address, workers=2)
    )
    assert not released.is_alive()
    assert ended.complete
    assert "dim must be between" in ended.failures[broken.name]
    assert all(results.find(cell) is not None for cell in CELLS[1:3])


def test_nobody_at_the_address_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        run_cells(CELLS[:1], SOURCES, Results(tmp_path), executor=Ray(address="127.0.0.1:1"))
