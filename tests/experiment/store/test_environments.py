"""Environments that a run keeps: built anew when the data changes, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faircascade.experiment import run_experiment
from faircascade.experiment.store.manifest import read_studies
from faircascade.metrics.base import GROUP

GENRES = ("Drama", "Comedy", "War")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{u},{i},{5 - (u * i) % 4}" for u in range(12) for i in range(20) if (u + i) % 3]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *rows]))
    write_items(tmp_path, GENRES)
    return tmp_path


def write_items(folder: Path, genres: tuple[str, ...]) -> None:
    rows = [f"{i},{genres[i % len(genres)]},studio-{i % 2}" for i in range(20)]
    (folder / "items.csv").write_text("\n".join(["item,genre,studio", *rows]))


def run(folder: Path, **data: Any) -> dict[str, set[str]]:
    """Run a small study; return the groups of items that its report would show, by column."""
    spec = {
        "name": "small",
        "data": {"name": str(folder / "ratings.csv"), **data},
        "environment": {"dim": 2, "k": 2},
        "run": {"rounds": 3, "seeds": 1, "checkpoints": 1},
        "policies": [{"name": "random"}],
    }
    run_experiment(spec, folder / "out")
    [study] = read_studies(folder / "out")
    found = study.results.find(study.cells[0])
    assert found is not None
    return {name: set(found.items[GROUP + name]) for name in found.groups}


def test_a_study_that_is_run_again_has_the_groups_of_a_changed_table_of_items(folder: Path) -> None:
    asked = {"items": str(folder / "items.csv"), "groups": "genre"}
    assert run(folder, **asked) == {"genre": set(GENRES)}
    write_items(folder, ("Horror", "Opera"))
    assert run(folder, **asked) == {"genre": {"Horror", "Opera"}}
    assert len(list((folder / "out").rglob("*.npz"))) == 2  # each was kept
    write_items(folder, GENRES)
    assert run(folder, **asked) == {"genre": set(GENRES)}
    assert len(list((folder / "out").rglob("*.npz"))) == 2


def test_a_study_that_is_run_again_has_the_groups_that_it_now_asks_for(folder: Path) -> None:
    items = str(folder / "items.csv")
    assert run(folder, items=items, groups="genre") == {"genre": set(GENRES)}
    assert run(folder, items=items, groups="studio") == {"studio": {"studio-0", "studio-1"}}
    assert run(folder) == {}
