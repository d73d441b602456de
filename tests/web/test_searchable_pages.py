"""GET /documents/{id}/searchable.pdf: made of a scan that was read, with a sentence where nothing can be made."""

import io
from collections.abc import Iterator
from dataclasses import replace

import pypdf
import pytest
from flask import Flask

from tests import samples, scans
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.providers.local.extract import LocalExtractor

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

SMALL = (700, 330)
BUTTON = "Download searchable PDF"


@pytest.fixture
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(ocr=scans.reader())
    yield extractor
    extractor.close()


def use_ocr(app: Flask, extractor: LocalExtractor) -> None:
    found = services_of(app)
    app.extensions["docmill"] = replace(found, providers=replace(found.providers, extractor=extractor))


@pytest.mark.slow
def test_a_scan_is_downloaded_with_its_words(
    app: Flask, program: Program, people: People, extractor: LocalExtractor
) -> None:
    use_hashed_words(app)
    use_ocr(app, extractor)
    pages = [scans.page([text], 30, SMALL) for text in ("Slip of the harbour office", "Second slip")]
    [document] = shelve(program, ("slips.pdf", scans.as_bytes(pages[0], "PDF", pages[1:])))
    work_off(app)
    answer = program.get(f"/documents/{document}/searchable.pdf")
    assert (answer.status_code, answer.mimetype) == (200, "application/pdf")
    assert "slips (searchable).pdf" in answer.headers["Content-Disposition"]
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    read = [page.extract_text().split() for page in pypdf.PdfReader(io.BytesIO(answer.data)).pages]
    assert read == [["Slip", "of", "the", "harbour", "office"], ["Second", "slip"]]
    assert read_json(program.get(f"/documents/{document}"))["searchable_pdf"] is True
    assert BUTTON in people.browser().get(f"/documents/{document}").text
    outsider = people.program(org="Others")
    assert outsider.get(f"/documents/{document}/searchable.pdf").status_code == 404

    [words] = [blob.path for blob in services_of(app).providers.blobs.list() if "/words-" in blob.path]
    services_of(app).providers.blobs.put_bytes(words, b"damaged")
    refused = program.get(f"/documents/{document}/searchable.pdf")
    assert (refused.status_code, read_json(refused)["title"]) == (422, "The searchable PDF could not be made")
    services_of(app).providers.blobs.delete(words)
    assert program.get(f"/documents/{document}/searchable.pdf").status_code == 404


def test_where_ocr_read_nothing_there_is_a_sentence(app: Flask, program: Program, people: People) -> None:
    use_hashed_words(app)
    [typed, text] = shelve(program, ("report.pdf", samples.report_pdf(1)), notes(1))
    work_off(app)
    for document in (typed, text):
        refused = program.get(f"/documents/{document}/searchable.pdf")
        assert refused.status_code == 404
        assert read_json(refused)["title"] == "There is no searchable PDF of this document"
        assert read_json(program.get(f"/documents/{document}"))["searchable_pdf"] is False
        assert BUTTON not in people.browser().get(f"/documents/{document}").text
