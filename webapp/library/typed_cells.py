"""The cells of tables and the values of fields as numbers and dates, where they are such."""

import re
from datetime import date
from decimal import Decimal

from webapp.library.tables import ShownTable
from webapp.library.typed_values import NUMBER_COLUMNS
from webapp.readers.fields.amounts import read_amount
from webapp.readers.fields.dates import read_date

TypedValue = str | Decimal | float | date
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# Zeros in front say that it is a code.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?")


def typed_rows(table: ShownTable) -> list[list[TypedValue]]:
    """All rows of a table, with numbers and dates."""
    known = {(row, column): value for row, column, value in table.values}
    return [
        [_typed(table.column_type(column), text, known.get((row, column))) for column, text in enumerate(cells)]
        for row, cells in enumerate(table.rows)
    ]


def plain(text: str) -> TypedValue:
    """A number or a day, if it is written as programs write them; else the text."""
    if _DAY.fullmatch(text):
        return _day_of(text) or text
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def _typed(column: str | None, text: str, known: float | str | None) -> TypedValue:
    """A cell: `known` is its value where the reader says that it is shown in another way."""
    if isinstance(known, int | float):
        return known
    if known is not None:
        return plain(known)
    if column in NUMBER_COLUMNS and (amount := read_amount(text)):
        return amount.value
    if column == "date" and (day := read_date(text.split())) and day.words == len(text.split()) and not day.other:
        return day.day
    return plain(text)


def _day_of(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
