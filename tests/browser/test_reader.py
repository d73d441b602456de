"""Reading: page and text follow each other, and what is pointed at in one is marked in the other."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import samples
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGES = 90
_TEXT_AT = "number => Math.abs(document.querySelector(`#page-${number}`)?.getBoundingClientRect().top - 60) < 80"
_NO_WIDER = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def book(working: Visit, open_page: NewPage, tmp_path: Path) -> tuple[str, Page]:
    """A long report that is ready: its address, and the page of a person who has not opened it."""
    path = tmp_path / "book.pdf"
    path.write_bytes(samples.report_pdf(PAGES))
    page = open_page(working, viewport={"width": 1280, "height": 800})
    upload(page, path)
    expect(row(page, "book.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    address = row(page, "book.pdf").get_by_role("link").first.get_attribute("href")
    assert address
    return address, page


def test_page_and_text_follow_each_other(working: Visit, open_page: NewPage, book: tuple[str, Page]) -> None:
    address, page = book
    page.goto(address)
    number = page.locator("[data-go]")
    expect(page.locator("[data-leaf]")).to_have_count(PAGES)
    # The text is scrolled, and the picture of the page comes.
    page.locator("#page-3").scroll_into_view_if_needed()
    page.mouse.move(1000, 500)
    page.mouse.wheel(0, 900)
    expect(number).not_to_have_value("1")
    # A page that is far away brings its part of the text.
    number.fill("80")
    number.press("Enter")
    page.wait_for_function(_TEXT_AT, arg=80)
    expect(page.locator("[data-leaf='80'] img")).to_have_attribute("src", re.compile(r"/pages/80\.png$"))
    # A paragraph that is pointed at is marked on the page, and a place on the page in the text.
    page.locator("#page-80 ~ p", has_text="Page 80, paragraph 2").first.hover()
    expect(page.locator("[data-leaf='80'] rect.is-marked")).to_have_count(3)
    expect(page.locator("p.is-marked")).to_contain_text("Page 80, paragraph 2")
    page.locator("[data-leaf='80'] rect[data-key='block-1']").first.hover()
    expect(page.locator("p.is-marked")).to_contain_text("Page 80, paragraph 1")
    # Text after this and before this comes as one scrolls.
    parts = page.locator(".text-part")
    expect(parts).to_have_count(1)
    page.locator("#previous-pages").dispatch_event("click")
    expect(parts).to_have_count(2)
    page.wait_for_function(_TEXT_AT, arg=80)
    for tool in ("[data-zoom=in]", "[data-rotate]", "button[data-fit=page]"):
        page.locator(tool).click()
    expect(page.locator("button[data-fit=page]")).to_have_attribute("aria-pressed", "true")
    # Where somebody left off is kept, and what was found is marked on both sides.
    page.goto(address)
    expect(number).to_have_value("80")
    page.wait_for_function(_TEXT_AT, arg=80)
    page.locator("#inside-q").fill('"Page 7, paragraph 2, line 2"')
    page.locator("#inside-q").press("Enter")
    expect(page.locator("#landing")).to_contain_text("Hit 1 of 1")
    expect(number).to_have_value("7")
    expect(page.locator("[data-leaf='7'] .leaf-word").first).to_be_attached()


def test_a_narrow_screen_shows_one_at_a_time_also_without_scripts(
    working: Visit, open_page: NewPage, book: tuple[str, Page]
) -> None:
    address, _ = book
    narrow = open_page(working, address, viewport={"width": 390, "height": 800}, color_scheme="dark", has_touch=True)
    expect(narrow.locator(".reader-text")).to_be_visible()
    expect(narrow.locator(".reader-page")).to_be_hidden()
    assert narrow.evaluate(_NO_WIDER)
    narrow.get_by_role("link", name="Page", exact=True).click()
    expect(narrow.locator(".reader-text")).to_be_hidden()
    narrow.locator("[data-turn='1']").click()
    expect(narrow.locator("[data-go]")).to_have_value("2")
    narrow.locator("[data-leaf='2'] rect[data-key='block-1']").first.tap()
    expect(narrow.locator(".reader-page")).to_be_hidden()
    expect(narrow.locator("p.is-marked")).to_contain_text("Page 2, paragraph 1")
    assert narrow.evaluate(_NO_WIDER)

    plain = open_page(working, address, viewport={"width": 390, "height": 800}, java_script_enabled=False)
    plain.get_by_role("link", name="Next pages").click()
    expect(plain.locator("#text-part-2")).to_be_visible()
    plain.get_by_role("link", name="Page", exact=True).click()
    plain.get_by_role("link", name="Next page").click()
    expect(plain.locator("[data-leaf] img")).to_be_visible()
    plain.locator("[data-go]").fill("5")
    plain.locator("[data-go]").press("Enter")
    expect(plain.locator("[data-leaf] img")).to_have_attribute("src", re.compile(r"/pages/5\.png$"))
    plain.get_by_role("link", name="Text", exact=True).nth(1).click()
    expect(plain.locator("#page-5")).to_be_visible()
    plain.locator("#tab-outline").click()
    plain.get_by_role("link", name="Chapter 60: what the keepers saw").click()
    expect(plain.locator("#page-60")).to_be_visible()


def test_a_letter_is_printed_on_one_sheet(working: Visit, open_page: NewPage, tmp_path: Path) -> None:
    path = tmp_path / "letter.pdf"
    path.write_bytes(samples.lines_pdf(["Dear Ms Miller,", "the lamp is lit at dusk.", "Yours, the keeper"]))
    page = open_page(working)
    upload(page, path)
    expect(row(page, "letter.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    row(page, "letter.pdf").get_by_role("link").first.click()
    expect(page.locator(".prose")).to_contain_text("the lamp is lit")
    printed = page.pdf(format="A4")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") + printed.count(b"/Type/Page/") == 1


def test_a_hit_shows_its_page_and_a_damaged_page_says_so(working: Visit, open_page: NewPage, tmp_path: Path) -> None:
    lines = [*(f"Line {number} of the long story about the mill" for number in range(7)), "Here is a zephyr", "The end"]
    files = {"story.pdf": samples.lines_pdf(lines, lines_per_page=2), "damaged.pdf": samples.report_pdf(2)[:900]}
    page = open_page(working, viewport={"width": 1280, "height": 500})
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        upload(page, tmp_path / name)
        expect(row(page, name)).to_have_attribute("data-status", re.compile("ready|failed"), timeout=READY)
    row(page, "story.pdf").get_by_role("link").first.click()
    page.locator("#inside-q").fill("zephyr")
    page.keyboard.press("Enter")
    page.wait_for_url("**passage=**")
    expect(page.locator("[data-leaf='4'] .leaf-word")).to_have_count(1)
    page.wait_for_function("document.readyState === 'complete' && scrollY > 0")
    expect(page.locator("[data-go]")).to_have_value("4")
    page.goto("/")
    row(page, "damaged.pdf").get_by_role("link").first.click()
    # It is not asked for again and again.
    expect(page.locator(".leaf-missing")).to_have_text("This page can't be drawn.", timeout=5_000)
