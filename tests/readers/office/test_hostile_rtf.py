"""Hostile RTF: floods of groups, fonts, cells, notes and bytes. Each ends in a document or a clear error, in time."""

import pytest

from tests.readers.office.conftest import Read
from tests.readers.office.files import rtf
from webapp.clock import monotonic
from webapp.provider_errors import BadInput
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import RTF

pytestmark = pytest.mark.slow

SECONDS_MAX = 20
FILES = {
    "50,000 fonts": rtf("{\\fonttbl" + "{\\f1\\fcharset204 A;}" * 50_000 + "}the end"),
    "50,000 styles": rtf("{\\stylesheet" + "{\\s1\\outlinelevel1 heading;}" * 50_000 + "}the end"),
    "100,000 groups in each other": rtf("{" * 100_000 + "the end" + "}" * 100_000),
    "100,000 groups side by side": rtf("{\\b x}" * 100_000 + "the end"),
    "30,000 footnotes": rtf("x{\\footnote said}" * 30_000 + "the end"),
    "5,000 footnotes in each other": rtf("{\\footnote x" * 5_000 + "the end" + "}" * 5_000),
    "a row of 200,000 cells": rtf("\\trowd\\intbl " + "a\\cell " * 200_000 + "\\row\\pard the end"),
    "30,000 rows": rtf("\\trowd\\intbl a\\cell b\\cell\\row " * 30_000 + "\\pard the end"),
    "cells outside of rows": rtf("\\cell\\row" * 50_000 + " the end"),
    "rows that never end": rtf("\\trowd\\intbl a\\cell " * 100_000 + "the end"),
    "a picture of 5 MB": rtf("{\\pict\\pngblip " + "00ff" * 1_250_000 + "}the end"),
    "bytes that are not there": rtf("the end\\bin2147483647 x"),
    "less than no bytes": rtf("the end\\bin-5 x"),
    "two million bytes in hexadecimal": rtf("\\'e9" * 500_000 + "the end"),
    "letters that are none": rtf("the end" + "\\u-32768?\\u65535?\\u55296?\\u99999999999?" * 20_000),
    "replacements without end": rtf("\\uc2147483647\\u233 " + "?" * 200 + "the end"),
    "a number of 100,000 figures": rtf("the end\\li" + "9" * 100_000 + " x"),
    "a word of 1 MB": rtf("the end\\" + "a" * 1_000_000 + " x"),
    "20,000 fields in each other": rtf("{\\field{\\*\\fldinst x}{\\fldrslt " * 20_000 + "the end"),
    "a list of 30,000": rtf("{\\listtext 1.\\tab}x\\par\\pard" * 30_000 + " the end"),
    "outlines without a number": rtf("\\outlinelevel2147483647 x\\par\\outlinelevel-5 the end"),
    "code pages in turn": rtf("\\ansicpg932\\'93\\ansicpg1251\\'93" * 50_000 + "the end"),
    "fonts in turn": rtf(
        "{\\fonttbl{\\f0\\fcharset128 A;}{\\f1\\fcharset204 B;}}" + "\\f0\\'93\\f1\\'93" * 50_000 + "the end"
    ),
    "a line of 5 MB": rtf("x" * 5_000_000 + " the end"),
    "lines without words": rtf("\\par" * 100_000 + " the end"),
    "a name of 1 MB": rtf("{\\info{\\title " + "x" * 1_000_000 + "}}the end"),
    "NUL bytes": rtf("\0" * 100_000 + "the end"),
    "a forged page mark": rtf("<!-- page 9 --> the end"),
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_read_or_refused_within_limits(read: Read, name: str) -> None:
    started = monotonic()
    found: Extraction | BadInput
    try:
        found = read(FILES[name], RTF)
    except BadInput as error:
        found = error
    assert monotonic() - started < SECONDS_MAX
    if isinstance(found, Extraction):
        assert "the end" in found.markdown or found.partial or found.warnings
        assert "<!-- page" not in found.markdown
        assert len(found.markdown) < 20_000_000
    else:
        assert found.message
