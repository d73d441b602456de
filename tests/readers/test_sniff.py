"""Files are known by what they hold, whatever they are called."""

import io
import time
import zipfile
from pathlib import Path

import pytest

from tests import samples
from tests.readers.written.test_written import FILES
from webapp.readers.filetypes import OFFICE, OPEN
from webapp.readers.sniff import HEAD_BYTES, mismatch, sniff


def zipped(*names: str, first: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, first)
    return out.getvalue()


WORD = f"{OFFICE}wordprocessingml.document"
OLD_WORD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "WordDocument".encode("utf-16-le") + bytes(500)
KINDS = [
    (samples.report_pdf(), "a.txt", "application/pdf", "PDF document"),
    (b"\n\n" + b"x" * 900 + b"\n" + samples.report_pdf(), "a", "application/pdf", "PDF document"),
    (b"\xef\xbb\xbf \r\n" + samples.report_pdf(), "a", "application/pdf", "PDF document"),
    (b"\x1b%-12345X@PJL JOB\r\n" + samples.report_pdf(), "a", "application/pdf", "PDF document"),
    (b"\0" * 128 + samples.report_pdf(), "a", "application/pdf", "PDF document"),
    (b"Sent by a printer\n%PDF-1.4\n1 0 obj\n", "scan.pdf", "application/pdf", "PDF document"),
    (b"%PDF-1.7 nothing", "a", "application/pdf", "PDF document"),
    (b"x" * 1100 + b"\n" + samples.report_pdf(), "a", "text/plain", "plain text"),
    (zipped("report.pdf", first=samples.report_pdf()), "a", "application/zip", "ZIP archive"),
    (zipped("report.pdf", first=samples.report_pdf()), "report.pdf", "application/zip", "ZIP archive"),
    (
        zipped("mimetype", first=b"application/epub+zip").replace(b"epub+zipPK", b"epub+zip%PDF-1.7 PK"),
        "a",
        "application/epub+zip",
        "EPUB book",
    ),
    (b"RIFF\x40\0\0\0WAVELIST\x10\0\0\0INFO\n%PDF-1.7\n", "a", "audio/wav", "WAV recording"),
    (b"OggS\0\x02" + b"\0" * 40 + b"\n%PDF-1.7\n", "a", "audio/ogg", "Ogg recording"),
    (b"\0\0\0\x20ftypisom\n%PDF-1.7\n", "a", "video/mp4", "MP4 video"),
    (b"The big WAVE came at noon.", "a", "text/plain", "plain text"),
    (b"The ftyp box comes first in an MP4 file.", "a", "text/plain", "plain text"),
    (b"A PDF begins with `%PDF-1.7`.", "a.md", "text/markdown", "Markdown text"),
    (b"# PDF\n\n```\n%PDF-1.7\n1 0 obj\n<< >>\nendobj\n%%EOF\n```\n", "a.md", "text/markdown", "Markdown text"),
    ("# PDF\n\n%PDF-1.7\n%âãÏÓ\n1 0 obj\n".encode(), "a.md", "text/markdown", "Markdown text"),
    (b"<!doctype html><pre>\n%PDF-1.7\n1 0 obj</pre>", "a", "text/html", "HTML page"),
    (b"", "a.pdf", "application/x-empty", "empty file"),
    (b"just words", "a.txt", "text/plain", "plain text"),
    (b"just words", "a.pdf", "text/plain", "plain text"),
    (b"# Heading", "README.MD", "text/markdown", "Markdown text"),
    ("Größe".encode("utf-16"), "a", "text/plain", "plain text"),
    ("Größe".encode("cp1252"), "a", "text/plain", "plain text"),
    (b"BMW builds cars", "a", "text/plain", "plain text"),
    (b"MZ is a mark, and here a word", "a", "text/plain", "plain text"),
    (zipped("mimetype", first=b"application/epub+zip"), "a.pdf", "application/epub+zip", "EPUB book"),
    (zipped("META-INF/container.xml", "OEBPS/a.xhtml"), "a", "application/epub+zip", "EPUB book"),
    (zipped("OEBPS/a.xhtml"), "a.epub", "application/epub+zip", "EPUB book"),
    (zipped("OEBPS/a.xhtml"), "a.pdf", "application/zip", "ZIP archive"),
    (
        zipped("[Content_Types].xml", "word/document.xml"),
        "a",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Word document",
    ),
    (
        zipped("[Content_Types].xml", "xl/workbook.xml"),
        "a",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "Excel workbook",
    ),
    (
        zipped("[Content_Types].xml", "ppt/presentation.xml"),
        "a",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "PowerPoint presentation",
    ),
    (
        zipped("[Content_Types].xml", "docProps/app.xml"),
        "a.docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "Word document",
    ),
    (zipped("notes.txt"), "a.docx", "application/zip", "ZIP archive"),
    (zipped("docProps/app.xml", "docProps/thumbnail.jpeg"), "a.docm", WORD, "Word document"),
    (zipped("[content_types].xml", "XL\\workbook.xml"), "a", f"{OFFICE}spreadsheetml.sheet", "Excel workbook"),
    (zipped("excl/a.txt", "keyword/b.txt"), "a", "application/zip", "ZIP archive"),
    (zipped("excl/a.txt", first=b"xl/"), "a", "application/zip", "ZIP archive"),
    (zipped("mimetype", first=f"{OPEN}spreadsheet".encode()), "a", f"{OPEN}spreadsheet", "OpenDocument spreadsheet"),
    (zipped("mimetype", first=f"{OPEN}text-template".encode()), "a", f"{OPEN}text", "OpenDocument text"),
    (zipped("meta.xml", "content.xml"), "a.odp", f"{OPEN}presentation", "OpenDocument presentation"),
    (zipped("meta.xml", "content.xml"), "a", "application/zip", "ZIP archive"),
    (b"\x89PNG\r\n\x1a\n" + bytes(20), "a.pdf", "image/png", "PNG image"),
    (b"\xff\xd8\xff\xe0" + bytes(20), "a", "image/jpeg", "JPEG image"),
    (b"GIF89a" + bytes(20), "a", "image/gif", "GIF image"),
    (b"II*\0" + bytes(20), "a", "image/tiff", "TIFF image"),
    (b"RIFF\0\0\0\0WEBPVP8 ", "a", "image/webp", "WebP image"),
    (b"RIFF\0\0\0\0WAVEfmt ", "a", "audio/wav", "WAV recording"),
    (b"OggS" + bytes(20), "a", "audio/ogg", "Ogg recording"),
    (b"ID3\4" + bytes(60), "a", "audio/mpeg", "MP3 recording"),
    (b"\xff\xfb\x90\x64" + bytes(60), "a", "audio/mpeg", "MP3 recording"),
    (b"\0\0\0\x20ftypisom" + bytes(20), "a", "video/mp4", "MP4 video"),
    (b"\0\0\0\x20ftypM4A " + bytes(20), "a", "audio/mp4", "M4A recording"),
    (b"\x1aE\xdf\xa3" + bytes(20), "a", "video/x-matroska", "Matroska or WebM video"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "a.doc", "application/msword", "old Word document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "a.db", "application/x-ole-storage", "old Office file"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "locked.docx", WORD, "Word document"),
    (OLD_WORD, "renamed.docx", "application/msword", "old Word document"),
    (b"{\\rtf1 text}", "a", "application/rtf", "RTF document"),
    (b"<!-- c --> \n<!DOCTYPE HTML><html>", "a.txt", "text/html", "HTML page"),
    (b'<?xml version="1.0"?><svg xmlns="x">', "a.png", "image/svg+xml", "SVG image"),
    (b'<?xml version="1.0"?><a/>', "a", "application/xml", "XML file"),
    (b"From: a@b\r\nTo: c@d\r\nSubject: e\r\n\r\nText", "a", "message/rfc822", "e-mail"),
    (b"From: a@b\nX-Spam: no\n\nText", "a.eml", "message/rfc822", "e-mail"),
    (b"From: a@b\nwho is that?", "a", "text/plain", "plain text"),
    (b"Name: a\nCity: b\nNote: c\n", "a.txt", "text/plain", "plain text"),
    (
        b"Delivered-To: a@b\r\nX-Received: by c\r\n  at noon\r\nARC-Seal: i=1\r\n",
        "a",
        "message/rfc822",
        "e-mail",
    ),
    (b"From a@b Thu Nov 19 12:00:00 2026\nFrom: a@b\n\nText", "a", "application/mbox", "mailbox"),
    (b"From a@b Thu Nov 19 12:00:00 2026 +0100\r\nX: y\r\n", "a.mbox", "application/mbox", "mailbox"),
    (b"From the shore, in 2026\nwe saw it: a light.", "a.txt", "text/plain", "plain text"),
    (b'<?xml version="1.0"?><!DOCTYPE html><html>', "a", "text/html", "HTML page"),
    (b'<?xml version="1.0"?>\n<!-- c --><rss>', "a.rss", "application/xml", "XML file"),
    (b"<note><to>Anna</to></note>", "a.xml", "application/xml", "XML file"),
    (b"<note><to>Anna</to></note>", "a.txt", "text/plain", "plain text"),
    (b"<p>part of a page</p>", "a.htm", "text/html", "HTML page"),
    (b"<p>part of a page</p>", "a.md", "text/markdown", "Markdown text"),
    (b"no tags at all", "a.html", "text/plain", "plain text"),
    (b"<html><table>", "a.csv", "text/html", "HTML page"),
    (b"a,b\n1,2\n", "a.CSV", "text/csv", "CSV table"),
    (b"a,b,c\n1,2,3\n", "a.txt", "text/plain", "plain text"),
    (b"a\tb\n1\t2\n", "a.tsv", "text/tab-separated-values", "TSV table"),
    (b"\x89PNG\r\n\x1a\n" + bytes(20), "a.csv", "image/png", "PNG image"),
    (b'{"a": 1}', "a.json", "text/plain", "plain text"),
    (b"\x7fELF" + bytes(60), "a.pdf", "application/x-executable", "program"),
    (bytes(range(256)), "a.pdf", "application/octet-stream", "file of an unknown kind"),
]


@pytest.mark.parametrize(
    ("head", "filename", "content_type", "label"),
    KINDS,
    ids=[f"{number} {kind[3]}" for number, kind in enumerate(KINDS)],
)
def test_content_decides(head: bytes, filename: str, content_type: str, label: str) -> None:
    found = sniff(head[:HEAD_BYTES], filename)
    assert (found.content_type, found.label) == (content_type, label)


@pytest.mark.parametrize(
    ("filename", "content_type", "expected"),
    [
        ("report.pdf", "text/plain", True),
        ("report.PDF", "application/pdf", False),
        ("notes.txt", "application/pdf", False),
        ("notes.txt", "text/markdown", False),
        ("README.md", "text/plain", False),
        ("picture.png", "image/svg+xml", False),
        ("picture.png", "text/html", True),
        ("no ending", "application/pdf", False),
        ("strange.xyz", "text/plain", False),
        ("notes.txt", "text/html", False),
        ("table.csv", "text/html", False),
        ("message.eml", "text/plain", False),
        ("letter.rtf", "text/plain", True),
        ("..\\folder.md\\report.pdf", "text/plain", True),
        ("", "text/plain", False),
    ],
)
def test_names_that_promise_something_else(filename: str, content_type: str, expected: bool) -> None:
    assert mismatch(filename, content_type) is expected


@pytest.mark.parametrize(
    "head",
    [
        b"<!-- x --> " * 1000,
        b"From: " * 2000,
        b"From:\n " * 2000,
        b"From " + b"2026 " * 2000,
        b"<" * 9000,
        b"<a " * 3000,
        b"<!--" * 3000,
        b" " * 9000,
    ],
    ids=range(8),
)
def test_no_head_takes_long(head: bytes) -> None:
    start = time.process_time()
    sniff(head[:HEAD_BYTES], "a.txt")
    assert time.process_time() - start < 0.1


PACKED = [each for each in FILES if each.suffix in {".odt", ".docx", ".epub", ".xlsx", ".pptx"}]


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.name)
def test_a_document_that_lies_unpacked_in_an_archive_is_not_the_archive(path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.write(path, f"papers/{path.name}")
        archive.writestr("a.txt", "words")
    assert sniff(out.getvalue()[:HEAD_BYTES], "papers.zip").content_type == "application/zip"
    assert sniff(path.read_bytes()[:HEAD_BYTES], "papers").content_type != "application/zip"
