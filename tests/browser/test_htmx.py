"""Where HTMX comes from: the CDN, or this server's own copy where the CDN does not deliver. One of them, once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import server
from tests.browser.conftest import NewPage, cdn_delivers
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

COPY = "/static/htmx-"
# How often HTMX has started: each start tells the body once that it was loaded. Counted from the first byte on.
_COUNT_STARTS = """
let starts = 0;
document.addEventListener("htmx:load", ({ target }) => {
  if (target === document.body) document.documentElement.dataset.starts = ++starts;
});
"""


def refuse(route: Route) -> None:
    route.abort("connectionrefused")


def hang(route: Route) -> None:
    """The connection is open and nothing ever comes."""


def deliver_something_else(route: Route) -> None:
    headers = {"Access-Control-Allow-Origin": "*"}
    route.fulfill(body="window.foreign = true;", content_type="application/javascript", headers=headers)


# Pages wait for the CDN for WAIT_MS of static/js/load_htmx.js: this one for a minute.
_PATIENT = """
  const inTime = window.setTimeout;
  window.setTimeout = (call, ms, ...more) => inTime(call, ms === 700 ? 60000 : ms, ...more);
"""


def requested(page: Page) -> list[str]:
    """The addresses that this page asks for from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url))
    return found


def expect_one_start(page: Page) -> None:
    expect(page.locator("html")).to_have_attribute("data-starts", "1")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """A Docmill that is told to use its own copy alone."""
    with server.docmill(tmp_path_factory.mktemp("local"), HTMX_URL="local", POLL_SECONDS="0.1") as visit:
        yield visit


def expect_a_live_page(page: Page, files: Path) -> None:
    """A row moves to Ready by itself, and the filter filters while it is typed."""
    upload(page, files / "report.pdf", files / "notes.md")
    for name in ("report.pdf", "notes.md"):
        expect(row(page, name)).to_have_attribute("data-status", "ready", timeout=READY)
    page.locator("#filter-q").press_sequentially("notes")
    expect(row(page, "report.pdf")).to_have_count(0)
    expect(row(page, "notes.md")).to_be_visible()
    expect_one_start(page)
    assert page.evaluate("performance.getEntriesByType('navigation').length") == 1


@pytest.mark.parametrize("cdn", [refuse, hang, deliver_something_else])
def test_without_the_cdn_the_page_lives_by_the_servers_copy(
    working: Visit, open_page: NewPage, files: Path, cdn: Callable[[Route], None]
) -> None:
    page = open_page(working, "about:blank", cdn=cdn)
    page.add_init_script(_COUNT_STARTS)
    asked = requested(page)
    page.goto(working.url)
    expect_one_start(page)
    assert any(COPY in url for url in asked)
    assert page.evaluate("window.foreign") is None
    expect_a_live_page(page, files)


@pytest.mark.parametrize("cdn", [refuse, hang])
def test_the_page_turns_to_the_copy_within_a_second(
    working: Visit, open_page: NewPage, cdn: Callable[[Route], None]
) -> None:
    """By the page's own clock, which does not move between two steps: a busy machine changes nothing."""
    page = open_page(working, "about:blank", cdn=cdn)
    page.add_init_script(_COUNT_STARTS)
    page.clock.install()
    page.clock.pause_at("2030-01-01")
    page.goto(working.url)
    page.clock.run_for(900)
    expect(page.locator(f"script[src^='{COPY}']")).to_have_count(1)
    page.clock.resume()
    expect_one_start(page)


def test_the_next_page_does_not_wait_for_the_cdn_again(working: Visit, open_page: NewPage) -> None:
    page = open_page(working, "about:blank", cdn=hang)
    page.add_init_script(_COUNT_STARTS)
    page.goto(working.url)
    expect_one_start(page)
    asked = requested(page)
    page.goto("/account")
    expect_one_start(page)
    assert [url for url in asked if "htmx.org" in url] == []


def test_what_the_cdn_delivers_is_used_alone(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working, "/account")
    page.add_init_script(_COUNT_STARTS)
    asked = requested(page)
    # On a busy machine this CDN's answer, too, may take longer than pages wait for it.
    page.add_init_script(_PATIENT)
    page.goto("/")
    expect_one_start(page)
    expect_a_live_page(page, files)
    assert any("htmx.org" in url for url in asked)
    assert not any(COPY in url for url in asked)


def test_what_the_cdn_delivers_too_late_is_not_run(working: Visit, open_page: NewPage, files: Path) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page = open_page(working, "about:blank", cdn=hold)
    page.add_init_script(_COUNT_STARTS)
    page.goto(working.url)
    expect_one_start(page)
    [late] = held
    with page.expect_event("requestfinished", lambda request: "htmx.org" in request.url):
        cdn_delivers(late)
    assert page.locator("script[src*='htmx.org']").count() == 0
    expect_a_live_page(page, files)


def test_a_picture_that_does_not_load_holds_nothing_up(working: Visit, open_page: NewPage) -> None:
    """HTMX arrives after DOMContentLoaded and before the load event, which such a picture holds back."""
    page = open_page(working, "about:blank", cdn=hang)
    page.add_init_script(_COUNT_STARTS)
    page.route("**/icon.svg*", hang)
    page.add_init_script("""document.addEventListener("DOMContentLoaded", () => {
      document.body.append(Object.assign(new Image(), {src: "/static/icon.svg?held"}));
    });""")
    page.goto(working.url, wait_until="domcontentloaded")
    expect_one_start(page)
    assert page.evaluate("document.readyState") == "interactive"


def test_told_to_use_its_own_copy_the_page_asks_nobody_else(local: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(local, "/account")
    page.add_init_script(_COUNT_STARTS)
    asked = requested(page)
    page.goto("/")
    expect_one_start(page)
    expect_a_live_page(page, files)
    assert any(COPY in url for url in asked)
    assert {url for url in asked if not url.startswith((local.url, "blob:", "data:"))} == set()
