"""The reader: a page's picture beside what was read from it, its marks, its headings, and words found inside of it."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from flask import Flask

from tests import samples
from tests.web.people import HX, JSON, Browser, People, Program
from tests.web.shelves import NOTES, Shelf, read_json, shelve, use_hashed_words

# Nothing here asks the database anything that another test does not ask on both.
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

LINES = ("Invoice", "Invoice number: A-17", "Date: 3 May 2026", "Due date: 17 May 2026", "Total: 130.00")
LETTER = (
    "The mill on the river needs a new stone before the harvest,", "and the carpenter has asked for oak that was dried",
    "for two winters at least, which nobody here has in store", "so we would like to buy some from your yard,",
    "together with a zephyr wheel for the fan above the door", "and nails enough to last until the end of the year.",
)  # fmt: skip


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "report": ("report.pdf", lambda: samples.report_pdf(3)),
    "invoice": ("invoice.pdf", lambda: samples.lines_pdf(LINES)),
    "table": ("table.pdf", samples.table_pdf),
    "locked": ("locked.pdf", samples.encrypted_pdf),
    "notes": ("notes.md", lambda: NOTES),
    "letter": ("letter.pdf", lambda: samples.lines_pdf(LETTER, lines_per_page=3)),
}


@pytest.fixture
def shelf(app: Flask, program: Program) -> Shelf:
    use_hashed_words(app)
    return Shelf(app, program, FILES)


def _links(page: str) -> dict[str, str]:
    """The addresses of the reader's bar and its switch, by what they do."""
    bar = re.findall(r'<a class="button[^>]*data-turn="(-?1)" href="([^"]*)"( hidden)?', page)
    views = re.findall(r'<a class="tab" href="([^"]*)" data-view-of="(\w+)"', page)
    turns = {turn: unescape(url) for turn, url, hidden in bar if not hidden}
    return turns | {view: unescape(url) for url, view in views}


def test_a_page_stands_beside_each_section_and_links_turn_it(browser: Browser, shelf: Shelf) -> None:
    url = f"/documents/{shelf['report']}"
    page = browser.get(url).text
    assert f'src="/documents/{shelf["report"]}/pages/1.png"' in page
    assert _links(page) == {
        "1": f"{url}?page=2&view=text#page-2",
        "page": f"{url}?page=1&view=page",
        "text": f"{url}?page=1&view=text#page-1",
    }
    last = browser.get(f"{url}?page=3&view=page").text
    assert f'src="/documents/{shelf["report"]}/pages/3.png"' in last
    assert 'data-view="page"' in last
    assert {"-1": f"{url}?page=2&view=page"}.items() <= _links(last).items()
    assert "1" not in _links(last)
    for section in ("/fields", "/tables", "/chunks", "/outline"):
        beside = browser.get(f"{url}{section}?page=2").text
        assert f'src="/documents/{shelf["report"]}/pages/2.png"' in beside
        assert {"1": f"{url}{section}?page=3&view=text"}.items() <= _links(beside).items()
    assert browser.get(f"{url}?page=999").text.count('value="3" data-go') == 1


def test_the_switch_and_the_form_keep_what_the_address_says(browser: Browser, shelf: Shelf) -> None:
    url = f"/documents/{shelf['table']}/tables"
    page = browser.get(f"{url}?edit=1").text
    assert _links(page)["page"] == f"{url}?edit=1&page=1&view=page"
    passage = read_json(browser.get(f"/documents/{shelf['report']}/chunks", headers=JSON))["chunks"][0]["id"]
    shown = _links(browser.get(f"/documents/{shelf['report']}?passage={passage}&q=lamp").text)
    assert f"passage={passage}&q=lamp" in shown["page"]
    assert "passage" not in shown["1"]
    assert (
        '<input type="hidden" name="start" value="0">'
        in browser.get(f"/documents/{shelf['report']}/fields?start=0").text
    )


def test_a_hit_on_the_second_page_of_a_passage_shows_that_page(browser: Browser, shelf: Shelf) -> None:
    url = f"/documents/{shelf['letter']}"
    passages = read_json(browser.get(f"{url}/chunks", headers=JSON))["chunks"]
    [whole] = [each for each in passages if (each["page_from"], each["page_to"]) == (1, 2)]
    for word, number in (("carpenter", 1), ("zephyr", 2)):
        page = browser.get(f"{url}?passage={whole['id']}&q={word}").text
        assert f'src="{url}/pages/{number}.png"' in page, word
        assert f'<mark id="passage">{word}</mark>' in page


def test_documents_without_pictures_and_locked_ones_stand_alone(browser: Browser, shelf: Shelf) -> None:
    for path in (f"/documents/{shelf['notes']}", f"/documents/{shelf['locked']}", f"/documents/{shelf['report']}/runs"):
        assert "data-reader" not in browser.get(path).text


def test_a_document_that_failed_shows_its_pages(browser: Browser, program: Program) -> None:
    [waiting] = shelve(program, ("waiting.pdf", samples.report_pdf(2)))
    program.post(f"/documents/{waiting}/runs/{read_json(program.get(f'/documents/{waiting}'))['run']['id']}/cancel")
    page = browser.get(f"/documents/{waiting}").text
    assert f'src="/documents/{waiting}/pages/1.png"' in page
    assert 'id="open-original"' in page
    assert 'id="try-again"' in page
    assert _links(page)["1"] == f"/documents/{waiting}?page=2&view=text#page-2"


def test_everything_that_was_read_has_its_boxes(program: Program, shelf: Shelf) -> None:
    def marks(word: str, of: str, page: int = 1) -> dict[str, list[list[float]]]:
        found = read_json(program.get(f"/documents/{shelf[word]}/pages/{page}/marks?of={of}"))
        width, height = found["size"]
        boxes: dict[str, list[list[float]]] = found["marks"]
        assert all(
            0 <= x < x + w <= width and 0 <= y < y + h <= height for each in boxes.values() for x, y, w, h in each
        )
        return boxes

    fields = read_json(program.get(f"/documents/{shelf['invoice']}/fields"))["fields"]
    boxes = marks("invoice", "fields")
    assert set(boxes) == {f"field-{number}" for number in range(len(fields))}
    tops = [boxes[f"field-{number}"][0][1] for number in range(len(fields))]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(fields), "each field is in a line of its own"
    assert len(marks("table", "tables")["table-0"]) >= 4
    passages = read_json(program.get(f"/documents/{shelf['report']}/chunks"))["chunks"]
    on_two = {f"passage-{each['id']}" for each in passages if each["page_from"] <= 2 <= each["page_to"]}
    assert set(marks("report", "passages", 2)) <= on_two
    assert marks("report", "passages", 2)
    text = marks("report", "text", 2)
    assert [text[f"block-{number}"][0][1] for number in range(len(text))] == sorted(
        each[0][1] for each in text.values()
    )
    assert len(text["block-1"]) == 3, "a paragraph of three lines has three boxes"


def test_there_are_no_other_marks(program: Program, people: People, shelf: Shelf) -> None:
    path = f"/documents/{shelf['report']}/pages"
    assert program.get(f"{path}/1/marks?of=secrets").status_code == 422
    assert program.get(f"{path}/4/marks").status_code == 404
    assert program.get(f"/documents/{shelf['notes']}/pages/1/marks").status_code == 404
    assert people.program(org="Theirs").get(f"{path}/1/marks").status_code == 404
    assert read_json(program.get(f"/documents/{shelf['locked']}/pages/1/marks")) | {"run_id": None} == {
        "number": 1, "run_id": None, "size": None, "marks": {},
    }  # fmt: skip


def test_headings_lead_to_their_pages(browser: Browser, program: Program, shelf: Shelf) -> None:
    url = f"/documents/{shelf['report']}"
    headings = read_json(program.get(f"{url}/outline"))["headings"]
    assert headings[0] == {"level": 1, "title": "Annual report of the lighthouse", "page": 1}
    assert [each["page"] for each in headings if each["level"] == 2] == [1, 2, 3]
    page = browser.get(f"{url}/outline").text
    assert f'href="{url}?page=2#page-2"' in page
    assert 'id="tab-outline"' in browser.get(url).text
    assert [each["title"] for each in read_json(program.get(f"/documents/{shelf['notes']}/outline"))["headings"]] == [
        "Milling notes",
        "Rye",
    ]


def test_words_are_found_inside_of_a_document(browser: Browser, shelf: Shelf) -> None:
    url = f"/documents/{shelf['notes']}"
    found = browser.get(f"{url}?q=rye")
    assert found.status_code == 302
    page = browser.get(found.location.partition("#")[0]).text
    assert '<mark id="passage">Rye</mark>' in page
    assert "Hit 1 of" in page
    assert browser.get(f'{url}?q="open').status_code == 422
    nothing = browser.get(f'{url}?q="wobbulator+hums"')
    assert nothing.status_code == 200
    assert "No hits for “<bdi>&#34;wobbulator hums&#34;</bdi>” in this document." in nothing.text


def test_a_hit_is_marked_on_the_picture_beside_it(browser: Browser, program: Program, shelf: Shelf) -> None:
    passage = read_json(program.get(f"/documents/{shelf['report']}/chunks"))["chunks"][-1]
    page = browser.get(f"/documents/{shelf['report']}?passage={passage['id']}&q=lamp").text
    assert f'src="/documents/{shelf["report"]}/pages/{passage["page_from"]}.png"' in page
    assert page.count('class="leaf-word"') > 1


def test_the_first_screen_is_for_reading(browser: Browser, shelf: Shelf) -> None:
    url = f"/documents/{shelf['report']}"
    page, details = browser.get(url).text, browser.get(f"{url}/details", headers=HX).text
    for machine_part in ("SHA-256", 'id="tab-passages"', 'id="tab-runs"'):
        assert (machine_part in page, machine_part in details) == (False, True)
    places = [
        page.index(each) for each in ('id="document-name"', 'id="open-original"', 'id="reprocess"', 'id="delete"')
    ]
    assert places == sorted(places)
