"""How well pages were read, as people, programs and monitors see it: a page with text, and two that need OCR."""

from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import delete, update

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, counted_queries, notes, read_json, shelve, use_hashed_words, work_off
from webapp.db import transaction
from webapp.documents.model import Document
from webapp.documents.page_model import DocumentPage
from webapp.web.document import reading_pages

SCANS = "Two scans.pdf"


@pytest.fixture
def shelved(app: Flask, program: Program) -> tuple[str, str]:
    """A document that is read in part without OCR, and one that is read well."""
    use_hashed_words(app)
    partly, whole = shelve(program, (SCANS, samples.scan_pdf(3, with_text=[2])), notes(1))
    work_off(app)
    return partly, whole


@both_databases
def test_programs_are_told_of_the_document_and_of_each_page(
    program: Program, shelved: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    partly, whole = (read_json(program.get(f"/documents/{one}")) for one in shelved)
    names = ("status", "reading", "pages_read", "page_count", "kind")
    assert [partly[name] for name in names] == ["READY", "in_part", 1, 3, "text"]
    assert [whole[name] for name in names] == ["READY", "well", None, None, "text"]
    assert (whole["title"], whole["title_is_guess"], whole["document_date_is_guess"]) == ("Milling notes", False, None)

    listed = read_json(program.get(f"/documents/{shelved[0]}/pages"))
    pages = [(each["number"], each["reading"], each["reason"]) for each in listed["pages"]]
    assert pages == [(1, "not_read", "ocr_off"), (2, "well", None), (3, "not_read", "ocr_off")]
    assert listed["next_cursor"] is None
    assert read_json(program.get(f"/documents/{shelved[1]}/pages"))["pages"] == []

    monkeypatch.setattr(reading_pages, "PAGES_SHOWN", 2)
    cursor = read_json(program.get(f"/documents/{shelved[0]}/pages"))["next_cursor"]
    rest = read_json(program.get(f"/documents/{shelved[0]}/pages?cursor={cursor}"))
    assert ([each["number"] for each in rest["pages"]], rest["next_cursor"]) == ([3], None)


@both_databases
def test_what_is_read_in_part_is_filtered_and_counted(program: Program, shelved: tuple[str, str]) -> None:
    def listed(query: str) -> list[str]:
        return [each["id"] for each in read_json(program.get(f"/documents?{query}"))["documents"]]

    partly, whole = shelved
    assert listed("") == listed("status=ready") == [whole, partly]
    for sort in ("newest", "oldest", "name", "largest"):
        assert listed(f"status=partly_read&sort={sort}") == [partly]
    assert listed("status=partly_read&q=scans") == [partly]
    assert listed("status=partly_read&q=milling") == []
    counts = read_json(program.get("/documents"))["counts"]
    assert {name: number for name, number in counts.items() if number} == {"READY": 2, "partly_read": 1}


def test_the_library_says_how_many_pages_were_read(browser: Browser, shelved: tuple[str, str]) -> None:
    page = browser.get("/").text
    assert "Ready, 1 of 3 pages read</span>" in page
    assert page.count("badge-part") == 1
    assert 'id="tab-partly_read"' in page
    assert 'All <span class="tab-count">2</span>' in page
    chosen = browser.get("/?status=partly_read").text
    assert (SCANS in chosen, "note-001.md" in chosen) == (True, False)
    assert browser.get("/documents/reprocess?status=partly_read").status_code == 200


def test_the_page_of_the_document_says_which_pages_and_why(browser: Browser, shelved: tuple[str, str]) -> None:
    partly, whole = shelved
    page = browser.get(f"/documents/{partly}").text
    assert "2 of 3 pages could not be read" in page
    assert 'id="mend"' not in page, "OCR is off, so reading them again would change nothing"
    marks = [page.index(f'id="page-{number}"') for number in (1, 2, 3)]
    assert marks == sorted(marks)
    why = "The page is a picture, and OCR is off on this installation."
    assert [why in page[start:end] for start, end in zip(marks, [*marks[1:], None], strict=True)] == [True, False, True]

    listed = browser.get(f"/documents/{partly}/pages", headers=HX).text
    assert listed.count('class="reading"') == 2
    assert f'href="/documents/{partly}?page=3#page-3"' in listed
    assert "No pages" in browser.get(f"/documents/{whole}/pages").text
    assert "page-counts" not in browser.get(f"/documents/{whole}").text


def test_monitors_count_pages(app: Flask, people: People) -> None:
    use_hashed_words(app)
    ops = people.program("ops")
    shelve(ops, (SCANS, samples.scan_pdf(3, with_text=[2])))
    work_off(app)
    figures = ops.get("/metrics").text
    assert 'docmill_pages{reading="not_read",reason="ocr_off"} 2.0' in figures
    assert 'docmill_pages{reading="well",reason=""} 1.0' in figures
    assert "docmill_documents_partly_read 1.0" in figures
    assert 'docmill_documents{status="ready"} 1.0' in figures
    assert 'docmill_documents{status="partly_read"}' not in figures


def test_another_org_learns_nothing(people: People, shelved: tuple[str, str]) -> None:
    theirs = people.program(org="Theirs")
    assert theirs.get(f"/documents/{shelved[0]}/pages").status_code == 404
    assert read_json(theirs.get("/documents"))["counts"]["partly_read"] == 0


def test_a_document_from_before_says_nothing_of_its_pages(
    app: Flask, browser: Browser, program: Program, shelved: tuple[str, str]
) -> None:
    names = ("reading", "title_is_guess", "kind", "document_date", "document_date_from")
    partly = UUID(shelved[0])
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(delete(DocumentPage))
        session.execute(update(Document).values(dict.fromkeys((*names, "warnings"))))
    document = read_json(program.get(f"/documents/{partly}"))
    assert [document[name] for name in names] == [None] * 5
    assert read_json(program.get(f"/documents/{partly}/pages"))["pages"] == []
    for path in ("/", f"/documents/{partly}", f"/documents/{partly}/pages", f"/documents/{partly}/fields"):
        page = browser.get(path)
        assert (page.status_code, "badge-part" in page.text, "All pages were" in page.text) == (200, False, False)


def test_a_guessed_title_is_marked_and_heads_no_page(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    [guessed] = shelve(program, ("scan-17.md", b"Some words first.\n\n## Harbour rules\n\n" + NOTES))
    work_off(app)
    page = browser.get(f"/documents/{guessed}").text
    assert "<h1><bdi>scan-17.md</bdi></h1>" in page
    assert "Guessed title: <bdi>Harbour rules</bdi>" in page
    assert "Guessed title: <bdi>Harbour rules</bdi>" in browser.get("/").text
    document = read_json(program.get(f"/documents/{guessed}"))
    assert (document["title"], document["title_is_guess"]) == ("Harbour rules", True)
    hits = read_json(program.get("/search?q=wheat"))["hits"]
    assert [hit["title_is_guess"] for hit in hits] == [True] * len(hits)
    assert "scan-17.md</bdi></a>" in browser.get("/search?q=wheat").text


def test_queries_do_not_grow_with_the_pages(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    few, many = shelve(program, *((f"{n}.pdf", samples.scan_pdf(n, with_text=[1])) for n in (2, 9)))
    work_off(app)
    numbers = []
    for document in (few, many):
        with counted_queries(app) as statements:
            assert browser.get(f"/documents/{document}").status_code == 200
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]
