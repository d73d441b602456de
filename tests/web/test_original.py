"""The uploaded file in the browser: shown where nothing in it can run, else saved."""

import pytest
from flask import Flask

from tests import samples, sounds
from tests.pipeline.test_keep import PNG
from tests.web.people import People, Program
from tests.web.shelves import File, shelve
from webapp.readers.filetypes import FILE_TYPES
from webapp.web import blobs

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

HOSTILE = b"<!doctype html><html><body><script>alert(document.cookie)</script></body></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
INLINE: dict[str, tuple[File, str]] = {
    "pdf": (("r.pdf", samples.report_pdf(1)), "default-src 'none'; frame-ancestors 'self'"),
    "picture": (("m.png", PNG), "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    "sound": (
        ("s.wav", sounds.wav(sounds.babble(1))),
        "default-src 'none'; media-src 'self'; sandbox allow-same-origin",
    ),
}


@pytest.mark.parametrize("word", INLINE)
def test_what_can_do_no_harm_is_shown_in_place(app: Flask, program: Program, people: People, word: str) -> None:
    file, policy = INLINE[word]
    [document] = shelve(program, file)
    path = f"/documents/{document}/original/view"
    shown = program.get(path, buffered=True)
    assert (shown.status_code, shown.data) == (200, file[1])
    assert shown.headers["Content-Disposition"].startswith("inline;")
    assert shown.headers["Content-Security-Policy"] == policy
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Cache-Control"] == "private, no-store"
    part = program.get(path, headers={"Range": "bytes=2-8"}, buffered=True)
    assert (part.status_code, part.data, part.headers["Content-Security-Policy"]) == (206, file[1][2:9], policy)
    assert people.program(org="Theirs").get(path).status_code == 404
    saved = program.get(f"/documents/{document}/original", buffered=True)
    assert saved.headers["Content-Disposition"].startswith("attachment;")
    assert f'href="{path}"' in people.browser().get(f"/documents/{document}").text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.html", HOSTILE),
        ("picture.svg", SVG),
        ("picture.png", SVG),
        ("notes.txt", HOSTILE),
        ("feed.xml", b'<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><a/>'),
    ],
)
def test_what_a_browser_could_run_is_only_ever_saved(
    program: Program, people: People, name: str, content: bytes
) -> None:
    [document] = shelve(program, (name, content))
    answer = program.get(f"/documents/{document}/original/view")
    assert (answer.status_code, answer.location) == (302, f"/documents/{document}/original")
    assert "open-original" not in people.browser().get(f"/documents/{document}").text


def test_no_type_that_holds_markup_is_shown_in_place(program: Program) -> None:
    shown = {each.content_type for each in FILE_TYPES if blobs.opens_inline(each.content_type)}
    assert shown
    assert all(each == "application/pdf" or each.partition("/")[0] in {"image", "audio", "video"} for each in shown)
    assert not any("xml" in each or "html" in each for each in shown)
