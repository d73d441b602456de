"""Everything works where no script runs, and everything can be reached with keys."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as TooLate

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# Is each control named, each field labelled, is there one first heading, and nothing wider than the window?
FAULTS = """
() => {
  const faults = [];
  const shown = (element) => element.checkVisibility({visibilityProperty: true});
  const label = (element) => element.getAttribute("aria-label") || element.textContent.trim() ||
    element.querySelector("img[alt]")?.alt ||
    document.getElementById(element.getAttribute("aria-labelledby"))?.textContent;
  for (const element of document.querySelectorAll("a[href], button, summary")) {
    if (shown(element) && !label(element)) faults.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!field.labels.length && !field.getAttribute("aria-label")) faults.push(`no label: ${field.name}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
  if (!document.title.includes("Docmill") || !document.documentElement.lang) faults.push("no title or language");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => Number(heading.tagName[1]));
  levels.forEach((level, place) => {
    if (place > 0 && level > levels[place - 1] + 1) faults.push(`h${levels[place - 1]} is followed by h${level}`);
  });
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push("wider than the window");
  for (const image of document.querySelectorAll("img:not([alt])")) faults.push(`no alt: ${image.src}`);
  return faults;
}
"""


def wait_until_ready(page: Page, name: str) -> None:
    """Without a script a person asks by themselves."""
    for _ in range(READY // 250):
        if row(page, name).get_attribute("data-status") == "ready":
            return
        page.wait_for_timeout(250)
        page.get_by_role("link", name="Refresh").click()
    raise AssertionError(f"{name} is not ready")


def test_the_whole_journey_without_script(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working, java_script_enabled=False)
    upload(page, files / "report.pdf", files / "empty.txt")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("#flashes")).to_contain_text("“report.pdf” was uploaded.")
    expect(page.locator("#flashes")).to_contain_text("We could not add “empty.txt”: the file is empty.")
    wait_until_ready(page, "report.pdf")

    page.locator("#filter-q").fill("report")
    page.get_by_role("button", name="Apply").click()
    assert "q=report" in page.url
    row(page, "report.pdf").get_by_role("link").first.click()
    expect(page.locator(".prose")).to_contain_text("the lamp was lit at dusk")
    page.locator("#tab-details").click()
    page.get_by_role("link", name="Passages").click()
    expect(page.locator(".passage").first).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.locator(".timeline")).to_contain_text("Finished")
    page.locator("#document-menu summary").click()
    page.get_by_role("button", name="Reprocess").click()
    expect(page.locator("#live")).to_be_visible()

    page.locator("#document-menu summary").click()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Delete “report.pdf”?")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#flashes")).to_contain_text("“report.pdf” was put into the bin.")


def test_the_whole_journey_with_keys(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#upload-files")).to_be_focused()
    choose_with_keys(page, files / "notes.md")
    expect(row(page, "notes.md")).to_have_attribute("data-status", "ready", timeout=READY)

    link = row(page, "notes.md").get_by_role("link").first
    tab_to(page, link.get_attribute("id") or "")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Milling notes")
    # Before its scripts have run, the page asks on a page of its own instead of in a dialog.
    page.wait_for_load_state("load")
    tab_to(page, "open-menu")
    page.keyboard.press("Enter")
    tab_to(page, "delete")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#delete")).to_be_focused()
    tab_to(page, "tab-details")
    page.keyboard.press("Enter")
    expect(page.locator("#tab-details")).to_be_focused()
    expect(page.locator("#tab-runs")).to_be_visible()
    tab_to(page, "tab-runs")
    page.keyboard.press("Enter")
    expect(page.locator("#tab-runs")).to_have_attribute("aria-current", "page")
    expect(page.locator("#tab-runs")).to_be_focused()


def choose_with_keys(page: Page, path: Path) -> None:
    """The browser's window for files is out of reach for scripts; a loaded machine may miss its opening once."""
    for seconds in (5, 15):
        try:
            with page.expect_file_chooser(timeout=seconds * 1000) as chooser:
                page.keyboard.press("Space")
        except TooLate:
            continue
        chooser.value.set_files(path)
        return
    raise AssertionError("Space does not open the window for files")


def tab_to(page: Page, element_id: str, steps_max: int = 80) -> None:
    """Go from one control to the next until this one is reached; each on the way shows that it has the focus."""
    for _ in range(steps_max):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "() => [document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        )
        if focused[0] == element_id:
            assert focused[1] != "none"
            return
    raise AssertionError(f"#{element_id} was not reached")


def test_escape_closes_the_menu_and_gives_the_focus_back(working: Visit, open_page: NewPage) -> None:
    page = open_page(working)
    summary = page.locator(".topbar [data-menu] summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(summary).to_be_focused()


@pytest.mark.parametrize("width", [360, 1280])
def test_each_page_is_sound(working: Visit, open_page: NewPage, files: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 800})
    upload(page, files / "table.pdf", files / "locked.pdf", files / "empty.txt")
    expect(row(page, "table.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    expect(row(page, "locked.pdf")).to_have_attribute("data-status", "failed", timeout=READY)
    documents = [
        row(page, name).get_by_role("link").first.get_attribute("href") for name in ("table.pdf", "locked.pdf")
    ]
    sections = [
        f"{document}{part}" for document in documents for part in ("", "/fields", "/tables", "/chunks", "/runs")
    ]
    others = ["/", "/?q=nothing", "/search", "/search?q=workshop", "/account", "/account/password"]
    others += ["/ops", "/ops/jobs", "/ops/security", "/people"]
    faults = {"uploads": page.evaluate(FAULTS)}
    for path in [*others, *sections, f"{documents[0]}/delete", "/no/such/page"]:
        page.goto(path)
        faults[path] = page.evaluate(FAULTS)
    assert {path: found for path, found in faults.items() if found} == {}
