"""Cells on a GPU: the numbers of a processor, whatever shares a launch."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from faircascade.engine.gpu import run as gpu
from faircascade.engine.gpu.device import NoGPU, is_present, the_gpu
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.running import work_queue
from faircascade.experiment.running.cost_model import CostModel, duration
from faircascade.experiment.running.executors import Local, Plan
from faircascade.experiment.running.executors import gpu as executor
from faircascade.experiment.running.executors.gpu import Gpu
from faircascade.experiment.running.run_cell import simulate_cell
from faircascade.experiment.running.runner import run_cells, run_experiment
from faircascade.experiment.store.environments import EnvironmentStore
from faircascade.experiment.store.locks import Claim, claimed
from faircascade.experiment.store.results import Results
from tests.engine.emulated import Emulated, compiler
from tests.experiment.running.test_local import (
    CELLS,
    SOURCES,
    content,
    undisturbed,  # noqa: F401 (a fixture)
)

SOME = [*CELLS[::4], next(cell for cell in CELLS if cell.policy.name == "random")]
"""Some of every kind: lanes that take turns are slow."""
needs_compiler = pytest.mark.skipif(not compiler(), reason="no C++ compiler")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Emulated:
    """A GPU that is there, or looks as if it were."""
    found: Any = the_gpu() if is_present() else Emulated()
    monkeypatch.setattr(gpu, "the_gpu", lambda: found)
    return found


def content_of(results: Results) -> dict[str, Any]:
    keys = {cell.key for cell in SOME}
    return {key: found for key, found in content(results).items() if key in keys}


@needs_compiler
def test_cells_have_the_numbers_of_a_processor(device, undisturbed, tmp_path) -> None:  # noqa: F811
    told: list[float] = []
    results = Results(tmp_path)
    ended = run_cells(
        SOME, SOURCES, results, executor=Gpu(), progress=lambda _, share: told.append(share)
    )
    assert ended.complete
    assert content_of(results) == content_of(undisturbed)
    assert list((results.folder / "underway").iterdir()) == []
    assert told[-1] == pytest.approx(1.0)
    engines = {found.about["engine"] for cell in SOME if (found := results.find(cell)) is not None}
    assert engines == {"gpu", "loop"}  # random is no policy for a GPU
    assert run_cells(SOME, SOURCES, results, executor=Gpu()).complete  # nothing is left to do


@needs_compiler
def test_several_batches_and_one_that_another_runner_has(
    device,
    undisturbed,  # noqa: F811
    tmp_path: Path,
    monkeypatch,
) -> None:
    monkeypatch.setattr(executor, "USERS", 2500)  # two cells of the default size
    results = Results(tmp_path)
    waits: list[float] = []
    product = CellOutput.of(
        SOME[0], simulate_cell(SOME[0], EnvironmentStore(None, SOURCES).of(SOME[0]), 1)
    )
    with claimed(results.underway(SOME[0])) as claim:
        assert claim is Claim.MINE

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 1:
                results.add(SOME[0], product)

        monkeypatch.setattr(work_queue.time, "sleep", wait)
        assert run_cells(SOME, SOURCES, results, executor=Gpu()).complete
    assert waits
    assert content_of(results) == content_of(undisturbed)


@needs_compiler
def test_ctrl_c_keeps_what_is_finished(device, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(executor, "USERS", 2000)
    results = Results(tmp_path)

    def stop(label: str, share: float) -> None:
        if share > 0.5:
            os.kill(os.getpid(), signal.SIGINT)

    assert not run_cells(SOME, SOURCES, results, executor=Gpu(), progress=stop).complete
    finished = [cell for cell in SOME if results.find(cell) is not None]
    assert 0 < len(finished) < len(SOME)
    assert list((results.folder / "underway").iterdir()) == []


@needs_compiler
def test_what_a_gpu_has_no_memory_for_goes_to_the_processor(
    device,
    undisturbed,  # noqa: F811
    tmp_path: Path,
    monkeypatch,
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise NoGPU("no memory left")

    monkeypatch.setattr(executor, "simulate_together", full)
    results = Results(tmp_path)
    left_over = results.underway(SOME[0])
    assert run_cells(SOME, SOURCES, results, executor=Gpu()).complete
    assert content_of(results) == content_of(undisturbed)
    assert not left_over.exists()


@pytest.mark.skipif(is_present(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_begun(tmp_path: Path) -> None:
    with pytest.raises(NoGPU, match="cpu engine"):
        run_experiment({"name": "mine"}, tmp_path / "out", executor="gpu")
    assert not (tmp_path / "out").exists()


@needs_compiler
def test_what_a_gpu_took_tells_nothing_of_a_processor(device, tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert run_cells(SOME[:2], SOURCES, results, executor=Gpu()).complete
    plan = Plan(work_queue.WorkQueue(SOME, results, CostModel.on(SOURCES)), results, SOURCES)
    nothing = Plan(
        work_queue.WorkQueue(SOME, Results(tmp_path / "none"), plan.queue.costs), results, SOURCES
    )
    for executor_, same in ((Local(workers=1), True), (Gpu(), False)):
        left, anew = (duration(SOME[2:], each, executor_) for each in (plan, nothing))
        assert left == anew
        told = duration(SOME, plan, executor_)
        assert (told == anew) is same
