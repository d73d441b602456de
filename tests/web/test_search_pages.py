"""GET /search: hits with their words marked, for people and programs."""

import pytest
from flask import Flask

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    use_hashed_words(app)
    ids = shelve(program, ("notes.md", NOTES), ("report.pdf", samples.report_pdf()))
    work_off(app)
    return ids


@both_databases
def test_a_hit_shows_where_it_is_and_why(browser: Browser, shelf: list[str]) -> None:
    page = browser.get("/search?q=wheat").text
    assert "<mark>Wheat</mark> is ground between stones." in page
    assert f"/documents/{shelf[0]}?passage=" in page
    assert "Milling notes" in page
    assert "# Milling" not in page
    paged = browser.get("/search?q=lighthouse").text
    assert f"/documents/{shelf[1]}?passage=" in paged
    assert "Page 1" in paged


def test_a_hit_leads_to_its_passage(browser: Browser, program: Program, shelf: list[str]) -> None:
    [hit, *_] = read_json(program.get("/search?q=rye+dark"))["hits"]
    assert hit["document_id"] == shelf[0]
    page = browser.get(f"/documents/{shelf[0]}/chunks?passage={hit['chunk_id']}").text
    assert f'id="passage-{hit["chunk_id"]}"' in page


@both_databases
def test_programs_get_hits(program: Program, shelf: list[str]) -> None:
    body = read_json(program.get("/search?q=wheat&limit=1"))
    assert body["words_only"] is False
    [hit] = body["hits"]
    assert hit["filename"] == "notes.md"
    assert hit["score"] > 0
    assert program.get("/search?q=wheat&limit=0").status_code == 422


def test_no_question_and_no_answer_are_said_kindly(browser: Browser, program: Program) -> None:
    assert "Search every document at once" in browser.get("/search").text
    assert "Nothing found for “wheat”" in browser.get("/search?q=wheat").text
    assert read_json(program.get("/search?q="))["hits"] == []


def test_a_question_is_text(browser: Browser) -> None:
    page = browser.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E%00").text
    assert "<script>alert" not in page


def test_htmx_gets_the_hits_alone(browser: Browser) -> None:
    fragment = browser.get("/search?q=wheat", headers=HX).text
    assert "<html" not in fragment
    assert 'id="hits"' in fragment


@both_databases
def test_another_org_finds_nothing(people: People, shelf: list[str]) -> None:
    assert shelf
    assert read_json(people.program(org="Theirs").get("/search?q=wheat"))["hits"] == []


def test_hits_come_in_pages(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    shelve(program, *((f"{number}.txt", f"Wheat number {number}.".encode()) for number in range(5)))
    work_off(app)
    first = read_json(program.get("/search?q=wheat&limit=3"))
    rest = read_json(program.get(f"/search?q=wheat&limit=3&cursor={first['next_cursor']}"))
    assert (len(first["hits"]), len(rest["hits"]), rest["next_cursor"]) == (3, 2, None)
    assert len({hit["chunk_id"] for hit in [*first["hits"], *rest["hits"]]}) == 5
    for wrong in (f"q=rye&cursor={first['next_cursor']}", "q=wheat&cursor=x", "q=wheat&cursor=9-9"):
        assert program.get(f"/search?{wrong}").status_code == 422
    page = browser.get("/search?q=wheat&limit=3").text
    assert "Top 3 passages" in page
    assert 'id="more-hits"' in page
    assert "Back to the top" in browser.get(f"/search?q=wheat&limit=3&cursor={first['next_cursor']}").text


def test_each_page_has_a_box_to_search_in(browser: Browser, shelf: list[str]) -> None:
    for path in ("/", f"/documents/{shelf[0]}", "/account"):
        assert 'id="topbar-q"' in browser.get(path).text
    assert 'id="topbar-q"' not in browser.get("/search").text


def test_a_lone_surrogate_is_no_fault(program: Program) -> None:
    assert program.get("/search?q=%ED%A0%80").status_code == 200


def test_hits_are_grouped_with_filters_beside_them(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    notes, letter, page = shelve(
        program,
        ("notes.md", NOTES),
        ("letter.txt", b"Dear Ana, the wheat is here. Kind regards."),
        ("page.html", b"<title>Of wheat</title><p>Wheat, and wheat again.</p>"),
    )
    work_off(app)
    program.client.patch(f"/documents/{notes}", json={"tags": ["to mill"]}, headers=program.headers)

    body = read_json(program.get("/search?q=wheat&filters=1"))
    counted = body["filters"]
    assert counted["counted"] == 3
    assert {"value": "to mill", "term": 'tag:"to mill"', "count": 1} in counted["tag"]
    assert {each["document_id"]: each["count"] for each in counted["document"]} == {notes: 1, letter: 1, page: 1}
    assert "filters" not in read_json(program.get("/search?q=wheat"))
    inside = read_json(program.get(f"/search?q=wheat&document={letter}"))
    assert [hit["document_id"] for hit in inside["hits"]] == [letter]
    assert read_json(program.get(f"/search?q=wheat+-in:letter&document={letter}"))["hits"] == []

    html = browser.get("/search?q=wheat").text
    assert html.count('<li class="hit-group">') == 3
    assert "Counts are for the best 3 passages." in html
    assert "q=wheat+tag:%22to+mill%22" in html
    narrowed = browser.get(f"/search?q=wheat+tag:%22to+mill%22&document={notes}").text
    assert f'href="/search?q=wheat&amp;document={notes}"' in narrowed
    assert 'href="/search?q=wheat+tag:%22to+mill%22"' in narrowed
    assert narrowed.count('<li class="hit-group">') == 1
    assert f'name="document" value="{notes}"' in narrowed


def test_filters_alone_list_documents(browser: Browser, program: Program, shelf: list[str]) -> None:
    body = read_json(program.get("/search?q=kind:pdf"))
    assert ([each["id"] for each in body["documents"]], body["hits"]) == ([shelf[1]], [])
    page = browser.get("/search?q=kind:pdf").text
    assert "1 document that matches" in page
    assert f'href="/documents/{shelf[1]}" data-hit' in page
    assert "No document matches these filters" in browser.get("/search?q=kind:epub").text
    for q in ("-draft", "kind:pdf+-draft"):
        assert "Add a word to search for" in browser.get(f"/search?q={q}").text


def test_one_document_must_be_ones_own(people: People, program: Program, shelf: list[str]) -> None:
    assert people.program(org="Theirs").get(f"/search?q=wheat&document={shelf[0]}").status_code == 404
    assert program.get("/search?q=wheat&document=7").status_code == 422
    first = read_json(program.get(f"/search?q=lighthouse&limit=1&document={shelf[1]}"))
    assert program.get(f"/search?q=lighthouse&limit=1&cursor={first['next_cursor']}").status_code == 422


def test_a_clear_answer_is_shown_large(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    shelve(
        program,
        ("lease.txt", b"The flat is on the first floor.\n\nThe lease of the flat ends on the last day of May 2027."),
        ("other.txt", b"A lease is a contract. Bread is baked at night."),
    )
    work_off(app)
    page = browser.get("/search?q=when+does+the+lease+of+the+flat+ends").text
    assert '<blockquote class="best-sentence">' in page
    assert "on the last day of May 2027." in page
    assert "best-sentence" not in browser.get("/search?q=bread+and+stones").text


def test_nearly_the_same_passages_are_one_hit(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    terms = (
        "These terms of delivery hold for all orders of wheat, rye and barley that the mill takes from its customers. "
        "The price is that of the day of the order; carriage is paid by whoever asks for it, and sacks remain ours. "
        "What is spoilt on its way is to be shown to the driver at once and told to us in writing within a week,"
    )
    shelve(program, *((f"{day}.txt", f"{terms} or by {day}.".encode()) for day in ("Monday", "Tuesday", "Friday")))
    shelve(program, ("other.txt", b"Wheat is ground between stones."))
    work_off(app)

    hits = read_json(program.get("/search?q=wheat+delivery"))["hits"]
    assert [hit["similar"]["count"] for hit in hits] == [2, 0]
    names = {hits[0]["filename"], *(each["filename"] for each in hits[0]["similar"]["passages"])}
    assert names == {"Monday.txt", "Tuesday.txt", "Friday.txt"}
    assert "2 more like this" in browser.get("/search?q=wheat+delivery").text


def test_another_spelling_is_suggested_and_not_searched_for(
    browser: Browser, program: Program, shelf: list[str]
) -> None:
    assert shelf
    assert read_json(program.get("/search?q=weat+stones"))["did_you_mean"] == "wheat stones"
    assert read_json(program.get("/search?q=wheat"))["did_you_mean"] is None
    page = browser.get("/search?q=wheatt").text
    assert 'Did you mean <a href="/search?q=wheat"><bdi>wheat</bdi></a>?' in page
