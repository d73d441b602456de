"""GET /search: hits with their words marked, for people and programs."""

import pytest
from flask import Flask

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off
from webapp.web.search.landing import landing


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
    assert f"/documents/{shelf[0]}/chunks?passage=" in page
    assert "Milling notes" in page
    assert "# Milling" not in page
    paged = browser.get("/search?q=lighthouse").text
    assert f"/documents/{shelf[1]}?page=" in paged
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


def test_a_hit_leads_to_its_words(browser: Browser, shelf: list[str]) -> None:
    page = browser.get("/search?q=stones").text
    assert ":~:text=ground%20between%20stones." in page
    assert "#page-1:~:text=" in browser.get("/search?q=lighthouse").text


def test_a_landing_names_words_of_one_block() -> None:
    assert landing("# Rye\n\n| Flour | dark-brown rye, 5 % |\n|---|---|", ["brown"]) == (
        ":~:text=dark%2Dbrown%20rye%2C%205%20%25"
    )
    assert landing("one\ntwo three four five six seven eight nine ten eleven", ["six"]) == (
        ":~:text=four%20five%20six%20seven%20eight%20nine%20ten%20eleven"
    )
    assert landing("A first line.\nA second one.", []) == ":~:text=A%20first%20line."
    assert landing("---", ["x"]) == ""


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
