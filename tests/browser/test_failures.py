"""Ops get to zero in a real browser: errors in groups, discarded and restored, a page for each job, alerts."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import samples
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import row, upload
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def _fail(page: Page, files: Path) -> None:
    """Two files that nobody can open are uploaded, and their jobs fail."""
    (files / "second.pdf").write_bytes(samples.encrypted_pdf() + b"\n%second" + files.parent.name.encode())
    upload(page, files / "locked.pdf", files / "second.pdf")
    for name in ("locked.pdf", "second.pdf"):
        expect(row(page, name)).to_have_attribute("data-status", "failed", timeout=60_000)


@pytest.mark.parametrize("has_script", [True, False])
def test_a_person_gets_to_zero(working: Visit, open_page: NewPage, files: Path, has_script: bool) -> None:
    _fail(open_page(working), files)
    page = open_page(working, "/ops/jobs", java_script_enabled=has_script)
    group = page.locator(".entry-group")
    expect(group).to_contain_text("The file is protected by a password \u00d7 2")
    page.get_by_role("button", name="Retry all failed").click()
    expect(page.locator(".flash")).to_contain_text("2 were left out, since trying again can\u2019t help")
    # With script the row says so until the list is read anew, which may be at once.
    with page.expect_response("**/discard"):
        page.locator(".job", has_text="second.pdf").get_by_role("button", name="Discard").click()
    page.goto("/ops/jobs")
    expect(group).to_contain_text("\u00d7 1")
    page.get_by_role("button", name="Discard these: The file is protected by a password").click()
    expect(page.locator(".flash")).to_contain_text("1 failure was discarded.")
    expect(page.locator(".empty-title")).to_have_text("No open failures")
    page.get_by_role("link", name="Discarded").click()
    page.get_by_role("checkbox", name="Select locked.pdf").check()
    page.get_by_role("button", name="Restore selected").click()
    expect(page.locator(".flash")).to_contain_text("1 failure was restored.")
    page.get_by_role("link", name="Open failures").click()
    expect(group).to_contain_text("\u00d7 1")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_pages_of_ops_have_no_faults(working: Visit, open_page: NewPage, files: Path, width: int) -> None:
    _fail(open_page(working), files)
    page = open_page(working, "/ops", viewport={"width": width, "height": 900}, java_script_enabled=False)
    assert page.evaluate(FAULTS) == []
    page.goto("/ops/jobs")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("main").get_by_role("searchbox").fill("locked")
    page.get_by_role("main").get_by_role("searchbox").press("Enter")
    page.wait_for_url("**/ops/jobs?q=locked")  # with its styles, too
    expect(page.get_by_role("heading", name="Jobs found")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    page.get_by_role("link", name="locked.pdf").click()
    page.wait_for_url("**/ops/jobs/*-*")
    expect(page.get_by_role("heading", name="What happened")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    for window in ("24 hours", "30 days"):
        page.goto("/ops/throughput")
        page.get_by_role("link", name=window).click()
        page.wait_for_url("**/ops/throughput?window=*")
        assert page.evaluate(FAULTS) == []


def test_alerts_come_and_go_by_themselves(resting: Visit, open_page: NewPage) -> None:
    page = open_page(resting, "/ops")
    alert = page.locator("#alert-DocmillNoWorker")
    expect(alert).to_contain_text("Start a worker process")
    paused = page.locator("#alert-DocmillStagePaused")
    expect(paused).to_have_count(0)
    page.get_by_role("button", name="Stop taking new work").click()
    expect(paused).to_contain_text("All stages")
    page.get_by_role("button", name="Resume").click()
    expect(paused).to_have_count(0)
