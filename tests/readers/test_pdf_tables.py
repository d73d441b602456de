"""Tables in PDFs: each row comes out with its cells, and sentences around a table stay sentences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests import printed_tables, samples
from tests.printed_tables import PrintedTable
from tests.readers.conftest import Extract
from tests.samples import Run
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import PDF

# In Helvetica; all other letters here are a little wider than half of their size.
_WIDTHS = {"i": 0.222, "l": 0.222, "t": 0.278, " ": 0.278, "I": 0.278, "r": 0.333, "s": 0.5, "c": 0.5, "m": 0.833}
_OTHERS, _TRACKING = 0.556, 0.04


def letters(x: float, y: float, text: str, size: float = 9) -> Iterator[Run]:
    """Each letter at a place of its own, as some programs write them."""
    for letter in text:
        if letter != " ":
            yield Run(x, y, letter, size)
        x += size * (_WIDTHS.get(letter, _OTHERS) + _TRACKING)


def rows_of(found: Extraction) -> Counter[Sequence[str]]:
    return Counter(row for table in found.tables for row in table.rows)


def test_few_narrow_columns_are_no_vertical_writing(extract: Extract) -> None:
    rows = [("Item", "Place", "Pieces"), *((f"Brass lamp {number}", "Cellar", str(number)) for number in range(48))]
    page = [
        run
        for line, row in enumerate(rows)
        for x, cell in zip((60, 280, 440), row, strict=True)
        for run in letters(x, 60 + 15 * line, cell)
    ]
    found = extract(samples.pdf([samples._report_page(1, 2), page]), PDF)
    assert rows_of(found) == Counter(rows)
    assert found.pages[1].text.splitlines() == [" ".join(row) for row in rows]
    assert [table.page for table in found.tables] == [2]
    assert "HH" not in found.markdown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


PRINTED = (
    *(printed_tables.ruled(number) for number in range(4)),
    *(printed_tables.borderless(number) for number in range(10)),
    *(printed_tables.shaded(number) for number in range(6)),
    *(printed_tables.merged(number) for number in range(6)),
    *(printed_tables.merged(number, "DejaVu Sans") for number in range(4)),
    *(printed_tables.long(columns) for columns in (3, 5)),
)


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in printed_tables.write_pdfs(PRINTED, folder)}


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("table", PRINTED, ids=lambda table: table.name)
def test_each_row_of_a_printed_table(extract: Extract, printed: dict[str, Path], table: PrintedTable) -> None:
    found = extract(printed[table.name].read_bytes(), PDF)
    head, *body = table.rows
    assert rows_of(found) == Counter([*[head] * len(found.tables), *body])
    paragraphs = [paragraph.strip("*") for paragraph in found.markdown.split("\n\n")]
    assert table.before in paragraphs
    assert table.after in paragraphs
