"""Pages name the kinds of files that are read here, and say what would read the others."""

from dataclasses import replace
from typing import Any, cast

from flask import Flask

from tests.web.people import Browser
from tests.web.shelves import services_of
from webapp.providers.azure import extract as azure
from webapp.readers.filetypes import FILE_TYPES
from webapp.web import kinds
from webapp.web.sentences import KeptBecause

DOCUMENTS = "PDF, EPUB, Word, Excel, PowerPoint, OpenDocument, RTF"
READ_HERE = f"{DOCUMENTS}, plain text, Markdown, CSV tables, HTML, XML, e-mail, archives"


class _EverythingSlowly:
    """As a service that reads all kinds."""

    def accepts(self, content_type: str) -> bool:
        return True


def test_they_are_those_of_the_providers(app: Flask) -> None:
    local = services_of(app).providers
    assert kinds.words(local) == f"{READ_HERE}, and recordings"
    without_speech = replace(local, speech=None)
    assert kinds.words(without_speech) == READ_HERE.replace(" archives", " and archives")
    with_service = replace(local, remote_extractor=cast("Any", _EverythingSlowly()))
    assert kinds.words(with_service).startswith(f"{DOCUMENTS}, pictures of pages,")


def test_the_page_names_them_and_offers_all_files(browser: Browser) -> None:
    page = browser.get("/").text
    assert f"Docmill reads {READ_HERE}, and recordings. Other files are kept, and found by their names." in page
    # But for the camera.
    assert page.count("accept=") == page.count('accept="image/*" capture=') == 1


def test_what_would_read_a_file(app: Flask) -> None:
    local = services_of(app).providers
    without_speech = replace(local, speech=None)
    with_service = replace(local, remote_extractor=cast("Any", _EverythingSlowly()))
    assert kinds.kept_because(local, "image/heic") is KeptBecause.OCR_OFF
    assert kinds.kept_because(with_service, "image/heic") is KeptBecause.PICTURE
    assert kinds.kept_because(without_speech, "audio/mpeg") is KeptBecause.NO_SPEECH_SERVICE
    assert kinds.kept_because(local, "application/vnd.rar") is KeptBecause.ARCHIVE
    for unread in ("image/svg+xml", "application/octet-stream", "application/x-odd"):
        assert kinds.kept_because(local, unread) is KeptBecause.NO_READER


def test_what_a_service_is_said_to_read_it_reads() -> None:
    promised = {each.content_type for each in FILE_TYPES if each.is_picture}
    assert promised - {"image/gif", "image/webp"} == azure.IMAGES
