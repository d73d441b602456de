"""One document: its sections for people and programs, its status, and what can be done with it."""

import re
from collections.abc import Callable
from html import unescape
from io import BytesIO
from itertools import product
from uuid import UUID, uuid4

import pytest
from flask import Flask
from sqlalchemy import text

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import (
    NOTES,
    Shelf,
    counted_queries,
    notes,
    read_json,
    services_of,
    shelve,
    use_hashed_words,
    work_off,
)
from webapp.db import transaction
from webapp.documents.model import Document

PARTS = (
    "", "/status", "/fields", "/tables", "/chunks", "/runs", "/details", "/outline", "/markdown", "/original",
    "/original/view", "/pages/1/marks", "/delete",
)  # fmt: skip
SECTIONS = ("", "/fields", "/tables", "/chunks", "/runs", "/details", "/outline")


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "notes": ("notes.md", lambda: NOTES),
    "report": ("report.pdf", lambda: samples.report_pdf(3)),
    "table": ("table.pdf", samples.table_pdf),
    "locked": ("locked.pdf", samples.encrypted_pdf),
}


@pytest.fixture
def shelf(app: Flask, program: Program) -> Shelf:
    use_hashed_words(app)
    return Shelf(app, program, FILES)


def test_a_document_shows_its_text(browser: Browser, shelf: Shelf) -> None:
    page = browser.get(f"/documents/{shelf['notes']}").text
    assert "Wheat is ground between <em>stones</em>." in page
    assert "<h1><bdi>Milling notes</bdi></h1>" in page
    assert page.count("<h1") == 1
    assert "data-poll" not in page
    assert "Ready" in page


def test_notes_of_the_reader_say_whether_pages_are_missing(app: Flask, browser: Browser, shelf: Shelf) -> None:
    document_id = shelf["report"]
    for reading, pages_read, is_partly_read in (
        ("well", 3, False),
        (None, 3, False),
        (None, 2, True),
        ("in_part", 3, True),
    ):
        with app.app_context(), transaction(everywhere=True) as session:
            document = session.get_one(Document, UUID(document_id))
            document.warnings, document.pages_read = ["OCR read page 1 from its picture."], pages_read
            document.reading = reading
        page = browser.get(f"/documents/{document_id}").text
        assert ("Partly read" in page, "OCR read page 1" in page) == (is_partly_read, is_partly_read)
        assert "OCR read page 1" in browser.get(f"/documents/{document_id}/details").text


def test_each_page_of_a_text_can_be_addressed(browser: Browser, shelf: Shelf) -> None:
    page = browser.get(f"/documents/{shelf['report']}?page=2").text
    assert 'id="page-2"' in page
    for nonsense in ("?page=0", "?page=-1", "?page=999999999", "?part=x", "?part=77"):
        assert browser.get(f"/documents/{shelf['report']}{nonsense}").status_code == 200


@both_databases
def test_programs_get_each_part(program: Program, shelf: Shelf) -> None:
    document = read_json(program.get(f"/documents/{shelf['table']}"))
    assert document["status"] == "READY"
    assert document["page_count"] == 1
    assert document["error"] is None
    assert document["counts"]["tables"] == 1
    [table] = read_json(program.get(f"/documents/{shelf['table']}/tables"))["tables"]
    assert len(table["rows"]) == 4
    chunks = read_json(program.get(f"/documents/{shelf['report']}/chunks"))
    assert chunks["chunks"][0]["ordinal"] == 0
    assert chunks["chunks"][0]["page_from"] == 1
    [run] = read_json(program.get(f"/documents/{shelf['notes']}/runs"))["runs"]
    assert run["state"] == "SUCCEEDED"
    assert [event["kind"] for event in run["events"]][:2] == ["RUN_QUEUED", "RUN_STARTED"]
    assert "RUN_SUCCEEDED" in [event["kind"] for event in run["events"]]


def test_status_for_programs(app: Flask, program: Program, shelf: Shelf) -> None:
    ready = read_json(program.get(f"/documents/{shelf['notes']}/status"))
    assert ready | {"run": None} == {
        "id": shelf["notes"], "status": "READY", "stage": "complete", "progress": 1.0, "attempts": 0, "error": None,
        "pages": None, "waits_for": None, "needs_password": False, "run": None,
    }  # fmt: skip
    assert ready["run"]["state"] == "SUCCEEDED"
    failed = read_json(program.get(f"/documents/{shelf['locked']}/status"))
    assert failed["status"] == "FAILED"
    assert failed["stage"] == "failed"
    assert failed["error"]["code"] == "encrypted"
    assert failed["error"]["message"].startswith("The file is protected by a password.")
    [waiting] = shelve(program, notes(9))
    status = read_json(program.get(f"/documents/{waiting}/status"))
    assert (status["status"], status["stage"], status["progress"]) == ("PROCESSING", "pending", 0.0)
    assert status["run"]["state"] == "QUEUED"


@both_databases
def test_each_section_is_a_page_and_a_fragment(browser: Browser, shelf: Shelf, subtests: pytest.Subtests) -> None:
    for name, part in product(FILES, SECTIONS):
        with subtests.test(f"{name}{part}"):
            url = f"/documents/{shelf[name]}{part}"
            page, fragment = browser.get(url), browser.get(url, headers=HX)
            assert page.status_code == fragment.status_code == 200
            assert page.text.count('aria-current="page"') == 1
            assert fragment.text.lstrip().startswith("{#") is False
            assert "<html" not in fragment.text
            assert fragment.text.count('id="section"') == 1


def test_a_failed_document_says_why_and_what_to_do(browser: Browser, shelf: Shelf) -> None:
    page = browser.get(f"/documents/{shelf['locked']}").text
    assert "The file is protected by a password" in page
    assert "Give its password" in page
    assert "Open the file" in page
    assert "Reprocess" in page
    history = browser.get(f"/documents/{shelf['locked']}/runs").text
    assert "Failed" in history
    assert "RUN_FAILED" not in history


def test_the_timeline_shows_each_step_once_with_its_time(browser: Browser, shelf: Shelf) -> None:
    page = browser.get(f"/documents/{shelf['notes']}/runs").text
    steps = re.findall(r"<span>(Read the file|Save the text|Cut passages|Index passages|Publish): done</span>", page)
    assert steps == ["Read the file", "Save the text", "Cut passages", "Index passages", "Publish"]
    assert "Accepted" in page
    assert "Finished" in page


def test_the_page_of_a_running_document_polls_and_ends(app: Flask, browser: Browser, program: Program) -> None:
    [document] = shelve(program, notes(1))
    page = browser.get(f"/documents/{document}").text
    assert f'hx-get="/documents/{document}/status?view=page"' in page
    assert "Still processing" in page
    assert 'role="status"' in page
    use_hashed_words(app)
    work_off(app)
    swap = browser.get(f"/documents/{document}/status?view=page", headers=HX)
    assert swap.headers["HX-Trigger"] == "document-changed"
    assert "data-poll" not in swap.text
    section = browser.get(f"/documents/{document}", headers=HX).text
    assert "Milling notes" in section
    for around in ("document-name", "live", "more-downloads"):
        assert re.search(f'id="{around}"[^>]* hx-swap-oob="true"', section), "all that is shown is of one result"


@both_databases
def test_reprocessing_keeps_the_result_until_the_new_one_is_there(
    app: Flask, browser: Browser, program: Program, shelf: Shelf
) -> None:
    url = f"/documents/{shelf['notes']}"
    answer = browser.post(f"{url}/reprocess")
    assert answer.status_code == 303
    assert answer.location == url
    page = browser.get(url).text
    assert "Processing" in page
    assert "it stays until the new one is complete" in page
    assert "Wheat is ground" in page
    work_off(app)
    assert len(read_json(program.get(f"{url}/runs"))["runs"]) == 2


def test_reprocessing_answers_the_form_that_asked(browser: Browser, program: Program, shelf: Shelf) -> None:
    url = f"/documents/{shelf['notes']}/reprocess"
    answer = program.post(url)
    assert answer.status_code == 202
    assert read_json(answer)["run"]["state"] == "QUEUED"
    assert 'id="live"' in browser.post(url, headers=HX).text
    assert '<tr role="row"' in browser.post(url, {"from": "library"}, headers=HX).text


@both_databases
def test_deleting_asks_first_and_for_good_leaves_nothing(
    app: Flask, browser: Browser, program: Program, ops: Program, shelf: Shelf
) -> None:
    url = f"/documents/{shelf['notes']}"
    assert "Delete “<bdi>notes.md</bdi>”?" in browser.get(f"{url}/delete").text
    answer = browser.post(f"{url}/delete")
    assert answer.status_code == 303
    assert "“notes.md” was put into the bin." in browser.get("/").text
    assert program.get(url).status_code == 404
    for each in (shelf["notes"], shelf["report"]):
        assert ops.client.delete(f"/documents/{each}?purge=1", headers=ops.headers).status_code == 204
    blobs = [blob.path for blob in services_of(app).providers.blobs.list()]
    assert not [path for path in blobs if shelf["notes"] in path or shelf["report"] in path]


def test_the_original_is_saved_and_never_shown(program: Program, shelf: Shelf) -> None:
    answer = program.get(f"/documents/{shelf['notes']}/original", buffered=True)
    assert answer.data == NOTES
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    part = program.get(f"/documents/{shelf['notes']}/original", headers={"Range": "bytes=2-8"}, buffered=True)
    assert part.status_code == 206
    assert part.data == NOTES[2:9]
    kept = program.get(f"/documents/{shelf['notes']}/original", headers={"If-None-Match": answer.headers["ETag"]})
    assert kept.status_code == 304
    text = program.get(f"/documents/{shelf['notes']}/markdown", buffered=True)
    assert text.mimetype == "text/markdown"
    assert b"Wheat is ground" in text.data


@pytest.mark.parametrize("asked", ["bytes=a-b", "pages=1-2", "bytes=0-1,4-5", "nonsense", "bytes=5-2"])
def test_a_range_that_nobody_can_read_is_not_asked_for(program: Program, shelf: Shelf, asked: str) -> None:
    whole = program.get(f"/documents/{shelf['notes']}/original", headers={"Range": asked}, buffered=True)
    assert (whole.status_code, whole.data, whole.headers["Accept-Ranges"]) == (200, NOTES, "bytes")


def test_a_range_beyond_the_end_is_refused(program: Program, shelf: Shelf) -> None:
    beyond = program.get(f"/documents/{shelf['notes']}/original", headers={"Range": f"bytes={len(NOTES)}-"})
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{len(NOTES)}")


def test_another_orgs_document_is_not_there(people: People, program: Program, subtests: pytest.Subtests) -> None:
    [document] = shelve(program, notes(1))
    theirs = people.browser(org="Theirs", email="eve@example.org")
    for part, headers in product(PARTS, ({}, HX, {"Accept": "application/json"})):
        with subtests.test(part, headers=headers):
            answer = theirs.get(f"/documents/{document}{part}", headers=headers)
            unknown = theirs.get(f"/documents/{uuid4()}{part}", headers=headers)
            assert answer.status_code == unknown.status_code == 404
            assert len(answer.data) == len(unknown.data)
    for action in ("reprocess", "delete"):
        assert theirs.post(f"/documents/{document}/{action}").status_code == 404
    assert program.get(f"/documents/{document}").status_code == 200


def test_what_a_file_holds_is_text(app: Flask, browser: Browser, program: Program) -> None:
    hostile = (
        b"# <script>alert(1)</script>\n\n<img src=x onerror=alert(2)>\n\n[a](javascript:alert(3)) "
        b"![b](http://example.org/pixel.png)\n\n<div hx-get=/ hx-trigger=load>{{ 7*7 }}</div>\n"
    )
    [document] = shelve(program, ("hostile.md", hostile))
    use_hashed_words(app)
    work_off(app)
    for part in ("", "/chunks"):
        page = browser.get(f"/documents/{document}{part}").text
        for trace in ("<script>alert", "<img", 'href="javascript', "<div hx-get=/", 'pixel.png"'):
            assert trace not in page
        assert "{{ 7*7 }}" in page


def test_a_long_document_is_shown_in_parts(app: Flask, browser: Browser, program: Program) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number}. " + "grain " * 60 for number in range(400))
    [document] = shelve(program, ("long.txt", paragraphs.encode()))
    use_hashed_words(app)
    work_off(app)
    first = browser.get(f"/documents/{document}").text
    assert "Paragraph 1." in first
    assert "Paragraph 399." not in first
    [following] = re.findall(r'id="next-pages" href="([^"]+)"', first)
    part = browser.get(unescape(following), headers=HX).text
    assert ('id="text-part-2"' in part, 'id="previous-pages"' in part, 'id="next-pages"' in part) == (True, True, True)
    last = browser.get(f"/documents/{document}?part=999").text
    assert "Paragraph 399." in last
    assert "next-pages" not in last
    assert len(browser.get(f"/documents/{document}/chunks").text) < 400_000


@both_databases
def test_the_number_of_queries_does_not_grow_with_what_is_found(
    app: Flask, browser: Browser, program: Program, shelf: Shelf, subtests: pytest.Subtests
) -> None:
    long = "\n\n".join(f"# Part {number}\n\n" + "flour " * 200 for number in range(60))
    [document] = shelve(program, ("long.md", long.encode()))
    work_off(app)

    def queries(document_id: str, part: str) -> int:
        with counted_queries(app) as statements:
            assert browser.get(f"/documents/{document_id}{part}").status_code == 200
        return len(statements)

    for part in SECTIONS:
        with subtests.test(part):
            assert queries(document, part) == queries(shelf["notes"], part)


def test_a_person_may_upload_from_a_page_without_script(browser: Browser) -> None:
    browser.post("/documents", {"file": (BytesIO(NOTES), "notes.md")})
    page = browser.get("/").text
    [link] = re.findall(r'id="link-[^"]+" href="([^"]+)"', page)
    assert browser.get(link).status_code == 200


def test_a_field_says_what_it_means_and_what_contradicts_it(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    lines = (
        "Invoice",
        "Invoice number: A-17",
        "Date: 3 May 2026",
        "Due date: 17 May 2026",
        "Net amount: 100.00",
        "VAT 20%: 20.00",
        "Total: 130.00",
    )
    [document] = shelve(program, ("invoice.pdf", samples.lines_pdf(lines)))
    work_off(app)

    fields = {each["kind"]: each for each in read_json(program.get(f"/documents/{document}/fields"))["fields"]}
    assert (fields["due_date"]["value"], fields["due_date"]["normalized"]) == ("17 May 2026", "2026-05-17")
    assert (fields["total"]["normalized"], fields["total"]["doubt"], fields["total"]["confidence"]) == (
        "130.00",
        "sum",
        None,
    )
    assert fields["due_date"]["doubt"] is None

    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(text("UPDATE document_fields SET confidence = 0.997 WHERE kind = 'due_date'"))
    page = browser.get(f"/documents/{document}/fields").text
    assert "2026-05-17" in page
    # A share below 1 is never rounded up to certainty.
    assert "99%" in page
    assert "100%" not in page
    assert page.count("The net amount and the taxes do not add up to the total.") == 3


def test_the_columns_of_an_invoices_lines_are_typed(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    cells = (("Description", "Qty", "Price", "Amount"), ("Oak shelf", "2", "50.00", "100.00"))
    table = [
        samples.Run(60 + 120 * at, 160 + 16 * row, cell)
        for row, line in enumerate(cells)
        for at, cell in enumerate(line)
    ]
    head = [samples.Run(60, 80, "Invoice No. 17 of 3 May 2026"), samples.Run(60, 250, "Total: 100.00")]
    [document] = shelve(program, ("invoice.pdf", samples.pdf([head + table])))
    work_off(app)

    (lines,) = read_json(program.get(f"/documents/{document}/tables"))["tables"]
    assert lines["columns"] == ["description", "quantity", "price", "amount"]
    assert lines["rows"] == [list(line) for line in cells]
    assert '<td class="number"><bdi>100.00</bdi></td>' in browser.get(f"/documents/{document}/tables").text
