"""The dashboard in a real browser, on a real service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faircascade.service.keys import new_key
from tests.service.browser import chromium
from tests.service.server_process import running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running_browser:
        yield running_browser


def slates(page: Page) -> int:
    """Return how many slates the page says were handed out."""
    tile = page.locator(".tile").filter(has=page.get_by_text("Slates shown", exact=True))
    return int(tile.locator(".value").inner_text().replace(",", ""))


def watched(browser: Browser) -> tuple[Page, list[str]]:
    """Return a page and what it complains about."""
    page, complaints = browser.new_page(), []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page, complaints


def test_the_demo_comes_alive_by_itself(browser: Browser, tmp_path: Path) -> None:
    with running("--demo", folder=tmp_path) as server:
        page, complaints = watched(browser)
        page.goto(server.url)
        page.locator("#status", has_text="Live").wait_for()
        page.locator("#over tbody tr").first.wait_for()
        before = slates(page)
        page.wait_for_function(
            "before => parseInt(document.querySelector('.tile .value').textContent"
            ".replace(/,/g, '')) > before",
            arg=before,
        )
        assert page.locator("#suppliers tbody tr").count() > 1
        assert complaints == []
        page.goto(f"{server.url}/docs")
        page.get_by_text("/v1/recommendations/batch").first.wait_for()
        page.close()


def test_a_key_opens_the_dashboard(browser: Browser, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.json", "wall", "read")
    with running("--demo", "--keys", "keys.json", folder=tmp_path) as server:
        page, _ = watched(browser)
        page.goto(server.url)
        page.get_by_label("Key", exact=True).fill("wrong")
        page.get_by_role("button", name="Use this key").click()
        page.locator("#key-error:not(:empty)").wait_for()
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_role("button", name="Use this key").click()
        page.locator("#status", has_text="Live").wait_for()
        page.close()
