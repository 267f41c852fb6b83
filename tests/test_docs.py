"""What the documents show works: every Python block is run, every table comes from its results."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from faircascade import registry
from faircascade.environment.worlds import WORLDS
from tests.service.server_process import running

SERVICE = "http://127.0.0.1:8000"
"""Where a page that talks to the service expects it."""
ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if "```python\n" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*```(?:text)?\n(.*?)```)?", re.DOTALL)


def _tables() -> ModuleType:
    """Return docs/tables.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = _tables()


OPTIONAL = {
    "pandas": "pandas",
    "polars": "polars",
    "ray": r"\[[\w,]*ray",
    "optuna": r"\[[\w,]*tune",
    "mlflow": r"\[[\w,]*mlflow",
    "httpx": r"\[[\w,]*(client|serve)",
    "fastapi": r"\[[\w,]*serve",
    "redis": r"\[[\w,]*serve",
    "asyncpg": r"\[[\w,]*postgres",
    "confluent_kafka": r"\[[\w,]*kafka",
}
"""What `pip install .` does not bring, and how a page says that it is needed."""


class WithoutPackages:
    """A finder of modules that does not find those of some packages."""

    def __init__(self, finder, packages: set[str]) -> None:
        self.finder = finder
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.packages:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str):
        return getattr(self.finder, name)


@pytest.fixture
def registry_restored():
    before = {kind: registry.components(kind) for kind in registry.kinds()}
    yield
    registry.names.registered.clear()
    registry.names.registered.update(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys, registry_restored) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # dataclasses look their module up
    text = page.read_text(encoding="utf-8")
    missing = {p for p, it in OPTIONAL.items() if not re.search(rf"pip install '?\.?{it}", text)}
    monkeypatch.setattr(sys, "meta_path", [WithoutPackages(f, missing) for f in sys.meta_path])
    for package in missing:
        monkeypatch.delitem(sys.modules, package, raising=False)
    with ExitStack() as stack:
        if SERVICE in text:
            server = stack.enter_context(running("--demo", folder=tmp_path))
            text = text.replace(SERVICE, server.url)
        for code, output in BLOCK.findall(text):
            exec(compile(code, str(page), "exec", flags=0, dont_inherit=True), module.__dict__)
            printed = capsys.readouterr().out
            if output:
                assert printed.strip() == output.strip()


def test_the_readme_lists_only_what_there_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("| what | built in |") :].split("\n\n")[0]
    listed = set(re.findall(r"`([^`]+)`", table))
    known = {name for kind in registry.kinds() for name in registry.components(kind)}
    assert listed <= known | set(WORLDS)
    assert {"ealinucb", "log", "ml-1m", "equality_p"} <= listed


def test_the_page_on_ranking_names_the_policies_that_learn_otherwise() -> None:
    page = (ROOT / "docs" / "how-to" / "online.md").read_text(encoding="utf-8")
    for name in registry.components("policy"):
        observation = getattr(registry.build("policy", name), "observation", None)
        if observation is not None and observation.name != "first-click":
            sentence = re.search(rf"`{name}`[^.]* ha(s|ve) `{observation.name}`", page)
            assert sentence, f"{name} has {observation.name}"
    (late,) = re.findall(r"- \*\*Late.*?(?=\n- )", page, re.DOTALL)
    for name in ("logistic-ucb", "logistic-ts", "toprank"):  # what these learn is no sum
        assert f"`{name}`" in late


@pytest.mark.parametrize("page", tables.documents(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_the_tables_of_a_page_come_from_the_results(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert tables.fill(text) == text, "run `make docs-tables`"


def test_every_table_stands_in_a_page() -> None:
    marked = [tables.MARKED.findall(page.read_text("utf-8")) for page in tables.documents()]
    assert sorted(name for found in marked for _, name, _ in found) == sorted(tables.TABLES)
    assert doctest.testmod(tables).failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
