"""Parts in a file beside the spec, or in the script that runs: found by whoever runs cells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import faircascade as fc
from faircascade import component_files, registry
from faircascade.cli.main import app
from faircascade.component_files import load_component, load_components, references
from faircascade.experiment.cell import own_parts_of
from faircascade.experiment.difference import difference
from faircascade.experiment.running.executors import Executor, Local, Ray
from faircascade.experiment.spec import Spec, SpecError
from faircascade.experiment.store.manifest import read_studies

PARTS = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import faircascade as fc
from faircascade.clicks import Cascade
from faircascade.data.base import Dataset
from faircascade.data.load import load_dataset
from faircascade.metrics.base import Metric
from faircascade.registry import register

@register("bold")
@dataclass(frozen=True, kw_only=True)
class Bold(fc.LinUCB):
    "Explores more."
    alpha: float = 3.0

@register("served")
@dataclass(frozen=True, kw_only=True)
class Served(Metric):
    "How many slates were served."
    title: ClassVar[str] = "Served"

    def measure(self, record):
        return float(record.served)

@register("same-cascade")
@dataclass(frozen=True, kw_only=True)
class SameCascade(Cascade):
    "The cascade again."

@register("few")
@dataclass(frozen=True, kw_only=True)
class Few(Dataset):
    "A few synthetic users."
    summary: ClassVar[str] = "20 users"

    def load(self, path=None, progress=None):
        return load_dataset("synthetic", users=20, items=60)
"""

SPEC = """
name = "own"
components = ["mine_in_a_study.py"]
metrics = ["clicks", "served"]

[data]
name = "few"

[environment]
dim = 4
k = 3
click_model = "same-cascade"

[run]
rounds = 20
seeds = 2
checkpoints = 2

[[policies]]
name = "linucb"

[[policies]]
name = "bold"
"""


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(component_files, "_files", {})
    before = {kind: registry.components(kind) for kind in registry.kinds()}
    modules = set(sys.modules)
    yield
    registry.names.registered.clear()
    registry.names.registered.update(before)
    for name in set(sys.modules) - modules:
        if "in_a_study" in name:
            del sys.modules[name]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "mine_in_a_study.py").write_text(PARTS, encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def test_worker_processes_and_this_one_come_to_the_same(spec: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        table = fc.run_experiment(
            spec, tmp_path / str(workers), executor=Local(workers=workers), backend="pyarrow"
        )
        served = [row["value"] for row in table.to_pylist() if row["metric"] == "served"]
        assert max(served) == 400
    both = difference(read_studies(tmp_path / "1"), read_studies(tmp_path / "2"))
    assert both.nothing
    assert both.same == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_sends_them_along(spec: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    executors: dict[str, Executor] = {"here": Local(workers=1), "ray": Ray(threads=1)}
    for name, executor in executors.items():
        fc.run_experiment(spec, tmp_path / name, executor=executor, backend="pyarrow")
    assert difference(read_studies(tmp_path / "here"), read_studies(tmp_path / "ray")).nothing


def test_results_stay_readable_when_the_file_has_changed_and_diff_says_so(
    spec: Path, tmp_path: Path
) -> None:
    file = spec.with_name("mine_in_a_study.py")
    for name, alpha in (("before", "3.0"), ("after", "0.1")):
        file.write_text(PARTS.replace("3.0", alpha), encoding="utf-8")
        fc.run_experiment(spec, tmp_path / name, executor=Local(workers=1), backend="pyarrow")
    before, after = (read_studies(tmp_path / name) for name in ("before", "after"))
    assert before[0].missing == after[0].missing == 0
    found = difference(before, after)
    assert [change.what for change in found.asked] == ["source of mine_in_a_study"]
    assert {shift.policy for shift in found.shifts} == {"Bold"}


def test_a_file_is_found_beside_its_spec_and_moved_with_it_means_the_same(
    spec: Path, tmp_path: Path
) -> None:
    keys = [cell.key for cell in Spec.load(spec).cells("ratings")]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("own.toml", "mine_in_a_study.py"):
        (tmp_path / name).rename(elsewhere / name)
    moved = Spec.load(elsewhere / "own.toml")
    assert [cell.key for cell in moved.cells("ratings")] == keys
    assert moved.components == (str(elsewhere / "mine_in_a_study.py"),)
    assert Spec.parse(moved.to_toml()).components == moved.components


def test_a_module_by_name_is_found_too(spec: Path, tmp_path: Path) -> None:
    text = SPEC.replace("mine_in_a_study.py", "mine_in_a_study")
    assert Spec.parse(text, folder=tmp_path).components == ("mine_in_a_study",)


OTHER = PARTS.replace('@register("served")', '@register("served-other")')
TWICE = OTHER.replace('"same-cascade"', '"cascade"')


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad_in_a_study.py", "x = 1\n", "there is no part in it"),
        ("bad_in_a_study.py", "\ndef (\n", "bad_in_a_study.py, line 2: invalid syntax"),
        ("bad_in_a_study.py", "\n1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
        ("bad_in_a_study.py", "import no_such_thing\n", "No module named 'no_such_thing'"),
        ("bad_in_a_study.py", TWICE, r"click_model 'cascade' is already faircascade\.clicks"),
        ("bad_in_a_study.py", None, "bad_in_a_study.py: no such file"),
        ("json.py", PARTS, "another module is called 'json'; rename the file"),
        ("bad_in_a_study", None, "no such module; a file is written bad_in_a_study.py"),
        ("json", None, "json: there is no part in it"),
    ],
)
def test_a_mistake_is_one_line_with_its_place_in_the_spec(
    name: str, text: str | None, said: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=rf"^spec:3: .*{said}") as refused:
        Spec.parse(SPEC.replace("mine_in_a_study.py", name), folder=tmp_path)
    assert "\n" not in str(refused.value)
    assert "served" not in registry.components("metric")


def test_a_name_that_another_file_has_is_refused(spec: Path) -> None:
    spec.with_name("other_in_a_study.py").write_text(PARTS, encoding="utf-8")
    Spec.load(spec)
    with pytest.raises(ValueError, match=r"policy 'bold' is already mine_in_a_study\.Bold"):
        load_component("other_in_a_study.py", spec.parent)


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_the_command_line_takes_a_file(command: str, spec: Path) -> None:
    small = ["--users", "10", "--set", "data.users=20", "--set", "data.items=60", "--rounds", "5"]
    file = str(spec.with_name("mine_in_a_study.py"))
    own = ["--components", file, "--policy", "bold", "--dim", "4"]
    out = ["--out", str(spec.parent / "out"), "--json"]
    run = CliRunner().invoke(app, [command, *small, *own, *out])
    assert run.exit_code == 0, run.output
    assert '"served"' in run.stdout


SCRIPT = f"""
import sys
{PARTS}
from faircascade.experiment.running.executors import Local

def main():
    spec = {{
        "name": "script",
        "data": {{"name": "few"}},
        "environment": {{"k": 3, "dim": 4}},
        "run": {{"rounds": 5, "seeds": 2, "checkpoints": 1}},
        "policies": [{{"name": "bold"}}],
    }}
    table = fc.run_experiment(spec, sys.argv[1], executor=Local(workers=2), backend="pyarrow")
    print(len(set(table["cell"].to_pylist())), "cells")

"""


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("if __name__ == '__main__':\n    main()\n", ""),
        ("main()\n", "put what script.py runs under if __name__ == '__main__'"),
    ],
    ids=["guarded", "not guarded"],
)
@pytest.mark.slow
def test_parts_of_the_script_that_runs_are_found_by_its_workers(
    last: str, said: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + last, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "2 cells\n"
    assert ("run in this process" in run.stderr) == bool(said)
    assert said in run.stderr


def test_what_is_in_no_file_is_refused_with_what_to_do(spec: Path) -> None:
    Spec.load(spec)
    assert references([])["components"] == []
    own = {cls.name: cls for cls in registry.own_parts.own_parts()}
    own["bold"].__module__ = "typed_in"
    with pytest.raises(ValueError, match=r"'bold' is in no file; put it into one"):
        references([own["bold"]])
    own["served"].__qualname__ = "f.<locals>.Served"
    with pytest.raises(ValueError, match="inside a function"):
        references([own["served"]])


def test_only_what_cells_need_is_loaded_by_workers(spec: Path, tmp_path: Path) -> None:
    cells = Spec.load(spec).cells("ratings")
    assert {cls.name for cls in own_parts_of(cells)} >= {"bold", "served", "same-cascade", "few"}
    plain = Spec.parse(SPEC.replace('"few"', '"synthetic"'), folder=tmp_path)
    names = {cls.name for cls in own_parts_of(plain.cells("ratings"))}
    assert "few" not in names
    assert load_components([]) == ()
