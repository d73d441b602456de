"""A rule in a browser: made of a view, tried on the library, applied to it, undone, and applied to what comes next."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import row
from tests.browser.test_tags import shelve
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_rule_is_made_tried_and_applied(working: Visit, open_page: NewPage, tmp_path: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    shelve(page, tmp_path, f"rent{width} one.md")
    page.goto(f"/?q=in:rent{width}")
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill(f"Rent {width}")
    page.locator("#save-view").get_by_role("button", name="Save").click()
    expect(page.locator("#flashes")).to_contain_text("was saved")

    page.goto("/rules")
    if not page.locator("#new-rule").get_by_label("Name", exact=True).is_visible():
        page.get_by_text("New rule").click()
    form = page.locator("#new-rule")
    form.get_by_label("Name", exact=True).fill(f"Rents {width}")
    form.get_by_label("Documents of the view").select_option(label=f"Rent {width}")
    form.get_by_label("Tags").fill(f"home/rent{width}")
    form.get_by_label("Title").fill("Rent: {name}")
    assert page.evaluate(FAULTS) == []
    form.get_by_role("button", name="Make the rule").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Rents {width}")
    expect(page.get_by_role("main")).to_contain_text("It would change 1 of 1 document")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Apply to the library").click()
    expect(page.locator("#operation")).to_contain_text("Done")
    page.goto(f"/?q=tag:home/rent{width}")
    expect(page.locator("#rows tr")).to_have_count(1)
    page.goto("/bulk")
    page.get_by_role("link", name="Apply a rule").first.click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Undo a rule")
    expect(page.locator("#operation")).to_contain_text("Done")

    page.goto("/")
    shelve(page, tmp_path, f"rent{width} two.md")
    expect(row(page, f"rent{width} two.md").locator(".tag")).to_have_text([f"home/rent{width}"])
