"""Tags in a browser: given in a row of the library, seen as a tree, coloured, merged, deleted and put back."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload, wait_for_htmx
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def shelve(page: Page, folder: Path, *names: str) -> None:
    """Upload small notes of these names, and wait until they are ready."""
    for name in names:
        (folder / name).write_text(f"# {name}\n\nA note of {folder} called {name}.")
    upload(page, *(folder / name for name in names))
    for name in names:
        expect(row(page, name)).to_have_attribute("data-status", "ready", timeout=READY)


def _tag(page: Page, name: str, *tags: str) -> None:
    """Give a document tags in its row, without leaving the library."""
    row(page, name).get_by_label("Change tags").click()
    for tag in tags:
        box = row(page, name).get_by_placeholder("Add a tag")
        box.fill(tag)
        box.press("Enter")
        expect(row(page, name).locator(".tag", has_text=tag.rpartition("/")[2]).first).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_tags_are_given_found_and_put_in_order(working: Visit, open_page: NewPage, tmp_path: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    wait_for_htmx(page)
    one, two, tag = f"one-{width}.md", f"two-{width}.md", f"w{width}"
    shelve(page, tmp_path, one, two)
    _tag(page, one, f"{tag}/y{width}")
    _tag(page, two, f"{tag}/flat{width}", "to pay")
    assert page.evaluate(FAULTS) == []
    page.goto(f"/?q=tag:{tag}")
    expect(page.locator("#rows tr")).to_have_count(2)

    page.goto("/tags")
    assert page.evaluate(FAULTS) == []
    node = page.locator(".tag-node", has=page.get_by_role("link", name=f"flat{width}", exact=True)).first
    node.get_by_text("Change").click()
    node.get_by_label(f"Colour of the tag {tag}/flat{width}").select_option("green")
    node.get_by_role("button", name="Save").click()
    expect(page.locator(".tag-green", has_text=f"flat{width}").first).to_be_visible()
    assert page.evaluate(FAULTS) == []

    node.get_by_text("Change").click()
    node.get_by_label(f"Name of the tag {tag}/flat{width}").fill(f"{tag}/y{width}")
    node.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Merge “{tag}/flat{width}” into “{tag}/y{width}”?")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Merge").click()
    merged = page.locator(".tag-node", has=page.get_by_role("link", name=f"y{width}", exact=True)).first
    expect(merged).to_contain_text("2 documents")
    page.locator("#flashes").get_by_role("button", name="Undo").click()
    expect(merged).to_contain_text("1 document")

    node.get_by_text("Change").click()
    node.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Delete the tag")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Delete").click()
    expect(node).to_have_count(0)
    page.locator("#flashes").get_by_role("button", name="Undo").click()
    expect(page.locator(".tag-green", has_text=f"flat{width}").first).to_be_visible()
