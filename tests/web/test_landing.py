"""A link to a passage: it is marked in the text, with the other hits near, also after the text has changed."""

import re
from html import unescape
from urllib.parse import quote

import pytest
from flask import Flask

from tests import samples
from tests.web.people import Browser, Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off
from webapp.pipeline.markdown import split_pages
from webapp.web.markdown import blocks, parts, render, rendered
from webapp.web.marked_tokens import Marking
from webapp.web.search.landing import first_words

_SPACE = "Filler about oil lamps and storms at sea, which nobody looks for.\n\n"
NOTES = (
    "# Milling notes\n\n" + _SPACE * 20 + "Wheat is *ground* between `grind()` stones, "
    "and <b>rye</b> too.\n\n" + _SPACE * 20 + "```\nrye = grind(wheat)\n```\n\nThe wheat harvest ends.\n"
)


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    use_hashed_words(app)
    ids = shelve(program, ("notes.md", NOTES.encode()), ("report.pdf", samples.report_pdf()))
    work_off(app)
    return ids


def _first_link(page: str) -> str:
    found = re.search(r'href="([^"]+)" data-hit', page)
    assert found
    return unescape(found[1])


def test_a_click_lands_at_the_passage_and_its_words(browser: Browser, program: Program, shelf: list[str]) -> None:
    link = _first_link(browser.get("/search?q=%22wheat%22+stones").text)
    assert link.startswith(f"/documents/{shelf[0]}?passage=")
    assert link.endswith("#passage")
    page = browser.get(link.partition("#")[0]).text
    assert page.count('id="passage"') == 1
    assert '<mark id="passage">Wheat</mark> is <' in page
    assert "&lt;b&gt;rye&lt;/b&gt;" in page
    assert "Hit 1 of 2" in page
    following = re.search(r'id="next-hit" href="([^"]+)"', page)
    assert following
    last = browser.get(unescape(following[1]).partition("#")[0]).text
    assert "Hit 2 of 2" in last
    assert 'id="previous-hit"' in last
    assert "next-hit" not in last
    paged = browser.get(_first_link(browser.get("/search?q=lighthouse").text).partition("#")[0]).text
    assert '<mark id="passage">lighthouse</mark>' in paged
    assert read_json(program.get(link.partition("#")[0]))["id"] == shelf[0]


def test_a_link_outlives_a_change_of_the_text(browser: Browser, shelf: list[str]) -> None:
    gone = "01900000-0000-7000-8000-000000000000"
    words = quote("The wheat harvest ends")
    changed = browser.get(f"/documents/{shelf[0]}?passage={gone}&words={words}").text
    assert "This text has changed since the link was made" in changed
    assert '<span class="here" id="passage">The wheat harvest ends.</span>' in changed
    nowhere = browser.get(f"/documents/{shelf[0]}?passage={gone}&words=a+wobbulator+hums+at+night").text
    assert "is not in the document any more" in nowhere
    assert 'id="passage"' not in nowhere
    assert browser.get(f"/documents/{shelf[0]}?passage={gone}").status_code == 200
    odd = browser.get(f"/documents/{shelf[0]}?passage={gone}&words={words}&q=%22open").text
    assert 'id="passage"' in odd


def test_marks_follow_a_passage_over_blocks_and_pages() -> None:
    text = (
        "One *two* three.\n\n<!-- page 2 -->\n\n- four\n- five `six`\n\n```\nseven <eight>\n```\n\n"
        "| nine | ten |\n|---|---|\n| x | y |"
    )
    words = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    pieces = rendered(parts(split_pages(text, 2)), 0, (), Marking(words, ["five"]))
    html = "".join(str(piece.html) for piece in pieces)
    assert html.count('id="passage"') == 1
    assert '<mark id="passage">five</mark>' in html
    assert '<code><span class="here">six</span></code>' in html
    assert "seven &lt;eight&gt;" in html
    assert '<th><span class="here">ten</span></th>' in html
    assert 'One <em><span class="here">two</span></em>' in html
    plain = rendered(parts(split_pages(text, 2)), 0)
    assert "<span" not in "".join(str(piece.html) for piece in plain)


def test_the_words_of_a_link_are_those_that_people_read() -> None:
    assert first_words("# Rye\n\n| Flour | dark-brown *rye*, 5 % |\n|---|---|") == "Rye Flour dark-brown rye, 5 %"
    assert len(first_words("wort " * 500)) < 60


def test_blocks_are_numbered_as_the_page_has_them() -> None:
    source = "# One\n\nTwo *three*\n\n- four\n- five\n\n---\n\n| six | seven |\n|---|---|\n| 8 | 9 |\n\n```\nten\n```\n"
    found = blocks(source)
    assert [" ".join(each.split()) for each in found] == ["One", "Two three", "four five", "", "six seven 8 9", "ten"]
    html = str(render(source))
    assert len(re.findall(r"^<(h\d|p|ul|hr|table|pre)\b", html, re.MULTILINE)) == len(found)
