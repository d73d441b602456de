"""A book with its pictures: each at its place in its chapter, drawn here, and nothing of what else a book may hold."""

import re
from io import BytesIO

import pytest
from flask import Flask
from PIL import Image

from tests.books import epub
from tests.web.people import Browser, People, Program
from tests.web.shelves import read_json, services_of, shelve, use_hashed_words, work_off

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

LONG = "".join(f"<p>Paragraph {number} tells of the harbour and of what came after it.</p>" for number in range(900))


def picture(colour: str, kind: str = "PNG") -> bytes:
    data = BytesIO()
    Image.new("RGB", (40, 30), colour).save(data, kind)
    return data.getvalue()


@pytest.fixture
def book(app: Flask, program: Program) -> str:
    chapters = [
        (
            "<p><img src='red.png' alt=''/></p><h1>The lamp</h1><p>It burns all night long.</p><p>"
            "<img src='pics/blue.jpg' alt='A blue lamp'/></p><p>Nobody knows why it does.</p>"
            "<p><img src='hostile.png' alt='x'/></p>"
            "<p><img src='drawing.svg' alt='A drawing'/><img src='../../../../etc/passwd.png' alt='Out'/></p>"
            "<p><img src='https://example.org/pixel.png' alt='Far'/></p>"
        ),
        f"<h1>The sea</h1>{LONG}<p>The very last wave.</p><p><img src='red.png' alt='The wave'/></p>",
    ]
    extra = {
        "OEBPS/red.png": picture("red"),
        "OEBPS/pics/blue.jpg": picture("blue", "JPEG"),
        "OEBPS/hostile.png": b"<html><script>alert(1)</script></html>",
        "OEBPS/drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    }
    use_hashed_words(app)
    [document] = shelve(program, ("book.epub", epub(chapters, extra=extra)))
    work_off(app)
    return document


def _order(page: str) -> list[str]:
    """What follows what in the text: its marks, some words, and the pictures by their numbers."""
    words = "Chapter 1 of 2|Chapter 2 of 2|The lamp</h3>|burns all night|Nobody knows|The very last wave"
    text = page.partition("<article")[2]
    return re.findall(rf"{words}|pictures/\d+\.png", text)


def test_pictures_stand_where_the_book_has_them(browser: Browser, book: str) -> None:
    first = browser.get(f"/documents/{book}").text
    assert _order(first)[:7] == [
        "Chapter 1 of 2", "pictures/0.png", "The lamp</h3>", "burns all night", "pictures/1.png", "Nobody knows",
        "pictures/2.png",
    ]  # fmt: skip
    assert 'alt="A blue lamp" loading="lazy"' in first
    assert "pictures/3.png" not in first, "it is in a later part of the second chapter"
    last = browser.get(f"/documents/{book}?part=99").text
    assert _order(last) == ["The very last wave", "pictures/3.png"]
    assert "Chapter 2 of 2" in browser.get(f"/documents/{book}?page=2").text


def test_a_link_to_a_chapter_leads_there_on_the_page_of_the_text_alone(
    app: Flask, browser: Browser, program: Program
) -> None:
    use_hashed_words(app)
    chapters = [
        "<h1>One</h1><p>Read <a href='chapter-2.xhtml'>the second</a> first.</p>",
        "<h1>Two</h1><p>It is short.</p>",
    ]
    [document] = shelve(program, ("linked.epub", epub(chapters)))
    work_off(app)
    text = browser.get(f"/documents/{document}").text
    assert '<a href="?page=2#page-2" rel="noopener nofollow">the second</a> first.' in text
    assert "?page=2#page-2" not in browser.get(f"/documents/{document}/chunks").text
    assert read_json(program.get("/search?q=second+first"))["hits"]


def test_hits_name_the_chapter(browser: Browser, program: Program, book: str) -> None:
    page = browser.get("/search?q=burns+night").text
    assert "Chapter 1" in page
    assert "Page 1" not in page
    assert program.get(f"/documents/{book}").status_code == 200


def test_only_pictures_are_sent_and_only_as_they_were_drawn_here(
    app: Flask, program: Program, people: People, book: str
) -> None:
    path = f"/documents/{book}/pictures"
    blue = program.get(f"{path}/1.png")
    assert (blue.status_code, blue.mimetype) == (200, "image/png")
    assert Image.open(BytesIO(blue.data)).format == "PNG"
    assert "sandbox" in blue.headers["Content-Security-Policy"]
    for number, why in (("2", "it is a page of HTML"), ("4", "there are no more"), ("999999999999", "nor this many")):
        answer = program.get(f"{path}/{number}.png")
        assert (answer.status_code, read_json(answer)["reason"]) == (404, "no_picture"), why
    assert people.program(org="Theirs").get(f"{path}/1.png").status_code == 404
    kept = {
        blob.path.rpartition("/pages/")[2] for blob in services_of(app).providers.blobs.list() if "/pages/" in blob.path
    }
    assert kept == {"1-pictures.json", "1-picture-1.png", "1-picture-2.png"}
    assert people.program("ops").send("DELETE", f"/documents/{book}?purge=1").status_code == 204
    assert not [blob for blob in services_of(app).providers.blobs.list() if book in blob.path]
