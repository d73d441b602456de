"""Rich text: code pages, tables, lists and notes; nothing hidden, nothing deleted, no bytes of pictures."""

import pytest

from tests.readers.office.conftest import Read
from tests.readers.office.files import rtf
from webapp.readers.filetypes import RTF

BODIES = [
    ("Plain words.\\par Second \\b line\\b0 .", "Plain words.\n\nSecond line."),
    ("{\\f1\\'cf\\'f0\\'e8\\'e2\\'e5\\'f2} \\'9elu\\'9d", "Привет žluť"),
    ("\\u1055?\\u-10179?\\u-8704?\\uc2\\u233ab e\\emdash\\~x", "П😀é e—\xa0x".replace("\xa0", " ")),
    ("\\{braces\\} and \\\\ a*b", "{braces} and \\\\ a\\*b"),
    ("\\outlinelevel0 Heading\\par\\pard Text", "# Heading\n\nText"),
    (
        "{\\stylesheet{\\s0 Normal;}{\\s2\\outlinelevel1 heading 2;}}\\pard\\s2 Named\\par\\pard Text",
        "## Named\n\nText",
    ),
    ("seen {\\v unseen}{\\deleted gone}end", "seen end"),
    ("a{\\*\\unknown never}{\\pict\\wmetafile8 00ff}{\\*\\bkmkstart x}b", "ab"),
    ("Text{\\*\\pgdsctbl{\\pgdsc0{\\header Never}}}", "Text"),
    ("before\\bin5 \0{}\\{after", "beforeafter"),
    (
        "\\trowd\\intbl A\\cell B\\cell\\row\\intbl 1\\par one\\cell 2|\\cell\\row\\pard after",
        "| A | B |\n| --- | --- |\n| 1 one | 2\\| |\n\nafter",
    ),
    (
        "{\\listtext\\pard 1.\\tab}\\ilvl0 one\\par\\pard{\\listtext\\'95\\tab}\\ilvl1 two\\par\\pard no item",
        "1. one\n   - two\n\nno item",
    ),
    ("word{\\footnote Said below.} goes on", "word[^1] goes on\n\n[^1]: Said below."),
    (
        "{\\header Letterhead\\par}Text\\par{\\footer 3}{\\*\\annotation Is it so?}",
        "Letterhead\n\nText\n\nComment: Is it so?",
    ),
    (
        "Text{\\shp{\\*\\shpinst{\\sp{\\sn x}{\\sv y}}{\\shptxt in the box\\par}}{\\shprslt in the box}}",
        "Text\n\nin the box",
    ),
    ('{\\field{\\*\\fldinst HYPERLINK "https://example.org"}{\\fldrslt here}}', "here"),
]


@pytest.mark.parametrize(("body", "expected"), BODIES, ids=range(len(BODIES)))
def test_the_text_of_a_document(read: Read, body: str, expected: str) -> None:
    found = read(rtf(body), RTF)
    assert found.markdown == expected
    assert (found.partial, found.warnings) == (False, ())


def test_it_says_who_wrote_it(read: Read) -> None:
    found = read(rtf("{\\info{\\title The Harbour}{\\author Ann Writer}{\\operator Bob}}Text"), RTF)
    assert (found.title, found.markdown) == ("The Harbour", "Text")
    assert [(field.name, field.value) for field in found.fields] == [("Author", "Ann Writer")]


@pytest.mark.parametrize(
    ("codes", "text"),
    [("\\ansicpg932 \\'93\\'fa\\'96{}\\'7b", "日本"), ("\\mac \\'8e", "é"), ("\\ansicpg65001 \\'c3\\'a9", "é")],
)
def test_code_pages(read: Read, codes: str, text: str) -> None:
    found = read(f"{{\\rtf1{codes.replace('{}', '')}}}".encode(), RTF)
    assert found.markdown == text


@pytest.mark.parametrize("body", ["Text \\bin999999999 and more", "Text {and {more"])
def test_a_file_that_is_cut_says_so(read: Read, body: str) -> None:
    found = read(rtf(body)[: None if "bin" in body else -1], RTF)
    assert (found.markdown.replace("  ", " "), found.partial) == ("Text and more", True)
    assert found.warnings == ("The file ends in the middle: something may be missing at its end.",)
