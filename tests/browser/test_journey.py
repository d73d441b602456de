"""From a dropped file to a document that is ready, as a person sees it."""

import base64
import re
from collections.abc import Sized
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, Locator, Page, Route, expect

from tests.browser.conftest import NewPage
from tests.browser.server import Visit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

READY = 30_000

# A drop as a browser makes it: the files come with the event. Nothing else can replace a hand on a mouse.
_DROP = """
([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  for (const type of ["dragenter", "dragover"]) {
    document.body.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: transfer}));
  }
  const veiled = document.documentElement.classList.contains("is-dragging");
  document.body.dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: transfer}));
  return veiled;
}
"""


def drop(page: Page, path: Path) -> bool:
    """Drop a file onto the page; whether the page showed that it would take it."""
    veiled: bool = page.evaluate(_DROP, [path.name, base64.b64encode(path.read_bytes()).decode()])
    return veiled


def row(page: Page, name: str) -> Locator:
    return page.locator("tr", has=page.get_by_role("link", name=name, exact=True)).first


def wait_for_htmx(page: Page) -> None:
    """Without it a form's answer is a whole page, which begins with the text."""
    page.wait_for_load_state()
    page.evaluate("window.htmxSettled")


def upload(page: Page, *paths: Path) -> None:
    page.set_input_files("#upload-files", list(paths))


def wait_for_number(page: Page, held: Sized, number: int) -> None:
    """Until so many requests are held back."""
    for _ in range(READY // 50):
        if len(held) == number:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(held)} requests came, not {number}")


def test_a_chosen_folder_stays_with_its_files(resting: Visit, open_page: NewPage, tmp_path: Path) -> None:
    (tmp_path / "Tax" / "2025").mkdir(parents=True)
    (tmp_path / "Tax" / "2025" / "may.md").write_text("# May\n\nWhat was paid.")
    page = open_page(resting)
    page.get_by_label("Make tags of folders").check()
    page.set_input_files("#upload-folder", tmp_path / "Tax")
    expect(row(page, "may.md").locator(".grid-title", has_text="Tax/2025")).to_be_visible()
    expect(row(page, "may.md").locator(".tag")).to_have_text(["Tax/2025"])
    row(page, "may.md").get_by_role("link", name="may.md").click()
    page.locator("#folder").click()
    expect(page.locator("#shown-folder")).to_contain_text("Tax/2025")
    expect(row(page, "may.md")).to_be_visible()


def test_a_dropped_file_becomes_a_document_by_itself(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    assert drop(page, files / "report.pdf")
    expect(row(page, "report.pdf")).to_be_visible()
    expect(row(page, "report.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    expect(row(page, "report.pdf").get_by_text("Annual report of the lighthouse")).to_be_visible()
    # On a fast machine it is ready when its row is first drawn: then there is no change to be told of.
    expect(page.locator("#announcer")).to_have_text(re.compile(r"^(report\.pdf: Ready\.|1 file uploaded\.)$"))
    expect(page.locator("#uploads li")).to_have_count(0)

    row(page, "report.pdf").get_by_role("link", name="report.pdf").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("report.pdf")
    expect(page.get_by_text("Guessed title: Annual report of the lighthouse")).to_be_visible()
    expect(page.locator(".prose")).to_contain_text("the lamp was lit at dusk")
    page.locator("#tab-details").click()
    page.get_by_role("link", name="Passages").click()
    expect(page.locator(".passage").first).to_contain_text("Chapter 1")
    page.get_by_role("link", name="Fields").click()
    expect(page.locator(".part")).to_contain_text("Fields")
    page.locator("#tab-details").click()
    page.get_by_role("link", name="History").click()
    expect(page.locator(".timeline")).to_contain_text("Read the file: done")
    assert page.url.endswith("/runs")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("report.pdf")


def test_the_document_page_moves_to_ready_by_itself(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "table.pdf")
    expect(row(page, "table.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    row(page, "table.pdf").get_by_role("link").first.click()
    wait_for_htmx(page)
    page.locator("#tab-details").click()
    page.locator("#tab-runs").click()
    expect(page.locator(".run-head")).to_have_count(1)
    page.locator("#document-menu summary").click()
    page.locator("#reprocess").click()
    expect(page.locator(".run-head")).to_have_count(2)
    expect(page.locator("#live")).to_have_attribute("data-status", "ready", timeout=READY)
    expect(page.locator(".run-head").first).to_contain_text("Succeeded")
    # The button that was used still has the focus: people who work with keys lose nothing.
    expect(page.locator("#reprocess")).to_be_focused()
    page.locator("#tab-tables").click()
    expect(page.get_by_role("table").first).to_contain_text("Washers")


def test_many_files_each_with_its_own_end(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, *sorted(files.iterdir()))
    refused = page.locator(".upload[data-state=failed]")
    expect(refused).to_have_count(2)
    expect(refused.filter(has_text="empty.txt")).to_contain_text("This file is empty.")
    expect(refused.filter(has_text="large.txt")).to_contain_text("larger than 2 MB")
    expect(row(page, "notes.md")).to_have_attribute("data-status", "ready", timeout=READY)
    expect(row(page, "locked.pdf")).to_have_attribute("data-status", "failed", timeout=READY)
    expect(row(page, "locked.pdf")).to_contain_text("The file is protected by a password")
    expect(row(page, "picture.pdf")).to_have_attribute("data-status", "failed", timeout=READY)
    expect(row(page, "picture.pdf")).to_contain_text("The file is damaged")
    expect(row(page, "program.bin")).to_have_attribute("data-status", "kept", timeout=READY)
    expect(page.locator("#tab-kept")).to_contain_text("1")
    refused.filter(has_text="empty.txt").get_by_role("button", name="Remove empty.txt from this list").click()
    expect(refused).to_have_count(1)

    row(page, "locked.pdf").get_by_role("link").first.click()
    expect(page.locator("#live")).to_contain_text("Give its password")


def test_the_same_bytes_lead_to_the_document_that_is_there(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "notes.md")
    expect(page.locator("#uploads li")).to_have_count(0)
    upload(page, files / "notes.md")
    expect(page.locator("#uploads li")).to_contain_text("Already in the library: notes.md")
    page.locator("#uploads").get_by_role("link", name="notes.md").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_an_upload_that_has_no_place_yet_is_sent_again_by_itself(
    working: Visit, open_page: NewPage, files: Path
) -> None:
    page, answers = open_page(working), iter([429, 429])

    def answer(route: Route) -> None:
        status = next(answers, None)
        if status is None or route.request.method != "POST":
            route.fallback()
            return
        route.fulfill(status=status, headers={"Retry-After": "1"}, json={"detail": "Too many uploads at once."})

    page.route("**/documents*", answer)
    upload(page, files / "notes.md")
    waiting = page.locator(".upload[data-state=waiting]")
    expect(waiting).to_contain_text("Too many uploads at once.")
    expect(page.locator("#uploads li")).to_have_count(0)
    expect(row(page, "notes.md")).to_be_visible()


def test_what_waits_for_a_place_is_not_sent_once_the_batch_was_stopped(
    working: Visit, open_page: NewPage, tmp_path: Path
) -> None:
    page, sent = open_page(working), list[str]()

    def refuse(route: Route) -> None:
        sent.append(route.request.url)
        route.fulfill(status=429, headers={"Retry-After": "3"}, json={"detail": "Too many uploads at once."})

    page.route("**/documents?bulk=1", refuse)
    paths = [tmp_path / f"{number}.txt" for number in range(21)]
    for path in paths:
        path.write_text(path.name)
    upload(page, *paths)
    wait_for_number(page, sent, 21)
    page.locator("#uploads").get_by_role("button").first.click()
    expect(page.locator("#uploads li")).to_have_count(0)
    page.wait_for_timeout(4_000)
    assert len(sent) == 21


def test_where_a_page_may_show_no_notification_the_title_still_counts(resting: Visit, open_page: NewPage) -> None:
    page = open_page(resting)
    plain = page.title()
    # As in Chrome for Android; and a row of a document that is being processed.
    page.evaluate("""() => {
      window.Notification = class { constructor() { throw new TypeError("Illegal constructor."); } };
      window.Notification.requestPermission = async () => "granted";
      const table = document.createElement("table");
      table.innerHTML = "<tbody id=rows><tr data-poll></tr></tbody>";
      document.querySelector("main").append(table);
      document.dispatchEvent(new Event("htmx:afterSettle"));
    }""")
    assert page.title() == f"(1) {plain}"
    page.get_by_role("button", name="Tell me when all are done").click()
    expect(page.locator("#done-notice")).to_be_hidden()
    # An exception here would fail the test.
    page.evaluate("""() => {
      document.querySelector("#rows > tr").remove();
      document.dispatchEvent(new Event("htmx:afterSettle"));
    }""")
    assert page.title() == plain


def test_an_upload_that_a_full_server_refuses_says_why(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    problem = {"detail": "Nothing was stored. The person who runs Docmill needs to free disk space."}
    page.route("**/documents", lambda route: route.fulfill(status=507, json=problem), times=1)
    upload(page, files / "notes.md")
    failed = page.locator(".upload[data-state=failed]")
    expect(failed).to_contain_text(problem["detail"])
    failed.get_by_role("button", name="Try again").click()
    expect(row(page, "notes.md")).to_be_visible()


def test_an_upload_that_was_cut_off_can_be_tried_again(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    page.route("**/documents", lambda route: route.abort(), times=1)
    upload(page, files / "notes.md")
    failed = page.locator(".upload[data-state=failed]")
    expect(failed).to_contain_text("The connection was lost. Nothing was stored.")
    failed.get_by_role("button", name="Try again").click()
    expect(row(page, "notes.md")).to_be_visible()
    expect(page.locator("#uploads li")).to_have_count(0)


def test_filtering_while_typing_keeps_the_address_and_the_focus(
    working: Visit, open_page: NewPage, files: Path
) -> None:
    page = open_page(working)
    upload(page, files / "notes.md", files / "table.pdf")
    expect(row(page, "table.pdf")).to_have_attribute("data-status", "ready", timeout=READY)
    page.locator("#filter-q").press_sequentially("nothing is called this")
    expect(page.get_by_text("No document matches")).to_be_visible()
    page.wait_for_url("**/?q=nothing*")
    expect(page.locator("#filter-q")).to_be_focused()
    page.get_by_role("link", name="Show all documents").click()
    expect(row(page, "table.pdf")).to_be_visible()


@pytest.mark.parametrize("first", ["filter", "refresh"])
def test_of_a_filter_and_a_refresh_at_once_the_filter_stays(
    resting: Visit, open_page: NewPage, files: Path, first: str
) -> None:
    """Whichever is answered last: rows of an earlier filter would be shown under the letters of the new one."""
    page = open_page(resting)
    with page.expect_response(lambda answer: answer.request.headers.get("hx-trigger") == "refresh"):
        upload(page, files / "notes.md")
    expect(row(page, "notes.md")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(lambda url: url.split("?")[0] == f"{resting.url}/", hold)
    for number, name in enumerate(("filter", "refresh") if first == "filter" else ("refresh", "filter"), start=1):
        if name == "filter":
            page.locator("#filter-q").press_sequentially("~")  # one letter is one request
        else:
            page.evaluate("htmx.trigger(document.body, 'library-changed')")
        wait_for_number(page, held, number)
    for route in held:
        with suppress(Error):  # the earlier one was given up
            route.continue_()
    expect(page.get_by_text("No document matches")).to_be_visible()
    expect(page.locator("#tab-all")).to_have_attribute("href", re.compile("q=(~|%7E)"))


def test_searching_marks_what_was_found(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "notes.md")
    expect(row(page, "notes.md")).to_have_attribute("data-status", "ready", timeout=READY)
    page.get_by_role("link", name="Search").click()
    page.get_by_role("searchbox", name="Search in all documents").fill("ground wheat")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#hits mark").first).to_be_visible()
    # Before HTMX has loaded the form is sent by the browser, which writes a space as "+".
    page.wait_for_url(re.compile(r"/search\?q=ground(%20|\+)wheat$"))
    page.locator("#hits").get_by_role("link", name="Milling notes").first.click()
    expect(page.locator(".part")).to_contain_text("Wheat is ground between stones.")


def test_deleting_asks_in_a_dialog(working: Visit, open_page: NewPage, files: Path) -> None:
    page = open_page(working)
    upload(page, files / "notes.md")
    expect(row(page, "notes.md")).to_have_attribute("data-status", "ready", timeout=READY)
    row(page, "notes.md").get_by_role("link").first.click()
    # Until its scripts are there, Delete is a link to a page that asks.
    page.wait_for_load_state()
    address = page.url
    page.locator("#document-menu summary").click()
    page.locator("#delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_be_hidden()
    assert page.url == address
    page.locator("#delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("#flashes")).to_contain_text("“notes.md” was put into the bin.")
    response = page.goto(address)
    assert response is not None
    assert response.status == 404
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


def test_a_choice_of_colours_is_kept_without_a_flash(working: Visit, open_page: NewPage) -> None:
    page = open_page(working, color_scheme="light")
    page.locator(".topbar [data-menu] summary").click()
    page.get_by_role("button", name="Dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert 'data-theme="dark"' in page.request.get("/").text()
