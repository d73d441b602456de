"""Each kind of Office document goes the whole way: uploaded, read, ready, and found by a sentence in it."""

import pytest
from flask import Flask

from tests.readers.office import files
from tests.web.people import Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off

WORDS = "The harbour master counts every lantern twice."
OFFICE_FILES = {
    "letter.docx": files.docx(files.p(WORDS)),
    "sums.xlsx": files.xlsx(files.row(1, A="Note", B="Number") + files.row(2, A=WORDS, B="n:1")),
    "talk.pptx": files.pptx(files.shape(WORDS)),
    "letter.odt": files.odf(files.TEXT, f"<text:p>{WORDS}</text:p>"),
    "sums.ods": files.odf(files.SHEETS, f'<table:table table:name="S">{files.odf_row("Note", WORDS)}</table:table>'),
    "talk.odp": files.odf(
        files.SHOW, f"<draw:page><draw:custom-shape><text:p>{WORDS}</text:p></draw:custom-shape></draw:page>"
    ),
    "letter.rtf": files.rtf(WORDS),
}


@pytest.mark.parametrize("filename", OFFICE_FILES)
def test_its_sentence_is_found(app: Flask, program: Program, filename: str) -> None:
    use_hashed_words(app)
    (document_id,) = shelve(program, (filename, OFFICE_FILES[filename]))
    work_off(app)
    document = read_json(program.get(f"/documents/{document_id}"))
    assert (document["status"], document["filename"]) == ("READY", filename)
    [hit, *_] = read_json(program.get("/search?q=lantern+harbour"))["hits"]
    assert hit["document_id"] == document_id
    assert WORDS in hit["text"]


def test_a_locked_document_says_so(app: Flask, program: Program) -> None:
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    (document_id,) = shelve(program, ("secret.docx", locked))
    work_off(app)
    document = read_json(program.get(f"/documents/{document_id}"))
    assert document["status"] == "FAILED"
    assert "password" in str(document).lower() or "encrypted" in str(document).lower()
