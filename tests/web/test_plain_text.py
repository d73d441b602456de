"""Plain text is shown as what it is: a letter keeps its lines, code has line numbers, columns stay columns."""

import pytest
from flask import Flask

from tests.web.people import Browser, Program
from tests.web.shelves import shelve, use_hashed_words, work_off
from webapp.web.plain_text import TextLook, look_of

LETTER = b"Dear Ana,\n\nthe lamp is *here*.\n# Not a heading\nKind regards\nTom\n"
CODE = b"# Counts lamps\ndef count(lamps):\n    return len(lamps) < 3\n"
TABLE = "\n".join(f"{name:<12}{count:>6}" for name, count in (("lamps", 3), ("wicks", 40), ("oil", 7), ("keys", 1)))


def test_lines_stay_as_they_are(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    letter, code = shelve(program, ("letter.txt", LETTER), ("count.py", CODE))
    work_off(app)
    page = browser.get(f"/documents/{letter}").text
    assert '<article class="plain plain-lines"' in page
    assert LETTER.decode().strip() in page
    page = browser.get(f"/documents/{code}").text
    assert '<div class="line-numbers" aria-hidden="true">1\n2\n3</div>' in page
    assert "    return len(lamps) &lt; 3" in page
    # The words that were looked for are marked there, too.
    found = browser.get("/search?q=lamps+count").text
    address = found.split(f'href="/documents/{code}?passage=')[1].split('"')[0].replace("&amp;", "&")
    marked = browser.get(f"/documents/{code}?passage={address}").text
    assert "<mark" in marked
    assert '<article class="plain plain-code"' in marked


def test_numbers_of_lines_go_on_in_the_next_part(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    [code] = shelve(program, ("long.sql", "\n".join(f"SELECT {number};" for number in range(1, 5001)).encode()))
    work_off(app)
    first = browser.get(f"/documents/{code}").text.split('aria-hidden="true">')[-1].split("</div>")[0].split("\n")
    second = browser.get(f"/documents/{code}?part=2").text
    assert f'aria-hidden="true">{first[-1]}\n{int(first[-1]) + 1}\n' in second
    assert f"SELECT {int(first[-1]) + 1};" in second


@pytest.mark.parametrize(
    ("name", "content_type", "text", "look"),
    [
        ("a.md", "text/markdown", "# A", TextLook.PROSE),
        ("a.pdf", "application/pdf", "a", TextLook.PROSE),
        ("a.txt", "text/plain", "One.\nTwo.", TextLook.LINES),
        ("a.txt", "text/plain", TABLE, TextLook.COLUMNS),
        ("Makefile", "text/plain", "all:", TextLook.CODE),
        ("events.LOG", "text/plain", "12:01 started", TextLook.CODE),
    ],
)
def test_what_a_text_looks_like(name: str, content_type: str, text: str, look: TextLook) -> None:
    assert look_of(content_type, name, text) is look
