"""Ops holds and lets go, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_drain_is_told_everywhere_and_ends(resting: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(resting)
    upload(page, files / "notes.md")
    row(page, "notes.md").get_by_role("link", name="notes.md").click()
    expect(page.locator("#live")).to_contain_text("Waits for a free worker")
    page.goto("/ops")
    page.get_by_role("button", name="Stop taking new work").click()
    expect(page.locator("#ops-live")).to_contain_text("safe for maintenance")
    page.goto("/")
    row(page, "notes.md").get_by_role("link", name="notes.md").click()
    expect(page.locator("#live")).to_contain_text("Processing is paused for now")
    page.goto("/ops")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Stop taking new work")).to_be_visible()


def test_figures_refresh_while_somebody_types(resting: Visit, open_page: NewPage) -> None:
    page = open_page(resting, "/ops")
    field = page.locator("#limit-process_document")
    field.fill("7")
    with page.expect_response(lambda answer: answer.url.endswith("/ops"), timeout=20_000):
        page.get_by_role("heading", name="Operations").hover()
    expect(page.locator("#stage-process_document")).to_be_visible()
    expect(field).to_be_focused()
    expect(field).to_have_value("7")
    field.press("Enter")
    expect(page.locator(".flash")).to_contain_text("at most 7 at once")
    page.locator("#limit-process_document").fill("")
    page.locator("#limit-process_document").press("Enter")
    expect(page.locator(".flash")).to_contain_text("no limit")


@pytest.mark.parametrize("has_script", [True, False])
def test_a_run_is_cancelled_with_and_without_a_script(
    resting: Visit, open_page: NewPage, files: Path, has_script: bool
) -> None:
    name = "report.pdf" if has_script else "table.pdf"
    first = open_page(resting)
    upload(first, files / name)
    expect(row(first, name)).to_be_visible()
    page = open_page(resting, java_script_enabled=has_script)
    row(page, name).get_by_role("link", name=name).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#live")).to_contain_text("Processing was cancelled")


@pytest.mark.parametrize("width", [390, 1280])
def test_selected_jobs_are_cancelled_on_any_screen(resting: Visit, open_page: NewPage, files: Path, width: int) -> None:
    first = open_page(resting)
    upload(first, files / "notes.md")
    expect(row(first, "notes.md")).to_be_visible()
    page = open_page(resting, "/ops/jobs?status=pending", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Cancel selected").click()
    expect(page.locator(".flash")).to_contain_text("1 job was cancelled.")
