"""Saved views in a browser: made of a filter, opened with one click, counted; on a phone from a menu."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import wait_for_htmx
from tests.browser.test_tags import shelve
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_filter_becomes_a_view(working: Visit, open_page: NewPage, tmp_path: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    wait_for_htmx(page)
    shelve(page, tmp_path, f"plan-{width}.md", f"offer-{width}.md")
    page.locator("#filter-q").fill(f"in:offer-{width}")
    expect(page.locator("#rows tr")).to_have_count(1)
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill(f"Offers {width}")
    assert page.evaluate(FAULTS) == []
    page.locator("#save-view").get_by_role("button", name="Save").click()
    expect(page.locator("#flashes")).to_contain_text("was saved")
    wait_for_htmx(page)

    place = page.locator(".views-wide" if width > 768 else ".views-narrow")
    link = place.locator("[data-view]", has_text=f"Offers {width}")
    if width <= 768:
        place.get_by_text("Views", exact=True).click()
    expect(link).to_contain_text("1")
    expect(link).to_have_attribute("aria-current", "page")
    assert page.evaluate(FAULTS) == []
    page.locator("#filter-q").fill("")
    expect(link).not_to_have_attribute("aria-current", "page")

    page.goto("/")
    if width <= 768:
        place.get_by_text("Views", exact=True).click()
    link.click()
    expect(page.locator("#rows tr")).to_have_count(1)
    page.goto("/views")
    entry = page.locator("li.entry", has_text=f"Offers {width}")
    entry.locator("summary", has_text="Change").click()
    entry.get_by_label("Name").fill(f"Best {width}")
    assert page.evaluate(FAULTS) == []
    entry.get_by_role("button", name="Save").click()
    entry = page.locator("li.entry", has_text=f"Best {width}")
    entry.locator("summary", has_text="Change").click()
    entry.locator("summary", has_text="Delete").click()
    entry.get_by_role("button", name="Delete").click()
    expect(page.locator("#flashes")).to_contain_text("was deleted")
    expect(entry).to_have_count(0)


def test_a_view_is_saved_and_opened_without_a_script(working: Visit, open_page: NewPage, tmp_path: Path) -> None:
    shelve(open_page(working), tmp_path, "plain.md")
    page = open_page(working, java_script_enabled=False)
    page.goto("/?q=in:plain")
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("Plain")
    page.locator("#save-view").get_by_role("button", name="Save").click()
    expect(page.locator("#flashes")).to_contain_text("was saved")
    page.goto("/")
    page.locator(".views-wide").get_by_role("link", name="Plain").click()
    expect(page.locator("#rows tr")).to_have_count(1)
