"""Turn pages of the documents into executed notebooks that stand next to them.

    pip install '.[docs]'
    python docs/notebooks.py

A Python block of a page becomes a code cell, what stands between becomes text; the printed output
comes from running the cells, in an empty folder. tests/test_docs.py holds pages and notebooks
together.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parent
PAGES = ("from-log-to-decision",)
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def main() -> None:
    for page in PAGES:
        notebook = cells_of((DOCS / f"{page}.md").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=600, record_timing=False, resources=place).execute()
        nbformat.write(notebook, DOCS / f"{page}.ipynb")


def cells_of(text: str) -> nbformat.NotebookNode:
    """Return a page as a notebook that was not run yet."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    last = 0
    for found in BLOCK.finditer(text):
        _add_text(notebook, text[last : found.start()])
        notebook.cells.append(nbformat.v4.new_code_cell(found[1].strip()))
        last = found.end()
    _add_text(notebook, text[last:])
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same in every run
    return notebook


def _add_text(notebook: nbformat.NotebookNode, text: str) -> None:
    if text.strip():
        notebook.cells.append(nbformat.v4.new_markdown_cell(text.strip()))


if __name__ == "__main__":
    main()
