"""The page of an audit stands alone, says what was found, and trusts no name."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import faircascade as fc
from tests.evaluation.audit.logs import random_slates, table
from tests.report.html_page import read

HOSTILE = "<script>alert('x')</script> & $a$"


@pytest.fixture(scope="module")
def audit() -> fc.Audit:
    slates = [
        (user, [HOSTILE if i == "i0" else i for i in items], hits)
        for user, items, hits in random_slates(1)
    ]
    items = pa.table(
        {"item": [HOSTILE, *(f"i{i}" for i in range(1, 9))], "genre": [HOSTILE, *"abcabcab"]}
    )
    log = fc.Log(table(slates, [1.7e9 + 3600 * i for i in range(len(slates))]), name=HOSTILE)
    return fc.audit(log, items=items, groups=["genre"])


@pytest.fixture(scope="module")
def page(audit: fc.Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fc.write_audit(audit, tmp_path_factory.mktemp("page"))


def test_the_page_says_what_was_found(audit: fc.Audit, page: Path) -> None:
    found = read(page)
    assert audit.headline in found.text
    cells = {cell for row in found.rows for cell in row}
    for name in ("equality_p", "ee_l", "clicks"):
        assert any(f"{audit.metrics[name].value:.4f}" in cell for cell in cells)
    for title in ("Over-exposed", "Under-exposed", "By genre", "By position", "Over time"):
        assert title in found.text
    assert any("AWRF" in cell for cell in cells)


def test_names_are_text(page: Path) -> None:
    found = read(page)
    assert "script" not in {tag for tag, _ in found.tags}
    assert HOSTILE in found.text
    assert "<script>" not in (page.parent / "audit.md").read_text(encoding="utf-8")


def test_the_page_needs_nothing_beside_it(page: Path) -> None:
    for address in (*read(page).attributes("src"), *read(page).attributes("href")):
        assert address.startswith(("data:image/png;base64,", "#"))
    images = [attributes for tag, attributes in read(page).tags if tag == "img"]
    assert len(images) == 3
    assert all(image["alt"] for image in images)


def test_the_same_audit_gives_the_same_bytes(audit: fc.Audit, page: Path, tmp_path: Path) -> None:
    again = fc.write_audit(audit, tmp_path)
    for file in sorted(page.parent.rglob("*.*")):
        assert (tmp_path / file.relative_to(page.parent)).read_bytes() == file.read_bytes()
    assert again.read_bytes() == page.read_bytes()


def test_links_within_the_page_lead_somewhere(page: Path) -> None:
    found = read(page)
    targets = {a.removeprefix("#") for a in found.attributes("href") if a.startswith("#")}
    assert targets <= set(found.attributes("id"))


def test_an_audit_of_next_to_nothing_has_a_page(tmp_path: Path) -> None:
    page = fc.write_audit(fc.audit(table([("u", ["a"], [])]), merit="equal"), tmp_path)
    text = re.sub(r"\s+", " ", read(page).text)
    assert "The most shown item of 1 items had 100.0% of the exposure." in text
    assert "There are no intervals" in text
