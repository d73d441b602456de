"""The grid: what it shows to whom, its filters, orders and pages, and how little it asks of the database."""

import re
from html import unescape

import pytest
from flask import Flask
from sqlalchemy import update

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import counted_queries, notes, read_json, shelve, use_hashed_words, work_off
from webapp.clock import after
from webapp.db import transaction
from webapp.documents.model import ProcessingRun
from webapp.web.library import library_pages

pytestmark = both_databases


def test_an_empty_library_invites(browser: Browser) -> None:
    page = browser.get("/").text
    assert "Your library is empty" in page
    assert "data-empty" in page
    assert 'type="file"' in page
    assert 'id="rows"' not in page


def test_one_url_serves_people_htmx_and_programs(browser: Browser, program: Program) -> None:
    shelve(program, notes(1))
    page, fragment, answer = browser.get("/documents"), browser.get("/", headers=HX), program.get("/")
    assert page.text.lstrip().startswith("<!doctype html>")
    assert 'id="grid"' in fragment.text
    assert "<html" not in fragment.text
    assert read_json(answer)["documents"][0]["filename"] == "note-001.md"
    for one in (page, fragment, answer):
        assert {"HX-Request", "Accept"} <= set(one.vary)


def test_a_page_from_the_history_is_a_whole_page(browser: Browser) -> None:
    assert "<html" in browser.get("/", headers={**HX, "HX-History-Restore-Request": "true"}).text


def test_only_a_row_that_is_worked_on_polls(app: Flask, browser: Browser, program: Program) -> None:
    [document] = shelve(program, notes(1))
    page = browser.get("/").text
    assert f'hx-get="/documents/{document}/status"' in page
    assert 'hx-trigger="load delay:1s, poll"' in page
    use_hashed_words(app)
    work_off(app)
    page = browser.get("/").text
    assert "Ready" in page
    assert "data-poll" not in page
    assert "Milling notes" in page


def test_the_row_is_the_same_in_the_page_and_in_the_swap(browser: Browser, program: Program) -> None:
    [document] = shelve(program, notes(1))
    [in_page] = re.findall(r"<tr [^>]*data-status.*?</tr>", browser.get("/").text, re.DOTALL)
    swapped = browser.get(f"/documents/{document}/status", headers=HX)
    # Both carry the token of the same session; ages are the same within a test.
    assert in_page.split() == swapped.text.split()
    assert "HX-Trigger" not in swapped.headers


def test_a_row_that_ended_says_so_once(app: Flask, browser: Browser, program: Program) -> None:
    [document] = shelve(program, notes(1))
    use_hashed_words(app)
    work_off(app)
    swapped = browser.get(f"/documents/{document}/status", headers=HX)
    assert swapped.headers["HX-Trigger"] == "document-changed"
    assert "data-poll" not in swapped.text
    assert 'id="announcer" hx-swap-oob="innerHTML">note-001.md: Ready.' in swapped.text


def test_filters_and_orders(app: Flask, browser: Browser, program: Program) -> None:
    shelve(program, notes(1), ("broken.pdf", b"%PDF-1.7 nothing"), ("Zebra.txt", b"stripes " * 1000))
    use_hashed_words(app)
    work_off(app)

    def names(query: str) -> list[str]:
        return [one["filename"] for one in read_json(program.get(f"/documents{query}"))["documents"]]

    assert names("?status=failed") == ["broken.pdf"]
    assert names("?status=READY&sort=oldest") == ["note-001.md", "Zebra.txt"]
    assert names("?q=ZEB") == ["Zebra.txt"]
    assert names("?q=milling") == ["note-001.md"]
    assert names("?q=%25") == []
    assert names("?q=%00") == names("")
    assert names("?sort=largest")[0] == "Zebra.txt"
    assert names("")[0] == "Zebra.txt"
    assert read_json(program.get("/documents"))["counts"] == {
        "PROCESSING": 0, "READY": 2, "partly_read": 0, "kept": 0, "FAILED": 1, "TIMED_OUT": 0,
    }  # fmt: skip
    page = browser.get("/?status=failed&sort=name").text
    assert "The file is damaged" in page
    assert "note-001.md" not in page
    assert 'aria-sort="ascending"' in page
    assert "No document matches" in browser.get("/?q=nothing").text


def test_the_tabs_count_what_the_filter_means(app: Flask, browser: Browser, program: Program) -> None:
    shelve(program, notes(1), notes(2), ("broken.pdf", b"%PDF-1.7 nothing"))
    use_hashed_words(app)
    work_off(app)
    page = browser.get("/?q=note&sort=name").text
    # A page waits for no count: it asks for them by itself.
    [tabs] = re.findall(r'<nav class="tabs" id="status-tabs".*?</nav>', page, re.DOTALL)
    assert "tab-count" not in tabs
    [url] = re.findall(r'hx-get="([^"]*/counts[^"]*)"\D+hx-trigger="load, ', tabs)
    counted = browser.get(unescape(url), headers=HX).text
    assert dict(re.findall(r'id="tab-(\w+)".*?tab-count">(\d+)<', counted, re.DOTALL)) == {
        "all": "2", "processing": "0", "ready": "2", "failed": "0",
    }  # fmt: skip
    assert 'href="/?q=note&amp;status=failed&amp;sort=name"' in counted
    assert "data-poll" not in counted

    assert read_json(program.get("/documents/counts?q=broken")) == {
        "counts": {"PROCESSING": 0, "READY": 0, "partly_read": 0, "kept": 0, "FAILED": 1, "TIMED_OUT": 0},
        "counts_more": [],
    }
    assert read_json(program.get("/documents/counts?folder=Tax"))["counts"]["READY"] == 0
    assert program.get('/documents/counts?q="').status_code == 422
    assert program.get("/documents/counts?cursor=7").status_code == 400


def test_the_counts_move_while_documents_out_of_sight_are_processed(
    app: Flask, browser: Browser, program: Program
) -> None:
    shelve(program, notes(1))
    use_hashed_words(app)
    work_off(app)
    shelve(program, ("later.md", b"# Later"))
    for query in ("status=ready", "q=note"):
        tabs = browser.get(f"/documents/counts?{query}", headers=HX).text
        assert 'data-poll hx-get="/documents/counts?' in tabs
        assert 'hx-trigger="load delay:5s, poll, ' in tabs
    [nav] = re.findall(r'<nav class="tabs" id="status-tabs"[^>]*>', browser.get("/?status=ready").text)
    assert "data-poll" in nav


@pytest.mark.parametrize("query", ["status=gone", "sort=sideways", "cursor=7", "limit=0", "limit=many", "limit=9999"])
def test_a_parameter_that_makes_no_sense_is_named(program: Program, query: str) -> None:
    answer = program.get(f"/documents?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in read_json(answer)["detail"]


@pytest.mark.parametrize("number", ["0000000011000000", "000000001" + 5_000 * "1", "1" * 10])
@pytest.mark.parametrize("path", ["/documents?limit=", "/search?q=wheat&limit="])
def test_a_number_of_many_digits_is_refused(program: Program, path: str, number: str) -> None:
    answer = program.get(path + number)
    assert answer.status_code == 400
    assert "limit has too many digits" in read_json(answer)["detail"]


@pytest.mark.parametrize("sort", ["newest", "oldest", "name", "largest"])
def test_pages_follow_one_another_without_gaps(program: Program, sort: str) -> None:
    shelve(program, *(notes(number) for number in range(7)))
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = read_json(program.get(f"/documents?sort={sort}&limit=3" + (f"&cursor={cursor}" if cursor else "")))
        seen += [one["filename"] for one in body["documents"]]
        cursor = body["next_cursor"]
    assert len(seen) == len(set(seen)) == 7


def test_more_rows_are_a_link_and_a_swap(browser: Browser, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_pages, "PAGE_ROWS", 2)
    shelve(program, *(notes(number) for number in range(3)))
    page = browser.get("/").text
    [url] = re.findall(r'id="more-link" href="([^"]+)"', page)
    rest = browser.get(url.replace("&amp;", "&")).text
    assert "note-000.md" in rest
    assert "Back to the beginning" in rest
    assert "Back to the beginning" not in browser.get(url.replace("&amp;", "&"), headers=HX).text


def test_what_another_org_has_is_not_there(people: People, program: Program) -> None:
    shelve(program, notes(1))
    theirs = people.program(org="Theirs")
    assert read_json(theirs.get("/documents"))["documents"] == []
    assert sum(read_json(theirs.get("/documents"))["counts"].values()) == 0


def test_the_number_of_queries_does_not_grow_with_the_rows(app: Flask, browser: Browser, program: Program) -> None:
    def queries() -> int:
        with counted_queries(app) as statements:
            assert browser.get("/").status_code == 200
        return len(statements)

    shelve(program, notes(0))
    few = queries()
    shelve(program, *(notes(number) for number in range(1, 12)))
    assert queries() == few


def test_what_waits_long_is_asked_for_rarely(app: Flask, browser: Browser, program: Program) -> None:
    shelve(program, notes(1))
    with app.app_context(), transaction(everywhere=True) as opened:
        opened.execute(update(ProcessingRun).values(created_at=after(-60)))
    assert 'hx-trigger="load delay:20s, poll"' in browser.get("/").text
    with app.app_context():
        [lease] = app.extensions["docmill"].queue.claim("worker")
    assert lease
    assert 'hx-trigger="load delay:2s, poll"' in browser.get("/").text


def test_how_the_library_looks_is_kept(browser: Browser, program: Program) -> None:
    shelve(program, ("report.pdf", samples.report_pdf()))
    assert 'class="grid"' in browser.get("/").text
    tiles = browser.get("/?look=tiles&names=title")
    assert 'class="grid grid-tiles"' in tiles.text
    assert {cookie.split("=")[0] for cookie in tiles.headers.getlist("Set-Cookie")} >= {"look", "names"}
    assert 'class="grid grid-tiles"' in browser.get("/").text
    assert "Set-Cookie" not in browser.get("/?look=sideways").headers
