"""Many documents at once in a browser: ticked as a range, counted, deleted, brought back; and one that is deleted."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_journey import READY, row, upload
from tests.browser.test_without_script import FAULTS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
NAMES = ("one.md", "two.md", "three.md")


def _files(folder: Path) -> list[Path]:
    for name in NAMES:
        (folder / name).write_bytes(f"# {name}\n\nA note of {folder} called {name}.".encode())
    return [folder / name for name in NAMES]


def _until_ready(page: Page) -> None:
    for name in NAMES:
        expect(row(page, name)).to_have_attribute("data-status", "ready", timeout=READY)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_range_is_deleted_and_brought_back(working: Visit, open_page: NewPage, tmp_path: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900})
    upload(page, *_files(tmp_path))
    _until_ready(page)
    boxes = page.locator("#rows input[name=id]")
    expect(page.locator("#bulk-bar")).to_be_hidden()
    boxes.nth(0).click()
    expect(page.locator("#bulk-count")).to_have_text(" 1 selected")
    boxes.nth(2).click(modifiers=["Shift"])
    expect(page.locator("#bulk-count")).to_have_text(" 3 selected")
    assert page.evaluate(FAULTS) == []
    page.locator("#bulk-delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete 3 documents?")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#operation")).to_contain_text("Done")
    expect(page.locator("#operation")).to_contain_text("3 of 3 documents")
    assert page.evaluate(FAULTS) == []
    page.goto("/bin")
    expect(page.get_by_role("button", name="Restore")).to_have_count(3)
    assert page.evaluate(FAULTS) == []
    page.go_back()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Restore documents")
    expect(page.locator("#operation")).to_contain_text("Done")
    page.goto("/")
    _until_ready(page)

    row(page, "two.md").get_by_role("link").first.click()
    page.wait_for_url("**/documents/*")
    page.wait_for_load_state("load")
    page.locator("#open-menu").click()
    page.locator("#delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#flashes")).to_contain_text("“two.md” was put into the bin.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#flashes")).to_contain_text("“two.md” was restored.")


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_ticked_is_exported(working: Visit, open_page: NewPage, tmp_path: Path, width: int) -> None:
    page = open_page(working, viewport={"width": width, "height": 900}, accept_downloads=True)
    upload(page, *_files(tmp_path))
    _until_ready(page)
    row(page, "two.md").locator("input[name=id]").click()
    page.locator("#bulk-export").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Export 1 document?")
    assert page.evaluate(FAULTS) == []
    page.get_by_role("button", name="Export").click()
    expect(page.locator("#operation")).to_contain_text("Done")
    assert page.evaluate(FAULTS) == []
    with page.expect_download() as begun:
        page.locator("#export-file").click()
    with ZipFile(begun.value.path()) as exported:
        assert [name for name in exported.namelist() if name.startswith("files/")] == ["files/two.md"]
    page.goto("/bulk")
    assert page.evaluate(FAULTS) == []
    page.locator("#export-all").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Export 3 documents?")


def test_the_same_without_a_script(working: Visit, open_page: NewPage, tmp_path: Path) -> None:
    upload(scripted := open_page(working), *_files(tmp_path))
    _until_ready(scripted)
    page = open_page(working, java_script_enabled=False)
    page.get_by_text("Change several documents").click()
    page.locator("#bulk-all").check()
    page.locator("#bulk-delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete 3 documents?")
    page.get_by_role("button", name="Delete").click()
    for _ in range(READY // 250):
        if page.get_by_role("button", name="Undo").count():
            break
        page.wait_for_timeout(250)
        page.get_by_role("link", name="Refresh").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Restore documents")
