"""People in a browser: somebody is invited, accepts in another browser, and is deactivated; on a phone, too."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import CDN, NewPage, cdn_delivers
from tests.browser.server import Visit
from tests.browser.test_journey import wait_for_htmx
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PASSWORD = "a sentence is good"


@pytest.mark.parametrize("width", [1280, 390])
def test_somebody_is_invited_and_deactivated(resting: Visit, open_page: NewPage, chromium: Browser, width: int) -> None:
    page = open_page(resting, viewport={"width": width, "height": 900})
    email = f"bo{width}@example.org"
    page.goto("/people")
    assert page.evaluate(FAULTS) == []
    page.get_by_label("E-mail").fill(email)
    page.get_by_role("button", name="Make an invitation link").click()
    expect(page.get_by_role("heading", name=f"A link for {email}")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    wait_for_htmx(page)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.locator(".secret").inner_text()

    context = chromium.new_context(viewport={"width": width, "height": 900})
    context.route(CDN, cdn_delivers)
    guest = context.new_page()
    guest.goto(link)
    assert guest.evaluate(FAULTS) == []
    guest.get_by_label("Password", exact=True).fill(PASSWORD)
    guest.get_by_label("Password, once more").fill(PASSWORD)
    guest.get_by_role("button", name="Save and sign in").click()
    expect(guest.get_by_role("link", name="Library")).to_be_visible()

    page.goto("/people")
    entry = page.locator("li.entry", has_text=email)
    entry.locator("summary", has_text="Change").click()
    assert page.evaluate(FAULTS) == []
    entry.locator("summary", has_text="Deactivate").click()
    entry.get_by_role("button", name=f"Deactivate {email}").click()
    expect(page.locator("#flashes")).to_contain_text("was saved")
    expect(entry).to_contain_text("Deactivated")
    guest.goto(resting.url)
    expect(guest.get_by_role("heading", name="Sign in")).to_be_visible()
    context.close()
