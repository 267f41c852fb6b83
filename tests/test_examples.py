"""Notebooks of the examples run, and print what is stored in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what the cells of a notebook print."""
    return [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream" and output.name == "stdout"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_is_stored(path, tmp_path) -> None:
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    client = NotebookClient(
        fresh, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert printed(fresh) == printed(stored)
    pictures = [
        output for cell in stored.cells for output in cell.get("outputs", ()) if "data" in output
    ]
    assert any("image/png" in output.data for output in pictures)
