"""The dashboard and the API reference in a real browser, on a service with made-up numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.service.accessibility import shortcomings
from tests.service.browser import chromium
from tests.service.fake_api import KEY, NASTY, OLD, Fake, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

Open = Callable[..., "Page"]
PHONE = {"width": 360, "height": 740}
SLIDER = "#clicks-chart [role=slider]"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def served() -> Iterator[Fake]:
    with serving() as fake:
        yield fake


@pytest.fixture
def fake(served: Fake) -> Fake:
    served.mood.state = "busy"
    served.mood.age = OLD
    served.mood.began_late = False
    served.mood.kill_switch, served.mood.may_change = None, True
    served.mood.asked.clear()
    return served


@pytest.fixture
def open_page(browser: Browser, fake: Fake) -> Iterator[Open]:
    """Open a path in a window of its own."""
    contexts = []

    def open_page(path: str = "/", **settings: Any) -> Page:
        context = browser.new_context(reduced_motion="reduce", timezone_id="UTC", **settings)
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.clock.install()  # it runs by itself, and can be sent ahead
        page.goto(fake.address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()


def tile(page: Page, name: str) -> str:
    found = page.locator(".tile").filter(has=page.get_by_text(name, exact=True))
    return found.locator(".value").inner_text()


def wait_live(page: Page) -> None:
    page.locator("#status", has_text="Live").wait_for()


def test_tiles_tables_and_policy_show_what_the_service_said(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    assert page.locator("h1").inner_text() == "Exposure"
    assert page.locator("#policy-label").inner_text() == "Slates ranked by EALinUCB log"
    assert page.title() == "Exposure · faircascade"
    assert tile(page, "Slates shown") == "96,480"
    assert tile(page, "Clicks") == "29,629"
    assert tile(page, "Click rate") == "37.0%"
    assert tile(page, "Equality") == "0.301"
    assert tile(page, "Equity") == "0.247"
    assert tile(page, "Coverage") == "81.6%"
    assert page.locator("#over tbody tr").count() == 10
    first = page.locator("#suppliers tbody tr").first
    shown = " ".join(first.inner_text().split())
    assert shown == "blue 400 items 30.0% 4.2% 7.20× 6,001"
    assert "reranker.name\tidentity" in page.locator("#policy").inner_text()


def test_slates_with_several_clicks_stay_in_their_chart(open_page: Open, fake: Fake) -> None:
    fake.mood.clicks = 9
    page = open_page("/?window=1h")
    wait_live(page)
    assert tile(page, "Click rate") == "3.33"
    labels = page.locator("#clicks-chart text").all_text_contents()
    assert {"0", "2", "4", "With a click"} <= set(labels)
    assert not any("%" in label for label in labels)
    page.locator(SLIDER).focus()
    page.keyboard.press("Home")
    assert "%" not in page.locator("#clicks-chart .tip").inner_text()
    tops = [
        float(y)
        for y in page.locator("#clicks-chart rect.fill").evaluate_all(
            "bars => bars.map((bar) => bar.getAttribute('y'))"
        )
    ]
    title = page.locator("#clicks-chart text", has_text="With a click").get_attribute("y")
    assert min(tops) >= float(title) - 12  # nothing but its own key stands that high


def test_charts_are_read_by_arrow_keys_by_pointer_and_as_tables(open_page: Open) -> None:
    page = open_page("/?window=1h")
    wait_live(page)
    slider = page.locator(SLIDER)
    slider.focus()
    assert "(so far)" in slider.get_attribute("aria-valuetext")
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuenow") == "1"
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuenow") == "2"
    told = page.locator("#clicks-chart .tip").inner_text()
    assert all(name in told for name in ("Click rate", "Clicks", "Answered", "Slates"))
    page.keyboard.press("Escape")
    assert page.locator("#clicks-chart .tip").is_hidden()

    page.locator("#lorenz-chart [role=slider]").hover()
    assert "Exposure per merit" in page.locator("#lorenz-chart .tip").inner_text()

    page.locator("#fairness-chart summary").press("Enter")
    rows = page.locator("#fairness-chart tbody tr")
    rows.first.wait_for()
    assert rows.count() == 59  # without the minute under way: its slates are too few to compare
    assert rows.nth(7).inner_text().split("\t")[1:] == ["–", "–", "–"]  # nothing was listed then


def test_the_window_is_switched_by_keyboard_and_outlives_a_reload(
    open_page: Open, fake: Fake
) -> None:
    page = open_page()
    wait_live(page)
    page.get_by_role("radio", name="24 h").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".tile", has_text="688,146").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator(".tile", has_text="1,204,377").wait_for()
    assert page.get_by_role("radio", name="All time").is_checked()
    assert "last 7 days, the longest history" in page.locator("#clicks-words").inner_text()
    assert "/v1/exposure/history?window=all" not in fake.mood.asked
    page.reload()
    page.locator(".tile", has_text="1,204,377").wait_for()


def test_an_experiment_shows_arms_verdicts_and_changes(open_page: Open) -> None:
    page = open_page(viewport=PHONE)
    wait_live(page)
    page.locator("#experiment").wait_for()
    assert page.locator("#experiment-name").inner_text() == "Experiment fairer-home"
    arms = page.locator("#experiment-arms tr")
    assert [row.split("\t")[0] for row in arms.all_inner_texts()] == ["default (control)", "fairer"]
    verdicts = " ".join(page.locator("#experiment-verdicts").inner_text().split())
    assert "Open: keep running: 9,000 more slates" in verdicts
    assert (
        page.locator("#serving-note").inner_text().strip() == "– experiment fairer-home is running"
    )
    assert page.locator("#experiment-alarm").is_hidden()
    chart = page.locator("#experiment-clicks_per_slate")
    assert chart.locator("path.band").count() == 2  # one for each period
    assert chart.locator("line.change").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("#serving-card > details summary").click()
    assert NASTY in page.locator("#serving-changes").inner_text()


def test_the_kill_switch_wants_to_be_confirmed(open_page: Open, fake: Fake) -> None:
    page = open_page()
    wait_live(page)
    page.locator("#kill-switch-on").click()
    page.get_by_role("button", name="Cancel").click()
    assert fake.mood.kill_switch is None
    page.locator("#kill-switch-on").click()
    page.get_by_role("button", name="Random items").click()
    page.locator("#kill-switch[data-state=on]").wait_for()
    assert fake.mood.kill_switch == "random"
    words = page.locator("#kill-switch-words").inner_text()
    assert words == "The kill switch is on: everybody gets random items."
    said = page.locator("header").inner_text()  # not that a policy ranks the slates, and no more
    assert "– kill switch on: everybody gets random items" in said
    page.get_by_role("button", name="Serve the policies again").click()
    page.locator("#kill-switch[data-state=off]").wait_for()
    assert fake.mood.kill_switch is None


def test_a_key_that_may_not_turn_the_kill_switch_sees_no_button(
    open_page: Open, fake: Fake
) -> None:
    fake.mood.may_change = False
    page = open_page()
    wait_live(page)
    page.locator("#kill-switch-words", has_text="is off").wait_for()
    assert page.locator("#kill-switch button:visible").count() == 0


def test_a_name_that_looks_like_html_is_shown_as_text(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    assert page.get_by_role("rowheader", name=NASTY).count() == 1
    assert page.get_by_role("rowheader", name="<i>classical</i>").count() == 1
    assert page.locator("#content :is(b, i, img)").count() == 0
    assert page.title() == "Exposure · faircascade"


def test_names_cannot_turn_the_text_around_them(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    shown = page.get_by_role("rowheader", name="song‹U+202E›3pm.‹U+2066›exe")
    assert shown.count() == 1
    assert "\u202e" not in page.content()
    assert shown.locator("bdi").evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


@pytest.mark.parametrize(
    ("age", "window"),
    [(timedelta(seconds=10), "1 h"), (timedelta(hours=2), "1 h"), (timedelta(hours=4), "24 h")],
)
def test_the_first_window_is_an_hour_while_the_service_is_young(
    open_page: Open, fake: Fake, age: timedelta, window: str
) -> None:
    fake.mood.age = age
    page = open_page()
    wait_live(page)
    assert page.get_by_role("radio", name=window).is_checked()
    page.get_by_role("radio", name="7 days").check()
    page.locator(".tile", has_text="688,146").wait_for()
    assert "window=7d" in page.url
    assert fake.mood.asked.count("/v1/exposure?window=all&limit=1") == 1


@pytest.mark.parametrize(
    ("age", "steps", "waits"),
    [(0.1, 5, True), (3.1, 5, False), (25.5, 26, False), (45.5, 60, False)],
)
def test_charts_of_a_young_service_begin_with_its_first_slate(
    open_page: Open, fake: Fake, age: float, steps: int, waits: bool
) -> None:
    fake.mood.age = timedelta(minutes=age)
    page = open_page()
    wait_live(page)
    shown = int(page.locator(SLIDER).get_attribute("aria-valuemax") or 0)
    assert shown in (steps, steps + 1)  # by how far the minute has gone
    for words in (page.locator("#clicks-words"), page.locator("#fairness-words")):
        assert (words.inner_text() == "Lines appear after two whole minutes.") == waits
    assert shortcomings(page) == []


def test_the_step_under_way_is_a_ring_of_clicks_and_left_out_of_fairness(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    assert page.locator("#fairness-chart .ring").count() == 0
    assert page.locator("#clicks-chart .ring").count() == 1


def test_a_first_minute_that_began_late_is_not_compared_with_whole_ones(
    open_page: Open, fake: Fake
) -> None:
    fake.mood.age = timedelta(minutes=5)
    fake.mood.began_late = True
    page = open_page()
    wait_live(page)
    page.locator("#fairness-chart summary").press("Enter")
    rows = page.locator("#fairness-chart tbody tr")
    rows.first.wait_for()
    assert rows.first.inner_text().split("\t")[1:] == ["–", "–", "–"]
    assert "–" not in rows.nth(1).inner_text().split("\t")[1:]
    page.locator("#clicks-chart summary").press("Enter")
    counted = page.locator("#clicks-chart tbody tr").first.inner_text()
    assert "–" not in counted.split("\t")[1:]  # its clicks are as good as any


def test_suppliers_are_few_until_all_are_asked_for(open_page: Open, fake: Fake) -> None:
    page = open_page()
    wait_live(page)
    card = page.locator("#suppliers-card")
    assert card.locator("tbody tr").count() == 10
    assert "and 14 more" in card.inner_text()
    assert page.locator("#groups-card button").is_hidden()
    height = card.bounding_box()["height"]
    card.get_by_role("button", name="Show all 24 suppliers").press("Enter")
    card.locator("tbody tr").nth(23).wait_for()
    names = card.locator("tbody .clip").all_inner_texts()
    assert names[:4] == ["blue", "northern sound", "harbour", "studio 4"]
    assert names[-1] == "studio 24"
    assert card.bounding_box()["height"] <= height + 1  # it scrolls in its card
    assert shortcomings(page) == []
    with page.expect_response("**/v1/exposure/items?by=supplier&window=24h&limit=1000"):
        page.clock.run_for(2_000)  # it stays as fresh as the rest
    card.get_by_role("button", name="Show 10 suppliers").click()
    card.locator("tbody tr").nth(10).wait_for(state="detached")
    assert card.locator("tbody tr").count() == 10
    before = len(fake.mood.asked)
    with page.expect_response("**/v1/exposure/history?*"):
        page.clock.run_for(2_000)
    assert not any("/items" in path for path in fake.mood.asked[before:])


def test_a_fair_service_has_words_in_place_of_empty_tables(open_page: Open, fake: Fake) -> None:
    fake.mood.state = "even"
    page = open_page()
    wait_live(page)
    assert "None: no item has more exposure than its merit." in page.locator("#over").inner_text()
    assert "None: no item has less exposure than its merit." in page.locator("#under").inner_text()
    assert page.locator("#over table").is_hidden()


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_keep_to_their_host_and_their_policy(browser: Browser, fake: Fake, path: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(fake.address + path)
    page.wait_for_load_state("networkidle")
    for chart in page.locator("[role=slider]").all():
        chart.hover()
    context.close()
    if path == "/":  # Scalar, which draws the reference, talks about itself
        assert said == []  # the browser reports here what the policy of the page forbids
    assert hosts == {urlsplit(fake.address).netloc}


@pytest.mark.parametrize("state", ["busy", "empty", "unauthorised"])
def test_a_phone_never_scrolls_sideways(open_page: Open, fake: Fake, state: Any) -> None:
    fake.mood.state = state
    page = open_page(viewport=PHONE)
    page.locator("#status:not([data-state=waiting])").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize(("scheme", "paper"), [("light", (245, 246, 244)), ("dark", (21, 24, 28))])
def test_pages_are_accessible_in_light_and_dark(
    open_page: Open, fake: Fake, scheme: Any, paper: tuple[int, int, int]
) -> None:
    page = open_page(color_scheme=scheme)
    wait_live(page)
    page.locator(SLIDER).focus()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == f"rgb{paper}"
    assert shortcomings(page) == []


def test_a_key_is_asked_for_and_kept_for_the_tab_alone(open_page: Open, fake: Fake) -> None:
    fake.mood.state = "unauthorised"
    page = open_page()
    page.locator("#status", has_text="Needs a key").wait_for()
    assert page.locator("#content").is_hidden()
    page.keyboard.type("wrong-key")  # the field has the focus already
    page.keyboard.press("Enter")
    page.get_by_text("This key was refused.").wait_for()
    assert shortcomings(page) == []
    page.get_by_label("Key", exact=True).fill(KEY)
    page.keyboard.press("Enter")
    wait_live(page)
    assert page.locator("#key-form").is_hidden()
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    wait_live(page)


def test_it_recovers_by_itself_and_leaves_focus_and_scrolling_alone(
    open_page: Open, fake: Fake
) -> None:
    page = open_page()
    wait_live(page)
    page.locator(SLIDER).focus()
    page.keyboard.press("Home")
    page.evaluate("scrollTo(0, 300)")
    fake.stop()
    try:
        page.clock.fast_forward(2_000)
        page.locator("#status", has_text="Cannot reach the service").wait_for()
        assert "These numbers are old" in page.locator("#trouble").inner_text()
        assert tile(page, "Slates shown") == "96,480"
    finally:
        fake.start()
    page.clock.fast_forward(4_000)  # the second pause is twice as long
    wait_live(page)
    assert page.locator("#trouble").is_hidden()
    assert page.locator(SLIDER).get_attribute("aria-valuenow") == "1"
    assert page.locator(SLIDER).evaluate("slider => slider === document.activeElement")
    assert page.evaluate("scrollY") == 300


def test_trouble_of_the_store_is_told_in_the_words_of_the_service(
    open_page: Open, fake: Fake
) -> None:
    fake.mood.state = "trouble"
    page = open_page()
    page.get_by_text("It answered 503: the store cannot be reached.").wait_for()
    fake.mood.state = "busy"
    page.get_by_role("button", name="Try now").click()
    wait_live(page)


def test_nothing_is_asked_while_nobody_looks(open_page: Open, fake: Fake) -> None:
    page = open_page()
    wait_live(page)
    page.evaluate(
        """Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))"""
    )
    asked = len(fake.mood.asked)
    page.clock.run_for(20_000)
    assert len(fake.mood.asked) == asked
    with page.expect_response("**/v1/exposure?window=24h&limit=10"):
        page.evaluate(
            """Object.defineProperty(document, "hidden", { value: false });
            document.dispatchEvent(new Event("visibilitychange"))"""
        )


def test_a_slow_service_is_not_asked_again_before_it_answered(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    held: list[Route] = []
    page.route(lambda url: "/v1/" in url, lambda route: held.append(route))
    with page.expect_request("**/v1/exposure/history?*"):
        page.clock.run_for(2_000)
    page.clock.run_for(6_000)
    page.evaluate("fetch('/healthz')")  # whatever was asked before is known after it
    assert len(held) == 3  # one turn: what the exposure is, how it came about, and what was changed
    for route in held:
        route.continue_()
    page.unroute_all()
    with page.expect_response("**/v1/exposure?window=24h&limit=10"):
        page.clock.run_for(2_000)


def test_an_empty_service_tells_how_to_begin(open_page: Open, fake: Fake) -> None:
    fake.mood.state = "empty"
    page = open_page()
    page.get_by_role("heading", name="Nothing has been shown yet").wait_for()
    assert f"curl {fake.address}/v1/recommendations" in page.locator("#first-steps").inner_text()
    assert tile(page, "Click rate") == "–"
    assert page.locator("#clicks-chart").is_hidden()
    fake.mood.state = "busy"
    page.clock.fast_forward(2_000)
    page.locator("#clicks-chart").wait_for()
    assert page.locator("#empty").is_hidden()


def test_the_reference_draws_every_operation_for_desks_and_phones(
    open_page: Open, fake: Fake
) -> None:
    page = open_page("/docs")
    page.get_by_role("heading", name="faircascade").wait_for()
    described = page.request.get(fake.address + "/openapi.json").json()["paths"]
    for path in described:
        page.get_by_text(path, exact=True).first.wait_for(state="attached")
    page = open_page("/docs", viewport=PHONE, is_mobile=True)
    page.get_by_role("heading", name="faircascade").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


# the sections below exposure


def test_requests_and_the_store_are_told_in_numbers(open_page: Open) -> None:
    page = open_page("/?window=24h")
    wait_live(page)
    assert tile(page, "p50") == "4 ms"
    assert tile(page, "p99") == "30 ms"
    assert tile(page, "Errors").endswith("%")
    assert tile(page, "Answered") == "83.0%"
    assert tile(page, "Store") == "Reachable"
    assert tile(page, "Size") == "12 MB"
    assert tile(page, "Workers") == "2"
    for chart in ("Requests a second", "Time to a slate", "Errors and refusals", "Slates answered"):
        assert page.get_by_role("slider", name=f"{chart}, step by step").count() == 1


def test_changes_of_policies_are_marked_on_all_time_lines(open_page: Open) -> None:
    page = open_page("/?window=1h")
    wait_live(page)
    charts = page.locator(".stage").filter(has=page.locator(".policy-change"))
    assert charts.count() == 6
    assert page.locator("#fairness-chart .policy-change").count() == 1  # the other was long ago
    assert (
        "default is <b>new</b>" in page.locator("#clicks-chart .policy-change title").text_content()
    )
    words = page.locator("#clicks-words").inner_text()
    assert words.endswith("Dashed: the policies were changed.")
    slider = page.locator(SLIDER)
    slider.focus()
    page.keyboard.press("End")
    told = []
    for _ in range(30):
        told.append(page.locator("#clicks-chart .tip").inner_text())
        page.keyboard.press("ArrowLeft")
    assert sum("default is <b>new</b>" in text for text in told) == 1


def test_items_are_found_by_how_their_ids_begin(open_page: Open) -> None:
    page = open_page("/?window=1h")
    wait_live(page)
    page.get_by_label("Item", exact=True).fill("song-1")
    row = page.locator("#find table.found tbody tr").first
    row.wait_for()
    assert row.locator("th").inner_text().startswith("song-1")
    assert "<i>jazz</i>" in row.inner_text()  # text, not HTML
    page.get_by_label("Item", exact=True).fill("nothing")
    page.get_by_text("No item begins so.").wait_for()
    assert page.locator("#find table.found:visible").count() == 0


def test_users_are_found_with_their_slates_and_answers(open_page: Open) -> None:
    page = open_page()
    wait_live(page)
    field = page.get_by_label("User", exact=True)
    field.fill("ann")
    field.press("Enter")
    page.get_by_text("1,200 slates, 7 answers, from which preferences of length 1.000").wait_for()
    shown = page.locator("#find table.found:visible").inner_text()
    assert "clicked 2" in shown
    assert NASTY in shown
    field.fill("nobody")
    field.press("Enter")
    page.get_by_text("Nothing is known under this id.").wait_for()


def test_a_key_that_may_not_see_users_is_told_so_and_kept(open_page: Open, fake: Fake) -> None:
    fake.mood.state = "unauthorised"
    page = open_page()
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_role("button", name="Use this key").click()
    wait_live(page)
    field = page.get_by_label("User", exact=True)
    field.fill("ann")
    field.press("Enter")
    page.get_by_text("Not shown: the key may only read, and not read users.").wait_for()
    assert page.locator("#key-form").is_hidden()


def test_a_table_is_downloaded_of_the_window_that_is_shown(open_page: Open) -> None:
    page = open_page("/?window=7d")
    wait_live(page)
    page.get_by_label("Table").select_option("time")
    page.get_by_label("Format").select_option("json")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download").click()
    assert started.value.suggested_filename == "exposure-time-7d.json"
    assert started.value.path().read_text().strip() == "time,7d,json"


def test_a_section_that_fails_leaves_the_others_alone(open_page: Open, fake: Fake) -> None:
    fake.mood.state = "half"
    page = open_page()
    wait_live(page)
    said = page.locator("#store .notice:visible").first.inner_text()
    assert said.startswith("Store cannot be shown now. It answered 503: the store is being")
    assert tile(page, "p50") == "4 ms"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(open_page: Open, width: int, scheme: str) -> None:
    page = open_page("/?window=24h", viewport={"width": width, "height": 800}, color_scheme=scheme)
    wait_live(page)
    page.get_by_label("Item", exact=True).fill("s")
    page.locator("#find table.found tbody tr").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
