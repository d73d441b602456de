"""Pages name the kinds of files that are read here, and file dialogs offer them."""

from dataclasses import replace
from typing import Any, cast

from flask import Flask

from tests.web.people import Browser, Program
from tests.web.shelves import read_json, send, services_of
from webapp.web import kinds

DOCUMENTS = "PDF, EPUB, Word, Excel, PowerPoint, OpenDocument, RTF"
READ_HERE = f"{DOCUMENTS}, plain text, Markdown, CSV tables, HTML, XML, e-mail"


class _EverythingSlowly:
    """As a service that reads all kinds."""

    def accepts(self, content_type: str) -> bool:
        return True


def test_they_are_those_of_the_providers(app: Flask) -> None:
    local = services_of(app).providers
    assert kinds.words(local) == f"{READ_HERE}, and recordings"
    assert {".docx", ".ods", ".rtf", ".csv"} < set(kinds.choices(local).split(","))
    assert ".heic" not in kinds.choices(local)
    without_speech = replace(local, speech=None)
    assert kinds.words(without_speech) == READ_HERE.replace(" e-mail", " and e-mail")
    with_service = replace(local, remote_extractor=cast("Any", _EverythingSlowly()))
    assert kinds.words(with_service).startswith(f"{DOCUMENTS}, pictures of pages,")
    assert ".heic" in kinds.choices(with_service)


def test_the_page_and_a_refusal_name_them(browser: Browser, program: Program) -> None:
    assert f"{READ_HERE}, and recordings, up to" in browser.get("/").text
    problem = read_json(send(program, ("drawing.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 100)))
    assert problem["detail"] == f"It is a PNG image. Docmill reads {READ_HERE}, and recordings here."
