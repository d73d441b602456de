"""An error that HTMX meets is shown to the person who clicked."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def test_a_refused_click_says_why(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    page.set_input_files("#upload-files", files / "locked.pdf")
    expect(page.get_by_text("Failed").first).to_be_visible()
    page.goto("/ops/jobs")
    elsewhere = open_page(working, "/ops/jobs")
    elsewhere.get_by_role("button", name="Retry locked.pdf").first.click()
    expect(elsewhere.get_by_text("Queued again")).to_be_visible()
    page.get_by_role("button", name="Retry locked.pdf").first.click()
    expect(page.locator("#flashes .flash-error")).to_contain_text("processed again since this job failed")
