"""Asking for the status: as long as there is something to wait for and somebody who looks, and no longer."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

_HIDE = """
(isHidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => isHidden});
  document.dispatchEvent(new Event("visibilitychange"));
}
"""


def polls(page: Page) -> list[Request]:
    """The requests for a status, collected as they happen."""
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if "/status" in request.url else None)
    return found


def waiting_row(page: Page, files: Path) -> str:
    """Upload a file that nobody works on; the id of its row."""
    upload(page, files / "notes.md")
    expect(page.locator("tr[data-poll]").first).to_be_visible()
    found = page.locator("tr[data-poll]").first.get_attribute("id")
    assert found
    return found


def test_polling_ends_with_the_work(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "report.pdf", files / "notes.md")
    for name in ("report.pdf", "notes.md"):
        expect(row(page, name)).to_have_attribute("data-status", "ready", timeout=READY)
    expect(page.locator("[data-poll]")).to_have_count(0)
    page.clock.install()
    asked = polls(page)
    page.clock.run_for(120_000)
    assert asked == []


def test_the_title_counts_what_is_being_processed(resting: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(resting)
    waiting_row(page, files)
    expect(page).to_have_title("(1) Library · Docmill")
    expect(page.get_by_role("button", name="Tell me when all are done")).to_be_visible()
    page.evaluate("document.querySelector('tr[data-poll]').remove(); htmx.trigger(document.body, 'htmx:afterSettle')")
    expect(page).to_have_title("Library · Docmill")
    expect(page.get_by_role("button", name="Tell me when all are done")).to_be_hidden()


def test_a_row_that_waits_asks_again_and_again_more_slowly(resting: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(resting)
    asked = polls(page)
    waiting_row(page, files)
    with page.expect_request("**/status"):
        pass
    with page.expect_request("**/status"):
        pass
    assert len(asked) >= 2
    assert page.locator("tr[data-poll]").first.get_attribute("hx-trigger") in {
        "load delay:1s, poll",
        "load delay:2s, poll",
    }


def test_a_hidden_tab_asks_for_nothing_and_catches_up_when_it_is_seen(
    resting: Visit, open_page: NewPage, files: Path
) -> None:
    page = open_page(resting)
    waiting_row(page, files)
    page.reload()
    page.evaluate(_HIDE, True)
    with page.expect_event("console", predicate=lambda line: line.text == "waited") as waited:
        asked = polls(page)
        # Longer than any delay between two polls of a young row.
        page.evaluate("setTimeout(() => console.info('waited'), 3500)")
    assert waited.value
    assert asked == []
    with page.expect_request("**/status"):
        page.evaluate(_HIDE, False)


def test_a_server_that_does_not_answer_is_asked_again_and_it_is_said(
    resting: Visit, open_page: NewPage, files: Path
) -> None:
    page = open_page(resting)
    waiting_row(page, files)
    failing = ["abort", "503", "go on"]

    def answer(route: Route) -> None:
        match failing.pop(0) if len(failing) > 1 else failing[0]:
            case "abort":
                route.abort()
            case "503":
                route.fulfill(status=503, body="")
            case _:
                route.continue_()

    page.route("**/status", answer)
    expect(page.locator("#connection")).to_be_visible()
    expect(page.locator("#connection")).to_be_hidden(timeout=READY)
    expect(page.locator("tr[data-poll]").first).to_be_visible()


def test_a_document_that_somebody_deleted_leaves_the_grid(resting: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(resting)
    name = waiting_row(page, files)
    token = page.locator("meta[name=csrf-token]").get_attribute("content")
    answer = page.request.delete(f"/documents/{name.removeprefix('document-')}", headers={"X-CSRFToken": token or ""})
    assert answer.status == 204
    expect(page.locator(f"#{name}")).to_have_count(0)


def test_a_row_that_leaves_the_page_takes_its_question_along(resting: Visit, open_page: NewPage, files: Path) -> None:
    """Its answer, an error above all, would look for a place in a page that it is no longer part of."""
    page = open_page(resting)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    name = waiting_row(page, files)
    with page.expect_request(lambda request: is_poll_of(name, request)):
        page.route("**/status", hold)
    with page.expect_event("requestfailed", lambda request: is_poll_of(name, request)):
        page.evaluate("htmx.trigger(document.body, 'library-changed')")
    expect(page.locator(f"#{name}")).to_be_visible()


def is_poll_of(name: str, request: Request) -> bool:
    return f"{name.removeprefix('document-')}/status" in request.url


def test_many_files_have_one_line(resting: Visit, open_page: NewPage, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.md" for number in range(24)]
    for number, path in enumerate(paths):
        path.write_text(f"Text number {number}." if number else "")
    page = open_page(resting)
    upload(page, *paths)
    lines = page.locator("#uploads > li")
    expect(lines.first).to_contain_text("23 of 24 files uploaded. They are being processed.", timeout=READY)
    expect(lines.first).to_contain_text("Not uploaded: 1, listed below.")
    # The empty one is listed by its name.
    expect(lines).to_have_count(2)
    expect(lines.last).to_contain_text("0.md")
    lines.first.get_by_role("button", name="Remove this line").click()
    expect(lines).to_have_count(1)
