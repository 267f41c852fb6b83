"""Take the pictures of the dashboard: python docs/figures/dashboard.py

Starts the demo, lets its users come for a while, and needs playwright and chromium.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.service.browser import chromium
from tests.service.server_process import running

HERE = Path(__file__).parent
MINUTES = 6
HEIGHT = 1430
"""Pixels of a page from the top: down to the Lorenz curve on a wide screen."""
PICTURES = {
    "dashboard-light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dashboard-dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "dashboard-phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}


def come(url: str, seconds: float) -> None:
    """Ask for slates over HTTP and answer most of them, as the simulated users need not."""
    draw, end = random.Random(1), time.monotonic() + seconds
    with httpx.Client(base_url=url) as http:
        while time.monotonic() < end:
            user = f"web-{draw.randrange(300)}"
            slate = http.post("/v1/recommendations", json={"user": user, "k": 5}).json()
            if draw.random() < 0.8:
                clicked = draw.choice([None, None, 1, 2, 3])
                answer = {"impression_id": slate["impression_id"], "clicked_position": clicked}
                http.post("/v1/feedback", json=answer)
            time.sleep(draw.expovariate(8))


def main() -> None:
    """Wait until there is something to see, then take all pictures."""
    with (
        TemporaryDirectory() as folder,
        running("--demo", "--demo-rate", "100", folder=Path(folder)) as server,
        chromium() as browser,
    ):
        come(server.url, 60 * MINUTES)
        for name, options in PICTURES.items():
            page = browser.new_page(**options)
            page.goto(f"{server.url}/?window=1h")
            page.wait_for_selector("#over tbody tr")
            page.wait_for_timeout(2_500)
            width = options["viewport"]["width"]
            clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT}
            page.screenshot(path=HERE / f"{name}.png", full_page=True, clip=clip)
            page.close()
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{server.url}/?window=1h")
        page.wait_for_selector("#over tbody tr")
        page.wait_for_timeout(2_500)
        page.locator("#traffic").screenshot(path=HERE / "dashboard-requests.png")
        page.close()
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{server.url}/docs")
        page.wait_for_timeout(1_000)
        page.screenshot(path=HERE / "api-reference.png")


if __name__ == "__main__":
    main()
