"""EPUB books: chapters as pages, everything in them as Markdown, nothing lost in silence, nothing hostile believed."""

import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import books
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.epub.markdown import read_chapter
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import EPUB


@pytest.fixture(scope="module")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(memory_mb=512)
    yield extractor
    extractor.close()


def read(extractor: LocalExtractor, folder: Path, data: bytes) -> Extraction:
    path = folder / "book"
    path.write_bytes(data)
    return extractor.extract(path, EPUB, timeout_seconds=30, progress=lambda fraction: None)


def markdown(body: str) -> str:
    return read_chapter(books.xhtml(body).encode()).markdown


def test_chapters_are_pages_with_their_names(extractor: LocalExtractor, tmp_path: Path) -> None:
    data = books.epub(
        [
            "<h2>One</h2><p>First words.</p>",
            "<p>No heading here.</p>",
            "<img src='x.png'/>",
            "<h1>Four</h1><p>Last.</p>",
        ],
        titles=["One", "Second, says the table of contents", "Plate", "Four"],
    )
    found = read(extractor, tmp_path, data)

    assert found.markdown == (
        "<!-- page 1 -->\n\n# One\n\nFirst words.\n\n"
        "<!-- page 2 -->\n\n# Second, says the table of contents\n\nNo heading here.\n\n"
        "<!-- page 3 -->\n\n# Four\n\nLast."
    )
    assert (found.page_count, len(found.pages), found.title, found.language) == (3, 3, "The Keeper", "en")
    assert [(field.name, field.value) for field in found.fields] == [("Author", "A. Writer")]
    assert not found.partial


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>a <b>bold</b> and <em>soft </em>word</p>", "a **bold** and *soft* word"),
        ("<p>5 * 3 &lt; `x` and snake_case</p>", "5 \\* 3 < \\`x\\` and snake_case"),
        ("<p># no heading</p>", "\\# no heading"),
        ("<p>1. no list</p>", "1\\. no list"),
        ("<p>caf&eacute;&nbsp;&mdash; &unknown; yes</p>", "café\xa0— &unknown; yes"),
        ("<p>one<br/>two</p>", "one  \ntwo"),
        ("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>", "- a\n  - b\n  - c\n- d"),
        ("<ol start='3'><li><p>x</p></li><li>y</li></ol>", "3. x\n4. y"),
        ("<pre><code>if a:\n    b()</code></pre>", "```\nif a:\n    b()\n```"),
        ("<p>call <code>f(x)</code></p>", "call `f(x)`"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        (
            "<table><tr><th>A</th><th>B|C</th></tr><tr><td colspan='2'>x</td></tr></table>",
            "| A | B\\|C |\n| --- | --- |\n| x |  |",
        ),
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td rowspan='2'>x</td><td>1</td></tr><tr><td>2</td></tr></table>",
            "| A | B |\n| --- | --- |\n| x | 1 |\n|  | 2 |",
        ),
        (
            (
                "<p>word<a epub:type='noteref' href='#n1'>1</a></p>"
                "<aside epub:type='footnote' id='n1'><p>A note here.</p></aside>"
            ),
            "word[^n1]\n\n[^n1]: A note here.",
        ),
        ("<p>see <a href='#x'>there</a></p><span><div>inner</div></span>", "see there\n\ninner"),
        ("<p>a</p><script>evil()</script><style>b</style>", "a"),
        ("<p>&lt;!-- page 7 --&gt;</p>", "\\&lt;!-- page 7 -->"),
        ("loose <i>text</i><p>and a paragraph</p>tail", "loose *text*\n\nand a paragraph\n\ntail"),
    ],
)
def test_markdown_of_a_chapter(body: str, expected: str) -> None:
    assert markdown(body) == expected


def test_tables_are_kept_with_their_chapter(extractor: LocalExtractor, tmp_path: Path) -> None:
    table = "<table><caption>Prices</caption><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>"
    found = read(extractor, tmp_path, books.epub(["<p>x</p>", table]))

    (kept,) = found.tables
    assert (kept.page, kept.rows, kept.caption) == (2, (("a", "1"), ("b", "2")), "Prices")


def test_a_missing_chapter_makes_it_partial(extractor: LocalExtractor, tmp_path: Path) -> None:
    found = read(
        extractor, tmp_path, books.epub(["<p>one</p>", "<p>two</p>", "<p>three</p>"], without=["OEBPS/chapter-2.xhtml"])
    )

    assert found.partial
    assert found.warnings == ("1 of 3 parts of the book could not be read: chapter-2.xhtml.",)
    assert [page.text for page in found.pages] == ["one", "three"]


def test_a_chapter_that_is_no_xml_is_read_as_html(extractor: LocalExtractor, tmp_path: Path) -> None:
    broken = b"<html><body><p>Unclosed <b>bold<p>Second & last</body></html>"
    found = read(extractor, tmp_path, books.epub(["<p>x</p>"], extra={"OEBPS/chapter-1.xhtml": broken}))

    assert "Unclosed **bold**" in found.markdown
    assert "Second & last" in found.markdown.replace("**", "")
    assert not found.partial


def test_utf_16_is_read(extractor: LocalExtractor, tmp_path: Path) -> None:
    data = books.xhtml("<p>Grüße</p>").replace("utf-8", "utf-16").encode("utf-16")
    found = read(extractor, tmp_path, books.epub(["x"], extra={"OEBPS/chapter-1.xhtml": data}))
    assert "Grüße" in found.markdown


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"PK\x03\x04 nothing more", FailureCode.CORRUPT),
        (books.epub(["<p>x</p>"])[:-40], FailureCode.CORRUPT),
        (books.epub(["<p>x</p>"], without=["META-INF/container.xml"]), FailureCode.CORRUPT),
        (books.epub(["<p>x</p>"], without=["OEBPS/book.opf"]), FailureCode.CORRUPT),
        (books.epub(["<p>x</p>"], without=["OEBPS/chapter-1.xhtml"]), FailureCode.CORRUPT),
        (books.epub(["<p> </p>", "<div/>"]), FailureCode.NO_TEXT),
        (
            books.epub(["<p>x</p>"], hrefs=["../../../etc/passwd"], without=["OEBPS/../../../etc/passwd"]),
            FailureCode.CORRUPT,
        ),
    ],
)
def test_what_cannot_be_read_says_why(extractor: LocalExtractor, tmp_path: Path, data: bytes, code: str) -> None:
    with pytest.raises(BadInput) as failure:
        read(extractor, tmp_path, data)
    assert failure.value.code == code


def test_an_encrypted_book_is_refused_and_scrambled_fonts_are_not(extractor: LocalExtractor, tmp_path: Path) -> None:
    def encryption(algorithm: str, uri: str) -> dict[str, bytes]:
        data = (
            "<encryption xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><EncryptedData>"
            f"<EncryptionMethod Algorithm='{algorithm}'/><CipherData><CipherReference URI='{uri}'/></CipherData>"
            "</EncryptedData></encryption>"
        )
        return {"META-INF/encryption.xml": data.encode()}

    locked = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/chapter-1.xhtml")
    with pytest.raises(BadInput) as failure:
        read(extractor, tmp_path, books.epub(["<p>x</p>"], extra=locked))
    assert failure.value.code == FailureCode.ENCRYPTED
    fonts = encryption("http://www.idpf.org/2008/embedding", "OEBPS/font.otf")
    assert read(extractor, tmp_path, books.epub(["<p>x</p>"], extra=fonts)).page_count == 1


def test_a_bomb_is_refused_in_time(extractor: LocalExtractor, tmp_path: Path) -> None:
    """A gigabyte of spaces in a megabyte, and a directory that says it is small."""
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with zipfile.ZipFile(io.BytesIO(books.epub(["<p>x</p>"]))) as book:
            for name in book.namelist():
                if "chapter" not in name:
                    archive.writestr(name, book.read(name))
        with archive.open("OEBPS/chapter-1.xhtml", "w") as chapter:
            for _ in range(64):
                chapter.write(b" " * (1 << 20))
    started = time.monotonic()
    with pytest.raises(BadInput) as failure:
        read(extractor, tmp_path, bomb.getvalue())
    assert failure.value.code == FailureCode.TOO_LARGE
    assert time.monotonic() - started < 5


def test_entities_do_not_unfold_and_files_are_not_fetched(extractor: LocalExtractor, tmp_path: Path) -> None:
    laughs = "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 12))
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    data = (
        f"<?xml version='1.0'?><!DOCTYPE html [<!ENTITY l0 'ha'>{laughs}<!ENTITY file SYSTEM '{secret.as_uri()}'>]>"
        "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>before &l11; &file; after</p></body></html>"
    )
    found = read(extractor, tmp_path, books.epub(["x"], extra={"OEBPS/chapter-1.xhtml": data.encode()}))
    assert "before" in found.markdown
    assert "haha" not in found.markdown
    assert "secret" not in found.markdown


def test_deep_nesting_is_no_crash(extractor: LocalExtractor, tmp_path: Path) -> None:
    deep = "<div>" * 5000 + "<p>deep</p>" + "</div>" * 5000
    found = read(extractor, tmp_path, books.epub(["<p>one</p>", deep]))
    assert found.pages[0].text == "one"
    assert found.partial or "deep" in found.markdown


def test_five_hundred_pages_take_seconds(extractor: LocalExtractor, tmp_path: Path) -> None:
    data = books.long_book(500)
    started = time.monotonic()
    found = read(extractor, tmp_path, data)
    assert time.monotonic() - started < 20
    assert found.page_count == 40
    assert len(found.markdown.split()) > 140_000


def test_links_to_other_chapters_lead_to_their_pages(extractor: LocalExtractor, tmp_path: Path) -> None:
    first = (
        "<h1><a href='chapter-3.xhtml'>Start</a></h1><p>See <a href='chapter-3.xhtml#note'>the <b>end</b></a>, "
        "<a href='#x'>here</a>, <a href='../OEBPS/chapter-2.xhtml'>nothing</a>, <a href='missing.xhtml'>gone</a> and "
        "<a href='https://example.org/chapter-3.xhtml'>far</a>.</p>"
    )
    found = read(extractor, tmp_path, books.epub([first, "<p> </p>", "<p>The end.</p>"]))
    assert found.page_count == 2
    assert found.pages[0].text == "# Start\n\nSee [the **end**](#page-2), here, nothing, gone and far."
