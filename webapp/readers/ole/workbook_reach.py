"""How far the cells of an old workbook reach, by its records: the library makes room for all cells between them."""

from collections.abc import Iterator
from itertools import islice
from struct import unpack_from

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.office.sheets import refuse_range

SHEETS_MAX = 1_000
# Some 100 MB of cells; sheets may share their records, so those of all sheets count.
RECORDS_MAX = 4_000_000
ROWS_MAX, COLUMNS_MAX = 1 << 16, 256
_BOUND_SHEET, _DIMENSIONS, _END = 0x0085, 0x0200, 0x000A
# Numbers, texts, truth values and formulas; those without a value are not there for the library.
_CELLS = frozenset({0x0003, 0x0004, 0x0005, 0x0006, 0x00BD, 0x00D6, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E, 0x0406})
_MANY_NUMBERS = 0x00BD


def refuse_far_cells(data: bytes) -> None:
    """Refuse a workbook with a sheet of more cells than are read, or one that says what no sheet can have."""
    left = RECORDS_MAX
    records = islice(_records(data, 0), RECORDS_MAX)
    starts = [unpack_from("<I", data, at)[0] for kind, at, length in records if kind == _BOUND_SHEET and length >= 4]
    if len(starts) > SHEETS_MAX:
        raise BadInput(f"more than {SHEETS_MAX} sheets", code=FailureCode.TOO_LARGE)
    for start in starts:
        left -= _look_at(data, start, left)


def _look_at(data: bytes, start: int, records_max: int) -> int:
    """Refuse the sheet that begins here, if its cells reach too far; the number of its records."""
    top, left, bottom, right, count = ROWS_MAX, 1 << 16, -1, -1, 0
    for count, (kind, at, length) in enumerate(_records(data, start), 1):
        if count > records_max:
            raise BadInput(f"more than {RECORDS_MAX} records", code=FailureCode.TOO_LARGE)
        if kind == _DIMENSIONS:
            _refuse_false_size(data, at, length)
        elif kind in _CELLS and length >= 4:
            row, column = unpack_from("<HH", data, at)
            last = unpack_from("<H", data, at + length - 2)[0] if kind == _MANY_NUMBERS else column
            top, bottom = min(top, row), max(bottom, row)
            left, right = min(left, column), max(right, column, last)
    refuse_range(max(0, bottom - top + 1), max(0, right - left + 1))
    return count


def _records(data: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Each record's kind, where its content begins, and how long that is; to the end of the sheet."""
    while start + 4 <= len(data):
        kind, length = unpack_from("<HH", data, start)
        start += 4
        if kind == _END or start + length > len(data):
            return
        yield kind, start, length
        start += length


def _refuse_false_size(data: bytes, at: int, length: int) -> None:
    """Refuse a sheet that says that it is larger than any; the library believes it."""
    form = "<IIHH" if length >= 14 else "<HHHH"
    if length < 8:
        return
    top, bottom, left, right = unpack_from(form, data, at)
    if max(top, bottom) > ROWS_MAX or max(left, right) > COLUMNS_MAX:
        raise BadInput("a sheet that is larger than any", code=FailureCode.CORRUPT)
