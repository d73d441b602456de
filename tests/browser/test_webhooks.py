"""Webhooks in a browser: one is added, tested, paused, resumed and deleted, and what was sent is shown."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_webhook_is_added_tested_and_deleted(working: Visit, open_page: NewPage, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    page.goto("/ops")
    page.locator("#go-webhooks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")
    assert page.evaluate(FAULTS) == []
    # No private address is allowed here, so nothing leaves this machine.
    page.get_by_label("Address").fill("http://2130706433:9/hook")
    page.get_by_role("button", name="Add webhook").click()
    expect(page.locator("code.secret")).to_contain_text("whsec_")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Test")
    expect(page.locator("pre")).to_contain_text("webhook.test")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("link", name="Webhook", exact=True).click()
    expect(page.locator("code.secret")).to_have_count(0)
    expect(page.get_by_role("list", name="Deliveries, the newest first").get_by_role("listitem")).to_have_count(1)
    page.locator("#pause").click()
    expect(page.locator("#pause")).to_have_text("Resume")
    page.locator("#pause").click()
    expect(page.locator("#pause")).to_have_text("Pause")
    assert page.evaluate(FAULTS) == []
    page.locator("summary", has_text="Delete").click()
    page.locator("#delete-webhook").click()
    expect(page.locator("#flashes")).to_contain_text("The webhook is deleted")
    expect(page.get_by_text("No webhooks yet")).to_be_visible()
