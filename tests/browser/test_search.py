"""The way from any page to the words: the key, the box, the hit, the place in the text."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests import samples
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# Whether the marked word is in sight, and nothing lies over it.
_IN_SIGHT = """() => {
  const mark = [...document.querySelectorAll("article .here mark")].find((each) => each.textContent == "wobbulator");
  const box = mark?.getBoundingClientRect();
  return Boolean(box) && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === mark;
}"""


def test_a_click_lands_at_the_words(working: Visit, open_page: NewPage, tmp_path: Path) -> None:
    lines = [f"Paragraph {number} speaks of lamps, oil and the storm.\n" for number in range(240)]
    long = tmp_path / "long.pdf"
    long.write_bytes(samples.lines_pdf([*lines, "The wobbulator hums at night.", *lines], lines_per_page=600, size=1))
    page = open_page(working)
    upload(page, long)
    expect(row(page, "long.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    page.keyboard.press("/")
    expect(page.locator("#topbar-q")).to_be_focused()
    page.keyboard.type("wobbulator hums/")
    page.keyboard.press("Enter")
    expect(page.locator("#hits mark").first).to_be_visible()
    expect(page.locator("#q")).to_have_value("wobbulator hums/")
    page.locator("#hits a.passage-source").first.click()
    page.wait_for_url("**/documents/**")
    page.wait_for_function(_IN_SIGHT)
    page.set_viewport_size({"width": 390, "height": 800})
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_function(_IN_SIGHT)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#passage-picture").click()
    expect(page.locator("svg.leaf-marks rect").first).to_be_visible()
    page.goto("/search")
    page.locator("#q").press_sequentially("wobbulator -kind:inv")
    option = page.locator("#q-suggestions [role=option]").first
    expect(option).to_contain_text("kind:invoice")
    page.locator("#q").press("ArrowDown")
    expect(page.locator("#q")).to_have_attribute("aria-activedescendant", "suggestion-1")
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_have_value("wobbulator -kind:invoice ")
    page.keyboard.press("Enter")
    expect(page.locator("#hits [data-hit]").first).to_be_visible()
    page.locator("h1").click()
    page.keyboard.press("j")
    expect(page.locator("#hits [data-hit]").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_function(_IN_SIGHT)


def test_keys_go_from_row_to_row_and_from_page_to_page(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "report.pdf", files / "notes.md")
    expect(page.locator("#rows > tr")).to_have_count(2)
    links = page.locator("#rows .grid-name a")
    page.keyboard.press("j")
    expect(links.first).to_be_focused()
    page.keyboard.press("j")
    expect(links.last).to_be_focused()
    page.keyboard.press("k")
    expect(links.first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("gs")
    expect(page.get_by_role("heading", name="Search", exact=True)).to_be_visible()
    # In a box they are letters.
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially("gl?j")
    expect(page.locator("#q")).to_have_value("gl?j")
