"""People correct: with keys and a script at two widths, and by forms alone where no script runs."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import samples
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
BILL = (
    "Mill & Sons Ltd", "12 Harbour Road, Lisbon", "", "INVOICE", "", "Invoice number: KX-4711",
    "Invoice date: 4 March 2026", "", "Net amount: 100.00 EUR", "VAT 20 %: 20.00 EUR", "Total: 999.00 EUR",
)  # fmt: skip
WITH_HTMX = "() => Boolean(document.querySelector('main [hx-get]')?.['htmx-internal-data'])"
COPIED = "navigator.clipboard.readText()"


def looks_right(page: Page) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(FAULTS) == []


@pytest.fixture
def bill(working: Visit, open_page: NewPage, tmp_path: Path) -> str:
    """The address of a bill whose sums contradict each other."""
    files = {"bill.pdf": samples.lines_pdf(BILL), "prices.csv": b"Item,Amount\n=1+1,10.00\nRye,12.00\n"}
    page = open_page(working)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        upload(page, tmp_path / name)
        expect(row(page, name)).to_have_attribute("data-status", "ready", timeout=READY)
    page.get_by_role("link", name="prices.csv").click()
    page.locator("#tab-tables").click()
    page.wait_for_url("**/tables")
    page.wait_for_function(WITH_HTMX)
    page.context.grant_permissions(["clipboard-read"])
    page.get_by_role("button", name="Copy").click()
    assert page.evaluate(COPIED) == "Item\tAmount\n'=1+1\t10.00\nRye\t12.00"
    page.locator("#edit-table-1").click()
    page.wait_for_url("**edit=1**")
    page.wait_for_function(WITH_HTMX)
    page.locator("#cell-1-2-1-edit").click()
    page.locator("#cell-1-2-1-value").fill("13.00")
    page.keyboard.press("Enter")
    expect(page.locator("#cell-1-2-1")).to_contain_text("13.00")
    expect(page.locator("#cell-1-2-1-edit")).to_be_focused()
    looks_right(page)
    page.goto("/")
    page.get_by_role("link", name="bill.pdf").click()
    return page.url


def edit_details(page: Page) -> None:
    page.locator("#open-menu").click()
    page.locator("#edit").click()
    page.wait_for_function(WITH_HTMX)
    page.locator("#edit-details").click()
    page.locator("#own-title").fill("Harbour bill")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Harbour bill")
    expect(page).to_have_title("Harbour bill · Docmill")
    page.locator("#edit-details").click()
    page.locator("#own-note").fill("Half a thou")
    page.locator("#favourite").click()
    expect(page.locator("#favourite")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#own-note")).to_have_value("Half a thou")
    page.locator("#own-note").focus()
    page.evaluate("htmx.trigger(document.body, 'document-changed')")
    page.wait_for_function("() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
    expect(page.locator("#own-note")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type("ght")
    page.locator("#save-details").click()
    expect(page.locator("#details .note")).to_have_text("Half a thought")
    looks_right(page)


def correct_total(page: Page, bill: str) -> None:
    page.goto(f"{bill}/fields")
    page.wait_for_function(WITH_HTMX)
    total = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Total"))
    total.get_by_label("Edit: Total").click()
    page.keyboard.press("Tab")
    page.keyboard.type("much")
    page.keyboard.press("Enter")
    expect(total.get_by_role("alert")).to_contain_text("must be an amount")
    expect(total.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("120.00")
    page.keyboard.press("Enter")
    expect(total).to_contain_text("Corrected")
    expect(total.get_by_role("button", name="Undo: Total")).to_be_focused()
    looks_right(page)


def check_doubts(page: Page) -> None:
    page.goto("/doubts")
    page.wait_for_function(WITH_HTMX)
    expect(page.locator("#doubt-name")).to_have_text("Net amount")
    expect(page.locator("svg.leaf-marks rect")).to_have_count(1)
    looks_right(page)
    # A key that is held down decides once.
    for _ in range(3):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.locator("#doubt-name")).to_have_text("Tax 20 %")
    expect(page.get_by_role("button", name="Right")).to_be_focused()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.locator("#doubt")).to_contain_text("Nothing to check")
    page.keyboard.press("z")
    expect(page.locator("#doubt-name")).to_have_text("Tax 20 %")
    page.keyboard.press("ControlOrMeta+z")
    expect(page.locator("#doubt-name")).to_have_text("Net amount")
    expect(page.locator("#doubt-undo")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.locator("#doubt-name")).to_have_text("Tax 20 %")
    page.keyboard.press("Tab")
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    expect(page.locator("#doubt-value")).to_have_value("20.00 EUR")
    page.keyboard.press("Escape")
    expect(page.locator("#doubt")).to_contain_text("Nothing to check")
    expect(page.locator("#doubt")).to_contain_text("3 checked, 33%")


def test_by_keyboard(working: Visit, bill: str, open_page: NewPage) -> None:
    page = open_page(working, bill)
    page.wait_for_function(WITH_HTMX)
    edit_details(page)
    correct_total(page, bill)
    check_doubts(page)
    page.locator("#go-library").click()
    page.locator("#filter-q").fill("is:corrected harbour")
    expect(row(page, "bill.pdf")).to_be_visible()


def test_without_a_script(working: Visit, bill: str, open_page: NewPage) -> None:
    page = open_page(working, bill, java_script_enabled=False)
    page.goto(f"{bill}/details")
    page.locator("#favourite").click()
    expect(page.locator("#favourite")).to_have_attribute("aria-pressed", "true")
    page.goto(f"{bill}/fields")
    page.get_by_label("Confirm: Invoice number").click()
    expect(page.get_by_label("Undo: Invoice number")).to_be_visible()
    page.get_by_label("Edit: Total").click()
    page.get_by_role("textbox", name="Total").fill("much")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("must be an amount")
    page.goto("/doubts")
    page.locator("#doubt-skip").click()
    expect(page.locator("#doubt-name")).to_have_text("Tax 20 %")
    page.locator("#doubt-absent").click()
    expect(page.locator("#doubt-name")).to_have_text("Total")
    page.locator("#doubt-undo").click()
    expect(page.locator("#doubt-name")).to_have_text("Tax 20 %")
    prices = page.context.request.get("/documents", headers={"Accept": "application/json"}).json()["documents"]
    [prices] = [each["id"] for each in prices if each["filename"] == "prices.csv"]
    page.goto(f"/documents/{prices}/tables?edit=1")
    page.locator("#cell-1-0-0-edit").click()
    page.locator("#cell-1-0-0-value").fill("Grain")
    page.keyboard.press("Enter")
    expect(page.locator("#cell-1-0-0-edit")).to_be_focused()
