"""Each kind of document as three programs write it: its heading, its sentence and its table."""

from collections import Counter
from pathlib import Path

import pytest

from tests.readers.conftest import Extract
from webapp.readers.sniff import HEAD_BYTES, sniff

FILES = sorted((Path(__file__).parent / "files").iterdir())
# Programs that say by its looks alone that a line is a heading, and workbooks, where the name of the sheet is one.
WITHOUT_HEADING = {"pyrtf.rtf"}
SHEETS = {".xlsx", ".ods", ".xls"}
# These write a title and a text on a slide.
WITHOUT_TABLE = {"odfpy.odp", "odfdo.odp"}
ROWS = (("Item", "Price"), ("Lamp", "120"), ("Rope", "35"))


def said(path: Path) -> str:
    """The sentence in a file."""
    return f"The keeper of {path.name.replace('.', '')} lights the lamp at dusk."


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_a_program_writes_is_read(path: Path, extract: Extract) -> None:
    data = path.read_bytes()
    found = extract(data, sniff(data[:HEAD_BYTES], path.name).content_type)
    lines = [line for line in found.markdown.splitlines() if line]
    assert (said(path) in lines) == (path.suffix not in SHEETS)
    assert said(path) in found.markdown
    assert ("# Harbour report" in lines) == (path.suffix not in SHEETS and path.name not in WITHOUT_HEADING)
    assert [table.rows[:3] for table in found.tables] == ([] if path.name in WITHOUT_TABLE else [ROWS])
    assert not found.partial


def test_three_programs_wrote_each_kind() -> None:
    """But for old files: only LibreOffice still writes Word's, and few write Excel's."""
    number = Counter(path.suffix for path in FILES)
    assert {kind: count for kind, count in number.items() if count < 3} == {".doc": 1, ".xls": 2}
