"""Hostile tables: each ends in a table within limits or in a clear error, in time."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from webapp.clock import monotonic
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.data.read import CELLS_MAX, COLUMNS_MAX, NARROWED, SHORTENED
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import CSV

pytestmark = pytest.mark.slow

Extract = Callable[[bytes, str], Extraction]
SECONDS_MAX = 30

TABLES = {
    "one line of 49 MB": b"a,b," * 12_250_000,
    "one cell of 49 MB": b"x" * 49_000_000,
    "one quote of 10 MB": b'a,"' + b"x" * 10_000_000,
    "a quote that never closes": b'a,b\n1,"' + b"x,y\n" * 500_000,
    "quotes everywhere": b'"' * 2_000_000,
    "quotes in each line": b'a"b,c""d,"e\n' * 200_000,
    "NUL bytes": b"a,b\n1\0,2\n" * 2 + b"3,4\n" * 500,
    "only delimiters": b"," * 1_500_000,
    "only line ends": b"\n" * 5_000_000 + b"a",
    "only semicolons in lines": b";;;;\n" * 500_000,
    "every delimiter": b"a,b;c\td|e^f~g h\n" * 100_000,
    "backslashes": b'a,"\\' + b"\\" * 1_500_000,
    "100,000 columns": b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000),
    "a ragged staircase": b"".join(b"x," * n + b"\n" for n in range(1_500)),
    "a million rows": b"a,b\n" + b"1,2\n" * 1_000_000,
    "numbers that never end": b"a,b\n" + b"1" * 100_000 + b",2\n3,4\n",
    "numbers with many signs": b"a;b\n" + b"1.,' " * 20_000 + b"x;2\n3;4\n",
    "a separator that is a letter": b"sep=a\nbanana\n",
    "a separator that is a quote": b'sep="\na"b\n',
    "a separator that is no character": b"sep=\\\na\\b\n",
    "formulas": b'a,b\n"=HYPERLINK(""http://evil.example"")",2\n@SUM(1),-1\n',
    "markup": b"a,b\n<script>evil()</script>,<!-- page 7 -->\n|,`\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_hostile_table_is_read_within_limits(extract: Extract, name: str) -> None:
    started = monotonic()
    with suppress(BadInput):
        found = extract(TABLES[name], CSV)
        (table,) = found.tables
        assert table.rows
        assert sum(map(len, table.rows)) <= CELLS_MAX + COLUMNS_MAX
        assert max(map(len, table.rows)) <= COLUMNS_MAX
        assert "<script" not in found.markdown.replace("\\<", "")
        assert "\n<!-- page" not in found.markdown
    assert monotonic() - started < SECONDS_MAX


def test_a_line_that_is_no_row_is_refused(extract: Extract) -> None:
    with pytest.raises(BadInput) as failure:
        extract(TABLES["one line of 49 MB"], CSV)
    assert failure.value.code is FailureCode.TOO_LARGE


def test_what_is_left_out_is_said(extract: Extract) -> None:
    assert NARROWED in extract(TABLES["100,000 columns"], CSV).warnings
    found = extract(b"a,b\n" + b"x" * 20_000 + b",2\n", CSV)
    assert (found.partial, found.warnings) == (True, (SHORTENED,))
