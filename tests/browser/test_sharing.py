"""Share links in a browser: made and copied, opened by somebody outside, revoked; on a phone, too."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import CDN, NewPage, cdn_delivers
from tests.browser.server import Visit
from tests.browser.test_journey import wait_for_htmx
from tests.browser.test_tags import shelve
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_document_is_shared_and_the_link_revoked(
    working: Visit, open_page: NewPage, chromium: Browser, tmp_path: Path, width: int
) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    wait_for_htmx(page)
    shelve(page, tmp_path, f"offer-{width}.md")
    page.locator("#rows").get_by_role("link", name=f"offer-{width}").first.click()
    page.locator("#open-menu").click()
    page.locator("#share").click()
    expect(page.get_by_role("heading", name="Share a link")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    page.get_by_label("Whom is it for?").fill("The accountant")
    page.get_by_label("may be downloaded").check()
    page.get_by_role("button", name="Make a link").click()
    expect(page.get_by_role("heading", name="Your new link")).to_be_visible()
    assert page.evaluate(FAULTS) == []
    link = page.locator(".secret").inner_text()

    context = chromium.new_context(viewport={"width": width, "height": 900})
    context.route(CDN, cdn_delivers)
    guest = context.new_page()
    guest.goto(link)
    expect(guest.get_by_role("heading", level=1)).to_contain_text(f"offer-{width}")
    expect(guest.locator("article")).to_be_visible()
    assert guest.evaluate(FAULTS) == []
    with guest.expect_download() as download:
        guest.locator("#download").click()
    assert download.value.suggested_filename == f"offer-{width}.md"

    page.goto("/shares")
    entry = page.locator("li.entry", has_text="The accountant")
    expect(entry).to_contain_text("Opened 1 time")
    assert page.evaluate(FAULTS) == []
    entry.locator("summary").click()
    entry.get_by_role("button", name="Revoke").click()
    expect(page.locator("#flashes")).to_contain_text("was revoked")
    guest.goto(link)
    expect(guest.get_by_role("heading", name="This link does not work")).to_be_visible()
    assert guest.evaluate(FAULTS) == []
    context.close()
