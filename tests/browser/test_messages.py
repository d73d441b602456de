"""An error that HTMX meets is shown to the person who clicked."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_a_refused_click_says_why(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    (files / "locked.pdf").rename(files / "refused.pdf")
    upload(page, files / "refused.pdf")
    expect(row(page, "refused.pdf")).to_have_attribute("data-status", "failed", timeout=READY)
    page.goto("/ops/jobs")
    elsewhere = open_page(working, "/ops/jobs")
    elsewhere.get_by_role("button", name="Retry refused.pdf").click()
    expect(elsewhere.get_by_text("Queued again")).to_be_visible()
    page.get_by_role("button", name="Retry refused.pdf").click()
    expect(page.locator("#flashes .flash-error")).to_contain_text("processed again since this job failed")
